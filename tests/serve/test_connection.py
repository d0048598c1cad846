"""Connections: what is late, too large or too many is told so in time, and others are answered meanwhile."""

import asyncio
import json
import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing, contextmanager, suppress
from types import SimpleNamespace
from typing import Any

import pytest
import uvicorn

from regard.serve.connection import Answer, Crowd, Lingers, client_key, protocol
from regard.serve.limits import RefusedError, ServiceLimits, read_body
from regard.serve.listen import listen, most_connections

limits = ServiceLimits(body=1_000, head=4_096, head_seconds=20.0, slow=20.0)  # of a busy machine nothing is late
strict = ServiceLimits(body=1_000, head=4_096, head_seconds=0.8, slow=20.0)
hasty = ServiceLimits(body=1_000, head=4_096, head_seconds=20.0, slow=0.5)
go = threading.Event()  # what /slow waits for
get = b"GET /quick HTTP/1.1\r\nHost: localhost\r\n\r\n"
post = b"POST /read HTTP/1.1\r\n"
chunked = post + b"Transfer-Encoding: chunked\r\n\r\n"
long = b"Content-Length: 8000000\r\n"
megabytes = [b"x" * 1_000_000] * 8


async def app(scope: Any, receive: Any, send: Any) -> None:
    """/read reads its body; /slow waits until it may go on; /large answers with more than any buffer holds."""
    body, status = b"quick", 200
    if scope["path"] == "/read":
        try:
            headers = {name.decode(): value.decode("latin-1") for name, value in scope["headers"]}
            body = await read_body(headers, receive, hasty if scope["query_string"] else limits)
        except RefusedError as refused:
            status, body = refused.status, b"refused"
    elif scope["path"] == "/slow":
        while not go.is_set():
            await asyncio.sleep(0.01)
    elif scope["path"] == "/now":
        body = b"asked"
    elif scope["path"] == "/large":
        body = b"x" * 20_000_000
    length = [(b"content-length", str(len(body)).encode())]
    await send({"type": "http.response.start", "status": status, "headers": length})
    await send({"type": "http.response.body", "body": body})


def at_once(scope: Any) -> Answer | None:
    """/now has to wait for nothing."""
    return (200, [(b"x-method", scope["method"].encode())], b"now") if scope["path"] == "/now" else None


@contextmanager
def served(
    most: int = 1_000, each: int | None = None, limits: ServiceLimits = limits, keep_alive: int = 1
) -> Iterator[tuple[int, Crowd]]:
    crowd = Crowd(limits, most, each, at_once=at_once)
    config = uvicorn.Config(app, http=protocol(crowd), ws="none", lifespan="off", log_config=None, log_level="error")
    config.timeout_keep_alive, config.timeout_graceful_shutdown = keep_alive, 1
    server = uvicorn.Server(config)
    with closing(listen("127.0.0.1", 0)) as listener:
        thread = threading.Thread(target=server.run, args=([listener],))
        thread.start()
        try:
            yield listener.getsockname()[1], crowd
        finally:
            server.should_exit = True
            thread.join(20)
            assert not thread.is_alive()


@pytest.fixture
def port(request: pytest.FixtureRequest) -> Iterator[int]:
    with served(limits=getattr(request, "param", limits)) as (port, crowd):
        yield port
        for _ in range(200):
            if not (crowd.clients or crowd.waiting):
                break
            time.sleep(0.05)
        assert not crowd.clients, "connections are counted that are gone"
        assert not crowd.waiting


def connected(port: int) -> socket.socket:
    return socket.create_connection(("127.0.0.1", port), timeout=10)


def rest(one: socket.socket) -> bytes:
    """All that still comes, until the other side ends."""
    return b"".join(iter(lambda: one.recv(1 << 16), b""))


def said(port: int, *parts: bytes, wait: float = 0.0) -> bytes:
    with connected(port) as one:
        for part in parts:
            one.sendall(part)
            time.sleep(wait)
        return rest(one)


def first(port: int, *parts: bytes) -> bytes:
    """The first answer, for whoever does not close the connection after it."""
    with connected(port) as one:
        for part in parts:
            one.sendall(part)
        data = b""
        while b"\r\n\r\n" not in data or len(data.partition(b"\r\n\r\n")[2]) < length(data):
            data += (part := one.recv(1 << 16))
            if not part:
                break
        return data


def length(answer: bytes) -> int:
    return int(answer.lower().partition(b"content-length: ")[2].partition(b"\r\n")[0])


def status(answer: bytes) -> int:
    return int(answer.split(b" ", 2)[1]) if answer else 0


def wait_until(true: Callable[[], bool]) -> None:
    until = time.monotonic() + 10
    while not true() and time.monotonic() < until:
        time.sleep(0.01)
    assert true()


def healthy(port: int) -> bool:
    with connected(port) as one:
        began = time.monotonic()
        one.sendall(get)
        return one.recv(1 << 16).startswith(b"HTTP/1.1 200") and time.monotonic() - began < 5


@pytest.mark.parametrize(
    "sent",
    [
        [b"GET / HT"],
        [b"GET / HTTP/1.1\r\nHost: a\r\n"],
        [b"\r\n"],
        [get, b"GET "],  # the second of a connection
        [get + b"GET / HTTP/1.1\r\nX"],
        [b"GET / HTTP/1.1\r\nUpgrade: h2c\r\nConnection: upgrade, keep-alive\r\n\r\n", get],
    ],
)
@pytest.mark.parametrize("port", [strict], indirect=True)
def test_half_a_request_is_not_waited_for(port: int, sent: list[bytes]) -> None:
    began = time.monotonic()
    answer = said(port, *sent, wait=0.05)
    assert time.monotonic() - began < 8
    assert status(answer[answer.rfind(b"HTTP/1.1") :]) == (408 if b"h2c" not in sent[0] else 200)
    assert b"408" not in answer or json.loads(answer.rpartition(b"\r\n\r\n")[2])["detail"].startswith(
        "the request headers"
    )


@pytest.mark.parametrize("port", [strict], indirect=True)
def test_nor_is_one_that_comes_drop_by_drop(port: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("regard.serve.connection.LINGER", 0.3)
    with connected(port) as one, suppress(OSError):
        began = time.monotonic()
        for letter in get * 10:
            one.sendall(bytes([letter]))
            time.sleep(0.05)
            if time.monotonic() - began > 15:
                pytest.fail("still open")
    assert healthy(port)


@pytest.mark.parametrize("port", [strict], indirect=True)
def test_nor_a_connection_that_says_nothing(port: int) -> None:
    assert said(port) == b""
    assert status(said(port, get)) == 200  # and is closed some time after the last answer


@pytest.mark.parametrize("port", [strict], indirect=True)
def test_many_halves_while_others_are_served(port: int) -> None:
    with ExitStack() as stack:
        halves = [stack.enter_context(connected(port)) for _ in range(300)]
        for one in halves:
            one.sendall(b"GET / HTTP/1.1\r\nX: y")
        began = time.monotonic()
        assert healthy(port)
        assert {status(rest(one)) for one in halves} == {408}
        assert time.monotonic() - began < 10


@pytest.mark.parametrize(
    ("sent", "expected"),
    [
        ([b"GET / HTTP/1.1\r\nHost: a\r\nX: " + b"y" * 5_000 + b"\r\n\r\n"], 431),
        ([b"GET / HTTP/1.1\r\nX: ", *[b"y" * 100_000] * 100], 431),  # which never ends
        ([b"GET / HTTP/1.1\r\n", *[b"X: y\r\n" * 10_000] * 20], 431),
        ([b"GET /", b"y" * 5_000, b" HTTP/1.1\r\n\r\n"], 431),
        ([b"G" * 100_000], 400),
        ([b"GET /\xff HTTP/1.1\r\n\r\n"], 400),
        ([b"GET http://evil.example/quick HTTP/1.1\r\nHost: localhost\r\n\r\n"], 400),
        ([b"CONNECT evil.example:80 HTTP/1.1\r\nHost: localhost\r\n\r\n"], 400),
        ([post + b"Content-Length: 99999999999999999999\r\n\r\n"], 400),
        ([post + b"Content-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n1"], 400),
        ([chunked, b"zz\r\n"], 400),
        ([chunked, b"1;", *[b"y" * 100_000] * 10], 400),
        ([chunked, b"0\r\nX: ", *[b"y" * 100_000] * 10], 400),
        ([chunked, b"0\r\n", *[b"X: y\r\n" * 10_000] * 10], 400),
        ([b"POST /read?hasty HTTP/1.1\r\nContent-Length: 50\r\n\r\n", b"x"], 408),
        ([post + long + b"Connection: close\r\n\r\n", *megabytes], 413),
        ([post.replace(b"1.1", b"1.0") + long + b"\r\n", *megabytes], 413),
        ([post + long + b"\r\n", *megabytes], 413),
        ([post + long + b"Expect: 100-continue\r\n\r\n"], 413),
        ([chunked, *[b"f4240\r\n" + one + b"\r\n" for one in megabytes], b"0\r\n\r\n"], 413),
        ([b"POST /quick HTTP/1.1\r\n" + long + b"\r\n", *megabytes], 200),  # nobody asks for it
    ],
)
def test_the_reason_arrives(port: int, sent: list[bytes], expected: int) -> None:
    """The client sends all that it has, and then finds the answer: it is not reset."""
    began = time.monotonic()
    answer = first(port, *sent)
    assert status(answer) == expected, answer[:200]
    assert answer.count(b"HTTP/1.1") == 1
    assert time.monotonic() - began < 10
    assert healthy(port)


def test_the_end_of_a_body_is_not_waited_for_without_end() -> None:
    with served(limits=hasty) as (port, _):
        began = time.monotonic()
        answer = said(port, post + long + b"\r\n", b"x")
        assert status(answer) == 413
        assert time.monotonic() - began < 8


def test_trailers_are_not_headers(port: int) -> None:
    answer = said(port, chunked + b"2\r\nok\r\n0\r\nHost: evil\r\n\r\n" + get)
    assert answer.count(b"HTTP/1.1 200") == 2
    assert b"\r\n\r\nokHTTP" in answer


def test_what_follows_a_request_does_not_spoil_its_answer(port: int) -> None:
    with connected(port) as one:
        one.sendall(b"GET /slow HTTP/1.1\r\n\r\n")
        time.sleep(0.05)
        one.sendall(b"what is this?\r\n\r\n")
        time.sleep(0.05)
        go.set()
        answer = rest(one)
    assert status(answer) == 200
    assert answer.endswith(b"quick")
    assert answer.count(b"HTTP/1.1") == 1


def test_whoever_does_not_read_is_let_go() -> None:
    with served(limits=hasty) as (port, crowd), connected(port) as one:
        one.sendall(b"GET /large HTTP/1.1\r\n\r\n")
        wait_until(lambda: bool(crowd.clients))
        wait_until(lambda: not crowd.clients)
        assert len(rest_or_reset(one)) < 20_000_000
    with served() as (port, _):
        answer = said(port, b"GET /large HTTP/1.1\r\nConnection: close\r\n\r\n")
        assert len(answer) > 20_000_000  # whoever reads gets all of it


def rest_or_reset(one: socket.socket) -> bytes:
    found = bytearray()
    with suppress(ConnectionResetError):
        while part := one.recv(1 << 16):
            found += part
    return bytes(found)


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("regard.serve.connection.PACE", 100_000_000)
    go.clear()


def test_connections_of_one_client() -> None:
    with served(each=3) as (port, crowd), ExitStack() as stack:
        some = [stack.enter_context(connected(port)) for _ in range(3)]
        for one in some:
            one.sendall(b"GET /slow HTTP/1.1\r\nConnection: close\r\n\r\n")
        wait_until(lambda: sum(crowd.clients.values()) == 3)
        refused = said(port, get)
        assert status(refused) == 429
        assert b"retry-after: 1" in refused
        assert json.loads(refused.partition(b"\r\n\r\n")[2])["detail"] == "more than 3 connections from one client"
        go.set()
        assert {status(rest(one)) for one in some} == {200}
        wait_until(lambda: not crowd.clients)
        assert healthy(port)


def test_a_full_house_makes_room_for_who_asks() -> None:
    """Of those that are open, the one that has waited longest for its client goes; those being answered stay."""
    with served(most=4) as (port, crowd), ExitStack() as stack:
        busy = stack.enter_context(connected(port))
        busy.sendall(b"GET /slow HTTP/1.1\r\nConnection: close\r\n\r\n")
        wait_until(lambda: bool(crowd.clients) and not crowd.waiting)
        silent = [stack.enter_context(connected(port)) for _ in range(20)]
        assert healthy(port)
        assert len(crowd.waiting) <= 4
        go.set()
        assert status(rest(busy)) == 200
        assert sum(rest_or_reset(one) == b"" for one in silent[:-4]) == 16


@pytest.mark.parametrize(
    ("address", "key"),
    [
        ("192.0.2.7", "192.0.2.7"),
        ("::ffff:192.0.2.7", "192.0.2.7"),
        ("2001:db8:1:2:3:4:5:6", "2001:db8:1:2::/64"),
        ("fe80::1%eth0", "fe80::/64"),
        ("", ""),
        ("testclient", "testclient"),
    ],
)
def test_who_a_client_is(address: str, key: str) -> None:
    assert client_key(address) == key


def test_there_is_room() -> None:
    assert most_connections() >= 16


@pytest.mark.parametrize("port", [strict], indirect=True)
def test_whose_body_is_not_wanted_is_not_waited_for(port: int) -> None:
    """With Expect: 100-continue nobody knows whether it will come."""
    assert status(said(port, post + long + b"Expect: 100-continue\r\n\r\n")) == 413


now = b"GET /now HTTP/1.1\r\nHost: localhost\r\n\r\n"
closing_now = b"GET /now HTTP/1.1\r\nConnection: close\r\n\r\n"
with_body = b"POST /now HTTP/1.1\r\nContent-Length: 6\r\n\r\n"


@pytest.mark.parametrize(
    ("sent", "expected"),
    [
        ([now, now, closing_now], [b"now"] * 3),
        ([now + get + now + closing_now], [b"now", b"quick", b"asked", b"asked"]),  # in order, behind one that waits
        ([now + closing_now], [b"now"] * 2),
        ([b"HEAD /now HTTP/1.1\r\n\r\n", closing_now], [b"", b"now"]),
        ([b"GET /now?x=1 HTTP/1.0\r\n\r\n"], [b"now"]),
        ([with_body + b"ignore" + closing_now], [b"now"] * 2),
        ([with_body, b"ign", b"ore", closing_now], [b"now"] * 2),
        ([closing_now + b"what is this?\r\n\r\n"], [b"now"]),
        ([b"POST /now HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n" + closing_now], [b"asked", b"asked"]),
        ([b"POST /now HTTP/1.1\r\nContent-Length: 9999\r\nConnection: close\r\n\r\n"], [b"asked"]),
    ],
)
def test_what_waits_for_nothing_is_answered_as_it_is_read(port: int, sent: list[bytes], expected: list[bytes]) -> None:
    answers = said(port, *sent, wait=0.05).split(b"HTTP/1.1 200 OK\r\n")
    assert answers.pop(0) == b""
    assert [one.partition(b"\r\n\r\n")[2] for one in answers] == expected
    for one, body in zip(answers, expected, strict=True):
        assert b"content-length: %d\r\n" % (len(body) or 3) in one
        assert (b"x-method: " in one) == (body != b"quick" and body != b"asked")


def test_what_follows_such_a_request_does_not_spoil_its_answer(port: int) -> None:
    answer, _, refusal = said(port, now + b"what is this?\r\n\r\n").partition(b"now")
    assert (status(answer), status(refusal)) == (200, 400)


@pytest.mark.parametrize("port", [hasty], indirect=True)
def test_whose_body_was_not_needed_is_not_waited_for_either(port: int) -> None:
    began = time.monotonic()
    assert said(port, with_body).endswith(b"now")
    assert time.monotonic() - began < 8


def test_an_answer_is_sent_in_one_piece() -> None:
    """Each sending lets go of the interpreter, and a thread that predicts may then hold it."""
    written: list[bytes] = []
    cycle = SimpleNamespace(response_started=False)
    wire = Lingers(SimpleNamespace(write=written.append), cycle, lambda: written.append(b"end"))
    wire.write(b"100")
    cycle.response_started = True
    for part in (b"head", b"body", b"more"):
        wire.write(part)
    assert written == [b"100", b"headbody", b"more"]
    wire.head = None
    wire.write(b"head")
    wire.close()  # an application that broke off
    assert written[3:] == [b"head", b"end"]


@pytest.mark.parametrize(
    "sent",
    [
        post + b"Content-Length: 5000\r\n\r\n" + b"x" * 5_000,
        chunked + b"1388\r\n" + b"x" * 5_000 + b"\r\n0\r\n\r\n",
    ],
)
def test_whose_body_was_refused_has_little_time_for_another_request(sent: bytes) -> None:
    began = time.monotonic()
    with served(limits=strict, keep_alive=30) as (port, _):
        assert status(said(port, sent[:1_500], sent[1_500:], wait=0.1)) == 413
        assert time.monotonic() - began < 8
