-- What is no query prints nothing; several statements on a line; comments; empty statements; errors go on.
CREATE TABLE t (i INTEGER, s VARCHAR, "Odd name" DOUBLE);
INSERT INTO t VALUES (1, 'one', 1.5), (2, NULL, NULL), (NULL, 'three', 3);
SELECT * FROM t ORDER BY i;
UPDATE t SET s = 'two' WHERE i = 2; SELECT count(*) AS n FROM t; DELETE FROM t WHERE i IS NULL;
SELECT 1 AS a; SELECT 2 AS b;
-- a comment
/* another
   one */ SELECT 3 AS c; -- behind it
INSERT INTO t VALUES (3, 'r', 0) RETURNING i, s;
SELECT missing FROM t;
SELECT 4 AS still_here;
SELECT 1 AS first_one; SELECT error('boom'); SELECT 2 AS never_seen;
BEGIN; ROLLBACK;
PRAGMA database_size(1);
CREATE VIEW v AS SELECT i FROM t;
SELECT 'a;b' AS semicolon, $$dollar;quoted$$ AS dollar;
VALUES (1, 'a'), (2, 'b');
FROM t SELECT i ORDER BY ALL;
.changes on
INSERT INTO t VALUES (9, 'nine', 9);
DELETE FROM t WHERE i > 2;
.changes off
.bail off
SELECT 5 AS without_semicolon
