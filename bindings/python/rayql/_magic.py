"""%%rayql [DATABASE] [>> NAME]: a cell of SQL. Its rows are a frame of pandas', kept as NAME where one is given. EXPLAIN gives
a plan, which a notebook draws."""

from __future__ import annotations

from typing import Any

from . import connect, default_connection
from ._explain import Plan

_connections: dict[str, Any] = {}


def run(line: str, cell: str, variables: dict[str, Any]) -> Any:
    where, _, name = (part.strip() for part in line.partition(">>"))
    if where and where in variables:
        connection = variables[where]
    elif where:
        connection = _connections.setdefault(where, None) or connect(where)
        _connections[where] = connection
    else:
        connection = default_connection()
    relation = connection.sql(cell)
    if relation is None:
        return None
    rows = relation._run()
    is_plan = rows.columns == ["explain_key", "explain_value"]
    frame = Plan.of(rows.fetchall()) if is_plan else rows.df()
    if name:
        variables[name] = frame
        return None
    return frame


def register(ipython: Any) -> None:
    ipython.register_magic_function(lambda line, cell: run(line, cell, ipython.user_ns), "cell", "rayql")
