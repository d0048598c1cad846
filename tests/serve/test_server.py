"""The server as a process: takes its port, refuses a flood with 429 and no resets, finishes its work on SIGTERM."""

import asyncio
import json
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.error import HTTPError
from urllib.request import Request, urlopen

import pytest
from small_services import small_run

from regard.errors import RegardError
from regard.serve.limits import ServiceLimits
from regard.serve.server import is_loopback, serve


@pytest.mark.parametrize(
    ("host", "local"),
    [
        *(("127.0.0.1", True), ("127.0.0.2", True), ("::1", True), ("Localhost", True)),
        *(("0.0.0.0", False), ("::", False), ("10.0.0.1", False), ("localhost.example", False), ("", False)),
    ],
)
def test_loopback(host: str, local: bool) -> None:
    assert is_loopback(host) is local


def test_what_cannot_be_served() -> None:
    with pytest.raises(
        RegardError, match=r"--host 0\.0\.0\.0 is open to other machines; expected a token; set REGARD_T"
    ):
        serve(["x"], host="0.0.0.0")
    with pytest.raises(RegardError, match="invalid token"):
        serve(["x"], token="ä")
    with pytest.raises(RegardError, match="--batch 0"):
        serve(["x"], limits=ServiceLimits(batch=0))
    with pytest.raises(RegardError, match="no such address"):
        serve(["x"], host="no.such.host.invalid", token="s")
    with socket.create_server(("127.0.0.1", 0)) as other:
        port = other.getsockname()[1]
        with pytest.raises(RegardError, match=f"port {port} is in use; use another --port"):
            serve(["x"], port=port)


slow_server = """
import sys, time
from regard.api import Model
from regard.serve.limits import ServiceLimits
from regard.serve.server import serve
own = Model.predict
def slow(self, texts, *args, **options):
    time.sleep(float(sys.argv[2]))
    return own(self, texts, *args, **options)
Model.predict = slow
serve([sys.argv[1]], port=0, limits=ServiceLimits(batch=2, queue=4, texts=2, grace=float(sys.argv[3])),
      say=lambda address, names: print(address, flush=True))
print("ended well", flush=True)
"""


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return small_run(tmp_path_factory)


class Running:
    """The server, each batch of which takes `wait` seconds."""

    def __init__(self, run: Path, wait: float, grace: float) -> None:
        words = [sys.executable, "-c", slow_server, str(run), str(wait), str(grace)]
        environ = {**os.environ, "OMP_NUM_THREADS": "1"}
        self.process = subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environ)
        assert self.process.stdout is not None
        self.address = self.process.stdout.readline().strip()
        self.port = int(self.address.rstrip("/").rpartition(":")[2])

    def end(self) -> tuple[int, str, str]:
        out, err = self.process.communicate(timeout=120)
        return self.process.returncode, out, err


@pytest.fixture
def slow(run: Path) -> Iterator[Running]:
    running = Running(run, 0.25, 10.0)
    yield running
    running.process.kill()
    running.process.communicate()


async def post(port: int) -> tuple[int, float, dict[str, str], Any]:
    """Status, seconds, headers, body; a connection of its own."""
    began = time.monotonic()
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    body = b'{"inputs": [["abc"]], "look": false}'
    head = f"POST /api/runs/small/predict HTTP/1.1\r\nHost: localhost\r\nContent-Length: {len(body)}\r\n"
    writer.write(head.encode() + b"Content-Type: application/json\r\nConnection: close\r\n\r\n" + body)
    answer = await reader.read()
    writer.close()
    first, *lines = answer.partition(b"\r\n\r\n")[0].decode().split("\r\n")
    headers = {name.lower(): value for name, value in (line.split(": ", 1) for line in lines)}
    return int(first.split()[1]), time.monotonic() - began, headers, json.loads(answer.partition(b"\r\n\r\n")[2])


def test_a_flood_is_refused_quickly_and_without_resets(slow: Running) -> None:
    async def flood() -> list[tuple[int, float, dict[str, str], Any]]:
        return await asyncio.gather(*(post(slow.port) for _ in range(150)))

    asyncio.run(post(slow.port))
    found = asyncio.run(flood())
    statuses = [status for status, *_ in found]
    assert set(statuses) == {200, 429}
    assert 4 <= statuses.count(200) <= 8  # four wait, two or so are in work
    for status, seconds, headers, _ in found:
        if status == 429:
            assert int(headers["retry-after"]) >= 1
            assert seconds < 5
    with urlopen(f"{slow.address}metrics", timeout=120) as answer:
        text = answer.read().decode()
    assert f'status="429"}} {statuses.count(429):.1f}' in text
    slow.process.send_signal(signal.SIGINT)
    assert slow.end() == (0, "ended well\n", "")


def test_sigterm_finishes_what_is_queued(slow: Running) -> None:
    async def whole() -> None:
        waiting = [asyncio.create_task(post(slow.port)) for _ in range(4)]
        await asyncio.sleep(0.15)
        slow.process.send_signal(signal.SIGTERM)
        await asyncio.sleep(0.05)
        status, _, headers, body = await post(slow.port)
        assert (status, body) == (503, {"detail": "shutting down"})
        assert headers["retry-after"] == "10"
        assert [one[0] for one in await asyncio.gather(*waiting)] == [200] * 4

    asyncio.run(whole())
    assert slow.end() == (0, "ended well\n", "")


@pytest.mark.sweep
def test_the_grace_is_not_for_ever(run: Path) -> None:
    running = Running(run, 1.0, 0.2)
    try:

        async def whole() -> list[int]:
            waiting = [asyncio.create_task(post(running.port)) for _ in range(4)]
            await asyncio.sleep(0.3)
            running.process.send_signal(signal.SIGTERM)
            return [one[0] for one in await asyncio.gather(*waiting)]

        assert sorted(asyncio.run(whole())) in ([200, 200, 503, 503], [200, 503, 503, 503])
        assert running.end()[0] == 0
    finally:
        running.process.kill()
        running.process.communicate()


def test_a_body_too_large_is_told_so_not_reset(slow: Running) -> None:
    request = Request(f"{slow.address}api/runs/small/predict", b" " * (3 << 20), {"Content-Type": "application/json"})
    with pytest.raises(HTTPError) as refused:
        urlopen(request, timeout=120)
    assert refused.value.code == 413
    refused.value.close()
    slow.process.kill()
