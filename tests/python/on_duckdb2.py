"""The package's tests with DuckDB 2.0 as the host: the loader finds it as libduckdb, and the `duckdb` package of the environment,
which is a 1.5, is hidden. Tests of that package itself, and of processes of their own, stay with 1.5."""

import os
import sys
import unittest

sys.modules["duckdb"] = None
os.environ["RAYQL_TEST_DUCKDB"] = "v2.0."

from test_package import Package  # noqa: E402

_OF_ANOTHER_PROCESS = ("one_duckdb", "another", "shutdown", "unknown_duckdb")
for _name in dir(Package):
    if any(_name.startswith("test_" + word) for word in _OF_ANOTHER_PROCESS):
        delattr(Package, _name)

if __name__ == "__main__":
    unittest.main()
