"""One connection to the service: limits on what a client sends, and on how slowly, before anything reads it.

uvicorn has no time limit on the head of a request, and with httptools no size limit on it. A client that sends half a
request would hold its connection for as long as it likes. Here every connection that owes us something has a deadline:

    the head of a request   `head_seconds`, and at most `head` bytes           408, 431
    the body                read_body in limits.py, `slow` seconds             408, 413
    the end of a body that was refused already       `slow` seconds
    reading our answer      `slow` seconds and a second for each `PACE` bytes
    the next request        uvicorn's timeout_keep_alive

A client may have `connections` of them (429). When the server has as many as it can hold, the one that has waited
longest for its client is closed to make room, so a new request, and /health, is answered whatever the others do.

A refusal must reach the client. Closing a socket with unread data resets it, and the client never sees the answer; so
after a refusal only our side is closed, and what still comes is thrown away for a moment (as nginx's lingering_close).

What has to wait for nothing, as /health, is answered here as soon as it is read: as a task of its own it would take
its turn behind those of all other requests, and under a flood a request would wait for several such rounds.

    uvicorn.Config(app, http=protocol(Crowd(limits, most=10_000)), ws="none", …)
"""

import asyncio
import ipaddress
from collections import Counter
from collections.abc import Callable, MutableMapping
from functools import partial
from itertools import chain
from typing import Any

from uvicorn.protocols.http.httptools_impl import STATUS_LINE, HttpToolsProtocol

from regard.serve.limits import ServiceLimits
from regard.serve.to_json import to_json

__all__ = ["Answer", "Connection", "Crowd", "client_key", "protocol"]

Answer = tuple[int, list[tuple[bytes, bytes]], bytes]  # status, headers, body

PACE = 10_000  # bytes a second; whoever reads an answer more slowly than that does not read it
LINGER = 2.0  # seconds without data after which a refused client is taken to be done
IDLE, HEAD, BODY = "idle", "head", "body"  # which part of a request comes next, or is coming


class Crowd:
    """All connections of one server. `waiting` holds those whose client owes us something, the longest first."""

    def __init__(
        self,
        limits: ServiceLimits,
        most: int,
        each: int | None = None,
        seen: Callable[[int], None] = lambda status: None,
        at_once: Callable[[MutableMapping[str, Any]], Answer | None] = lambda scope: None,
    ) -> None:
        self.limits, self.most, self.each, self.seen, self.at_once = limits, most, each, seen, at_once
        self.clients = Counter[str]()
        self.waiting: dict[Connection, None] = {}


def protocol(crowd: Crowd) -> Any:
    """What uvicorn calls for each connection."""
    return partial(Connection, crowd)


class Connection(HttpToolsProtocol):
    """uvicorn's connection, with deadlines."""

    def __init__(self, crowd: Crowd, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self.crowd, self.limits, self.counted = crowd, crowd.limits, ""
        self.stage = IDLE
        self.unused = 0  # bytes since the last that were of use: the size of the head, of trailers, of the void
        self.timer: asyncio.TimerHandle | None = None  # runs out when the client owes us too long
        self.unread: asyncio.TimerHandle | None = None  # runs out when the client does not read
        self.lingering, self.last = False, None  # type: bool, asyncio.TimerHandle | None
        self.refusal = (400, "not an HTTP request")
        self.quick = False  # whether the request that is read needs no application: what comes of its body is not kept
        self.answer: tuple[bytes, bool] | None = None  # to it, and whether the connection stays open afterwards

    # --- the life of a connection ------------------------------------------------------------------------

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        crowd = self.crowd
        if len(self.connections) > crowd.most:
            if not crowd.waiting:  # all of them are being answered
                transport.abort()
                return
            oldest = next(iter(crowd.waiting))
            del crowd.waiting[oldest]
            oldest.transport.abort()
        crowd.waiting[self] = None
        key = client_key(self.client[0] if self.client else "")
        if crowd.each is not None and crowd.clients[key] >= crowd.each:
            self.refuse(429, f"more than {crowd.each:,} connections from one client")
            return
        self.counted = key
        crowd.clients[key] += 1
        self._arm(self.limits.head_seconds, self._late)

    def connection_lost(self, exc: Exception | None) -> None:
        super().connection_lost(exc)
        for timer in (self.timer, self.unread, self.last):
            if timer is not None:
                timer.cancel()
        self.crowd.waiting.pop(self, None)
        if self.counted:
            self.crowd.clients[self.counted] -= 1
            if not self.crowd.clients[self.counted]:
                del self.crowd.clients[self.counted]

    @property
    def answering(self) -> bool:
        return self.cycle is not None and not self.cycle.response_complete

    # --- what comes in -----------------------------------------------------------------------------------

    def data_received(self, data: bytes) -> None:
        if self.lingering:
            self._arm(LINGER, self.transport.abort)
            return
        if self.transport.is_closing():
            return
        self.unused += len(data)
        super().data_received(data)
        done = self._say() and not self.unused  # and the next request may wait, as after any other answer
        if self.lingering or self.transport.is_closing():
            return
        if self.stage != BODY and self.unused > self.limits.head and (self.stage == HEAD or not self.answering):
            self.refuse(431, self._too_large)
        elif self.stage == BODY and self.unused > self.limits.head:
            self.refuse(400, "too much data around the body")
        elif self.timer is None and (self.stage == HEAD or not (done or self.answering)):
            self._arm(self.limits.head_seconds, self._late)

    def eof_received(self) -> None:
        self.close()

    def on_message_begin(self) -> None:
        self._say()
        super().on_message_begin()
        self.quick = False
        self.stage, self.unused = HEAD, 0

    def on_headers_complete(self) -> None:
        if len(self.url) + 4 * len(self.headers) + sum(map(len, chain(*self.headers))) > self.limits.head:
            self._stop(431, self._too_large)
        if not self.url.startswith(b"/") and self.url != b"*":
            self._stop(400, "the request must name only a path, as in GET /health")
        self.answer = self._at_once()
        self.quick = self.answer is not None
        if self.quick:
            self.stage, self.unused = BODY, 0
            self._disarm()
            return
        super().on_headers_complete()
        self.stage, self.unused = BODY, 0
        self._disarm()
        self.cycle.transport = Lingers(self.transport, self.cycle, self.end)  # type: ignore[assignment]
        self.headers = []  # for trailers, which nobody reads
        if self.parser.should_upgrade():  # which it is not; and httptools reads nothing more
            self.cycle.keep_alive = False

    def on_body(self, body: bytes) -> None:
        self.unused = 0
        if not self.quick:
            super().on_body(body)

    def on_message_complete(self) -> None:
        if not self.quick:
            super().on_message_complete()
        self.stage, self.unused = IDLE, 0
        self._disarm()
        if self.answering:
            self.crowd.waiting.pop(self, None)

    def _at_once(self) -> tuple[bytes, bool] | None:
        """The answer to what is read, where it is clear already, and whoever asks waits for no other one."""
        if self.answering or self.expect_100_continue or self.parser.should_upgrade():
            return None
        given = dict(self.headers)
        length = given.get(b"content-length", b"0")
        if b"transfer-encoding" in given or not length.isdigit() or int(length[:12]) > self.limits.body:
            return None
        path, method, version = self.url.partition(b"?")[0], self.parser.get_method(), self.parser.get_http_version()
        scope = {"method": method.decode(), "path": path.decode("latin-1"), "headers": self.headers}
        found = self.crowd.at_once({**scope, "http_version": version})
        if found is None:
            return None
        status, headers, body = found
        keep = version != "1.0" and self.parser.should_keep_alive()
        lines = [b"%s: %s\r\n" % header for header in headers]
        lines += [b"content-length: %d\r\n" % len(body), b"" if keep else b"connection: close\r\n", b"\r\n"]
        return b"".join([STATUS_LINE[status], *lines, b"" if method == b"HEAD" else body]), keep

    # --- what goes out -----------------------------------------------------------------------------------

    def on_response_complete(self) -> None:
        if self.lingering:
            self.server_state.total_requests += 1
            return
        super().on_response_complete()
        if self.transport.is_closing() or self.answering:
            return
        self.crowd.waiting.pop(self, None)
        self.crowd.waiting[self] = None
        if self.stage == BODY and self.expect_100_continue:
            self.linger()  # whether the body will still come, nobody knows
        elif self.stage == BODY:
            self._arm(self.limits.slow, self.transport.abort)

    def _say(self) -> bool:
        """Write the answer that was clear already, if there is one."""
        if self.answer is None or self.lingering or self.transport.is_closing():
            return False
        (data, keep), self.answer = self.answer, None
        self.transport.write(data)
        if not keep:
            self.end()
        self.on_response_complete()
        return True

    def pause_writing(self) -> None:
        super().pause_writing()
        seconds = self.limits.slow + self.transport.get_write_buffer_size() / PACE
        self.unread = self.loop.call_later(seconds, self.transport.abort)

    def resume_writing(self) -> None:
        super().resume_writing()
        if self.unread is not None:
            self.unread.cancel()
            self.unread = None

    def timeout_keep_alive_handler(self) -> None:
        self.transport.abort()  # not close(), which would wait for as long as the last answer is not read

    def send_400_response(self, msg: str) -> None:
        self.refuse(*self.refusal)

    def refuse(self, status: int, detail: str) -> None:
        """Answer without asking the application, and end."""
        if self.answer is not None:
            self.answer = self.answer[0], False
            self._say()
            return
        if self.answering and self.stage != BODY:  # what comes after a whole request is of no use: answer that, and end
            self.cycle.keep_alive = False
            return
        self.crowd.seen(status)
        if self.stage == BODY:
            if not self.answering or self.pipeline or self.cycle.response_started:
                self.transport.abort()  # a second answer would be taken for part of the first, or of another
                return
            self.cycle.disconnected = True  # whoever reads the body is told that no more will come
            self.cycle.message_event.set()
        body = to_json({"detail": detail})
        head = b"content-type: application/json\r\nx-content-type-options: nosniff\r\ncache-control: no-store\r\n"
        head += b"retry-after: 1\r\n" if status == 429 else b""
        self.transport.write(
            STATUS_LINE[status] + head + b"content-length: %d\r\nconnection: close\r\n\r\n" % len(body) + body
        )
        self.linger(LINGER if status in (408, 429) else None)  # who is slow, or too many, gets no more time

    def linger(self, most: float | None = None) -> None:
        """End our side, throw away what still comes, and close when the client does, or says nothing more, or after
        `most` seconds."""
        if self.lingering or self.transport.is_closing():
            return
        self.lingering = True
        self.crowd.waiting.setdefault(self, None)
        self._unset_keepalive_if_required()
        self.flow.resume_reading()
        if self.transport.can_write_eof():
            self.transport.write_eof()
        self._arm(LINGER, self.transport.abort)
        self.last = self.loop.call_later(self.limits.slow if most is None else most, self.transport.abort)

    def end(self) -> None:
        """After an answer, so that it arrives."""
        if self.stage == IDLE and not self.unused:
            self.close()
        else:
            self.linger()

    def close(self) -> None:
        """When all that was written is sent, but not later than that may take."""
        self.transport.close()
        self._arm(self.limits.slow, self.transport.abort)

    # --- deadlines ---------------------------------------------------------------------------------------

    @property
    def _too_large(self) -> str:
        return f"the request headers are larger than {self.limits.head:,} bytes"

    def _stop(self, status: int, detail: str) -> None:
        """Within the parser, which ends by `send_400_response`."""
        self.refusal = (status, detail)
        raise ValueError(detail)

    def _late(self) -> None:
        self.timer = None
        if self.answering:  # the next request is half here while this one is worked on
            self._arm(self.limits.head_seconds, self._late)
        elif self.stage == IDLE and not self.unused:
            self.transport.abort()
        else:
            self.refuse(408, f"the request headers took more than {self.limits.head_seconds:g} seconds to arrive")

    def _arm(self, seconds: float, then: Callable[[], None]) -> None:
        self._disarm()
        self.timer = self.loop.call_later(seconds, then)

    def _disarm(self) -> None:
        if self.timer is not None:
            self.timer.cancel()
            self.timer = None


class Lingers:
    """A transport for one answer, which ends the connection so that the answer arrives.

    Status and headers wait for the first of the body, and both are sent at once: each sending lets go of the
    interpreter, and a thread that predicts may hold it for a while before the next.
    """

    def __init__(self, transport: Any, cycle: Any, end: Callable[[], None]) -> None:
        self.transport, self.cycle, self.end = transport, cycle, end
        self.head: bytes | None = None  # None before there is one, empty after it was sent

    def write(self, data: bytes) -> None:
        if self.head is None and self.cycle.response_started:
            self.head = data
        elif self.head:
            self.transport.write(self.head + data)
            self.head = b""
        else:
            self.transport.write(data)

    def is_closing(self) -> bool:
        closing: bool = self.transport.is_closing()
        return closing

    def close(self) -> None:
        if self.head:
            self.write(b"")
        self.end()


def client_key(address: str) -> str:
    """Who it is that connects; of IPv6 the network, for one client has all of its addresses."""
    try:
        ip = ipaddress.ip_address(address.partition("%")[0])
    except ValueError:
        return address
    if ip.version == 4:
        return str(ip)
    return str(ip.ipv4_mapped or ipaddress.ip_network((ip, 64), strict=False))
