-- Names of columns: case, keywords, spaces, quotes, the same twice, none.
SELECT 1 AS a, 2 AS "A b", 3 AS "Upper", 4 AS _x, 5 AS x1, 6 AS "1x";
SELECT 1 AS "select", 2 AS "date", 3 AS "timestamp", 4 AS "abort", 5 AS "left", 6 AS "between", 7 AS "value", 8 AS "row", 9 AS "over";
SELECT 1 AS "it's", 2 AS "say ""hi""", 3 AS "a|b", 4 AS "a,b", 5 AS "<i>", 6 AS "back\slash", 7 AS "100%", 8 AS "$x_y#";
SELECT 1 AS "日本", 2 AS "é", 3 AS "two
lines", 4 AS "tab	tab";
SELECT 1 AS x, 2 AS x, 3 AS X;
SELECT 1 + 1, count(*), 'text', NULL;
SELECT 42 AS a_very_long_name_for_such_a_small_number, 'v' AS b;
