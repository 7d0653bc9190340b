"""RayQL: DuckDB's answers from cubes and compressed columns, much faster.

>>> import rayql
>>> con = rayql.connect("shop.db")
>>> con.sql("SELECT region, sum(amount) FROM sales GROUP BY region").df()
"""

from __future__ import annotations

import datetime as _dt
from typing import Any

from ._connection import Connection, Relation, Result, connect
from ._errors import (
    DatabaseError,
    DataError,
    Error,
    IntegrityError,
    InterfaceError,
    InternalError,
    InterruptError,
    NotSupportedError,
    OperationalError,
    ProgrammingError,
    Warning,
)
from ._explain import Plan
from ._library import path as _path
from ._library import quick as _quick

apilevel = "2.0"
threadsafety = 1
paramstyle = "qmark"

Date, Time, Timestamp, Binary = _dt.date, _dt.time, _dt.datetime, bytes
DateFromTicks, TimestampFromTicks = _dt.date.fromtimestamp, _dt.datetime.fromtimestamp


def TimeFromTicks(ticks: float) -> _dt.time:
    return _dt.datetime.fromtimestamp(ticks).time()


class _Types:
    """PEP 249's type objects: equal to the type names of columns."""

    def __init__(self, *names: str) -> None:
        self._names = names

    def __eq__(self, other: object) -> bool:
        return isinstance(other, str) and other.partition("(")[0] in self._names

    __hash__ = None  # type: ignore[assignment]


STRING = _Types("VARCHAR", "ENUM", "UUID")
BINARY = _Types("BLOB")
NUMBER = _Types(
    *"TINYINT SMALLINT INTEGER BIGINT HUGEINT UTINYINT USMALLINT UINTEGER UBIGINT UHUGEINT FLOAT DOUBLE DECIMAL BOOLEAN".split()
)
DATETIME = _Types("DATE", "TIME", "TIMESTAMP", "TIMESTAMP_S", "TIMESTAMP_MS", "TIMESTAMP_NS", "TIMESTAMP WITH TIME ZONE")
ROWID = _Types()

__version__: str = _quick.rayql_version().decode()
_default: Connection | None = None


def duckdb_version() -> str:
    """Of the DuckDB that this process uses, such as "v1.5.6"; "" when there is none that RayQL knows."""
    return _quick.rayql_host_version().decode()


def driver_path() -> str:
    """The library, which is an ADBC driver, too (entry point AdbcRayqlInit)."""
    return _path


def default_connection() -> Connection:
    """The database in memory that the module's own functions use."""
    global _default
    if _default is None:
        _default = connect()
    return _default


def sql(query: str, params: Any = None) -> Relation | None:
    return default_connection().sql(query, params)


def execute(query: str, parameters: Any = None) -> Connection:
    return default_connection().execute(query, parameters)


def load_ipython_extension(ipython: Any) -> None:
    """%load_ext rayql: the cell magic %%rayql."""
    from ._magic import register

    register(ipython)


__all__ = [name for name in dir() if not name.startswith("_")]
