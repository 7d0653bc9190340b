"""PEP 249 over the ADBC driver."""

from __future__ import annotations

from typing import Any

import adbc_driver_manager
import adbc_driver_manager.dbapi
import adbc_driver_rayql


def connect(
    uri: str | None = None, *, db_kwargs: dict[str, Any] | None = None, conn_kwargs: dict[str, str] | None = None, **kwargs: Any
) -> adbc_driver_manager.dbapi.Connection:
    """kwargs: adbc_driver_manager.dbapi.Connection's, such as autocommit."""
    database = adbc_driver_rayql.connect(uri, db_kwargs)
    try:
        connection = adbc_driver_manager.AdbcConnection(database, **(conn_kwargs or {}))
    except Exception:
        database.close()
        raise
    return adbc_driver_manager.dbapi.Connection(database, connection, **kwargs)
