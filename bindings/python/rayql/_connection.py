"""Connections, results and relations: PEP 249, and what users of DuckDB's own package expect."""

from __future__ import annotations

import os
import re
import sys
import threading
from ctypes import byref, c_char_p, c_int, c_uint64, c_void_p, sizeof
from typing import TYPE_CHECKING, Any, Iterable, Iterator, Mapping, Sequence

from . import _arrow, _errors, _interrupt, _progress, _values
from ._explain import Plan
from ._library import Config, Progress, call, lib, quick, raise_error

if TYPE_CHECKING:
    import pandas
    import polars
    import pyarrow

Parameters = Sequence[Any] | Mapping[str, Any] | None
_ROWS, _CHANGED = 0, 1  # rayql_result_kind


def _check_process(owner: int) -> None:
    if os.getpid() != owner:
        raise _errors.InterfaceError(
            "this process was forked from the one that opened the database: open it here, or start processes by spawn"
        )


class _Database:
    """A database and its path. It closes with its last connection."""

    def __init__(self, path: str, read_only: bool, config: Mapping[str, Any]) -> None:
        options = [item for name, value in config.items() for item in (str(name), _option(value))]
        array = (c_char_p * (len(options) + 1))(*(option.encode() for option in options), None)
        settings = Config(size=sizeof(Config), read_only=read_only, host_options=array)
        self.handle = c_void_p()
        self.path = path
        self.process = os.getpid()
        call(lib.rayql_open, path.encode(), byref(settings), byref(self.handle))

    def __del__(self, getpid=os.getpid, close=lib.rayql_close) -> None:
        if getattr(self, "handle", None) and self.process == getpid():
            close(self.handle)
            self.handle = None


def _option(value: Any) -> str:
    return ("true" if value else "false") if isinstance(value, bool) else str(value)


class Result:
    """A statement's rows. They can be taken in one way: rows by rows, or all that are left as Arrow, pandas or polars."""

    def __init__(self, connection: Connection, handle: c_void_p) -> None:
        self._connection = connection
        self._handle = handle
        self._process = connection._process
        self._buffer: list[tuple] = []
        self._next = 0
        self._reader: Any = None
        self._known: list[tuple[int, int, int]] | None = None
        self.kind: int = quick.rayql_result_kind_of(handle)

    @property
    def _forms(self) -> list[tuple[int, int, int]]:
        """Type, digits and scale of each column."""
        if self._known is None:
            handle = self._handle
            self._known = []
            for i in range(quick.rayql_column_count(handle)):
                kind = quick.rayql_column_type(handle, i)
                decimal = kind == _values.DECIMAL
                width = quick.rayql_column_width(handle, i) if decimal else 0
                self._known.append((kind, width, quick.rayql_column_scale(handle, i) if decimal else 0))
        return self._known

    @property
    def columns(self) -> list[str]:
        handle = self._open()
        return [quick.rayql_column_name(handle, i).decode() for i in range(quick.rayql_column_count(handle))]

    @property
    def types(self) -> list[str]:
        handle = self._open()
        return [quick.rayql_column_type_name(handle, i).decode() for i in range(quick.rayql_column_count(handle))]

    def __del__(self, getpid=os.getpid, free=lib.rayql_result_free) -> None:
        self._drop(getpid, free)

    def _drop(self, getpid=os.getpid, free=lib.rayql_result_free) -> None:
        handle, self._handle = getattr(self, "_handle", None), None
        if handle and self._process == getpid():
            free(handle)

    def close(self) -> None:
        """Lets the rows go."""
        with self._connection._lock:
            self._drop()

    @property
    def description(self) -> list[tuple]:
        """PEP 249's seven items a column."""
        return [(n, t, None, None, w or None, s if w else None, None) for n, t, (_, w, s) in zip(self.columns, self.types, self._forms)]

    @property
    def method(self) -> str:
        """Who answered: "cube", "scan", ..., or "host" for DuckDB."""
        return quick.rayql_result_method(self._open()).decode()

    @property
    def reason(self) -> str:
        """One line why."""
        return quick.rayql_result_reason(self._open()).decode()

    def _open(self) -> c_void_p:
        if not self._handle:
            raise _errors.InterfaceError("the result is closed")
        return self._handle

    # ---- rows ----
    def _nested(self) -> bool:
        if all(kind != _values.OTHER for kind, _, _ in self._forms):
            return False
        return any(text.endswith("]") or text.startswith(("STRUCT", "MAP", "UNION")) for text in self.types)

    def _rows_of(self, batch: c_void_p) -> list[tuple]:
        text = c_void_p()
        try:
            columns = []
            for index, (kind, width, scale) in enumerate(self._forms):
                if _values.is_read_here(kind):
                    columns.append(_values.column(batch, index, kind, width, scale))
                    continue
                if not text:
                    call(lib.rayql_batch_to_text, self._handle, batch, byref(text))
                columns.append(_values.column(text, index, _values.VARCHAR, 0, 0))
            return list(zip(*columns))
        except (OverflowError, ValueError) as error:
            raise _errors.DataError(f"a value cannot be one of Python's: {error}; cast it to VARCHAR, or use arrow()") from None
        finally:
            if text:
                quick.rayql_batch_free(text)

    def _next_rows(self) -> list[tuple] | None:
        if self._reader is None and self._known is None and self._nested():
            self._reader = self.fetch_record_batch()
        if self._reader is not None:
            for batch in self._reader:
                kinds = (kind for kind, _, _ in self._forms)
                return list(zip(*(_values.from_arrow(c.to_pylist(), kind) for c, kind in zip(batch.columns, kinds))))
            return None
        batch = c_void_p()
        with self._connection._lock:
            self._connection._wait(_interrupt.resume)
            try:
                call(lib.rayql_fetch, self._open(), byref(batch))
            finally:
                self._connection._waited()
        if not batch:
            return None
        try:
            return self._rows_of(batch)
        finally:
            quick.rayql_batch_free(batch)

    def fetchone(self) -> tuple | None:
        """The next row, or None."""
        while self._next >= len(self._buffer):
            rows = self._next_rows()
            if rows is None:
                return None
            self._buffer, self._next = rows, 0
        self._next += 1
        return self._buffer[self._next - 1]

    def fetchmany(self, size: int = 1) -> list[tuple]:
        """Up to so many rows."""
        out: list[tuple] = []
        while len(out) < size:
            row = self.fetchone()
            if row is None:
                break
            out.append(row)
        return out

    def fetchall(self) -> list[tuple]:
        """All rows that are left."""
        out = self._buffer[self._next :]
        self._buffer, self._next = [], 0
        while True:
            rows = self._next_rows()
            if rows is None:
                return out
            out = out + rows if out else rows

    def __iter__(self) -> Iterator[tuple]:
        return iter(self.fetchone, None)

    # ---- columns ----
    def __arrow_c_stream__(self, requested_schema: Any = None) -> Any:
        if self._next < len(self._buffer) or self._reader is not None:
            raise _errors.InterfaceError("some rows have been fetched one by one: run the statement again for Arrow")
        with self._connection._lock:
            return _arrow.stream_capsule(self._open())

    def fetch_record_batch(self, rows_per_batch: int = 1_000_000) -> pyarrow.RecordBatchReader:
        """The rows that are left as a reader of pyarrow's. rows_per_batch is a bound: batches have about 120,000."""
        return _pyarrow().RecordBatchReader.from_stream(self)

    def arrow(self) -> pyarrow.Table:
        """The rows that are left as a table of pyarrow's."""
        reader = self.fetch_record_batch()
        self._connection._wait()
        try:
            return reader.read_all()
        finally:
            self._connection._waited()

    fetch_arrow_table = to_arrow_table = arrow

    def df(self) -> pandas.DataFrame:
        """The rows that are left as a frame of pandas'."""
        return self.arrow().to_pandas()

    fetchdf = fetch_df = to_df = df

    def pl(self) -> polars.DataFrame:
        """The rows that are left as a frame of polars'."""
        import polars

        return polars.DataFrame(self)


def _pyarrow() -> Any:
    try:
        import pyarrow

        return pyarrow
    except ImportError:
        raise _errors.NotSupportedError("this needs pyarrow: pip install pyarrow") from None


class Relation:
    """A query, run anew by each method that wants its rows."""

    def __init__(self, connection: Connection, sql: str, parameters: Parameters) -> None:
        self._connection = connection
        self._sql = sql
        self._parameters = parameters
        self._rows: Result | None = None

    def _run(self) -> Result:
        return self._connection._query(self._sql, self._parameters)

    def _current(self) -> Result:
        if self._rows is None:
            self._rows = self._run()
        return self._rows

    def execute(self) -> Relation:
        """Runs the query; fetchone and fetchmany begin again."""
        self._rows = self._run()
        return self

    @property
    def columns(self) -> list[str]:
        return self._current().columns

    @property
    def types(self) -> list[str]:
        return self._current().types

    @property
    def description(self) -> list[tuple]:
        return self._current().description

    def fetchone(self) -> tuple | None:
        return self._current().fetchone()

    def fetchmany(self, size: int = 1) -> list[tuple]:
        return self._current().fetchmany(size)

    def fetchall(self) -> list[tuple]:
        return self._run().fetchall()

    def arrow(self) -> pyarrow.Table:
        return self._run().arrow()

    fetch_arrow_table = to_arrow_table = arrow

    def fetch_record_batch(self, rows_per_batch: int = 1_000_000) -> pyarrow.RecordBatchReader:
        return self._run().fetch_record_batch(rows_per_batch)

    def df(self) -> pandas.DataFrame:
        return self._run().df()

    fetchdf = to_df = df

    def pl(self) -> polars.DataFrame:
        return self._run().pl()

    def __arrow_c_stream__(self, requested_schema: Any = None) -> Any:
        return self._run().__arrow_c_stream__(requested_schema)

    def __iter__(self) -> Iterator[tuple]:
        return iter(self._run())

    def __repr__(self) -> str:
        result = self._run()
        return _table(result.columns, result.types, result.fetchmany(21))

    def show(self) -> None:
        """Prints the first rows."""
        print(self)

    def explain(self, type: str = "standard") -> Plan:
        """How the query is answered: a text that notebooks show as a picture. "analyze" runs the query and measures it."""
        if str(type) not in ("standard", "analyze"):
            raise _errors.ProgrammingError(f'explain() knows "standard" and "analyze", not {type!r}')
        analyze = "ANALYZE " if type == "analyze" else ""
        return Plan.of(self._connection._query(f"EXPLAIN {analyze}{self._sql}", self._parameters).fetchall())


def _table(columns: list[str], types: list[str], rows: list[tuple], limit: int = 20) -> str:
    cells = [columns, [text.lower() for text in types]]
    cells += [["NULL" if value is None else str(value) for value in row] for row in rows[:limit]]
    widths = [max(len(row[c]) for row in cells) for c in range(len(columns))]
    lines = ["│ " + " │ ".join(text.ljust(width) for text, width in zip(row, widths)) + " │" for row in cells]
    rule = lambda left, middle, right: left + middle.join("─" * (width + 2) for width in widths) + right  # noqa: E731
    out = [rule("┌", "┬", "┐"), *lines[:2], rule("├", "┼", "┤"), *lines[2:], rule("└", "┴", "┘")]
    return "\n".join(out + (["(more rows)"] if len(rows) > limit else []))


_QUERY = re.compile(r"\s*(?:(?:--[^\n]*\n|/\*.*?\*/)\s*)*(select|from|with|values|table|show|describe|summarize|explain|pivot|unpivot|\()", re.I | re.S)
_MISSING = re.compile(r"Table with name (\S+) does not exist")


class Connection:
    """A connection, and PEP 249's cursor at once, as DuckDB's package has it. One thread's at a time: cursor() gives another
    connection to the same database."""

    def __init__(self, database: _Database, progress_bar: bool | None = None) -> None:
        self._database = database
        self.progress_bar: bool = _progress.wanted() if progress_bar is None else progress_bar
        self._handle = c_void_p()
        self._lock = threading.RLock()
        self._result: Result | None = None
        self._process = database.process
        self._rowcount = -1
        self._variables: list[str] = []
        self.arraysize = 1
        call(lib.rayql_connect, database.handle, byref(self._handle))

    # ---- its life ----
    def close(self) -> None:
        """Closes it; the database closes with its last connection."""
        with self._lock:
            self._result = None
            handle, self._handle = self._handle, None
            if handle and self._process == os.getpid():
                _progress.forget(handle)
                lib.rayql_disconnect(handle)
            self._database = None  # type: ignore[assignment]

    def __del__(self) -> None:
        if getattr(self, "_handle", None) and not sys.is_finalizing():
            self.close()

    def __enter__(self) -> Connection:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def cursor(self) -> Connection:
        """Another connection to the same database, for another thread or another result."""
        self._open()
        return Connection(self._database, self.progress_bar)

    duplicate = cursor

    def _open(self) -> c_void_p:
        if not self._handle:
            raise _errors.InterfaceError("the connection is closed")
        _check_process(self._process)
        return self._handle

    # ---- statements ----
    def _call(self, function: Any, *arguments: Any) -> None:
        """A call that runs something of the connection's: Ctrl-C reaches it."""
        error = c_void_p()
        self._wait()
        try:
            status = function(*arguments, byref(error))
        finally:
            self._waited()
        if status:
            raise_error(error)

    def _wait(self, enter: Any = _interrupt.enter) -> None:
        """Before the connection works: from now on Ctrl-C reaches it, and its progress is shown."""
        enter(self._handle)
        if self.progress_bar:
            _progress.begin(self._handle)

    def _waited(self) -> None:
        _interrupt.leave()
        if self.progress_bar:
            _progress.wipe()

    def _bind_all(self, statement: c_void_p, parameters: Parameters) -> None:
        count = quick.rayql_parameter_count(statement)
        given = len(parameters or ())
        if given != count:
            raise _errors.ProgrammingError(f"the statement has {count} parameters, and {given} values were given")
        if isinstance(parameters, Mapping):
            for name, value in parameters.items():
                index = c_uint64()
                if quick.rayql_parameter_index(statement, str(name).encode(), byref(index)):
                    raise _errors.ProgrammingError(f"the statement has no parameter ${name}")
                _values.bind(statement, index.value, value)
            return
        for index, value in enumerate(parameters or (), 1):
            _values.bind(statement, index, value)

    def _run(self, sql: str, parameters: Parameters) -> c_void_p:
        handle, out = self._open(), c_void_p()
        text = sql.encode()
        if not parameters:
            self._call(lib.rayql_query, handle, text, byref(out))
            return out
        statement = c_void_p()
        call(lib.rayql_prepare, handle, text, byref(statement))
        try:
            self._bind_all(statement, parameters)
            self._call(lib.rayql_execute, statement, byref(out))
            return out
        finally:
            lib.rayql_statement_free(statement)

    def _query(self, sql: str, parameters: Parameters = None) -> Result:
        """Variables of the callers stand for tables that the database lacks. They do so for one statement: the next one sees
        them as they are then."""
        with self._lock:
            while self._variables:
                self.unregister(self._variables.pop())
            while True:
                try:
                    return Result(self, self._run(sql, parameters))
                except _errors.ProgrammingError as error:
                    name = _MISSING.search(str(error))
                    if not name or name[1] in self._variables or not self._register_variable(name[1]):
                        raise
                    self._variables.append(name[1])

    def _register_variable(self, name: str) -> bool:
        """A frame or table that a caller has under the name."""
        frame = sys._getframe(1)
        while frame is not None:
            if frame.f_globals.get("__name__", "").partition(".")[0] != "rayql":
                for scope in (frame.f_locals, frame.f_globals):
                    value = scope.get(name)
                    if hasattr(value, "__arrow_c_stream__") or type(value).__module__.startswith("pandas."):
                        self.register(name, value)
                        return True
            frame = frame.f_back
        return False

    def execute(self, sql: str, parameters: Parameters = None) -> Connection:
        """Runs statements; the last one's rows are fetched from the connection."""
        with self._lock:
            self._result = None
            self._result = self._query(sql, parameters)
            self._rowcount = -1
            if self._result.kind == _CHANGED:
                rows = self._result.fetchall()
                self._rowcount = rows[0][0] if rows else -1
                self._result._buffer = rows
        return self

    def executemany(self, sql: str, rows: Iterable[Sequence[Any] | Mapping[str, Any]]) -> Connection:
        """Runs a statement with each of the rows of parameters, in one transaction."""
        with self._lock:
            handle, statement, changed = self._open(), c_void_p(), 0
            own = self._begin_if_none()
            try:
                call(lib.rayql_prepare, handle, sql.encode(), byref(statement))
                for row in rows:
                    self._bind_all(statement, row)
                    out = c_void_p()
                    self._call(lib.rayql_execute, statement, byref(out))
                    result = Result(self, out)
                    if result.kind == _CHANGED:
                        changed += result.fetchall()[0][0]
                    result.close()
            except BaseException:
                lib.rayql_statement_free(statement)
                if own:
                    self._run("ROLLBACK", None)
                raise
            lib.rayql_statement_free(statement)
            if own:
                lib.rayql_result_free(self._run("COMMIT", None))
            self._result, self._rowcount = None, changed
        return self

    def _begin_if_none(self) -> bool:
        try:
            lib.rayql_result_free(self._run("BEGIN", None))
            return True
        except _errors.OperationalError:
            return False  # "cannot start a transaction within a transaction"

    def sql(self, query: str, params: Parameters = None) -> Relation | None:
        """A query as a relation, which is run when its rows are asked for. Any other statement runs at once: None."""
        if _QUERY.match(query):
            return Relation(self, query, params)
        self._query(query, params).close()
        return None

    query = sql

    # ---- transactions ----
    def begin(self) -> Connection:
        return self.execute("BEGIN")

    def _end(self, sql: str) -> None:
        try:
            self.execute(sql)
        except _errors.OperationalError as error:
            if "no transaction is active" not in str(error):
                raise

    def commit(self) -> None:
        """Without a transaction there is nothing to do, as PEP 249 wants it."""
        self._end("COMMIT")

    def rollback(self) -> None:
        self._end("ROLLBACK")

    # ---- tables of Python's ----
    def register(self, name: str, data: Any) -> Connection:
        """Makes a frame or table readable under the name, on this connection. Its data is shared where DuckDB's layout is
        Arrow's; what changes later in Python is not seen."""
        capsule = _arrow.capsule_of(data)
        with self._lock:
            call(lib.rayql_register_arrow, self._open(), name.encode(), _arrow.address_of(capsule))
        return self

    def unregister(self, name: str) -> Connection:
        with self._lock:
            call(lib.rayql_unregister_arrow, self._open(), name.encode())
        return self

    # ---- from any thread ----
    def interrupt(self) -> None:
        """Stops what runs on the connection."""
        lib.rayql_interrupt(self._open())

    def progress(self) -> float:
        """Of the running statement, 0 to 100; -1 when there is nothing to say."""
        info = Progress()
        quick.rayql_progress(self._open(), byref(info))
        return info.percentage

    # ---- rows of the last execute() ----
    def _last(self) -> Result:
        self._open()
        if self._result is None:
            raise _errors.ProgrammingError("there is no result: execute a query first")
        return self._result

    @property
    def description(self) -> list[tuple] | None:
        return self._result.description if self._result and self._result.columns else None

    @property
    def rowcount(self) -> int:
        return self._rowcount

    def fetchone(self) -> tuple | None:
        return self._last().fetchone()

    def fetchmany(self, size: int | None = None) -> list[tuple]:
        return self._last().fetchmany(self.arraysize if size is None else size)

    def fetchall(self) -> list[tuple]:
        return self._last().fetchall()

    def __iter__(self) -> Iterator[tuple]:
        return iter(self._last())

    def arrow(self) -> pyarrow.Table:
        return self._last().arrow()

    fetch_arrow_table = arrow

    def fetch_record_batch(self, rows_per_batch: int = 1_000_000) -> pyarrow.RecordBatchReader:
        return self._last().fetch_record_batch(rows_per_batch)

    def df(self) -> pandas.DataFrame:
        return self._last().df()

    fetchdf = fetch_df = df

    def pl(self) -> polars.DataFrame:
        return self._last().pl()

    def setinputsizes(self, sizes: Any) -> None:
        """Nothing, as PEP 249 allows."""

    def setoutputsize(self, size: int, column: int | None = None) -> None:
        """Nothing, as PEP 249 allows."""


def connect(database: str | os.PathLike[str] = ":memory:", read_only: bool = False, config: Mapping[str, Any] | None = None) -> Connection:
    """Opens a database file, or one in memory. config: DuckDB's configuration and RayQL's settings (rayql_...)."""
    if type(database).__module__.partition(".")[0] in ("duckdb", "_duckdb"):
        raise _errors.NotSupportedError(
            "a connection of Python's duckdb cannot be taken over: it does not give its handle to C. Close it, open its "
            "file by rayql.connect(path), and use that connection for everything"
        )
    return Connection(_Database(os.fspath(database), read_only, config or {}))
