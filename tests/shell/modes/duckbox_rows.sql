-- modes: duckbox
-- Boxes of few and many rows.
.maxwidth 120
.maxrows 20
SELECT range AS a FROM range(0);
.maxrows 20
SELECT range AS a FROM range(1);
.maxrows 20
SELECT range AS a FROM range(9);
.maxrows 20
SELECT range AS a FROM range(10);
.maxrows 20
SELECT range AS a FROM range(11);
.maxrows 20
SELECT range AS a FROM range(23);
.maxrows 20
SELECT range AS a FROM range(24);
.maxrows 20
SELECT range AS a FROM range(100);
.maxrows 20
SELECT range AS a FROM range(5000);
.maxrows 10
SELECT range AS a, 'x' || range AS b, NULL AS c FROM range(0);
.maxrows 10
SELECT range AS a, 'x' || range AS b, NULL AS c FROM range(1);
.maxrows 10
SELECT range AS a, 'x' || range AS b, NULL AS c FROM range(9);
.maxrows 10
SELECT range AS a, 'x' || range AS b, NULL AS c FROM range(10);
.maxrows 10
SELECT range AS a, 'x' || range AS b, NULL AS c FROM range(13);
.maxrows 10
SELECT range AS a, 'x' || range AS b, NULL AS c FROM range(14);
.maxrows 10
SELECT range AS a, 'x' || range AS b, NULL AS c FROM range(50);
.maxrows 10
SELECT range AS a, 'x' || range AS b, NULL AS c FROM range(5000);
.maxrows 20
SELECT '' AS a FROM range(100);
.maxrows 7
SELECT NULL AS a, true AS b FROM range(100);
.maxrows 20
SELECT 'a' || range AS a, repeat('x', range::INT) AS b FROM range(30);
