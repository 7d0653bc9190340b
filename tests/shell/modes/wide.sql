-- Many columns, long values, a width that is too small for them.
.maxwidth 100
SELECT range AS a, range * 2 AS b, range * 3 AS c, range * 5 AS d, range * 7 AS e, 'text ' || range AS f, range / 3 AS g FROM range(5);
SELECT repeat('x', 300) AS a;
SELECT repeat('x', 70) AS a, repeat('y', 100) AS b, repeat('z', 30) AS c FROM range(3);
SELECT repeat('日本語', 40) AS a, range FROM range(2);
SELECT repeat('word ', 30) AS a, repeat('y', 100) AS b, range FROM range(30);
SELECT {'a': list(range), 'b': {'x': 1, 'y': repeat('z', 100)}, 'c': NULL} AS s, repeat('t', 80) AS t FROM range(40);
SELECT [{'a': range, 'b': 'hello world', 'c': [range]} FOR range IN range(20)] AS l, 'x' AS x;
SELECT ('{"a":{"b":[1,2,3],"c":null},"d":"' || repeat('q', 150) || '","e e":"two words"}')::JSON AS j, repeat('t', 80) AS t;
SELECT 1 AS column_number_one, 2 AS column_number_two, 3 AS column_number_three, 4 AS column_number_four, 5 AS column_number_five,
  6 AS column_number_six, 7 AS column_number_seven, 8 AS column_number_eight FROM range(12);
