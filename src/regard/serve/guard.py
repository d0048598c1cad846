"""Access control of the service: tokens, sizes and headers, checked before a request is read.

Stands outside FastAPI, so that a refusal costs no parsing and no routing: under four times the bearable load most of
what the service says is 429. Pages of other sites are kept out by site.py.

With a token, all but /health, /ready and the page itself (in which there is then nothing of the runs) want it, as
`Authorization: Bearer TOKEN`, or as the password a browser asks for (Basic, any user). The page asks for the token
itself, so what it fetches is not told of Basic, or the browser would ask too. A wrong token is answered after `HELD`
seconds. In that time, no more than `GUESSES` tokens of one client are looked at, so guessing is slow even for a client
that does not wait for answers.

HEAD is answered wherever GET is.

Two kinds of requests need no task, no routing and no body: /health, and a prediction for which the queue has no room.
`at_once` answers them while their connection is still being read (connection.py), so that both stay quick however many
requests come.

    Guard(app, service.room, service.metrics, token="secret", site=Site(("localhost", "127.0.0.1")))
"""

import asyncio
import base64
import binascii
import hmac
import math
import time
from collections import Counter
from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any

from regard.serve.connection import Answer, client_key
from regard.serve.limits import RefusedError, ServiceLimits, read_body
from regard.serve.metrics import Metrics
from regard.serve.site import Site
from regard.serve.to_json import to_json

__all__ = [
    "Guard",
    "Receive",
    "Scope",
    "Send",
    "alive",
    "health_route",
    "knows",
    "predict_route",
    "predicts",
    "respond",
]

Scope = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[MutableMapping[str, Any]]]
Send = Callable[[MutableMapping[str, Any]], Awaitable[None]]
App = Callable[[Scope, Receive, Send], Awaitable[None]]

health_route = "/health"
alive = {"status": "alive"}  # what it says
predict_route = "/api/runs/{name}/predict"
knows = "regard.knows"  # in the scope: whether who asks has shown the token, or none is wanted
before, after = predict_route.split("{name}")
careless = (health_route, "/ready", "/favicon.ico")  # open to all; the page at / is, too, but then names no run
HELD = 1.0  # seconds
GUESSES = 8
headers = {
    b"content-security-policy": b"default-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
    b"x-content-type-options": b"nosniff",
    b"x-frame-options": b"DENY",
    b"referrer-policy": b"no-referrer",
    b"cross-origin-opener-policy": b"same-origin",
    b"cross-origin-resource-policy": b"same-origin",
    b"cache-control": b"no-store",
}


def predicts(scope: Scope) -> str | None:
    """The name of the run that a request asks for predictions; None where it asks for something else."""
    path: str = scope["path"]
    if scope["method"] != "POST" or not (path.startswith(before) and path.endswith(after)):
        return None
    name = path[len(before) : -len(after)]
    return name if name and "/" not in name else None


class Guard:
    """An ASGI application around another. `room` raises what a request for a run can be told before it is read; with
    `limits` every body is read here, within them, before the application is asked."""

    def __init__(
        self,
        app: App,
        room: Callable[[str], None] = lambda name: None,
        metrics: Metrics | None = None,
        token: str | None = None,
        site: Site | None = None,
        limits: ServiceLimits | None = None,
    ) -> None:
        self.app, self.room, self.metrics, self.limits = app, room, metrics, limits
        self.token = None if token is None else token.encode()
        self.site, self.wrong = site or Site(), Counter[str]()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        began, status = time.perf_counter(), 499  # whoever asked is gone, where nothing else is said
        only_head = scope["method"] == "HEAD"
        if only_head:
            scope = {**scope, "method": "GET"}

        async def answer(message: MutableMapping[str, Any]) -> None:
            nonlocal status
            if only_head and message["type"] == "http.response.body":
                message["body"] = b""
            if message["type"] == "http.response.start":
                status = message["status"]
                own = list(message.get("headers", ()))
                there = {name.lower() for name, _ in own}
                message["headers"] = own + [one for one in headers.items() if one[0] not in there]
            await send(message)

        route = "refused"
        try:
            try:
                await self._admit(scope)
                name = predicts(scope)
                route = "unknown" if name is None else predict_route
                if name is not None:
                    self.room(name)
                if self.limits is not None:
                    receive = await _read(scope, receive, self.limits)
            except RefusedError as refused:
                await respond(answer, refused, (b"accept", b"application/json") not in scope["headers"])
                return
            await self.app(scope, receive, answer)
        except Exception:
            status = 500
            raise
        finally:
            if self.metrics is not None:
                route = getattr(scope.get("route"), "path", "") or route
                self.metrics.request(route, status, time.perf_counter() - began)

    def at_once(self, scope: Scope) -> Answer | None:
        """The answer to a request that has to wait for nothing; None where it takes the long way."""
        began, path, route = time.perf_counter(), scope["path"], "refused"
        try:
            if path == health_route and scope["method"] in ("GET", "HEAD"):
                self.site.check(scope["headers"], scope["http_version"])
                route = health_route
                answer: Answer = (200, [(b"content-type", b"application/json"), *headers.items()], to_json(alive))
            elif (name := predicts(scope)) is not None:
                try:
                    self.room(name)
                    return None
                except RefusedError:
                    given = self.site.check(scope["headers"], scope["http_version"])
                    if self.token is not None and (self.wrong or not self._knows(given.get(b"authorization", b""))):
                        return None
                    route = predict_route
                    raise
            else:
                return None
        except RefusedError as refused:
            answer = _refusal(refused)
        if self.metrics is not None:
            self.metrics.request(route, answer[0], time.perf_counter() - began)
        return answer

    async def _admit(self, scope: Scope) -> None:
        """What may not come in is refused."""
        given = self.site.check(scope["headers"], scope.get("http_version", "1.1"))
        if scope["path"] in careless:
            return
        scope[knows] = self.token is None or await self._shown(given.get(b"authorization"), scope)
        if not scope[knows] and scope["path"] != "/":
            raise RefusedError(401, "missing or wrong token; send Authorization: Bearer TOKEN")

    async def _shown(self, given: bytes | None, scope: Scope) -> bool:
        """Whether the token was; to find it by trying takes long."""
        if given is None:
            return False
        address: str = (scope.get("client") or ("",))[0]
        if self.wrong and self.wrong[client_key(address)] >= GUESSES:
            raise RefusedError(429, "too many wrong tokens; wait a moment", retry=math.ceil(HELD))
        if self._knows(given):
            return True
        client = client_key(address)
        self.wrong[client] += 1
        try:
            await asyncio.sleep(HELD)
        finally:
            self.wrong[client] -= 1
            if not self.wrong[client]:
                del self.wrong[client]
        return False

    def _knows(self, given: bytes) -> bool:
        assert self.token is not None
        kind, _, rest = given.strip().partition(b" ")
        word = rest.strip()
        if kind.lower() == b"basic":
            try:
                word = base64.b64decode(word, validate=True).partition(b":")[2]
            except binascii.Error:
                return False
        elif kind.lower() != b"bearer":
            return False
        return hmac.compare_digest(word, self.token)


async def _read(scope: Scope, receive: Receive, limits: ServiceLimits) -> Receive:
    """The body, read whole and ready to be received once more."""
    length = dict(scope["headers"]).get(b"content-length", b"").decode("latin-1")
    body = await read_body({"content-length": length}, receive, limits)
    messages: list[MutableMapping[str, Any]] = [{"type": "http.request", "body": body, "more_body": False}]

    async def again() -> MutableMapping[str, Any]:
        return messages.pop() if messages else await receive()

    return again


async def respond(send: Send, refused: RefusedError, prompt: bool = True) -> None:
    """A refusal as a response; with `prompt` a browser may ask a person for the token."""
    status, own, body = _refusal(refused, prompt)
    own.append((b"content-length", b"%d" % len(body)))
    await send({"type": "http.response.start", "status": status, "headers": own})
    await send({"type": "http.response.body", "body": body})


def _refusal(refused: RefusedError, prompt: bool = True) -> Answer:
    own = [(b"content-type", b"application/json"), *headers.items()]
    if refused.retry is not None:
        own.append((b"retry-after", str(refused.retry).encode()))
    if refused.status == 401:
        own.append((b"www-authenticate", b"Bearer"))
        own += [(b"www-authenticate", b'Basic realm="regard", charset="UTF-8"')] if prompt else []
    return refused.status, own, to_json({"detail": refused.detail})
