-- No rows, one, few, many; NULLs by themselves and .nullvalue; .headers.
SELECT range AS i FROM range(0);
SELECT 1 AS a, 'x' AS b WHERE false;
SELECT NULL AS only;
SELECT range AS i, 'row ' || range AS t, CASE WHEN range % 3 = 0 THEN NULL ELSE range END AS n FROM range(9);
SELECT range AS i, repeat('x', (range % 13)::INTEGER) AS t FROM range(60);
SELECT range AS i FROM range(5000) WHERE range % 100 = 7;
.nullvalue <none>
SELECT NULL AS a, 1 AS b, [NULL] AS c, 'NULL' AS d;
.nullvalue ""
SELECT NULL AS a, 1 AS b, 'x' AS c;
.headers off
SELECT 1 AS a, 'b' AS b;
SELECT range AS i FROM range(3);
.headers on
SELECT 1 AS a, 'b' AS b;
