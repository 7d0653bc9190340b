"""Values between Python and RayQL: parameters out, columns of batches in."""

from __future__ import annotations

import ctypes
import datetime as dt
import decimal
import struct
import uuid
from typing import Any, Callable

from . import _errors
from ._library import quick

EPOCH = dt.datetime(1970, 1, 1)
EPOCH_UTC = EPOCH.replace(tzinfo=dt.timezone.utc)
EPOCH_DAY = EPOCH.toordinal()
_WIDE = decimal.Context(prec=60)


# ---- parameters ----
def _micros(delta: dt.timedelta) -> int:
    return (delta.days * 86400 + delta.seconds) * 1_000_000 + delta.microseconds


def _halves(value: int) -> tuple[int, int]:
    return value & 0xFFFFFFFFFFFFFFFF, value >> 64


def _bind_int(stmt, index: int, value: int) -> int:
    if -(2**63) <= value < 2**63:
        return quick.rayql_bind_int64(stmt, index, value)
    if -(2**127) <= value < 2**127:
        return quick.rayql_bind_hugeint(stmt, index, *_halves(value))
    raise _errors.DataError(f"parameter {index}: the integer {value} has more than 128 bits")


def _bind_decimal(stmt, index: int, value: decimal.Decimal) -> int:
    sign, digits, exponent = value.as_tuple()
    if not isinstance(exponent, int):
        return quick.rayql_bind_double(stmt, index, float(value))  # NaN, Infinity
    number = int("".join(map(str, digits))) * (-1 if sign else 1) * 10 ** max(exponent, 0)
    scale = max(-exponent, 0)
    width = max(len(str(abs(number))), scale, 1)
    if width > 38:
        raise _errors.DataError(f"parameter {index}: {value} has more than 38 digits")
    return quick.rayql_bind_decimal(stmt, index, width, scale, *_halves(number))


def _bind_text(stmt, index: int, value: str) -> int:
    data = value.encode()
    return quick.rayql_bind_text(stmt, index, data, len(data))


def _bind_datetime(stmt, index: int, value: dt.datetime) -> int:
    if value.tzinfo is not None:
        return quick.rayql_bind_timestamp_tz(stmt, index, _micros(value - EPOCH_UTC))
    return quick.rayql_bind_timestamp(stmt, index, _micros(value - EPOCH))


def _bind_time(stmt, index: int, value: dt.time) -> int:
    if value.tzinfo is not None:
        raise _errors.NotSupportedError(f"parameter {index}: a time with a time zone cannot be bound")
    seconds = (value.hour * 60 + value.minute) * 60 + value.second
    return quick.rayql_bind_time(stmt, index, seconds * 1_000_000 + value.microsecond)


_BINDERS: dict[type, Callable[[Any, int, Any], int]] = {
    type(None): lambda stmt, index, value: quick.rayql_bind_null(stmt, index),
    bool: lambda stmt, index, value: quick.rayql_bind_bool(stmt, index, value),
    int: _bind_int,
    float: lambda stmt, index, value: quick.rayql_bind_double(stmt, index, value),
    str: _bind_text,
    bytes: lambda stmt, index, value: quick.rayql_bind_blob(stmt, index, value, len(value)),
    decimal.Decimal: _bind_decimal,
    dt.date: lambda stmt, index, value: quick.rayql_bind_date(stmt, index, value.toordinal() - EPOCH_DAY),
    dt.datetime: _bind_datetime,
    dt.time: _bind_time,
    dt.timedelta: lambda stmt, index, value: quick.rayql_bind_interval(
        stmt, index, 0, value.days, value.seconds * 1_000_000 + value.microseconds
    ),
    uuid.UUID: lambda stmt, index, value: quick.rayql_bind_uuid(stmt, index, value.bytes),
}


def bind(stmt, index: int, value: Any) -> None:
    """Binds a value to the parameter of that number, from 1."""
    binder = _BINDERS.get(type(value))
    if binder is None:
        if hasattr(value, "item") and getattr(value, "shape", None) == ():
            value = value.item()  # numpy's scalars
        elif isinstance(value, (bytearray, memoryview)):
            value = bytes(value)
        for kind in type(value).__mro__:
            binder = _BINDERS.get(kind)
            if binder:
                break
    if binder is None:
        raise _errors.NotSupportedError(
            f"parameter {index}: a value of the type {type(value).__name__} cannot be bound; register a table instead"
        )
    if binder(stmt, index, value):
        raise _errors.InterfaceError(f"parameter {index}: there is none, or it does not take {value!r}")


# ---- columns ----
# rayql_type, of what is read here; all else is text of DuckDB's.
_FIXED = {
    1: ctypes.c_uint8,
    2: ctypes.c_int8,
    3: ctypes.c_int16,
    4: ctypes.c_int32,
    5: ctypes.c_int64,
    7: ctypes.c_uint8,
    8: ctypes.c_uint16,
    9: ctypes.c_uint32,
    10: ctypes.c_uint64,
    12: ctypes.c_float,
    13: ctypes.c_double,
    17: ctypes.c_int32,
    18: ctypes.c_int64,
    19: ctypes.c_int64,
    20: ctypes.c_int64,
    21: ctypes.c_int64,
    22: ctypes.c_int64,
    23: ctypes.c_int64,
}
HUGEINT, UHUGEINT, DECIMAL, VARCHAR, BLOB, INTERVAL, UUID, SQLNULL, OTHER = 6, 11, 14, 15, 16, 24, 25, 27, 28


def _date(days: int) -> Any:
    if days >= 2147483647:
        return dt.date.max
    return dt.date.min if days <= -2147483647 else dt.date.fromordinal(days + EPOCH_DAY)


def _time(micros: int) -> dt.time:
    seconds, micros = divmod(micros, 1_000_000)
    minutes, seconds = divmod(seconds, 60)
    hours, minutes = divmod(minutes, 60)
    return dt.time(hours, minutes, seconds, micros) if hours < 24 else dt.time.max


def _timestamp(scale: int, base: dt.datetime) -> Callable[[int], dt.datetime]:
    def convert(value: int) -> dt.datetime:
        if value == 2**63 - 1:
            return dt.datetime.max
        if value == -(2**63) + 1:
            return dt.datetime.min
        return base + dt.timedelta(microseconds=value * scale if scale else value // 1000)

    return convert


_CONVERT: dict[int, Callable[[Any], Any]] = {
    1: bool,
    17: _date,
    18: _time,
    19: _timestamp(1, EPOCH),
    20: _timestamp(1_000_000, EPOCH),
    21: _timestamp(1000, EPOCH),
    22: _timestamp(0, EPOCH),
    23: _timestamp(1, EPOCH_UTC),
}


def _wide(address: int, rows: int, form: str) -> list[tuple]:
    return list(struct.iter_unpack(form, ctypes.string_at(address, rows * struct.calcsize(form))))


def _strings(address: int, rows: int, valid: list[bool] | None, text: bool) -> list[Any]:
    raw = ctypes.string_at(address, rows * 16)
    out: list[Any] = []
    for row, (length, _, pointer) in enumerate(struct.iter_unpack("<I4sQ", raw)):
        if valid is not None and not valid[row]:
            out.append(None)
            continue
        at = 16 * row + 4
        data = raw[at : at + length] if length <= 12 else ctypes.string_at(pointer, length)
        out.append(data.decode() if text else data)
    return out


def _decimals(address: int, rows: int, width: int, scale: int) -> list[decimal.Decimal]:
    if width > 18:
        numbers = [high << 64 | low for low, high in _wide(address, rows, "<Qq")]
    else:
        kind = ctypes.c_int16 if width <= 4 else ctypes.c_int32 if width <= 9 else ctypes.c_int64
        numbers = (kind * rows).from_address(address)[:]
    return [decimal.Decimal(number).scaleb(-scale, _WIDE) for number in numbers]


def _validity(batch, column: int, rows: int) -> list[bool] | None:
    address = quick.rayql_batch_validity(batch, column)
    if not address:
        return None
    words = (ctypes.c_uint64 * ((rows + 63) // 64)).from_address(address)
    return [bool(words[row >> 6] >> (row & 63) & 1) for row in range(rows)]


def is_read_here(kind: int) -> bool:
    """Else the column is asked for as text."""
    return kind in _FIXED or kind in (HUGEINT, UHUGEINT, DECIMAL, VARCHAR, BLOB, INTERVAL, UUID, SQLNULL)


def column(batch, index: int, kind: int, width: int, scale: int) -> list[Any]:
    """The values of a batch's column as Python's own."""
    rows = quick.rayql_batch_rows(batch)
    valid = _validity(batch, index, rows)
    if kind in (VARCHAR, BLOB):
        return _strings(quick.rayql_batch_strings(batch, index), rows, valid, kind == VARCHAR)
    if kind == SQLNULL:
        return [None] * rows
    address = quick.rayql_batch_data(batch, index)
    values: list[Any]
    if kind in _FIXED:
        values = (_FIXED[kind] * rows).from_address(address)[:]
        convert = _CONVERT.get(kind)
        if convert and valid is None:
            return [convert(value) for value in values]
        if convert:
            return [convert(value) if here else None for value, here in zip(values, valid or ())]
    elif kind == DECIMAL:
        values = _decimals(address, rows, width, scale)
    elif kind == INTERVAL:
        values = [
            dt.timedelta(days=30 * months + days, microseconds=micros)
            for months, days, micros in _wide(address, rows, "<iiq")
        ]
    elif kind == UUID:
        values = [
            uuid.UUID(int=((high << 64 | low) ^ 1 << 127) & (2**128 - 1)) for low, high in _wide(address, rows, "<QQ")
        ]
    else:
        values = [high << 64 | low for low, high in _wide(address, rows, "<Qq" if kind == HUGEINT else "<QQ")]
    if valid is None:
        return values
    return [value if here else None for value, here in zip(values, valid)]


# ---- of pyarrow's ----
_FROM_ARROW: dict[int, Callable[[Any], Any]] = {
    HUGEINT: int,
    UHUGEINT: int,
    INTERVAL: lambda v: dt.timedelta(days=30 * v.months + v.days, microseconds=v.nanoseconds // 1000),
    UUID: uuid.UUID,
    23: lambda v: v.astimezone(dt.timezone.utc),
}


def from_arrow(values: list[Any], kind: int) -> list[Any]:
    """What pyarrow makes of a column, as the columns above would be."""
    convert = _FROM_ARROW.get(kind)
    return [None if value is None else convert(value) for value in values] if convert else values
