"""Ctrl-C while a statement runs in C. Python runs its handlers between its own instructions, so the main thread would be told
when the statement is done. The interpreter's wake-up descriptor is written to at once, and a thread here reads it."""

from __future__ import annotations

import signal
import socket
import threading
from ctypes import c_void_p

from ._library import lib

_lock = threading.Lock()
_running: c_void_p | None = None  # the connection whose statement the main thread waits for
_ends: tuple[socket.socket, socket.socket] | None = None
_before = -1  # whose descriptor was there: asyncio's, IPython's


def _watch(end: socket.socket) -> None:
    while True:
        data = end.recv(64)
        if not data:
            return
        with _lock:
            if signal.SIGINT in data and _running is not None:
                lib.rayql_interrupt(_running)
            if _before >= 0:
                try:
                    socket.socket(fileno=socket.dup(_before)).send(data)
                except OSError:
                    pass


def _start() -> tuple[socket.socket, socket.socket]:
    global _ends
    if _ends is None:
        _ends = socket.socketpair()
        _ends[0].setblocking(False)
        threading.Thread(target=_watch, args=(_ends[1],), daemon=True, name="rayql-interrupt").start()
    return _ends


class interruptible:
    """While it is open, SIGINT interrupts the connection, if this is the main thread."""

    def __init__(self, connection: c_void_p) -> None:
        self._connection = connection
        self._main = threading.current_thread() is threading.main_thread()

    def __enter__(self) -> None:
        global _running, _before
        if not self._main:
            return
        descriptor = _start()[0].fileno()
        before = signal.set_wakeup_fd(descriptor, warn_on_full_buffer=False)
        _before = -1 if before == descriptor else before
        _running = self._connection

    def __exit__(self, *_: object) -> None:
        global _running
        if not self._main:
            return
        with _lock:
            _running = None
        signal.set_wakeup_fd(_before)
