"""The exceptions of PEP 249, from RayQL's statuses and from the classes that stand in front of DuckDB's messages."""

from __future__ import annotations


class Warning(Exception):  # noqa: A001, the name is PEP 249's
    """Important warnings."""


class Error(Exception):
    """The base of all errors."""


class InterfaceError(Error):
    """The interface was used wrongly."""


class DatabaseError(Error):
    """The database failed."""


class DataError(DatabaseError):
    """A value is out of range or cannot be converted."""


class OperationalError(DatabaseError):
    """Files, memory, devices; what is not in the programmer's hand."""


class InterruptError(OperationalError):
    """The statement was interrupted."""


class IntegrityError(DatabaseError):
    """A constraint would be violated."""


class InternalError(DatabaseError):
    """A fault of RayQL's or DuckDB's."""


class ProgrammingError(DatabaseError):
    """The statement is wrong, or names what is not there."""


class NotSupportedError(DatabaseError):
    """What RayQL or DuckDB does not do."""


_STATUSES = {
    1: ProgrammingError,
    3: NotSupportedError,
    4: OperationalError,
    5: OperationalError,
    6: OperationalError,
    7: OperationalError,
    8: OperationalError,
    9: InterruptError,
    10: OperationalError,
    11: InterfaceError,
    12: InternalError,
}
_CLASSES = {
    "Catalog": ProgrammingError,
    "Parser": ProgrammingError,
    "Binder": ProgrammingError,
    "Syntax": ProgrammingError,
    "Invalid Input": ProgrammingError,
    "TransactionContext": OperationalError,
    "Constraint": IntegrityError,
    "Conversion": DataError,
    "Out of Range": DataError,
    "Mismatch Type": DataError,
    "Not implemented": NotSupportedError,
    "IO": OperationalError,
    "Out of Memory": OperationalError,
    "Permission": OperationalError,
    "INTERRUPT": InterruptError,
    "INTERNAL": InternalError,
}


def exception_of(status: int, message: str) -> Error:
    """status: rayql_status."""
    if status == 2:
        return _CLASSES.get(message.split(" Error:")[0], DatabaseError)(message)
    return _STATUSES.get(status, DatabaseError)(message)
