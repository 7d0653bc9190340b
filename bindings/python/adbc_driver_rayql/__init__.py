"""RayQL's ADBC driver for adbc_driver_manager, and for polars' read_database_uri("rayql:///x.db", engine="adbc")."""

from __future__ import annotations

from typing import Any

import adbc_driver_manager
from rayql import driver_path


def connect(uri: str | None = None, db_kwargs: dict[str, Any] | None = None) -> adbc_driver_manager.AdbcDatabase:
    """A database of the low-level interface; adbc_driver_rayql.dbapi has PEP 249's."""
    options = dict(db_kwargs or {})
    if uri is not None:
        options["uri"] = uri
    return adbc_driver_manager.AdbcDatabase(driver=driver_path(), entrypoint="AdbcRayqlInit", **options)
