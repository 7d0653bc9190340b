"""Arrow C streams between Python objects and RayQL, by the capsules of the PyCapsule interface."""

from __future__ import annotations

import ctypes
from ctypes import byref, c_char_p, c_void_p
from typing import Any

from . import _errors
from ._library import ArrowArrayStream, call, lib

_NAME = b"arrow_array_stream"
_api = ctypes.pythonapi
_api.PyCapsule_GetPointer.restype = c_void_p
_api.PyCapsule_GetPointer.argtypes = (ctypes.py_object, c_char_p)
_Destructor = ctypes.CFUNCTYPE(None, c_void_p)
_api.PyCapsule_New.restype = ctypes.py_object
_api.PyCapsule_New.argtypes = (c_void_p, c_char_p, _Destructor)
_capsule_pointer = ctypes.PYFUNCTYPE(c_void_p, c_void_p, c_char_p)(("PyCapsule_GetPointer", _api))
_kept: dict[int, ArrowArrayStream] = {}  # streams that capsules own, by address


def _destroy(capsule: int) -> None:
    address = _capsule_pointer(capsule, _NAME)
    stream = _kept.pop(address, None)
    if stream is not None and ctypes.cast(stream.release, c_void_p):
        stream.release(address)


_destructor = _Destructor(_destroy)


def stream_capsule(result: c_void_p) -> Any:
    """The rest of the result's rows as a capsule of an ArrowArrayStream."""
    stream = ArrowArrayStream()
    call(lib.rayql_result_to_arrow, result, byref(stream))
    address = ctypes.addressof(stream)
    _kept[address] = stream
    return _api.PyCapsule_New(address, _NAME, _destructor)


def capsule_of(data: Any) -> Any:
    """The capsule that an object with columns gives of itself."""
    if hasattr(data, "__arrow_c_stream__"):
        return data.__arrow_c_stream__()
    if type(data).__module__.startswith("pandas."):
        import pyarrow

        return pyarrow.Table.from_pandas(data, preserve_index=False).__arrow_c_stream__()
    if hasattr(data, "__arrow_c_array__"):
        import pyarrow

        return pyarrow.Table.from_batches([pyarrow.record_batch(data)]).__arrow_c_stream__()
    raise _errors.NotSupportedError(
        f"a {type(data).__name__} gives no Arrow data: it needs the method __arrow_c_stream__, as tables and frames of "
        "pyarrow, polars and pandas have it"
    )


def address_of(capsule: Any) -> int:
    """Of the stream in a capsule, which stays the capsule's."""
    return _api.PyCapsule_GetPointer(capsule, _NAME)


class Stream:
    """A result's rows, to be taken once by any consumer of Arrow."""

    def __init__(self, capsule: Any) -> None:
        self._capsule = capsule

    def __arrow_c_stream__(self, requested_schema: Any = None) -> Any:
        if self._capsule is None:
            raise _errors.InterfaceError("the rows have been taken already")
        capsule, self._capsule = self._capsule, None
        return capsule
