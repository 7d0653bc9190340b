-- modes: duckbox
-- Values and columns that do not fit.
.maxwidth 120
.maxrows 20
SELECT repeat('x', 300) AS a;
.maxrows 20
SELECT repeat('x', 300) AS a, repeat('y', 300) AS b;
.maxrows 20
SELECT repeat('x', 70) AS a, repeat('y', 100) AS b, repeat('z', 30) AS c;
.maxrows 20
SELECT 0 AS column_0, 1 AS column_1, 2 AS column_2, 3 AS column_3, 4 AS column_4, 5 AS column_5, 6 AS column_6, 7 AS column_7, 8 AS column_8, 9 AS column_9, 10 AS column_10, 11 AS column_11, 12 AS column_12, 13 AS column_13, 14 AS column_14, 15 AS column_15, 16 AS column_16, 17 AS column_17, 18 AS column_18, 19 AS column_19, 20 AS column_20, 21 AS column_21, 22 AS column_22, 23 AS column_23, 24 AS column_24, 25 AS column_25, 26 AS column_26, 27 AS column_27, 28 AS column_28, 29 AS column_29;
.maxrows 10
SELECT 0 AS column_0, 1 AS column_1, 2 AS column_2, 3 AS column_3, 4 AS column_4, 5 AS column_5, 6 AS column_6, 7 AS column_7, 8 AS column_8, 9 AS column_9, 10 AS column_10, 11 AS column_11, 12 AS column_12, 13 AS column_13, 14 AS column_14, 15 AS column_15, 16 AS column_16, 17 AS column_17, 18 AS column_18, 19 AS column_19, 20 AS column_20, 21 AS column_21, 22 AS column_22, 23 AS column_23, 24 AS column_24, 25 AS column_25, 26 AS column_26, 27 AS column_27, 28 AS column_28, 29 AS column_29 FROM range(50);
.maxrows 20
SELECT '0aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa' AS column_0, '1aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa' AS column_1, '2aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa' AS column_2, '3aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa' AS column_3, '4aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa' AS column_4, '5aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa' AS column_5, '6aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa' AS column_6, '7aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa' AS column_7, '8aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa' AS column_8, '9aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa' AS column_9, '10aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa' AS column_10, '11aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa' AS column_11, '12aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa' AS column_12, '13aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa' AS column_13, '14aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa' AS column_14, '15aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa' AS column_15, '16aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa' AS column_16, '17aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa' AS column_17, '18aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa' AS column_18, '19aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa' AS column_19, '20aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa' AS column_20, '21aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa' AS column_21, '22aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa' AS column_22, '23aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa' AS column_23, '24aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa' AS column_24, '25aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa' AS column_25, '26aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa' AS column_26, '27aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa' AS column_27, '28aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa' AS column_28, '29aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa' AS column_29;
.maxrows 20
SELECT '0aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa' AS column_0, '1aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa' AS column_1, '2aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa' AS column_2, '3aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa' AS column_3;
.maxrows 20
SELECT 1 AS averyveryverylongcolumnnamethatiswiderthan, 2 AS averyveryverylongcolumnnamethatiswiderthan2, 3 AS averyveryverylongcolumnnamethatiswiderthan3;
.maxrows 5
SELECT repeat('word ', 30) AS a, repeat('y', 100) AS b, range FROM range(30);
.maxrows 40
SELECT repeat('word ', 30) AS a, repeat('y', 100) AS b, range FROM range(5);
.maxrows 100
SELECT range AS a, repeat('x', (range*7%60)::INT) AS b, repeat('y', (range*13%90)::INT) AS c, repeat('z', (range*11%50)::INT) AS d FROM range(15);
.maxrows 20
SELECT range AS a, repeat('x', (range*7%60)::INT) AS b, repeat('y', (range*13%90)::INT) AS c, repeat('z', (range*11%50)::INT) AS d FROM range(15);
