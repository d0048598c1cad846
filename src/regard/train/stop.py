"""Graceful stop: on Ctrl-C or SIGTERM the loop finishes its step, saves and exits. A second Ctrl-C exits at once."""

import signal
import threading
from types import FrameType, TracebackType
from typing import Any

__all__ = ["Stop"]


class Stop:
    """`with Stop() as stop: … if stop.asked: …`; outside the main thread nothing is caught."""

    def __init__(self, processes: int = 1) -> None:
        self.asked: int | None = None
        self.processes = processes  # torchrun passes a Ctrl-C on that has reached all of them already
        self.before: dict[int, Any] = {}

    def __enter__(self) -> "Stop":
        if threading.current_thread() is threading.main_thread():
            for number in (signal.SIGINT, signal.SIGTERM):
                self.before[number] = signal.signal(number, self._ask)
        return self

    def _ask(self, number: int, frame: FrameType | None) -> None:
        if self.asked is not None and number == signal.SIGINT and self.processes == 1:
            raise KeyboardInterrupt
        self.asked = number

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for number, handler in self.before.items():
            signal.signal(number, handler)
