-- modes: duckbox
-- DESCRIBE: titles, constraints, long names, many columns.
CREATE SCHEMA "my s";
CREATE TABLE "my s"."Odd ""t" (a INTEGER, b VARCHAR);
DESCRIBE "my s"."Odd ""t";
DESC "my s"."Odd ""t";
CREATE TABLE a_table_with_a_very_long_name_for_so_few_columns (x INTEGER NOT NULL DEFAULT 42, y VARCHAR UNIQUE, z DECIMAL(12,3));
DESCRIBE a_table_with_a_very_long_name_for_so_few_columns;
SHOW a_table_with_a_very_long_name_for_so_few_columns;
DESCRIBE SELECT x, y FROM a_table_with_a_very_long_name_for_so_few_columns AS t WHERE x > 3 ORDER BY 1;
DESCRIBE FROM main.a_table_with_a_very_long_name_for_so_few_columns;
DESCRIBE SELECT 1 AS a;
DESCRIBE SELECT * FROM range(3);
DESCRIBE SELECT * FROM "my s"."Odd ""t" a, "my s"."Odd ""t" b;
DESCRIBE SELECT (SELECT max(a) FROM "my s"."Odd ""t") AS m FROM range(2);
DESCRIBE VALUES (1, 'x');
SELECT * FROM (DESCRIBE a_table_with_a_very_long_name_for_so_few_columns) WHERE false;
CREATE TABLE wide AS SELECT 1 AS column_1, 2 AS column_2, 3 AS column_3, 4 AS column_4, 5 AS column_5, 6 AS column_6, 7 AS column_7,
  8 AS column_8, 9 AS column_9, 10 AS column_10, 11 AS column_11, 12 AS column_12, 13 AS column_13, 14 AS column_14, 15 AS column_15,
  16 AS column_16, 17 AS column_17, 18 AS column_18, 19 AS column_19, 20 AS column_20, 21 AS column_21, 22 AS c22, '23' AS c23;
DESCRIBE wide;
CREATE TABLE long_type AS SELECT {'a': 1, 'b': 'text', 'c': [1, 2], 'd': {'deep': 1, 'deeper': 2, 'deepest': 3}, 'eeeeeeeeeeee': 1} AS a_struct, 1 AS "日本";
DESCRIBE long_type;
.maxwidth 200
DESCRIBE wide;
DESCRIBE long_type;
