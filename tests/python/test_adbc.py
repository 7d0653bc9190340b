"""The ADBC driver as Python's users meet it: adbc_driver_manager, pyarrow, pandas, polars, and the manifest."""

import os
import tempfile
import unittest

import adbc_driver_manager
import adbc_driver_manager.dbapi
import adbc_driver_rayql.dbapi
import pandas
import polars
import pyarrow


class Adbc(unittest.TestCase):
    def setUp(self):
        self.con = adbc_driver_rayql.dbapi.connect("rayql::memory:", db_kwargs={"threads": "2"}, autocommit=True)
        self.cur = self.con.cursor()
        self.addCleanup(self.con.close)
        self.addCleanup(self.cur.close)

    def test_ingest_and_query(self):
        table = pyarrow.table({"a": list(range(200000)), "b": [str(i % 7) for i in range(200000)]})
        self.assertEqual(self.cur.adbc_ingest("t", table, mode="create"), 200000)
        self.assertEqual(self.cur.adbc_ingest("t", table.to_reader(1000), mode="append"), 200000)
        self.assertEqual(self.cur.adbc_ingest("t", table, mode="replace"), 200000)
        self.cur.execute("CREATE INDEX c ON t USING columns (*)")
        self.cur.execute("SELECT b, sum(a)::BIGINT FROM t WHERE a >= ? GROUP BY b ORDER BY b LIMIT 1", [100000])
        self.assertEqual(self.cur.fetchall(), [("0", sum(range(100002, 200000, 7)))])
        self.cur.execute("SELECT sum(a)::BIGINT FROM t WHERE b = '3'")
        self.assertEqual(self.cur.fetchone(), (sum(range(3, 200000, 7)),))
        self.cur.execute("SELECT method FROM rayql_last_query()")
        self.assertEqual(self.cur.fetchone(), ("scan",))
        self.cur.execute("SELECT * FROM t ORDER BY a")
        self.assertEqual(self.cur.fetch_arrow_table(), table)
        self.cur.executemany("INSERT INTO t VALUES (?, ?)", [(1, "x"), (2, None)])
        self.assertEqual(self.cur.rowcount, 2)

    def test_catalog(self):
        self.cur.execute("CREATE TABLE t (i INTEGER PRIMARY KEY, d DECIMAL(10, 2))")
        self.cur.execute("CREATE VIEW v AS SELECT * FROM t")
        self.assertEqual(self.con.adbc_get_table_types(), ["BASE TABLE", "LOCAL TEMPORARY", "VIEW"])
        schema = self.con.adbc_get_table_schema("t")
        self.assertEqual(schema.field("d").type, pyarrow.decimal128(10, 2))
        info = self.con.adbc_get_info()
        self.assertEqual((info["vendor_name"], info["driver_adbc_version"]), ("RayQL", 1001000))
        objects = self.con.adbc_get_objects(depth="all", catalog_filter="memory", db_schema_filter="main").read_all()
        tables = objects.to_pylist()[0]["catalog_db_schemas"][0]["db_schema_tables"]
        self.assertEqual([(t["table_name"], t["table_type"]) for t in tables], [("t", "BASE TABLE"), ("v", "VIEW")])
        self.assertEqual([c["xdbc_type_name"] for c in tables[0]["table_columns"]], ["INTEGER", "DECIMAL(10,2)"])
        self.assertEqual(tables[0]["table_constraints"][0]["constraint_column_names"], ["i"])
        shallow = self.con.adbc_get_objects(depth="db_schemas").read_all()
        self.assertEqual(shallow.schema, objects.schema)
        statistics = self.con.adbc_get_statistics(table_name_filter="t").read_all().to_pylist()
        first = statistics[0]["catalog_db_schemas"][0]["db_schema_statistics"][0]
        self.assertEqual((first["table_name"], first["statistic_value"]), ("t", 0))

    def test_errors(self):
        with self.assertRaises(adbc_driver_manager.ProgrammingError) as caught:
            self.cur.execute("SELECT * FROM missing")
        self.assertEqual(caught.exception.sqlstate, "42P01")
        self.assertEqual(caught.exception.details, [(b"rayql.status", b"host error")])
        with self.assertRaises(adbc_driver_manager.NotSupportedError):
            self.cur.adbc_execute_partitions("SELECT 1")
        broken = pyarrow.Array.from_buffers(
            pyarrow.utf8(), 2, [None, pyarrow.py_buffer(b"\0\0\0\0\5\0\0\0\2\0\0\0"), pyarrow.py_buffer(b"abcde")]
        )
        with self.assertRaisesRegex(adbc_driver_manager.Error, "its offsets do not rise"):
            self.cur.adbc_ingest("broken", pyarrow.table({"c": broken}), mode="create")

    def test_frames(self):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "x.db")
            with adbc_driver_rayql.dbapi.connect(path, autocommit=True) as con, con.cursor() as cur:
                cur.execute("CREATE TABLE t AS SELECT i, 's' || i AS s FROM range(3) r(i)")
                frame = pandas.read_sql("SELECT * FROM t", con)
                self.assertEqual(frame["s"].tolist(), ["s0", "s1", "s2"])
                self.assertEqual(polars.read_database("SELECT * FROM t", con)["i"].sum(), 3)
            frame = polars.read_database_uri("SELECT * FROM t", f"rayql://{path}", engine="adbc")
            self.assertEqual(frame["i"].to_list(), [0, 1, 2])
            frame.write_database("u", f"rayql://{path}", engine="adbc")
            self.assertEqual(polars.read_database_uri("FROM u", f"rayql://{path}", engine="adbc").shape, (3, 2))


if __name__ == "__main__":
    unittest.main()
