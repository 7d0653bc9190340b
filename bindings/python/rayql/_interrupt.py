"""Ctrl-C while a statement runs in C. Python runs its handlers between its own instructions, so the main thread would be told
when the statement is done. The interpreter's wake-up descriptor is written to at once, and a thread here reads it."""

from __future__ import annotations

import os
import signal
import threading
from ctypes import c_void_p

from ._library import lib

_MAIN = threading.main_thread().ident
_lock = threading.Lock()
_running: c_void_p | None = None  # the connection whose statement the main thread waits for
serial = 0  # counts what it has waited for
_descriptor = -1
_before = -1  # whose descriptor was there: asyncio's, IPython's. It gets what we read


def _watch(end: int) -> None:
    while True:
        data = os.read(end, 64)
        with _lock:
            if signal.SIGINT in data and _running is not None:
                lib.rayql_interrupt(_running)
            try:
                if _before >= 0:
                    os.write(_before, data)
            except OSError:
                pass


def _start() -> None:
    global _descriptor
    end, _descriptor = os.pipe()
    os.set_blocking(_descriptor, False)
    threading.Thread(target=_watch, args=(end,), daemon=True, name="rayql-interrupt").start()


def running() -> c_void_p | None:
    """The connection whose statement the main thread waits for."""
    return _running


def enter(connection: c_void_p) -> None:
    """From now on SIGINT interrupts the connection, if this is the main thread."""
    global _running, _before, serial
    if threading.get_ident() != _MAIN:
        return
    if _descriptor < 0:
        _start()
    before = signal.set_wakeup_fd(_descriptor, warn_on_full_buffer=False)
    if before != _descriptor:
        _before = before
    serial += 1
    _running = connection


def resume(connection: c_void_p) -> None:
    """The same for more rows of a statement, which came through enter() itself."""
    global _running, serial
    if _descriptor >= 0 and threading.get_ident() == _MAIN:
        serial += 1
        _running = connection


def leave() -> None:
    global _running
    if _running is not None and threading.get_ident() == _MAIN:
        _running = None


def forget(connection: c_void_p) -> None:
    """Before the connection is closed: nobody may interrupt it any more."""
    global _running
    with _lock:
        if _running is connection:
            _running = None


def after_fork() -> None:
    """The thread that reads did not come along into the child, and the lock may be one that it held."""
    global _descriptor, _running, _lock
    _descriptor, _running, _lock = -1, None, threading.Lock()


os.register_at_fork(after_in_child=after_fork)
