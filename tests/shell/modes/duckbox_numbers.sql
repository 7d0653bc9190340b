-- modes: duckbox
-- Large numbers in words, thousands and decimals with other separators, values as columns.
.large_number_rendering footer
SELECT range AS i FROM range(1200000);
SELECT 1234567 AS n, 89898989898 AS d, 1e6 AS e;
SELECT 1234567 AS n, 'x' AS d;
SELECT 999994 AS almost, 995000 AS just, -1234567 AS minus, 999999999999999999::BIGINT AS big;
.large_number_rendering all
SELECT range * 1000000 AS i, range::DOUBLE AS d FROM range(3);
SELECT range AS i FROM range(2000000);
.large_number_rendering off
.thousand_sep .
.decimal_sep ,
SELECT 12 AS a, 123 AS b, 1234 AS c, 123456 AS d, 1234567 AS e, 12345678 AS f, 1234.5 AS g, 1e20 AS h, 170141183460469231731687303715884105727 AS i;
SELECT range AS i, 'x' AS x FROM range(123456);
.thousand_sep space
SELECT 1234567 AS n;
.thousand_sep none
.decimal_sep none
.columns
SELECT range AS i FROM range(123456);
SELECT {'a': 1} AS s, [1, 2] AS l, NULL AS n, 'two words' AS t;
.maxwidth 80
SELECT range AS i, 'value ' || range AS v, repeat('x', 50) AS w FROM range(30);
.maxrows 4
SELECT range AS i, 'value ' || range AS v FROM range(30);
.last
.rows
.last
