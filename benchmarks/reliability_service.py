"""What the service and the page for judges do under overload, slow clients, and requests that nobody should send.

    python benchmarks/reliability_service.py --scale 0.01

A part of reliability.py. The servers are started as a user starts them, each in a process of its own, with a small run
that is trained first; everything is then sent over sockets. A trial hangs if it takes more than `hangs` seconds.
"""

import argparse
import asyncio
import json
import os
import random
import re
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from service import asked, closed_loop, flood

hangs = 20.0
most_memory = 2 << 30
Row = dict[str, Any]
started = "import sys; from regard.cli.main import main; sys.argv[0] = 'regard'; main()"
ask = {"inputs": [["abc"]], "look": False, "trace": False, "beam": None, "drop_tokens": None}


@dataclass
class Trials:
    """Of one promise: how many were made, and what went wrong."""

    promise: str
    tried: str
    count: int = 0
    wrong: list[str] = field(default_factory=list)

    def add(self, good: bool, what: str) -> None:
        self.count += 1
        if not good:
            self.wrong.append(what)

    def row(self) -> Row:
        held = self.count - len(self.wrong)
        commonest = [f"{what} ({n} times)" if n > 1 else what for what, n in Counter(self.wrong).most_common(20)]
        return {"promise": self.promise, "tried": self.tried, "count": self.count, "held": held} | {
            "fell_short": commonest
        }


# --- servers -----------------------------------------------------------------------------------------------------


def small_run(folder: Path) -> Path:
    """A run that has learned next to nothing, but is one."""
    from regard.api import train

    letters = "abcdefgh"
    words = ["".join(letters[(i * j) % 8] for j in range(1, 2 + i % 4)) + letters[i % 8] for i in range(40)]
    (folder / "pairs.tsv").write_text("".join(f"{word}\t{word[::-1]}\n" for word in dict.fromkeys(words)))
    characters = {"tokenizer": "character", "max_length": 64}
    small: dict[str, Any] = {"source": {**characters, "embed": {"dim": 8}}, "target": characters}
    small |= {"encoder": {"hidden": 8, "layers": 1}, "decoder": {"hidden": 8, "embed": 8, "layers": 1}}
    options = {
        **small,
        "attention": {"score": {"hidden": 8}},
        "train": {"steps": 2, "validate_every": 1, "device": "cpu"},
    }
    train("translate", str(folder / "pairs.tsv"), folder / "small", quiet=True, **options)
    return folder / "small"


class Server:
    """A process that serves, its port, and what it wrote to stderr."""

    def __init__(self, folder: Path, *words: str) -> None:
        self.errors = folder / f"{words[0]}.err"
        with self.errors.open("ab") as errors:
            command = [sys.executable, "-c", started, *words, "--port", "0"]
            environ = {**os.environ, "OMP_NUM_THREADS": "1"}
            self.process = subprocess.Popen(
                command, stdout=subprocess.PIPE, stderr=errors, text=True, env=environ, cwd=folder
            )
        assert self.process.stdout is not None
        line = self.process.stdout.readline()
        if not line:
            raise SystemExit(self.errors.read_text())
        self.port = int(line.split("/")[2].rpartition(":")[2])

    def memory(self) -> int:
        """The most it ever had, in bytes; 0 where the system does not say."""
        with suppress(OSError):
            found = re.search(r"VmHWM:\s+(\d+) kB", Path(f"/proc/{self.process.pid}/status").read_text())
            return int(found[1]) << 10 if found else 0
        return 0


@contextmanager
def servers() -> Iterator[tuple[Server, Server]]:
    """The service and the page for judges."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        run = small_run(folder)
        for file in ("source", "one", "two"):
            (folder / f"{file}.txt").write_text("".join(f"{file} {n}\n" for n in range(20)))
        found: list[Server] = []
        try:
            found.append(Server(folder, "serve", str(run)))
            found.append(Server(folder, "judge", "one.txt", "two.txt", "--source", "source.txt", "--no-open"))
            yield found[0], found[1]
        finally:
            for one in found:
                one.process.terminate()
                one.process.wait(30)


# --- one request -------------------------------------------------------------------------------------------------


@dataclass
class Said:
    """What came back: every status in it, the bytes, and how it ended."""

    statuses: list[int]
    data: bytes
    end: str  # closed, reset, hung, or never opened
    seconds: float


async def send(port: int, *parts: bytes, whole: bool = True, wait: float = 0.0, limit: float = hangs) -> Said:
    """Send, and read until the other side closes. Of what is not `whole`, tell the server that no more will come."""
    began, data, end = time.monotonic(), bytearray(), "closed"
    try:
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
    except OSError:
        return Said([], b"", "never opened", time.monotonic() - began)
    try:
        async with asyncio.timeout(limit):
            with suppress(ConnectionError):
                for part in parts:
                    writer.write(part)
                    await writer.drain()
                    await asyncio.sleep(wait)
            if not whole:
                with suppress(TimeoutError):
                    async with asyncio.timeout(0.25):
                        while part := await reader.read(1 << 16):
                            data += part
                with suppress(OSError):
                    writer.write_eof()
            while part := await reader.read(1 << 16):
                data += part
    except TimeoutError:
        end = "hung"
    except ConnectionError:
        end = "reset"
    finally:
        writer.close()
    statuses = [int(one) for one in re.findall(rb"HTTP/1\.1 (\d\d\d) [A-Z]", bytes(data))]
    return Said(statuses, bytes(data), end, time.monotonic() - began)


def request(
    method: str, path: str, body: bytes | None = None, *headers: tuple[str, str], host: str = "127.0.0.1"
) -> bytes:
    lines = [f"{method} {path} HTTP/1.1", f"Host: {host}", "Connection: close"]
    lines += [f"{name}: {value}" for name, value in headers]
    if body is not None:
        lines += ["Content-Type: application/json", f"Content-Length: {len(body)}"]
    return "\r\n".join([*lines, "", ""]).encode("utf-8", "surrogateescape") + (body or b"")


predict = request("POST", "/api/runs/small/predict", json.dumps(ask).encode())
health = request("GET", "/health")


async def together(trials: list[Callable[[], Any]], jobs: int = 64) -> list[Any]:
    room = asyncio.Semaphore(jobs)

    async def one(trial: Callable[[], Any]) -> Any:
        async with room:
            return await trial()

    return await asyncio.gather(*(one(trial) for trial in trials))


class Watch:
    """Asks /health again and again while something else goes on, from a process of its own: this one is busy too."""

    def __init__(self, port: int, during: str) -> None:
        self.port = port
        promise = "/health answers within two seconds, whatever else goes on"
        self.trials = Trials(promise, f"asked all the time during {during}")

    def __enter__(self) -> "Watch":
        command = [sys.executable, __file__, "--watch", str(self.port)]
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        return self

    def __exit__(self, *_: object) -> None:
        for line in self.process.communicate()[0].splitlines():
            statuses, end, seconds = json.loads(line)
            self.trials.add(statuses == [200] and seconds < 2, f"{statuses} {end} {seconds:.1f} s")


async def watch(port: int) -> None:
    """Until nobody wants to know any more."""
    over = asyncio.create_task(asyncio.to_thread(sys.stdin.read))
    while not over.done():
        said = await send(port, health, limit=5)
        print(json.dumps([said.statuses, said.end, said.seconds]))
        await asyncio.sleep(0.05)


# --- the promises ------------------------------------------------------------------------------------------------


async def overload(service: Server, scale: float) -> list[Row]:
    """Four times what it bears, come what may."""
    texts, seconds = ["abc", "hgfedc", "aab"], max(2.0, 20 * scale)
    speed, _ = await closed_loop(service.port, asked("small", texts, True), 64, seconds / 2)
    trials = Trials(
        "Overload is answered or refused (200, 429, 503), never 500, never reset",
        f"four times the {speed:.0f} requests a second that it bears",
    )
    with Watch(service.port, "a flood of requests") as watched:
        tally = await flood(service.port, asked("small", texts, True), 4 * speed, seconds, 2_000)
    for status, times in tally.seconds.items():
        for _ in times:
            trials.add(status in (200, 429, 503), f"status {status}")
    for what, n in tally.broken.items():
        for _ in range(n):
            trials.add(False, what)
    return [trials.row(), watched.trials.row()]


async def slow_clients(service: Server, scale: float) -> list[Row]:
    """Half a request, a request letter by letter, an answer that is not read: closed in time, others served."""
    many = max(20, int(1_500 * scale))
    half = Trials("A half-sent request is refused (408) and closed within 15 s", f"{many:,} at once, several ways")
    others = Trials("Others are served meanwhile", "a prediction every 0.2 s")
    ways = [b"GET / HTTP/1.1\r\n", b"G", predict[:60], b"\r\n", b"GET / HTTP/1.1\r\nHost: 127.0.0.1\r\nX: y"]

    async def other() -> None:
        while True:
            said = await send(service.port, predict)
            others.add(said.statuses == [200], f"{said.statuses} {said.end}")
            await asyncio.sleep(0.2)

    async def drops() -> Said:
        return await send(service.port, *(bytes([one]) for one in health * 5), wait=0.2, limit=30)

    with Watch(service.port, f"{many:,} half-sent requests") as watched:
        task = asyncio.create_task(other())
        trials = [lambda way=ways[n % len(ways)]: send(service.port, way, limit=30) for n in range(many)]
        found = await asyncio.gather(together(trials, many), asyncio.gather(*(drops() for _ in range(many // 10))))
        task.cancel()
    for said in [*found[0], *found[1]]:
        good = said.end != "hung" and said.seconds < 15 and said.statuses in ([408], [])
        half.add(good, f"{said.statuses} {said.end} after {said.seconds:.0f} s")
    return [half.row(), others.row(), watched.trials.row()]


async def oversized(service: Server, judge: Server, scale: float) -> list[Row]:
    """Headers and bodies that are too large, said and unsaid, finished and not."""
    times = max(1, int(20 * scale))
    megabyte = b"x" * 1_000_000
    trials = Trials(
        "Headers or bodies that are too large are refused (413, 431, 400) in an answer that arrives, in under 2 GiB",
        "20 ways, up to 200 MB, to the service and to the page for judges",
    )
    for server, path in ((service, "/api/runs/small/predict"), (judge, "/api/lines/1")):
        head = f"POST {path} HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\n".encode()
        sized = [(413, n, more) for n in (2, 20, 200) for more in (b"", b"Connection: close\r\n")]
        ways: list[tuple[int, list[bytes]]] = [
            (413, [head + b"Content-Length: %d\r\n" % (n * 1_000_000) + more + b"\r\n", *[megabyte] * n])
            for _, n, more in sized
        ]
        chunk = b"f4240\r\n" + megabyte + b"\r\n"
        chunked = head + b"Transfer-Encoding: chunked\r\n\r\n"
        ways += [(413, [chunked, *[chunk] * n, b"0\r\n\r\n"]) for n in (2, 20)] + [
            (413, [head + b"Content-Length: 5000000\r\nExpect: 100-continue\r\n\r\n"]),
            (431, [b"GET / HTTP/1.1\r\nHost: 127.0.0.1\r\nX: ", *[megabyte] * 200]),
            (431, [b"GET / HTTP/1.1\r\nHost: 127.0.0.1\r\nX: " + b"y" * 40_000 + b"\r\n\r\n"]),
            (431, [b"GET / HTTP/1.1\r\n", *[b"X: y\r\n" * 100_000] * 20]),
            (431, [b"GET /", *[megabyte] * 20]),
            (400, [b"G" * 1_000_000]),
            (400, [head + b"Content-Length: 99999999999999999999999\r\n\r\n"]),
            (400, [chunked + b"1;", *[megabyte] * 50]),
            (400, [chunked + b"0\r\nX: ", *[megabyte] * 50]),
            (400, [chunked + b"0\r\n", *[b"X: y\r\n" * 100_000] * 20]),
        ]
        for status, parts in ways:
            for _ in range(times if sum(map(len, parts)) < 5_000_000 else max(1, times // 10)):
                said = await send(server.port, *parts, limit=60)
                good = said.statuses == [status] and said.end == "closed"
                trials.add(good, f"{parts[0][:30]!r}: {said.statuses} {said.end}, expected {status}")
        trials.add(server.memory() < most_memory, f"{server.memory() >> 20} MiB")
    return [trials.row()]


def random_value(draw: random.Random) -> Any:
    deep: Any = "x"
    for _ in range(draw.choice((3, 300))):
        deep = [deep]
    odd = [None, True, -1, 0, 10**400, 1e308, "", " ", "\ud800", "\0", "x" * 20_000, [], {}, [[]], [[""]], deep]
    odd += ["abc", 2**31, 0.5, float("nan"), float("inf"), {"inputs": [["abc"]]}, ["abc"], "🙂" * 50, "<script>"]
    return draw.choice(odd)


def random_ask(draw: random.Random) -> bytes:
    """A body that is nearly right."""
    body: Any = json.loads(json.dumps(ask))
    for _ in range(draw.randint(1, 3)):
        key = draw.choice([*ask, "layers", "features", "output", "value", "sheet", "question", "unknown"])
        body[key] = random_value(draw) if draw.random() < 0.7 else [[random_value(draw)]]
    with suppress(UnicodeEncodeError):
        return json.dumps(body, ensure_ascii=draw.random() < 0.5).encode()
    return json.dumps(body).encode()


def random_request(draw: random.Random, judge: bool) -> bytes:
    """Whole as HTTP, and odd in what it asks for."""
    line = f"/api/lines/{draw.choice(['1', '0', '-1', '99', '1e3', '٣', '9' * 30, 'x', '1/2', '%00'])}"
    run = (
        f"/api/runs/{draw.choice(['small', 'other', '%2e%2e', 'small%00', 'x' * 2_000, '..%2f..', 'a%0d%0ab'])}/predict"
    )
    known = (
        ["/", "/api/sheet", "/favicon.ico", line] if judge else ["/", "/health", "/metrics", "/docs", "/api/runs", run]
    )
    path = draw.choice(
        [
            line if judge else "/api/runs/small/predict",
            draw.choice(known),
            "//",
            "/../etc/passwd",
            "/?q=%ff&" + "a=b&" * 50,
        ]
    )
    method = draw.choice(["GET", "POST", "POST", "POST", "HEAD", "OPTIONS", "PUT", "DELETE", "PATCH", "TRACE"])
    body = draw.choice([None, b"", b"{", b"[]", b"null", b"\xff\xfe", draw.randbytes(50), b"[" * 50_000])
    if draw.random() < 0.7:
        body = random_ask(draw)
    more = draw.sample(
        [
            ("Accept-Encoding", "gzip"),
            ("Content-Encoding", "gzip"),
            ("Authorization", "Basic ???"),
            ("Range", "bytes=0-99999999999"),
            ("X-Forwarded-For", "1.2.3.4"),
            ("Cookie", "a=b; " * 100),
            ("Expect", "100-continue"),
            ("If-None-Match", "*"),
            ("X", "\x7f" * 5 + "é"),
        ],
        draw.randint(0, 3),
    )
    return request(method, path, body, *more)


def mangled(draw: random.Random, good: bytes) -> bytes:
    """A request with bytes changed, cut, doubled or put in."""
    if draw.random() < 0.1:
        return draw.randbytes(draw.randint(1, 2_000))
    found = bytearray(good)
    for _ in range(draw.randint(1, 8)):
        at = draw.randrange(len(found) + 1)
        to = min(len(found), at + draw.randint(1, 20))
        odd = draw.choice(
            [b"\r\n", b"\0", b" ", b":", b"\xff", b"\n", b"Content-Length: 5\r\n", b"GET / HTTP/1.1\r\n\r\n"]
        )
        match draw.randrange(5):
            case 0 if at < len(found):
                found[at] = draw.randrange(256)
            case 1:
                del found[at:to]
            case 2:
                found[at:at] = odd
            case 3:
                found[at:at] = found[at:to]
            case 4:
                del found[at:]
    return bytes(found)


async def malformed(service: Server, judge: Server, scale: float) -> list[Row]:
    """Requests by chance: some whole and odd, some broken as bytes."""
    count = max(40, int(10_000 * scale))
    promise = "A request that nobody should send gets no 500, does not hang, and harms no other"
    rows = []
    for server, name, share in ((service, "the service", 0.7), (judge, "the page for judges", 0.3)):
        draw = random.Random(16)
        many = int(count * share)
        trials = Trials(promise, f"{many:,} random and malformed requests to {name}, half of them as raw bytes")
        sent: list[tuple[bytes, bool]] = []
        for n in range(many):
            whole = random_request(draw, name != "the service")
            sent.append((whole, True) if n % 2 else (mangled(draw, whole), False))
        tries = [lambda one=one, port=server.port: send(port, one[0], whole=one[1]) for one in sent]
        for (data, whole), said in zip(sent, await together(tries), strict=True):
            bad = [status for status in said.statuses if status >= 500 and status != 503]
            good = said.end not in ("hung", "never opened") and not bad and (said.statuses or not whole)
            trials.add(bool(good), f"{data[:60]!r}: {said.statuses} {said.end}")
        said = await send(server.port, predict if server is service else request("GET", "/api/sheet"))
        trials.add(said.statuses == [200], f"afterwards: {said.statuses} {said.end}")
        trials.add(server.memory() < most_memory, f"{server.memory() >> 20} MiB")
        written = server.errors.read_text(errors="replace")
        trials.add("Traceback" not in written, f"on stderr: {written[-300:]}")
        rows.append(trials.row())
    return rows


ours = ["127.0.0.1", "localhost", "LocalHost:1", "127.0.0.1:65535"]
foreign = ["evil.example", "127.0.0.1.evil.example", "evil.example:80", "localhost.", "0.0.0.0", "[::2]", "2130706433"]
broken = [
    *("", "127.0.0.1:80@evil.example", "evil.example@127.0.0.1", "localhost:80:80", "localhost:x", "localhost:99999"),
    *("http://localhost", "localhost/", "localhost, evil.example", "local host", "[::1", "[::1]x", "localhost#x", "*"),
]
sites = [
    "http://evil.example",
    "https://127.0.0.1.evil.example",
    "null",
    "",
    "http://localhost:1",
    "file://",
    "http://",
]


async def names(service: Server, judge: Server, scale: float) -> list[Row]:
    """Host and Origin, each in its variants, on every kind of path."""
    trials = Trials(
        "Only requests made to this machine by its own name are answered, and none of another site's page",
        "Host and Origin in 35 spellings, missing and twice, on several paths of both servers",
    )
    wanted: list[tuple[set[int], list[tuple[str, str]]]] = [({200}, [("Host", one)]) for one in ours]
    wanted += [({403}, [("Host", one)]) for one in foreign] + [({400}, [("Host", one)]) for one in broken]
    wanted += [({403}, [("Host", "127.0.0.1"), ("Origin", one)]) for one in sites]
    wanted += [({200}, [("Host", "127.0.0.1:9"), ("Origin", "http://127.0.0.1:9")]), ({400}, [])]
    wanted += [
        ({400}, [("Host", a), ("Host", b)]) for a, b in (("localhost", "evil.example"), ("evil.example", "localhost"))
    ]
    wanted += [({400}, [("Host", "localhost"), ("Origin", "http://localhost"), ("Origin", "http://evil.example")])]
    paths = {service.port: ["/", "/health", "/api/runs", "/docs"], judge.port: ["/", "/api/sheet", "/api/lines/1"]}
    for port, some in paths.items():
        for path in some:
            for statuses, headers in wanted:
                lines = [f"GET {path} HTTP/1.1", "Connection: close", *(f"{name}: {value}" for name, value in headers)]
                said = await send(port, "\r\n".join([*lines, "", ""]).encode())
                good = len(said.statuses) == 1 and said.statuses[0] in statuses
                trials.add(good, f"{path} {headers}: {said.statuses}, expected {statuses}")
            said = await send(port, f"GET http://evil.example{path} HTTP/1.1\r\nHost: localhost\r\n\r\n".encode())
            trials.add(said.statuses == [400], f"{path} of http://evil.example: {said.statuses}")
    return [trials.row()]


async def _rows(scale: float) -> list[Row]:
    with servers() as (service, judge):
        return [
            *await overload(service, scale),
            *await slow_clients(service, scale),
            *await oversized(service, judge, scale),
            *await malformed(service, judge, scale),
            *await names(service, judge, scale),
        ]


def rows(scale: float = 1.0) -> list[Row]:
    """The promises, how often each was tried, and how often it held."""
    return asyncio.run(_rows(scale))


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--scale", type=float, default=1.0, help="1 is the published count")
    parser.add_argument("--watch", type=int, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.watch:
        asyncio.run(watch(given.watch))
        return 0
    found = rows(given.scale)
    print(json.dumps(found, indent=2, ensure_ascii=False))
    return 0 if all(row["held"] == row["count"] for row in found) else 1


if __name__ == "__main__":
    sys.exit(main())
