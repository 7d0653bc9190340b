-- What the catalog's statements answer.
CREATE TABLE items (id INTEGER PRIMARY KEY, name VARCHAR NOT NULL, price DECIMAL(10,2) DEFAULT 1.5, "Odd name" VARCHAR UNIQUE);
CREATE TABLE plain (a INTEGER, b TIMESTAMP WITH TIME ZONE, c STRUCT(x INTEGER, y VARCHAR));
INSERT INTO items VALUES (1, 'a', 2.5, 'x'), (2, 'b', NULL, 'y');
DESCRIBE items;
DESCRIBE plain;
DESCRIBE SELECT 1 AS a, 'x' AS b;
DESCRIBE SELECT * FROM items;
SHOW TABLES;
DESC items;
SHOW items;
SELECT column_name, column_type FROM (DESCRIBE items);
SUMMARIZE items;
SELECT table_name, estimated_size, column_count FROM duckdb_tables() ORDER BY 1;
SELECT name, type FROM pragma_table_info('items');
.dump
.dump pl%
