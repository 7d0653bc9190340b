"""The package `rayql`: PEP 249, values both ways, frames in and out, one DuckDB in the process, Ctrl-C, forks."""

import contextlib
import datetime as dt
import decimal
import gc
import io
import os
import signal
import subprocess
import sys
import tempfile
import threading
import time
import unittest
import unittest.mock
import uuid
import xml.etree.ElementTree

import pandas
import polars
import pyarrow

import rayql


class Package(unittest.TestCase):
    def setUp(self):
        self.con = rayql.connect(config={"threads": 2})
        self.addCleanup(self.con.close)

    # ---- PEP 249 ----
    def test_module(self):
        self.assertEqual((rayql.apilevel, rayql.threadsafety, rayql.paramstyle), ("2.0", 1, "qmark"))
        self.assertTrue(rayql.duckdb_version().startswith(os.environ.get("RAYQL_TEST_DUCKDB", "v1.5.")))
        for name in ("InterfaceError", "DatabaseError"):
            self.assertTrue(issubclass(getattr(rayql, name), rayql.Error))
        for name in "DataError OperationalError IntegrityError InternalError ProgrammingError NotSupportedError".split():
            self.assertTrue(issubclass(getattr(rayql, name), rayql.DatabaseError))

    def test_cursor(self):
        cursor = self.con.cursor()
        cursor.execute("CREATE TABLE t (i INTEGER, s VARCHAR)")
        cursor.executemany("INSERT INTO t VALUES (?, ?)", [(i, f"text {i}") for i in range(5)])
        self.assertEqual(cursor.rowcount, 5)
        cursor.execute("SELECT * FROM t ORDER BY i")
        self.assertEqual([column[0] for column in cursor.description], ["i", "s"])
        self.assertEqual(cursor.description[0][1], rayql.NUMBER)
        self.assertEqual(cursor.description[1][1], rayql.STRING)
        self.assertEqual(cursor.fetchone(), (0, "text 0"))
        self.assertEqual(cursor.fetchmany(2), [(1, "text 1"), (2, "text 2")])
        self.assertEqual(list(cursor), [(3, "text 3"), (4, "text 4")])
        self.assertIsNone(cursor.fetchone())
        cursor.execute("UPDATE t SET i = i + 1 WHERE i > $least", {"least": 2})
        self.assertEqual(cursor.rowcount, 2)
        cursor.close()
        self.assertEqual(self.con.execute("SELECT sum(i) FROM t").fetchall(), [(12,)])
        with self.assertRaises(rayql.InterfaceError):
            cursor.execute("SELECT 1")

    def test_transactions(self):
        self.con.commit()  # there is none
        self.con.execute("CREATE TABLE t (i INTEGER)")
        self.con.begin().execute("INSERT INTO t VALUES (1)")
        self.con.rollback()
        with self.assertRaises(rayql.IntegrityError):
            self.con.execute("CREATE TABLE u (i INTEGER PRIMARY KEY)")
            self.con.executemany("INSERT INTO u VALUES (?)", [[1], [2], [1]])
        self.assertEqual(self.con.execute("SELECT (SELECT count(*) FROM t), (SELECT count(*) FROM u)").fetchone(), (0, 0))

    def test_errors(self):
        for sql, kind in (
            ("selec", rayql.ProgrammingError),
            ("SELECT * FROM no_such_table", rayql.ProgrammingError),
            ("SELECT 'x'::INTEGER", rayql.DataError),
            ("CREATE MATERIALIZED VIEW v", rayql.ProgrammingError),
            ("ATTACH '/no/such/folder/x.db'", rayql.OperationalError),
        ):
            with self.assertRaises(kind, msg=sql):
                self.con.execute(sql).fetchall()
        with self.assertRaisesRegex(rayql.ProgrammingError, "has 2 parameters, and 1 values"):
            self.con.execute("SELECT ?, ?", [1])
        with self.assertRaisesRegex(rayql.NotSupportedError, "type list cannot be bound"):
            self.con.execute("SELECT ?", [[1]])
        with self.assertRaisesRegex(rayql.DataError, "128 bits"):
            self.con.execute("SELECT ?", [2**128])
        with self.assertRaisesRegex(rayql.DataError, "cannot be one of Python's"):
            self.con.execute("SELECT DATE '20000-01-01'").fetchall()

    # ---- values ----
    def test_values_both_ways(self):
        utc = dt.timezone.utc
        values = [None, True, -5, 2**63, -(2**100), 1.5, "", "ü" * 40, b"\0bytes of more than twelve", decimal.Decimal("-12.345"),
                  decimal.Decimal("1e10"), dt.date(1, 1, 1), dt.date(9999, 12, 31), dt.datetime(1969, 7, 20, 20, 17, 40, 123456),
                  dt.datetime(2024, 2, 29, tzinfo=utc), dt.time(23, 59, 59, 999999), dt.timedelta(days=-2, microseconds=5),
                  uuid.UUID(int=1), uuid.UUID(int=2**128 - 1)]  # fmt: skip
        marks = ", ".join("?" * len(values))
        row = self.con.execute(f"SELECT {marks}", values).fetchone()
        self.assertEqual(list(row), values)
        self.con.execute(f"SELECT {marks}, [1, 2]", values)  # the same beside a nested value, through Arrow
        self.assertEqual(list(self.con.fetchone()), values + [[1, 2]])

    def test_more_types(self):
        row = self.con.execute(
            "SELECT 'a'::ENUM('b', 'a'), 255::UTINYINT, 18446744073709551615::UBIGINT, 1.25::FLOAT, 0.5::DECIMAL(4, 3), "
            "TIMESTAMP_NS '2020-01-01 00:00:00.123456789', 'infinity'::DATE, '101'::BIT, 5::DECIMAL(38, 10)"
        ).fetchone()
        expected = ("a", 255, 2**64 - 1, 1.25, decimal.Decimal("0.500"), dt.datetime(2020, 1, 1, 0, 0, 0, 123456),
                    dt.date.max, "101", decimal.Decimal("5.0000000000"))  # fmt: skip
        self.assertEqual(row, expected)
        nested = self.con.execute("SELECT {'a': [1, NULL]}, MAP {'k': 1}").fetchone()
        self.assertEqual(nested, ({"a": [1, None]}, [("k", 1)]))

    def test_many_rows(self):
        rows = self.con.execute("SELECT i, CASE WHEN i % 7 > 0 THEN 'number ' || i END FROM range(10000) r(i)").fetchall()
        self.assertEqual(rows, [(i, f"number {i}" if i % 7 else None) for i in range(10000)])

    # ---- frames ----
    def test_frames_out(self):
        relation = self.con.sql("SELECT i, 's' || i AS s FROM range(300000) r(i)")
        self.assertEqual(relation.columns, ["i", "s"])
        table = relation.arrow()
        self.assertEqual(table.schema.names, ["i", "s"])
        self.assertEqual(table.num_rows, 300000)
        self.assertGreater(max(len(batch) for batch in relation.fetch_record_batch()), 100000)
        self.assertEqual(relation.df()["i"].sum(), 299999 * 150000)
        self.assertEqual(relation.pl()["s"][299999], "s299999")
        self.assertEqual(pyarrow.table(relation).num_rows, 300000)
        self.assertIn("more rows", repr(relation))
        self.assertIsNone(self.con.sql("CREATE TABLE made (i INTEGER)"))

    def test_frames_in(self):
        table = pyarrow.table({"a": list(range(100000)), "b": [f"text {i}" for i in range(100000)]})
        frames = {"arrow": table, "pandas": table.to_pandas(), "polars": polars.from_arrow(table)}
        for name, frame in frames.items():
            self.con.register(name, frame)
            self.assertEqual(self.con.execute(f"SELECT sum(a), max(b) FROM {name}").fetchone(), (4999950000, "text 99999"))
            self.assertEqual(self.con.sql(f"FROM {name}").arrow(), table)
        self.con.unregister("arrow")
        with self.assertRaises(rayql.ProgrammingError):
            self.con.execute("SELECT * FROM arrow")
        with self.assertRaisesRegex(rayql.NotSupportedError, "__arrow_c_stream__"):
            self.con.register("x", [1, 2])

    def test_variables(self):
        frame = pandas.DataFrame({"x": [1, 2, 3]})
        self.assertEqual(self.con.sql("SELECT sum(x) FROM frame").fetchall(), [(6,)])
        frame = pandas.DataFrame({"x": [10]})  # noqa: F841
        self.assertEqual(self.con.execute("SELECT sum(x) FROM frame").fetchall(), [(10,)])

    def test_magic(self):
        from rayql import _magic

        variables = {"con": self.con}
        self.assertIsNone(_magic.run("con", "CREATE TABLE made AS SELECT 7 AS x", variables))
        self.assertEqual(_magic.run("con", "FROM made", variables)["x"].tolist(), [7])
        self.assertIsNone(_magic.run("con >> kept", "FROM made", variables))
        self.assertEqual(variables["kept"]["x"].tolist(), [7])
        self.assertEqual(_magic.run("", "SELECT 1 AS y", variables)["y"].tolist(), [1])

    # ---- plans as pictures ----
    def parts(self, plan):
        """The text and the class of each box of the picture, which has to be XML."""
        root = xml.etree.ElementTree.fromstring(plan._repr_svg_())
        texts = [element.text or "" for element in root.iter("{http://www.w3.org/2000/svg}text")]
        boxes = [element.get("class") for element in root.iter("{http://www.w3.org/2000/svg}rect")]
        return "\n".join(texts), boxes

    def test_plan_picture(self):
        self.con.execute("CREATE TABLE t AS SELECT i, i % 10 AS g FROM range(200000) r(i)")
        self.con.execute("CREATE TABLE names AS SELECT i AS g, 'n' || i AS n FROM range(10) r(i)")
        self.con.execute("CREATE INDEX \"<c>&\x01\" ON t USING columns (*)")
        query = "SELECT n, sum(i) AS s, row_number() OVER (ORDER BY sum(i)) FROM t JOIN names USING (g) GROUP BY n"
        plan = self.con.sql(query).explain("analyze")
        self.assertTrue(plan.startswith("method: scan on cpu"), plan)
        self.assertEqual(repr(plan), str(plan))
        text, boxes = self.parts(plan)
        for words in ("DuckDB: window and below", "map of names", "<c>&\ufffd", "cpu on", "measured", "price ", "rows came"):
            self.assertIn(words, text.replace(", 10 came", " rows came"))
        self.assertEqual(boxes.count("host"), 2, "the window, and the map's rows")
        self.assertEqual(boxes.count("method"), 1)
        text, boxes = self.parts(self.con.sql(query).explain())
        self.assertNotIn("measured", text)
        with self.assertRaisesRegex(rayql.ProgrammingError, "standard"):
            self.con.sql(query).explain("json")

    def test_plan_picture_of_host(self):
        from rayql import _magic

        plan = _magic.run("con", "EXPLAIN SELECT 'a<b' FROM range(3)", {"con": self.con})
        self.assertIsInstance(plan, rayql.Plan)
        text, boxes = self.parts(plan)
        self.assertEqual(boxes, ["page", "host"])
        self.assertIn("DuckDB answers the whole statement", text)
        self.assertIn("a<b", text)

    # ---- what RayQL does ----
    def test_acceleration(self):
        self.con.execute("CREATE TABLE t AS SELECT i, i % 10 AS g FROM range(200000) r(i)")
        self.con.execute("CREATE INDEX c ON t USING columns (*)")
        self.assertEqual(self.con.execute("SELECT sum(i) FROM t WHERE g = 3").fetchone()[0], 1999960000)
        method = self.con.execute("SELECT method FROM rayql_last_query()").fetchone()
        self.assertEqual(method, ("scan",))

    # ---- the progress bar ----
    SLOW = "SELECT count(*) FROM range(20000000) a WHERE hash(range) % 7 = 3"

    def drawn(self, statement, shown=True):
        """What a statement leaves on the terminal, with a bar from its first moment on."""
        from rayql import _progress

        con = self.con.cursor()
        con.progress_bar = shown
        with unittest.mock.patch.object(_progress, "_AFTER", 0.0), unittest.mock.patch.object(_progress, "_EVERY", 0.01):
            with contextlib.redirect_stderr(io.StringIO()) as screen:
                try:
                    con.execute(statement).fetchall()
                finally:
                    con.close()
                    self.screen = screen.getvalue()
        return self.screen

    def test_progress_bar(self):
        lines = self.drawn(self.SLOW).split("\r")
        self.assertTrue(any("▏" in line or "running" in line for line in lines), lines)
        self.assertEqual(lines[-1], "", "the line is wiped")
        self.assertEqual(lines[-2].strip(), "")
        self.assertEqual(self.drawn(self.SLOW, shown=False), "")

    def test_progress_bar_is_quiet(self):
        from rayql import _progress

        self.assertFalse(self.con.progress_bar, "nobody looks on at a test")
        self.con.progress_bar = True
        with contextlib.redirect_stderr(io.StringIO()) as screen:
            self.con.execute("SELECT 1").fetchall()
        self.assertEqual(screen.getvalue(), "")
        self.assertTrue(self.con.cursor().progress_bar)
        with unittest.mock.patch.object(_progress, "_in_notebook", lambda: True):
            self.assertTrue(_progress.wanted())
            with unittest.mock.patch.dict(os.environ, {"RAYQL_PROGRESS_BAR": "off"}):
                self.assertFalse(_progress.wanted())
        self.assertEqual(_progress.bar(50, 3), " 50 % ▕" + "█" * 20 + " " * 20 + "▏ 3 s")
        self.assertEqual(_progress.bar(-1, 3), "  running 3 s")

    def test_progress_bar_and_ctrl_c(self):
        threading.Timer(0.5, lambda: os.kill(os.getpid(), signal.SIGINT)).start()
        with self.assertRaises((KeyboardInterrupt, rayql.InterruptError)):
            self.drawn("SELECT count(*) FROM range(100000000000) a, range(1000) b")
            time.sleep(5)
        self.assertTrue(self.screen.endswith("\r"), "the line is wiped")

    # ---- interrupts, threads, processes ----
    def test_ctrl_c(self):
        timer = threading.Timer(0.3, lambda: os.kill(os.getpid(), signal.SIGINT))
        timer.start()
        start = time.monotonic()
        with self.assertRaises((KeyboardInterrupt, rayql.InterruptError)):
            self.con.execute("SELECT count(*) FROM range(100000000000) a, range(1000) b").fetchall()
            time.sleep(5)  # the handler's turn comes between two instructions
        self.assertLess(time.monotonic() - start, 60)
        self.assertEqual(self.con.execute("SELECT 1").fetchall(), [(1,)])

    def test_threads(self):
        self.con.execute("CREATE TABLE t AS SELECT i FROM range(100000) r(i)")
        sums = []

        def work(cursor):
            sums.append([cursor.execute("SELECT sum(i) FROM t").fetchone()[0] for _ in range(20)])

        threads = [threading.Thread(target=work, args=(self.con.cursor(),)) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(sums, [[4999950000] * 20] * 4)

    def test_fork(self):
        pid = os.fork()
        if pid == 0:
            try:
                self.con.execute("SELECT 1")
            except rayql.InterfaceError as error:
                os._exit(0 if "forked" in str(error) else 2)
            os._exit(1)
        self.assertEqual(os.waitpid(pid, 0)[1], 0)
        self.assertEqual(self.con.execute("SELECT 1").fetchone(), (1,))

    def test_fork_with_open_results(self):
        result = self.con.sql("FROM range(300000)").execute()
        result.fetchone()
        pid = os.fork()
        if pid == 0:
            try:
                del result
                gc.collect()
                self.con.close()  # frees nothing that is the parent's
                os._exit(0 if rayql.connect().execute("SELECT 42").fetchone() == (42,) else 1)
            except BaseException:
                os._exit(2)
        self.assertEqual(os.waitpid(pid, 0)[1], 0)
        self.assertEqual(len(result.fetchmany(300000)), 299999)

    def test_results_outlive_connections(self):
        relation = rayql.connect().execute("SELECT * FROM range(300000)").fetch_record_batch()
        gc.collect()
        self.assertEqual(sum(len(batch) for batch in relation), 300000)

    def run_python(self, code):
        done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env=os.environ, timeout=120)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        return done.stdout

    def test_shutdown_with_open_results(self):
        self.run_python("import rayql; c = rayql.connect(); r = c.sql('FROM range(9999999)'); r.fetchone(); s = r.execute()")

    def test_shutdown_while_a_statement_runs(self):
        code = (
            "import rayql, threading, time; c = rayql.connect(); c.progress_bar = True\n"
            "def work():\n    try:\n        c.execute('SELECT count(*) FROM range(100000000000) a, range(1000) b')\n"
            "    except rayql.InterruptError: print('stopped')\n"
            "t = threading.Thread(target=work); t.start(); time.sleep(0.3); c.interrupt(); t.join()\n"
            "k = rayql.connect().sql('FROM range(300000)').fetch_record_batch(); next(k); g = globals()"
        )
        self.assertEqual(self.run_python(code), "stopped\n")

    # ---- what goes wrong elsewhere ----
    def test_broken_arrow(self):
        class Broken:
            def __arrow_c_stream__(self, requested_schema=None):
                raise RuntimeError("no stream today")

        with self.assertRaisesRegex(RuntimeError, "no stream today"):
            self.con.register("x", Broken())
        text = pyarrow.array(["ab", "cd"])
        offsets = pyarrow.py_buffer(b"\0\0\0\0\x05\0\0\0\x01\0\0\0")  # they go back
        broken = pyarrow.Array.from_buffers(pyarrow.string(), 2, [None, offsets, text.buffers()[2]])
        with self.assertRaisesRegex(rayql.Error, "s"):
            self.con.register("x", pyarrow.table({"s": broken}))
        self.assertEqual(self.con.execute("SELECT 1").fetchall(), [(1,)])

    def test_unknown_duckdb(self):
        """A module of another version is there already: opening says which, and nothing else is loaded."""
        with tempfile.TemporaryDirectory() as folder:
            with open(os.path.join(folder, "old.c"), "w") as file:
                file.write('const char *duckdb_library_version(void) { return "v1.4.2"; }\n')
                file.write("".join(f"void {name}(void) {{}}\n" for name in ("duckdb_open_ext", "duckdb_connect", "duckdb_query")))
            library = os.path.join(folder, "libduckdb.so")
            subprocess.run(["cc", "-shared", "-fPIC", "-o", library, file.name], check=True)
            self.run_python(
                f"import ctypes, sys; ctypes.CDLL({library!r}, ctypes.RTLD_GLOBAL); sys.modules['duckdb'] = None\nimport rayql\n"
                "try:\n    rayql.connect()\nexcept rayql.Error as error:\n"
                "    assert 'v1.4.2' in str(error) and 'libduckdb.so' in str(error), error\nelse:\n    raise SystemExit('opened')"
            )

    def test_database_from_the_future(self):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "x.db")
            rayql.connect(path).close()
            with open(path, "r+b") as file:  # DuckDB's header: a checksum, "DUCK", the version of the format
                file.seek(12)
                file.write((9999).to_bytes(8, "little"))
            with self.assertRaises(rayql.Error):
                rayql.connect(path)
            with self.assertRaises(rayql.Error):
                rayql.connect(folder)

    def test_exceptions_of_producers(self):
        schema = pyarrow.schema([("a", pyarrow.int64())])

        def batches():
            yield pyarrow.record_batch([[1, 2]], schema=schema)
            raise ValueError("the producer is out of rows")

        reader = pyarrow.RecordBatchReader.from_batches(schema, batches())
        with self.assertRaisesRegex(rayql.OperationalError, "the producer is out of rows"):
            self.con.register("x", reader)
        with self.assertRaises(rayql.ProgrammingError):
            self.con.execute("SELECT * FROM x")

    def test_another_process(self):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "x.db")
            with rayql.connect(path):
                self.run_python(
                    f"import rayql\ntry:\n    rayql.connect({path!r})\nexcept rayql.OperationalError as error:\n"
                    "    assert 'lock' in str(error), error\nelse:\n    raise SystemExit('it was opened twice')"
                )

    # ---- one DuckDB ----
    def test_one_duckdb(self):
        code = (
            "{}; import rayql; rayql.connect().execute('SELECT 1'); print(sorted({{l.split()[-1].split('/')[-1][:9] "
            "for l in open('/proc/self/maps') if 'duckdb' in l.split()[-1].split('/')[-1]}}))"
        )
        self.assertEqual(self.run_python(code.format("import duckdb")), "['_duckdb.c']\n")
        hidden = "import sys; sys.modules['duckdb'] = None"  # as if it were not installed
        self.assertEqual(self.run_python(code.format(hidden)), "['libduckdb']\n")

    def test_another_opening_of_the_file(self):
        import duckdb

        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "x.db")
            with rayql.connect(path) as con:
                con.execute("CREATE TABLE t AS SELECT 42 AS i")
                with self.assertRaises(duckdb.IOException):
                    duckdb.connect(path)
                with self.assertRaisesRegex(rayql.OperationalError, "open already"):
                    rayql.connect(path)
            other = duckdb.connect(path)
            with self.assertRaisesRegex(rayql.OperationalError, "open already"):
                rayql.connect(path)
            with self.assertRaisesRegex(rayql.NotSupportedError, "cannot be taken over"):
                rayql.connect(other)
            self.assertEqual(other.execute("FROM t").fetchall(), [(42,)])
            other.close()


if __name__ == "__main__":
    unittest.main()
