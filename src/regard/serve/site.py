"""Which site a request comes from, by its headers: exactly one valid Host, and no foreign Origin.

A page of another site can send requests to this machine: by a name of its own that it lets point here (its Host gives
it away), or straight to 127.0.0.1 (its Origin does). Programs other than browsers send no Origin.

    site = Site(("localhost", "127.0.0.1"), ["https://model.example"]);  site.check(scope["headers"])
"""

import re
from collections.abc import Iterable, Sequence
from urllib.parse import urlsplit

from regard.errors import RegardError
from regard.serve.limits import RefusedError

__all__ = ["Site"]

host_form = re.compile(rb"(\[[0-9a-f:.]{2,45}\]|[a-z0-9]([a-z0-9._-]{0,252}[a-z0-9_])?\.?)(?::([0-9]{1,5}))?")
alone = (b"host", b"origin", b"authorization", b"content-type")  # of two, which one counts?


class Site:
    """`hosts` are the names we answer to, None any; `origins` are sites of which a proxy before us shows our page."""

    def __init__(self, hosts: Sequence[str] | None = None, origins: Sequence[str] = ()) -> None:
        named = {_origin(one) for one in origins}
        self.origins = {f"{scheme}://{host}".encode() for scheme, host in named}
        self.hosts = None if hosts is None else {one.lower().encode() for one in hosts}
        if self.hosts is not None:
            self.hosts |= {_name(host.encode()) for _, host in named}

    def check(self, headers: Iterable[tuple[bytes, bytes]], version: str = "1.1") -> dict[bytes, bytes]:
        """The headers by name; what may not come in is refused."""
        given: dict[bytes, bytes] = {}
        for name, value in headers:
            if name in given and name in alone:
                raise RefusedError(400, f"two {name.decode().title()} headers")
            given[name] = value
        host = given.get(b"host", b"").strip().lower()
        try:
            name = b"" if version == "1.0" and not host else _name(host)
        except ValueError:
            raise RefusedError(400, "missing or invalid Host header") from None
        if self.hosts is not None and name not in self.hosts:
            raise RefusedError(403, "this service accepts only requests addressed to this machine by its own name")
        origin = given.get(b"origin", b"").strip().lower()
        if b"origin" in given and origin not in (b"http://" + host, b"https://" + host, *self.origins):
            raise RefusedError(
                403, "request from a page of another site; this service accepts only its own page and programs"
            )
        return given


def _name(host: bytes) -> bytes:
    """`[::1]:80` → `[::1]`; what is no host is a ValueError."""
    found = host_form.fullmatch(host)
    if not found or int(found[3] or 0) > 65535:
        raise ValueError(host)
    return found[1]


def _origin(given: str) -> tuple[str, str]:
    """The scheme and the host of `https://model.example:8443`."""
    parts = urlsplit(given.strip().lower())
    try:
        _name(parts.netloc.encode())
        good = parts.scheme in ("http", "https") and parts.path in ("", "/") and not (parts.query or parts.fragment)
    except ValueError:
        good = False
    if not good:
        raise RegardError(f"--allow-origin {given}", expected="a site such as https://model.example")
    return parts.scheme, parts.netloc
