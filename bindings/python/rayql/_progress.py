"""A progress bar for statements that take longer than two seconds: in notebooks, and in interactive sessions on a terminal.

A thread looks at what the main thread waits for (_interrupt) and draws one line, which is wiped when the statement ends. It is
started by a statement and ends soon after the last one. In a notebook each cell has its own, since a thread's output goes to
the cell that started it. RAYQL_PROGRESS_BAR=off, or `connection.progress_bar = False`, switches it off.
"""

from __future__ import annotations

import os
import sys
import threading
import time
from ctypes import byref
from typing import Any

from . import _interrupt
from ._library import Progress, quick

_AFTER = 2.0  # seconds, as DuckDB's own
_EVERY = 0.1
_IDLE = 20  # looks without a statement until the thread ends
_lock = threading.Lock()
_drawn = 0  # characters on the line
_shown: Any = None  # the connection whose statements are watched
_watcher: Any = None  # what identifies the running thread's cell


def _shell() -> Any:
    get = getattr(sys.modules.get("IPython"), "get_ipython", None)
    return get() if get else None


def _in_notebook() -> bool:
    return type(_shell()).__name__ == "ZMQInteractiveShell"


def wanted() -> bool:
    """Whether somebody looks on: a notebook, or an interactive session with a terminal."""
    if os.environ.get("RAYQL_PROGRESS_BAR", "").lower() in ("off", "0", "false"):
        return False
    if _in_notebook():
        return True
    interactive = hasattr(sys, "ps1") or bool(sys.flags.interactive) or _shell() is not None
    return interactive and sys.stderr is not None and sys.stderr.isatty()


def bar(percentage: float, seconds: float) -> str:
    """One line; a percentage below 0 is not known."""
    if percentage < 0:
        return f"  running {seconds:.0f} s"
    done = int(min(percentage, 100) * 0.4)
    return f"{min(percentage, 100):3.0f} % ▕{'█' * done}{' ' * (40 - done)}▏ {seconds:.0f} s"


def _out() -> Any:
    return sys.stdout if _in_notebook() else sys.stderr


def _put(line: str) -> None:
    """Replaces the line. _lock is held."""
    global _drawn
    try:
        _out().write("\r" + line + " " * (_drawn - len(line)) + ("" if line else "\r"))
        _out().flush()
    except (OSError, ValueError):
        pass  # closed, or nobody reads any more
    _drawn = len(line)


def wipe() -> None:
    """When a statement has ended, before anything else is printed."""
    if _drawn:
        with _lock:
            _put("")


def _look(last: int, since: float) -> tuple[int, float]:
    """Draws if the statement of the last look still runs, for long enough. _lock is held."""
    connection, serial, now = _interrupt.running(), _interrupt.serial, time.monotonic()
    if connection is None or connection is not _shown or serial != last:
        return serial, now
    if now - since >= _AFTER:
        info = Progress()
        quick.rayql_progress(connection, byref(info))
        _put(bar(info.percentage, now - since))
    return serial, since


def _watch(cell: Any) -> None:
    global _watcher
    serial, since, idle = -1, 0.0, 0
    while True:
        time.sleep(_EVERY)
        with _lock:
            idle = 0 if _interrupt.running() is not None else idle + 1
            if _watcher != cell or idle > _IDLE:
                if _watcher == cell:
                    _watcher = None
                return
            serial, since = _look(serial, since)


def begin(connection: Any) -> None:
    """Before a statement of the main thread: somebody watches the connection."""
    global _shown, _watcher
    _shown = connection
    cell = getattr(_shell(), "execution_count", 0)
    with _lock:
        if _watcher == cell:
            return
        _watcher = cell
    threading.Thread(target=_watch, args=(cell,), daemon=True, name="rayql-progress").start()


def forget(connection: Any) -> None:
    """Before the connection is closed: nobody may ask for its progress any more."""
    with _lock:
        _interrupt.forget(connection)


def _after_fork() -> None:
    global _lock, _watcher, _drawn
    _lock, _watcher, _drawn = threading.Lock(), None, 0


os.register_at_fork(after_in_child=_after_fork)
