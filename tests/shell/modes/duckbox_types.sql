-- modes: duckbox
-- The row of types.
.maxwidth 120
.maxrows 20
SELECT 1.5e10 AS a, true AS b, DATE '2020-01-01' AS c, INTERVAL 3 DAYS AS d, 'a'::BLOB AS e, 12::HUGEINT AS g, 1::DECIMAL(12,2) AS h, 1::UTINYINT AS i;
.maxrows 20
SELECT TIMESTAMP '2020-01-01 10:00:00' AS j, 'abc'::ENUM('abc') AS k, 1::UBIGINT AS l, 1::SMALLINT AS m, '{"a":1}'::JSON AS n;
.maxrows 20
SELECT [1]::INT[] AS a, [[1]]::TINYINT[][] AS b, [1,2]::INT[2] AS c, ['a'] AS d, [1.5] AS e;
.maxrows 20
SELECT 1 AS a, 'x' AS b, NULL AS c, 1.5 AS d, [1,2] AS e, {'a':1} AS f;
