-- modes: duckbox
-- Wide, combining and control characters.
.maxwidth 120
.maxrows 20
SELECT '日本語' AS a, 'é' AS b, E'a\nb' AS c, E'a\tb' AS d, 'é' AS e;
.maxrows 20
SELECT chr(7) || chr(27) || chr(1) AS a, '👩‍👩‍👧 x' AS b, '👍🏽' AS c;
.maxrows 20
SELECT 1 AS "x
y", 2 AS "日本";
.maxrows 20
SELECT repeat('日本語', 100) AS a, range FROM range(3);
