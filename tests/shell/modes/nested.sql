-- Lists, arrays, structs, maps, unions, JSON and what they nest.
SELECT [1, 2, NULL] AS list, []::INTEGER[] AS none, NULL::INTEGER[] AS nothing, [1.5, 2.25] AS decimals, ['a', 'b c', NULL] AS words;
SELECT [1, 2, 3]::INTEGER[3] AS array3, [[1], [2, 3], []] AS deep, [true, false] AS flags, [DATE '2024-01-01'] AS dates;
SELECT {'a': 1, 'b': 'x y', 'c': NULL} AS struct, {'k': {'deep': [1, 2]}} AS inner_, {'with space': 1, 'Quote''s': 2} AS odd;
SELECT row(1, 'a') AS unnamed, MAP {'k': 1, 'l': NULL} AS map, MAP {1: 'a', 2: 'b'} AS numbered, MAP {} AS no_map;
SELECT union_value(num := 2) AS u, '{"a": [1, null, "x"]}'::JSON AS json, '[1,2]'::JSON AS list, 'null'::JSON AS jnull, '"s"'::JSON AS js;
SELECT ['it''s', 'say "hi"', 'a,b', '', ' x ', 'NULL', E'new\nline', '[1]', '{a}', 'back\slash', 'a=b', 'a:b'] AS quoted;
SELECT {'s': 'it''s', 't': 'a, b', 'n': E'x\ny'} AS s, MAP {'a=b': 'c,d', 'it''s': ''} AS m;
SELECT [9007199254740993] AS big, ['inf'::DOUBLE, 'nan'::DOUBLE] AS odd, [170141183460469231731687303715884105727::HUGEINT] AS huge,
  [1::DECIMAL(10,2)] AS dec, ['\xAA'::BLOB] AS blobs, [{'a': 1}, {'a': NULL}] AS structs;
SELECT NULL::STRUCT(a INTEGER) AS s, NULL::MAP(VARCHAR, INTEGER) AS m, [NULL::STRUCT(a INTEGER)] AS ls, [[NULL]] AS ll;
SELECT [{'a': [{'b': 'x'}]}] AS l, {'l': [1,2], 'm': MAP {'k': [{'z': 1}]}} AS s, MAP {'k': {'x': 1}} AS m;
