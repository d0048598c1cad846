"""Live progress: a bar with figures and the time left in a terminal, plain lines elsewhere."""

import math
import sys
import threading
import time
from types import TracebackType
from typing import Any

__all__ = ["Progress", "clock"]

PATIENCE = 1.0  # seconds after which a line says what is being done


def clock(seconds: float) -> str:
    """75 seconds as 1:15"""
    if not math.isfinite(seconds):
        return "?"
    minutes, rest = divmod(int(max(0.0, seconds)), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02d}:{rest:02d}" if hours else f"{minutes}:{rest:02d}"


class Progress:
    """`with Progress() as show: show.phase("training"); show.step(…); show.say(…)`; quiet=True says nothing."""

    def __init__(self, quiet: bool = False, lines_every: float = 5.0) -> None:
        self.quiet, self.lines_every = quiet, lines_every
        self.said = -math.inf
        self.bar: Any = None
        self.later: threading.Timer | None = None  # says what is being done, if it takes a while

    def __enter__(self) -> "Progress":
        if not self.quiet and sys.stderr.isatty():
            from rich.console import Console
            from rich.progress import BarColumn, TextColumn
            from rich.progress import Progress as Bar

            columns = TextColumn("{task.description}", markup=False), BarColumn(bar_width=None)
            self.bar = Bar(*columns, TextColumn("{task.fields[line]}", markup=False), console=Console(stderr=True))
            self.bar.start()
            self.row = self.bar.add_task("starting", total=None, line="")
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._sooner()
        if self.bar is not None:
            self.bar.stop()

    def phase(self, name: str, about: str = "") -> None:
        """Starts a phase with a note; outside a terminal it is printed if the phase takes a while."""
        self._sooner()
        if self.quiet:
            return
        if self.bar is not None:
            self.bar.update(self.row, description=name, total=None, line=about)
        else:
            line = f"{name} {about}".rstrip()
            self.later = threading.Timer(PATIENCE, lambda: print(line, file=sys.stderr, flush=True))
            self.later.daemon = True
            self.later.start()

    def _sooner(self) -> None:
        """Drops the line of a phase that ended quickly."""
        if self.later is not None:
            self.later.cancel()
            self.later = None

    def step(self, step: int, steps: int, figures: str, left: float) -> None:
        """Updates the progress. Cheap to call; plain lines come at most every `lines_every` seconds."""
        self._shown("training", "step ", step, steps, f"  {figures}", left)

    def part(self, name: str, done: int, every: int, left: float) -> None:
        """Updates the progress of a phase that is made of pieces of work. Cheap to call too."""
        self._shown(name, f"{name} ", done, every, "", left)

    def _shown(self, name: str, start: str, done: int, every: int, figures: str, left: float) -> None:
        if self.quiet:
            return
        line = f"{done}/{every}{figures}  left {clock(left)}"
        self._sooner()
        if self.bar is not None:
            self.bar.update(self.row, description=name, total=1.0, completed=done / max(1, every), line=line)
        elif time.monotonic() - self.said > self.lines_every:
            self.said = time.monotonic()
            print(f"{start}{line}", file=sys.stderr, flush=True)

    def warn(self, text: str) -> None:
        """Prints a warning, even if quiet."""
        if self.quiet:
            print(text, file=sys.stderr, flush=True)
        else:
            self.say(text)

    def say(self, text: str) -> None:
        self._sooner()
        if self.quiet:
            return
        if self.bar is not None:
            self.bar.console.print(text, markup=False, highlight=False)
        else:
            print(text, file=sys.stderr, flush=True)
