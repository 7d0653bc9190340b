#!/usr/bin/env python3
"""Writes cases/duckbox_*.case from DuckDB's own renderer (python package duckdb, 1.5.6). Run by hand, once for a new
version of DuckDB; the cases are committed, so the tests need no Python."""
import contextlib
import io
import os
import duckdb

WIDE = "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
GROUPS = {
    "rows": [(f"SELECT range AS a FROM range({n})", 20) for n in (0, 1, 9, 10, 11, 23, 24, 100, 5000)]
    + [(f"SELECT range AS a, 'x' || range AS b, NULL AS c FROM range({n})", 10) for n in (0, 1, 9, 10, 13, 14, 50, 5000)]
    + [("SELECT '' AS a FROM range(100)", 20), ("SELECT NULL AS a, true AS b FROM range(100)", 7),
       ("SELECT 'a' || range AS a, repeat('x', range::INT) AS b FROM range(30)", 20)],
    "types": [
        ("SELECT 1.5e10 AS a, true AS b, DATE '2020-01-01' AS c, INTERVAL 3 DAYS AS d, 'a'::BLOB AS e, 12::HUGEINT AS g, "
         "1::DECIMAL(12,2) AS h, 1::UTINYINT AS i", 20),
        ("SELECT TIMESTAMP '2020-01-01 10:00:00' AS j, 'abc'::ENUM('abc') AS k, 1::UBIGINT AS l, 1::SMALLINT AS m, "
         "'{\"a\":1}'::JSON AS n", 20),
        ("SELECT [1]::INT[] AS a, [[1]]::TINYINT[][] AS b, [1,2]::INT[2] AS c, ['a'] AS d, [1.5] AS e", 20),
        ("SELECT 1 AS a, 'x' AS b, NULL AS c, 1.5 AS d, [1,2] AS e, {'a':1} AS f", 20)],
    "text": [
        ("SELECT '日本語' AS a, 'é' AS b, E'a\\nb' AS c, E'a\\tb' AS d, 'e\u0301' AS e", 20),
        ("SELECT chr(7) || chr(27) || chr(1) AS a, '👩\u200d👩\u200d👧 x' AS b, '👍🏽' AS c", 20),
        ("SELECT 1 AS \"x\ny\", 2 AS \"日本\"", 20),
        ("SELECT repeat('日本語', 100) AS a, range FROM range(3)", 20)],
    "wide": [
        ("SELECT repeat('x', 300) AS a", 20), ("SELECT repeat('x', 300) AS a, repeat('y', 300) AS b", 20),
        ("SELECT repeat('x', 70) AS a, repeat('y', 100) AS b, repeat('z', 30) AS c", 20),
        ("SELECT " + ", ".join(f"{i} AS column_{i}" for i in range(30)), 20),
        ("SELECT " + ", ".join(f"{i} AS column_{i}" for i in range(30)) + " FROM range(50)", 10),
        ("SELECT " + ", ".join(f"'{i}{WIDE}' AS column_{i}" for i in range(30)), 20),
        ("SELECT " + ", ".join(f"'{i}{WIDE}' AS column_{i}" for i in range(4)), 20),
        ("SELECT 1 AS averyveryverylongcolumnnamethatiswiderthan, 2 AS averyveryverylongcolumnnamethatiswiderthan2, "
         "3 AS averyveryverylongcolumnnamethatiswiderthan3", 20),
        ("SELECT repeat('word ', 30) AS a, repeat('y', 100) AS b, range FROM range(30)", 5),
        ("SELECT repeat('word ', 30) AS a, repeat('y', 100) AS b, range FROM range(5)", 40),
        ("SELECT range AS a, repeat('x', (range*7%60)::INT) AS b, repeat('y', (range*13%90)::INT) AS c, "
         "repeat('z', (range*11%50)::INT) AS d FROM range(15)", 100),
        ("SELECT range AS a, repeat('x', (range*7%60)::INT) AS b, repeat('y', (range*13%90)::INT) AS c, "
         "repeat('z', (range*11%50)::INT) AS d FROM range(15)", 20)],
    "nested": [
        ("SELECT [range, range+1, range+3] AS a, {'abc':[range,range], 'def': repeat('word ',20)} AS b, range FROM range(3)", 20),
        ("SELECT list(range) AS a FROM range(100)", 20),
        ("SELECT list(range) AS a FROM range(2000)", 20),
        ("SELECT {'a':list(range),'b':{'x':1,'y':repeat('z',100)}, 'c':NULL} AS a FROM range(100)", 20),
        ("SELECT {'a':list(range),'b':{'x':1,'y':repeat('z',100)}, 'c':NULL} AS a, {'q':[{'z':1},{'z':2}]} AS b FROM range(100)", 60),
        ("SELECT [{'a':range,'b':'hello','c':[range]} FOR range IN range(20)] AS a", 60),
        ("SELECT [{'a':range,'b':'hello','c':[range]} FOR range IN range(20)] AS a", 20),
        ("SELECT [[1,2,3],[4,5]] AS a, repeat('x',200) AS b", 20),
        ("SELECT MAP{'k':1,'l':2} AS m, repeat('x',200) AS b", 20),
        ("SELECT ('{\"a\":{\"b\":[1,2,3],\"c\":null},\"d\":\"' || repeat('q',150) || '\"}')::JSON AS j", 20),
        ("SELECT {'a':range,'b':'hello world','c':[range,2,3],'d':{'e':1.5,'f':NULL}} AS s, repeat('y',90) AS c FROM range(3)", 100),
        ("SELECT {'a':range,'b':'hello world','c':[range,2,3],'d':{'e':1.5,'f':NULL}} AS s, repeat('y',90) AS c FROM range(3)", 30)],
}

folder = os.path.join(os.path.dirname(os.path.abspath(__file__)), "cases")
for name, queries in GROUPS.items():
    script, printed = [".maxwidth 120"], []
    for sql, max_rows in queries:
        script += [f".maxrows {max_rows}", sql + ";"]
        out = io.StringIO()
        with contextlib.redirect_stdout(out):
            duckdb.sql(sql).show(max_rows=max_rows)
        printed.append(out.getvalue()[:-1])  # show() ends with an empty line
    with open(os.path.join(folder, f"duckbox_{name}.case"), "w", encoding="utf-8") as file:
        file.write("--- args\n-no-init\n--- in\n" + "\n".join(script) + "\n--- out\n" + "".join(printed))
