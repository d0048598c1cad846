"""A port: taken on the address named, given back, and told in one line where it cannot be had."""

import socket

import pytest

from regard.errors import RegardError
from regard.serve.listen import listen


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost"])
def test_only_what_was_named_is_listened_to(host: str) -> None:
    with listen(host, 0) as listener:
        assert listener.getsockname()[0] in ("127.0.0.1", "::1")
        port = listener.getsockname()[1]
        with socket.create_connection(listener.getsockname()[:2], timeout=10):
            pass
    with listen(host, port):  # and again at once
        pass


def test_answers_are_not_held_back() -> None:
    """asyncio switches off the waiting for more (Nagle) only where the socket says it is TCP."""
    with listen("127.0.0.1", 0) as listener:
        assert listener.proto == socket.IPPROTO_TCP


def test_what_cannot_be_had() -> None:
    with socket.create_server(("127.0.0.1", 0)) as other:
        port = other.getsockname()[1]
        with pytest.raises(RegardError) as error:
            listen("127.0.0.1", port)
        assert str(error.value) == f"port {port} is in use; use another --port, or 0 for any free port"
        with pytest.raises(RegardError, match="is in use; is it mine\\? use another --port"):
            listen("127.0.0.1", port, "is it mine?")
    with pytest.raises(RegardError, match=r"^--host no\.such\.host\.invalid: no such address"):
        listen("no.such.host.invalid", 0)
    with pytest.raises(RegardError, match=r"port 70000"):
        listen("127.0.0.1", 70000)
