"""Limits of the service, and its answers to what exceeds them.

What is asked for beyond a limit is refused at once and costs next to nothing: a refusal is better than an answer that
comes too late. A `RefusedError` ends as a response of that status with one line in `detail`.

    ServiceLimits(batch=32, queue=256).check()      raise RefusedError(429, "the queue is full", retry=2)
"""

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Any

from regard.errors import RegardError

__all__ = ["RefusedError", "ServiceLimits", "read_body"]


class RefusedError(Exception):
    """A request that is not answered: status, one line, and in how many seconds another try makes sense."""

    def __init__(self, status: int, detail: str, retry: int | None = None) -> None:
        super().__init__(detail)
        self.status, self.detail, self.retry = status, detail, retry


@dataclass(frozen=True)
class ServiceLimits:
    """Of one service; `batch` and `queue` are of each run and count texts (a pair counts as one)."""

    batch: int = 32  # answered together
    window: float = 0.003  # seconds the first of them waits for others
    queue: int = 256  # waiting
    texts: int = 64  # a request
    characters: int = 10_000  # a text
    body: int = 1 << 20  # bytes of a request
    head: int = 32 << 10  # bytes of its first line and headers
    beam: int = 32  # the widest that may be asked for
    features: int = 32  # the most that are shown one by one
    allowed: int = 20_000  # answers that a request allows
    banned: int = 100  # words that a request bans
    connections: int = 256  # open at once to one client, where other machines are let in
    head_seconds: float = 10.0  # in which the headers of a request must have been sent
    slow: float = 30.0  # seconds in which its body must have been sent
    grace: float = 10.0  # seconds to finish what is queued when told to stop

    def check(self) -> "ServiceLimits":
        counts = ("batch", "queue", "texts", "characters", "body", "head", "beam", "features", "allowed", "banned")
        for name in (*counts, "connections"):
            if getattr(self, name) < 1:
                raise RegardError(f"--{name} {getattr(self, name)}", expected="1 or more")
        for name in ("window", "head_seconds", "slow", "grace"):
            if not 0 <= getattr(self, name) < float("inf"):
                raise RegardError(f"--{name} {getattr(self, name)}", expected="seconds, 0 or more")
        if self.texts > self.queue:
            raise RegardError(
                f"--texts {self.texts} with --queue {self.queue}", expected="a queue that fits a whole request"
            )
        return self


async def read_body(
    headers: Mapping[str, str], receive: Callable[[], Awaitable[Mapping[str, Any]]], limits: ServiceLimits
) -> bytes:
    """The whole body; one that is too large is refused as soon as that is known (see connection.py for the rest)."""
    too_large = RefusedError(413, f"the body is larger than {limits.body:,} bytes; send fewer or shorter texts")
    length = headers.get("content-length", "")
    if length.isdecimal() and int(length) > limits.body:
        raise too_large
    body = bytearray()
    try:
        async with asyncio.timeout(limits.slow):
            while True:
                message = await receive()
                if message["type"] == "http.disconnect":
                    raise RefusedError(400, "the request ended too early")
                body += message.get("body", b"")
                if len(body) > limits.body:
                    raise too_large
                if not message.get("more_body", False):
                    return bytes(body)
    except TimeoutError:
        raise RefusedError(408, f"the request took more than {limits.slow:g} seconds to arrive") from None
