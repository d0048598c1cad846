"""What the service bears: requests a second with texts answered together, against one at a time; and under a flood.

    regard train translate --out runs/translate
    python benchmarks/service.py runs/translate --name service

First as many clients as `--clients` ask, each its next question when the last is answered, with batches (as the service
comes) and without (`--batch 1`), with and without the look. What the service bears is the first of these figures. Then
four times that many requests a second are sent, come what may: every answer must be 200, 429 or 503, no connection may
be reset, and 99 of 100 refusals must come within 100 ms. The client speaks HTTP by hand, for a comfortable one would be
the slower end; it runs in this process, the service in its own, both on the cores named in the results.
"""

import argparse
import asyncio
import gc
import json
import os
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import cycle
from typing import Any

from record import record

goals = {"times": 4.0, "refused_p99_ms": 100.0}


@dataclass
class Tally:
    """What came back: seconds by status, and what went wrong on the way."""

    seconds: dict[int, list[float]] = field(default_factory=dict)
    broken: Counter[str] = field(default_factory=Counter)
    late: float = 0.0  # how far the client fell behind its own plan, at worst

    def count(self, *statuses: int) -> int:
        return sum(len(self.seconds.get(status, ())) for status in statuses)

    def quantile(self, q: float, *statuses: int) -> float | None:
        """In milliseconds."""
        all_of = sorted(one for status in statuses for one in self.seconds.get(status, ()))
        return round(1000 * all_of[min(int(q * len(all_of)), len(all_of) - 1)], 1) if all_of else None


class Client(asyncio.Protocol):
    """One connection, kept open; one request at a time."""

    def __init__(self) -> None:
        self.data = bytearray()
        self.answer: asyncio.Future[int] | None = None
        self.transport: asyncio.Transport | None = None

    def connection_made(self, transport: Any) -> None:
        self.transport = transport

    def data_received(self, data: bytes) -> None:
        self.data += data
        head = self.data.find(b"\r\n\r\n")
        if head < 0:
            return
        length = self.data.find(b"content-length: ", 0, head)
        size = int(self.data[length + 16 : self.data.find(b"\r\n", length)])
        if len(self.data) >= head + 4 + size and self.answer is not None and not self.answer.done():
            status = int(self.data[9:12])
            self.data.clear()
            self.answer.set_result(status)

    def connection_lost(self, exc: Exception | None) -> None:
        if self.answer is not None and not self.answer.done():
            self.answer.set_exception(exc or ConnectionError("closed without an answer"))

    async def ask(self, request: bytes) -> int:
        assert self.transport is not None
        self.answer = asyncio.get_running_loop().create_future()
        if self.transport.is_closing():
            raise ConnectionError("closed before the request")
        self.transport.write(request)
        return await self.answer


async def timed(client: Client, request: bytes, tally: Tally) -> bool:
    """Whether the connection can be used again."""
    began = time.perf_counter()
    try:
        status = await asyncio.wait_for(client.ask(request), 60)
    except (OSError, TimeoutError) as error:
        tally.broken[type(error).__name__] += 1
        return False
    tally.seconds.setdefault(status, []).append(time.perf_counter() - began)
    return True


async def opened(port: int) -> Client:
    _, client = await asyncio.get_running_loop().create_connection(Client, "127.0.0.1", port)
    return client


async def closed_loop(port: int, requests: Iterator[bytes], clients: int, seconds: float) -> tuple[float, Tally]:
    """Requests answered a second, by clients who ask when they have been answered; the first second does not count."""
    tally, warm = Tally(), Tally()
    now = time.perf_counter()
    begin, end = now + 1, now + 1 + seconds

    async def one() -> None:
        client = await opened(port)
        while (now := time.perf_counter()) < end:
            if not await timed(client, next(requests), tally if now >= begin else warm):
                client = await opened(port)
        assert client.transport is not None
        client.transport.close()

    await asyncio.gather(*(one() for _ in range(clients)))
    return tally.count(200) / (time.perf_counter() - begin), tally


async def flood(port: int, requests: Iterator[bytes], rate: float, seconds: float, most: int) -> Tally:
    """So many requests a second, whether or not the earlier ones have been answered, over at most `most` connections:
    a server may close one that waits for its client when others have no place."""
    tally, free, tasks = Tally(), [], set()  # type: Tally, list[Client], set[asyncio.Task[None]]
    room = asyncio.Semaphore(most)

    async def one() -> None:
        try:
            client = free.pop() if free else await opened(port)
            if await timed(client, next(requests), tally):
                free.append(client)
        except OSError as error:
            tally.broken[f"connect: {type(error).__name__}"] += 1
        finally:
            room.release()

    began, sent = time.perf_counter(), 0
    while (passed := time.perf_counter() - began) < seconds:
        due = int(passed * rate)
        tally.late = max(tally.late, (due - sent) / rate)
        while sent < due:
            await room.acquire()
            sent += 1
            task = asyncio.create_task(one())
            tasks.add(task)
            task.add_done_callback(tasks.discard)
        await asyncio.sleep(0.002)
    await asyncio.gather(*tasks)
    for client in free:
        assert client.transport is not None
        client.transport.close()
    return tally


@contextmanager
def service(run: str, batch: int, queue: int) -> Iterator[int]:
    """The service in a process of its own, as a user starts it; the port."""
    words = ["serve", run, "--port", "0", "--batch", str(batch), "--queue", str(queue)]
    started = "import sys; from regard.cli.main import main; sys.argv[0] = 'regard'; main()"
    process = subprocess.Popen([sys.executable, "-c", started, *words], stdout=subprocess.PIPE, text=True)
    try:
        assert process.stdout is not None
        yield int(process.stdout.readline().split("/")[2].rpartition(":")[2])
    finally:
        process.terminate()
        if process.wait(30):
            raise SystemExit(f"the service ended with {process.returncode}")


def asked(run: str, texts: list[str], look: bool) -> Iterator[bytes]:
    name = os.path.basename(os.path.abspath(run))
    made = []
    for text in texts:
        body = json.dumps({"inputs": [[text]], "look": look}).encode()
        head = f"POST /api/runs/{name}/predict HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\n"
        made.append(f"{head}Content-Length: {len(body)}\r\n\r\n".encode() + body)
    return cycle(made)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("run", help="the folder of a run of the built-in dates")
    parser.add_argument("--clients", type=int, default=64)
    parser.add_argument("--seconds", type=float, default=10.0, help="of each measurement")
    parser.add_argument("--batch", type=int, default=32)
    parser.add_argument("--queue", type=int, default=256)
    parser.add_argument("--name", default="", help="the name of the results file; nothing is kept without one")
    given = parser.parse_args()
    from regard.api import load

    texts = [example.source for example in load(given.run, "cpu").data().test][:500]
    gc.freeze()  # a client that stops to look for garbage would be measured in place of the service
    figures: dict[str, Any] = {"clients": given.clients, "batch": given.batch, "queue": given.queue}
    for batch in (given.batch, 1):
        with service(given.run, batch, max(given.queue, 2 * given.clients)) as port:
            for look in (True, False):
                requests = asked(given.run, texts, look)
                speed, tally = asyncio.run(closed_loop(port, requests, given.clients, given.seconds))
                key = f"{'together' if batch > 1 else 'alone'}_{'look' if look else 'plain'}"
                figures[f"{key}_per_second"] = round(speed, 1)
                figures[f"{key}_p50_ms"], figures[f"{key}_p99_ms"] = (tally.quantile(q, 200) for q in (0.5, 0.99))
                print(f"{key}: {speed:.1f} requests/s, {tally.count(200)} answers, {dict(tally.broken)}", flush=True)
    for kind in ("look", "plain"):
        figures[f"times_{kind}"] = round(
            figures[f"together_{kind}_per_second"] / figures[f"alone_{kind}_per_second"], 2
        )
    rate = 4 * figures["together_look_per_second"]
    with service(given.run, given.batch, given.queue) as port:
        flooded = asyncio.run(flood(port, asked(given.run, texts, True), rate, given.seconds, 2_000))
    figures["flood"] = {
        "offered_per_second": round(rate, 1),
        "answered_per_second": round(flooded.count(200) / given.seconds, 1),
        "statuses": {str(status): len(times) for status, times in sorted(flooded.seconds.items())},
        "broken": dict(flooded.broken),
        "refused_p50_ms": flooded.quantile(0.5, 429, 503),
        "refused_p99_ms": flooded.quantile(0.99, 429, 503),
        "answered_p99_ms": flooded.quantile(0.99, 200),
        "client_late_ms": round(1000 * flooded.late, 1),
    }
    held = {
        "times": min(figures["times_look"], figures["times_plain"]) >= goals["times"],
        "only_200_429_503": set(flooded.seconds) <= {200, 429, 503} and not flooded.broken,
        "refused_quickly": (figures["flood"]["refused_p99_ms"] or 0.0) <= goals["refused_p99_ms"],
    }
    figures["held"] = held
    print(json.dumps(figures, indent=2))
    if given.name:
        print(record(given.name, figures))
    return 0 if all(held.values()) else 1


if __name__ == "__main__":
    sys.exit(main())
