"""librayql through ctypes: which file, the functions that are used, errors as exceptions.

ctypes releases the interpreter's lock during each call of `lib`, so other threads run while a statement does. `quick` is the
same library for calls that only look something up, where releasing it would cost more than the call.
"""

from __future__ import annotations

import ctypes
import importlib.util
import os
import sys
from ctypes import POINTER, byref, c_bool, c_char_p, c_double, c_int, c_int32, c_int64, c_size_t, c_uint8, c_uint32, c_uint64, c_void_p
from pathlib import Path

from . import _errors


def _library_path() -> str:
    """RAYQL_LIBRARY, else the one of this package, else the installed one."""
    given = os.environ.get("RAYQL_LIBRARY")
    if given:
        return given
    own = Path(__file__).parent / "lib" / "librayql.so"
    return str(own) if own.exists() else "librayql.so.0"


def _load_host() -> None:
    """Has Python's duckdb package loaded before librayql looks for a DuckDB, so that the process has one alone.

    A package that is installed but not imported is left alone when RayQL does not know its version."""
    if "_duckdb" in sys.modules or "duckdb" in sys.modules:
        return
    if importlib.util.find_spec("duckdb") is None:
        return
    from importlib.metadata import PackageNotFoundError, version

    try:
        parts = [int(part) for part in version("duckdb").split(".")[:3]]
    except (PackageNotFoundError, ValueError):
        return
    if [1, 5, 6] <= parts < [2, 1]:
        import duckdb  # noqa: F401


class ArrowArrayStream(ctypes.Structure):
    """The C stream interface; only `release` is called from here."""

    _fields_ = [
        ("get_schema", c_void_p),
        ("get_next", c_void_p),
        ("get_last_error", c_void_p),
        ("release", ctypes.CFUNCTYPE(None, c_void_p)),
        ("private_data", c_void_p),
    ]


class Config(ctypes.Structure):
    _fields_ = [
        ("size", c_size_t),
        ("read_only", c_bool),
        ("memory_limit", c_uint64),
        ("threads", c_uint32),
        ("host_options", POINTER(c_char_p)),
    ]


class Progress(ctypes.Structure):
    _fields_ = [("percentage", c_double), ("rows", c_uint64), ("total_rows", c_uint64), ("phase", c_char_p)]


_load_host()
path = _library_path()
try:
    lib = ctypes.CDLL(path)
    quick = ctypes.PyDLL(path)
except OSError as error:
    raise ImportError(f"rayql: its library could not be loaded: {error}") from None

_out = POINTER(c_void_p)
_SLOW = {  # name: arguments, all of them give a status
    "rayql_open": (c_char_p, POINTER(Config), _out, _out),
    "rayql_connect": (c_void_p, _out, _out),
    "rayql_query": (c_void_p, c_char_p, _out, _out),
    "rayql_prepare": (c_void_p, c_char_p, _out, _out),
    "rayql_execute": (c_void_p, _out, _out),
    "rayql_fetch": (c_void_p, _out, _out),
    "rayql_batch_to_text": (c_void_p, c_void_p, _out, _out),
    "rayql_result_to_arrow": (c_void_p, c_void_p, _out),
    "rayql_register_arrow": (c_void_p, c_char_p, c_void_p, _out),
    "rayql_unregister_arrow": (c_void_p, c_char_p, _out),
}
for _name, _arguments in _SLOW.items():
    getattr(lib, _name).argtypes = _arguments
    getattr(lib, _name).restype = c_int
for _name in ("rayql_close", "rayql_disconnect", "rayql_statement_free", "rayql_result_free", "rayql_interrupt"):
    getattr(lib, _name).argtypes = (c_void_p,)
    getattr(lib, _name).restype = None
_QUICK = {
    "rayql_error_status": (c_int, c_void_p),
    "rayql_error_message": (c_char_p, c_void_p),
    "rayql_error_free": (None, c_void_p),
    "rayql_host_version": (c_char_p,),
    "rayql_version": (c_char_p,),
    "rayql_batch_free": (None, c_void_p),
    "rayql_parameter_count": (c_uint64, c_void_p),
    "rayql_parameter_index": (c_int, c_void_p, c_char_p, POINTER(c_uint64)),
    "rayql_bind_null": (c_int, c_void_p, c_uint64),
    "rayql_bind_bool": (c_int, c_void_p, c_uint64, c_bool),
    "rayql_bind_int64": (c_int, c_void_p, c_uint64, c_int64),
    "rayql_bind_hugeint": (c_int, c_void_p, c_uint64, c_uint64, c_int64),
    "rayql_bind_decimal": (c_int, c_void_p, c_uint64, c_uint8, c_uint8, c_uint64, c_int64),
    "rayql_bind_double": (c_int, c_void_p, c_uint64, c_double),
    "rayql_bind_text": (c_int, c_void_p, c_uint64, c_char_p, c_size_t),
    "rayql_bind_blob": (c_int, c_void_p, c_uint64, c_char_p, c_size_t),
    "rayql_bind_date": (c_int, c_void_p, c_uint64, c_int32),
    "rayql_bind_time": (c_int, c_void_p, c_uint64, c_int64),
    "rayql_bind_timestamp": (c_int, c_void_p, c_uint64, c_int64),
    "rayql_bind_timestamp_tz": (c_int, c_void_p, c_uint64, c_int64),
    "rayql_bind_interval": (c_int, c_void_p, c_uint64, c_int32, c_int32, c_int64),
    "rayql_bind_uuid": (c_int, c_void_p, c_uint64, c_char_p),
    "rayql_column_count": (c_uint32, c_void_p),
    "rayql_column_name": (c_char_p, c_void_p, c_uint32),
    "rayql_column_type": (c_int, c_void_p, c_uint32),
    "rayql_column_type_name": (c_char_p, c_void_p, c_uint32),
    "rayql_column_scale": (c_uint8, c_void_p, c_uint32),
    "rayql_column_width": (c_uint8, c_void_p, c_uint32),
    "rayql_result_kind_of": (c_int, c_void_p),
    "rayql_result_method": (c_char_p, c_void_p),
    "rayql_result_reason": (c_char_p, c_void_p),
    "rayql_batch_rows": (c_uint64, c_void_p),
    "rayql_batch_data": (c_void_p, c_void_p, c_uint32),
    "rayql_batch_validity": (c_void_p, c_void_p, c_uint32),
    "rayql_batch_strings": (c_void_p, c_void_p, c_uint32),
    "rayql_progress": (None, c_void_p, POINTER(Progress)),
}
for _name, (_result, *_arguments) in _QUICK.items():
    getattr(quick, _name).argtypes = _arguments
    getattr(quick, _name).restype = _result


def raise_error(handle: c_void_p) -> None:
    """Raises the exception that the library's error stands for, and frees it."""
    status = quick.rayql_error_status(handle)
    message = quick.rayql_error_message(handle).decode(errors="replace")
    quick.rayql_error_free(handle)
    raise _errors.exception_of(status, message)


def call(function, *arguments) -> None:
    """Calls a function whose last parameter is the error's place."""
    error = c_void_p()
    if function(*arguments, byref(error)):
        raise_error(error)
