"""The door of the service: who may come in, what is refused before it is read, what each answer carries.

Stands outside FastAPI, so that a refusal costs no parsing and no routing: under four times the bearable load most of
what the service says is 429. On a loopback address only requests made to this machine by name are answered, so that a
page of another site cannot come in by a name that it lets point here. With a token, all but /health, /ready and the
page itself (in which there is then nothing of the runs) want it, as `Authorization: Bearer TOKEN`, or as the password a
browser asks for (Basic, any user). The page asks for the token itself, so what it fetches is not told of Basic, or the
browser would ask too.

    Guard(app, service.room, service.metrics, token="secret", hosts=("localhost", "127.0.0.1"))
"""

import base64
import binascii
import hmac
import time
from collections.abc import Awaitable, Callable, Mapping, MutableMapping, Sequence
from typing import Any

from regard.serve.limits import RefusedError
from regard.serve.metrics import Metrics
from regard.serve.to_json import to_json

__all__ = ["Guard", "knows", "predict_route"]

Scope = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[MutableMapping[str, Any]]]
Send = Callable[[MutableMapping[str, Any]], Awaitable[None]]
App = Callable[[Scope, Receive, Send], Awaitable[None]]

predict_route = "/api/runs/{name}/predict"
knows = "regard.knows"  # in the scope: whether who asks has shown the token, or none is wanted
before, after = predict_route.split("{name}")
open_paths = ("/health", "/ready", "/", "/favicon.ico")
headers = {
    b"content-security-policy": b"default-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
    b"x-content-type-options": b"nosniff",
    b"x-frame-options": b"DENY",
    b"referrer-policy": b"no-referrer",
    b"cross-origin-opener-policy": b"same-origin",
    b"cross-origin-resource-policy": b"same-origin",
    b"cache-control": b"no-store",
}


class Guard:
    """An ASGI application around another; `room` raises what a request for a run can be told before it is read."""

    def __init__(
        self,
        app: App,
        room: Callable[[str], None],
        metrics: Metrics,
        token: str | None = None,
        hosts: Sequence[str] | None = None,
    ) -> None:
        self.app, self.room, self.metrics = app, room, metrics
        self.token = None if token is None else token.encode()
        self.hosts = None if hosts is None else {host.encode() for host in hosts}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        began, status = time.perf_counter(), 499  # whoever asked is gone, where nothing else is said

        async def answer(message: MutableMapping[str, Any]) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                own = list(message.get("headers", ()))
                there = {name.lower() for name, _ in own}
                message["headers"] = own + [one for one in headers.items() if one[0] not in there]
            await send(message)

        route = ""
        try:
            try:
                route = self._admit(scope)
            except RefusedError as refused:
                route = predict_route if refused.status in (429, 503) else "refused"
                await respond(answer, refused, dict(scope["headers"]).get(b"accept") != b"application/json")
                return
            await self.app(scope, receive, answer)
        except Exception:
            status = 500
            raise
        finally:
            known = getattr(scope.get("route"), "path", "")
            self.metrics.request(known or route or "unknown", status, time.perf_counter() - began)

    def _admit(self, scope: Scope) -> str:
        """The route, where it is known already; what may not come in is refused."""
        given: Mapping[bytes, bytes] = dict(scope["headers"])
        path: str = scope["path"]
        if self.hosts is not None and _name(given.get(b"host", b"")) not in self.hosts:
            raise RefusedError(403, "this service answers only requests made to this machine by its own name")
        scope[knows] = self.token is None or self._knows(given.get(b"authorization", b""))
        if not scope[knows] and path not in open_paths:
            raise RefusedError(401, "no token, or a wrong one; send Authorization: Bearer TOKEN")
        if scope["method"] == "POST" and path.startswith(before) and path.endswith(after):
            self.room(path[len(before) : -len(after)])
            return predict_route
        return ""

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


def _name(host: bytes) -> bytes:
    """A Host header without its port: `[::1]:80` → `[::1]`."""
    if host.startswith(b"["):
        return host.partition(b"]")[0].lower() + b"]"
    return host.rpartition(b":")[0].lower() if b":" in host else host.lower()


async def respond(send: Send, refused: RefusedError, prompt: bool = True) -> None:
    """A refusal as a response; with `prompt` a browser may ask a person for the token."""
    body = to_json({"detail": refused.detail})
    own = [(b"content-type", b"application/json"), (b"content-length", str(len(body)).encode())]
    if refused.retry is not None:
        own.append((b"retry-after", str(refused.retry).encode()))
    if refused.status == 401:
        own.append((b"www-authenticate", b"Bearer"))
        own += [(b"www-authenticate", b'Basic realm="regard", charset="UTF-8"')] if prompt else []
    await send({"type": "http.response.start", "status": refused.status, "headers": own})
    await send({"type": "http.response.body", "body": body})
