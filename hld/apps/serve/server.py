"""``hld serve``: the sockets, the signals, and the server of uvicorn.

Clients may say half a request and wait, or not read their answers: their connections are closed in time.

An answer that is not read waits in memory, and behind a long one no more are made for that connection; a close that
is polite would wait for the client, too, however few bytes are left.  So the bytes that wait are looked at again and
again, and a connection on which too few of them have gone is cut off.  That ends the request in the ordinary way: it
is counted, and leaves one line in the log.

Bytes wait in the system, too, which takes more only when a third of them has gone: it is told to hold few.
"""

import asyncio
import functools
import logging
import math
import os
import signal
import socket
import sys
from collections.abc import Callable
from typing import Any

import h11
import uvicorn
from uvicorn.protocols.http.h11_impl import H11Protocol

from hld.apps.serve.app import LOOPBACK, Service, build_app
from hld.apps.serve.limits import Limits
from hld.apps.serve.models import Models
from hld.apps.serve.work import warm_up
from pcircuit.arguments import check_whole_number

LOG = logging.getLogger("hld.serve")
LEAST_READ = 2**12  # bytes of waiting answers that a client must read in the time that there is
STOP_SECONDS = 20  # that requests have to end when the service is stopped
KEEP_SECONDS = 15  # that a connection may be idle
LOOKS = 0.1  # seconds between two looks for a second Ctrl-C
HEAD_BYTES = 2**15
SYSTEM_BYTES = 2**15  # of answers that the system may hold for a client


def serve(
    models: Models,
    limits: Limits,
    *,
    host: str,
    port: int,
    token: str | None,
    watch_seconds: float,
    told: Callable[[str], None],
) -> None:
    """Serve until SIGTERM or SIGINT; SIGHUP reads the model files again."""
    for model in models.loaded.values():
        warm_up(model, limits)
    service = Service(models, limits, token)
    with opened_socket(host, port) as listening:
        told(address_of(listening))
        asyncio.run(_serve(server_of(service, watch_seconds), listening, models))
    # what is still computed cannot be stopped, and uses what an ordinary end takes away
    if service.pool.num_busy:
        logging.shutdown()
        sys.stdout.flush()
        os._exit(0)


def server_of(service: Service, watch_seconds: float) -> uvicorn.Server:
    """The server of uvicorn for a service."""
    app, limits = build_app(service, watch_seconds), service.limits
    server = uvicorn.Server(
        uvicorn.Config(
            app,
            http=functools.partial(TimedProtocol, limits.head_seconds),  # type: ignore[arg-type]
            ws="none",
            lifespan="on",
            log_config=None,
            access_log=False,
            server_header=False,
            timeout_keep_alive=KEEP_SECONDS,
            timeout_graceful_shutdown=STOP_SECONDS,
            h11_max_incomplete_event_size=HEAD_BYTES,
        )
    )
    # not limit_concurrency of uvicorn, whose answer is no JSON and does not say when to come back
    app.is_full = lambda: len(server.server_state.connections) > limits.connections
    return server


def address_of(listening: Any) -> str:
    """Where a socket listens, as a browser has it."""
    name, number = listening.getsockname()[:2]
    return f"http://{f'[{name}]' if ':' in name else name}:{number}/"


def opened_socket(host: str, port: int) -> Any:
    """A socket that listens; OSError names the address."""
    check_whole_number(port, "port", 0, 65535)
    try:
        family, _, _, _, address = socket.getaddrinfo(
            host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
        )[0]
        listening = socket.create_server(address, family=family, backlog=1024)
        # an answer goes out in two pieces; without this the second one waits 40 ms for the client to confirm the first
        listening.setsockopt(
            socket.IPPROTO_TCP, socket.TCP_NODELAY, 1
        )  # its connections inherit it
        # and hold little, so that a client that reads slowly soon takes something from this process
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, SYSTEM_BYTES)
        return listening
    except OSError as error:
        raise OSError(f"cannot listen at {host} port {port}: {error.strerror or error}") from None


def check_token(token: str | None, host: str) -> None:
    """Raise unless the token is one, and is there if others can reach the service."""
    if token is None and host not in (*LOOPBACK, "::1"):
        raise ValueError(
            f"`host` is {host!r}, which others can reach: set HLD_TOKEN, or give --token-file, so that "
            "requests need a token"
        )
    if token is not None and not (
        len(token) >= 16 and token.isascii() and token.isprintable() and " " not in token
    ):
        raise ValueError(
            "`token` must be at least 16 printable ASCII characters without blanks: make one with "
            "python -c 'import secrets; print(secrets.token_urlsafe())'"
        )


async def _serve(server: uvicorn.Server, listening: Any, models: Models) -> None:
    """Run the server, with SIGHUP."""
    loop = asyncio.get_running_loop()
    # uvicorn stops at these signals and then raises them again; when all is done they shall do nothing more
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: None)
    if hasattr(signal, "SIGHUP"):
        loop.add_signal_handler(signal.SIGHUP, lambda: loop.run_in_executor(None, models.reload))
    giving_up = loop.create_task(_give_up(server))
    await server.serve(sockets=[listening])
    giving_up.cancel()
    # by a second Ctrl-C; uvicorn then breaks the application off, which would log an error
    if server.force_exit:
        await server.lifespan.shutdown()


async def _give_up(server: uvicorn.Server) -> None:
    """End the requests at a second Ctrl-C: from Python 3.12.1 on uvicorn would wait for their connections."""
    while not server.force_exit:
        await asyncio.sleep(LOOKS)
    for task in tuple(server.server_state.tasks):
        task.cancel()


def token_of(file: str | None) -> str | None:
    """The token in a file, or in the environment variable HLD_TOKEN; None if there is neither."""
    if file is None:
        return os.environ.get("HLD_TOKEN") or None
    with open(file, encoding="utf-8") as opened:
        return opened.read().strip()


class TimedProtocol(H11Protocol):
    """Closes what stays half said, or is not read: looked at every so many seconds."""

    owed_since: float | None = None  # when the client began to owe a head, or the rest of a body
    waited = math.inf  # bytes of answers that waited at the last look, infinite for none

    def __init__(self, seconds: float, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self.seconds = seconds

    def connection_made(self, transport: Any) -> None:
        """A client has to say something from now on."""
        super().connection_made(transport)
        self.owed_since = self.loop.time()
        self._look_later()

    def data_received(self, data: bytes) -> None:
        """A client has said something."""
        before = self.conn.their_state
        super().data_received(data)
        if not self._is_owed():
            self.owed_since = None
        elif self.owed_since is None or self.conn.their_state is not before:
            self.owed_since = self.loop.time()

    def connection_lost(self, exc: Exception | None) -> None:
        """There is nothing more to look at."""
        self.timer.cancel()
        super().connection_lost(exc)

    def _is_owed(self) -> bool:
        """Whether the client has a head to send, or the rest of a body that was answered and that nobody reads."""
        theirs = self.conn.their_state
        return theirs is h11.IDLE or (theirs is h11.SEND_BODY and self.conn.our_state is h11.DONE)

    def _look_later(self) -> None:
        self.timer = self.loop.call_later(self.seconds, self._look)

    def _look(self) -> None:
        """Go on, unless too few of the bytes that waited have been read, or what is owed has not come."""
        waiting = self.transport.get_write_buffer_size()
        if waiting > self.waited - LEAST_READ:
            LOG.warning(
                "a client read less than %d bytes of its answers in %g s: its connection is closed",
                LEAST_READ,
                self.seconds,
            )
            self.transport.abort()
            return
        self.waited = waiting or math.inf
        owed = 0.0 if self.owed_since is None else self.loop.time() - self.owed_since
        if owed > 0.99 * self.seconds and self._is_owed() and not self.transport.is_closing():
            self.transport.close()
        self._look_later()
