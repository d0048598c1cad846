"""log.jsonl: one line an event, appended as it happens; after a stop it is cut back to the saved moment."""

import contextlib
import json
from pathlib import Path
from typing import Any

from regard.files import write_whole

__all__ = ["Log", "read"]


def read(path: Path) -> list[dict[str, Any]]:
    """Every whole line; one that a killed writer left half-written at the end is passed over."""
    events = []
    for line in path.read_text(encoding="utf-8").split("\n") if path.exists() else []:
        with contextlib.suppress(json.JSONDecodeError):
            events.append(json.loads(line))
    return [event for event in events if isinstance(event, dict)]


class Log:
    """Events of a run, each with the step at which it happened."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def add(self, step: int, **event: Any) -> None:
        with self.path.open("a", encoding="utf-8") as file:
            file.write(json.dumps({"step": step, **event}, ensure_ascii=False) + "\n")

    def cut(self, step: int) -> None:
        """Forget what came after a step: it will happen again."""
        kept = [event for event in read(self.path) if event.get("step", 0) <= step]
        write_whole(self.path, "".join(json.dumps(event, ensure_ascii=False) + "\n" for event in kept))
