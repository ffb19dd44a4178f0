"""Clients that say half a request and wait, or do not read their answers: their connections are closed in time.

An answer that is not read waits in memory, and behind a long one no more are made for that connection; a close that
is polite would wait for the client, too, however few bytes are left.  So the bytes that wait are looked at again and
again, and a connection on which too few of them have gone is cut off.  That ends the request in the ordinary way: it
is counted, and leaves one line in the log.

Bytes wait in the system, too, which may hold megabytes of a connection and takes more only when a third of them has
gone: a client that reads slowly takes nothing from this process for a long time.  Linux tells how many there are.
"""

from __future__ import annotations

import contextlib
import logging
import sys
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import asyncio

    from uvicorn.protocols.http.h11_impl import H11Protocol as _Protocol
else:
    _Protocol = object

LOG = logging.getLogger("hld.serve")
LEAST_READ = (
    2**12
)  # bytes of the answers that wait, which a client must read in the time that there is


def timed_protocol(seconds: float) -> Any:
    """The protocol of uvicorn, which closes the connections of slow clients."""
    from uvicorn.protocols.http.h11_impl import H11Protocol

    return type("TimedProtocol", (_Timed, H11Protocol), {"seconds": seconds})


class _Timed(_Protocol):
    """Closes what stays half said, or is not read."""

    seconds: float
    head_timer: asyncio.TimerHandle | None = None
    reading_timer: asyncio.TimerHandle | None = None

    def connection_made(self, transport: Any) -> None:
        super().connection_made(transport)
        self._wait_for_head()

    def data_received(self, data: Any) -> None:
        before = self.conn.their_state
        super().data_received(data)
        if self.conn.their_state is not before or not self._is_owed():
            self._stop_waiting()
        if self._is_owed() and self.head_timer is None:
            self._wait_for_head()
        if self.reading_timer is None:  # an answer may have been made at once, to what is not HTTP
            self._look_at_the_rest()

    def on_response_complete(self) -> None:
        super().on_response_complete()
        self._look_at_the_rest()

    def connection_lost(self, exc: Any) -> None:
        self._stop_waiting()
        self._stop_looking()
        super().connection_lost(exc)

    def pause_writing(self) -> None:
        super().pause_writing()
        self._look_later()

    def _is_owed(self) -> bool:
        """Whether the client has a head to send, or the rest of a body that was answered and that nobody reads."""
        import h11

        theirs = self.conn.their_state
        return theirs is h11.IDLE or (theirs is h11.SEND_BODY and self.conn.our_state is h11.DONE)

    def _wait_for_head(self) -> None:
        self.head_timer = self.loop.call_later(self.seconds, self._give_up)

    def _stop_waiting(self) -> None:
        if self.head_timer is not None:
            self.head_timer.cancel()
            self.head_timer = None

    def _give_up(self) -> None:
        self.head_timer = None
        if self._is_owed() and not self.transport.is_closing():
            self.transport.close()

    def _look_at_the_rest(self) -> None:
        """Look at answers that are not many bytes, too: a connection that is closed waits until they have gone."""
        if self.transport.get_write_buffer_size():
            self._look_later()

    def _look_later(self) -> None:
        self._stop_looking()
        waiting = self._num_waiting()
        self.reading_timer = self.loop.call_later(self.seconds, self._look, waiting)

    def _stop_looking(self) -> None:
        if self.reading_timer is not None:
            self.reading_timer.cancel()
            self.reading_timer = None

    def _look(self, waiting: int) -> None:
        """Go on, if enough of the bytes that waited have been read; stop, if none wait here."""
        self.reading_timer = None
        if not self.transport.get_write_buffer_size():
            return
        if self._num_waiting() <= waiting - LEAST_READ:
            self._look_later()
            return
        LOG.warning(
            "a client read less than %d bytes of its answers in %g s: its connection is closed",
            LEAST_READ,
            self.seconds,
        )
        self.transport.abort()

    def _num_waiting(self) -> int:
        """Bytes of answers that the client has not taken, here and in the system."""
        line = self.transport.get_extra_info("socket")
        return int(self.transport.get_write_buffer_size()) + (
            0 if line is None else _in_system(line)
        )


def _in_system(line: Any) -> int:
    """Bytes that were given to a socket and that the other side has not confirmed; 0 where the system does not say."""
    count = bytearray(4)
    if sys.platform == "linux":
        import fcntl
        import termios

        with contextlib.suppress(OSError, ValueError):  # a socket that has just been closed
            fcntl.ioctl(line.fileno(), termios.TIOCOUTQ, count)
    return int.from_bytes(count, sys.byteorder)
