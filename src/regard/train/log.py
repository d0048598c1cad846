"""log.jsonl: one line per event, appended as it happens; on resume it is cut back to the checkpoint."""

import contextlib
import json
import os
from pathlib import Path
from typing import Any

from regard.files import regular, write_whole

__all__ = ["Log", "read"]

LARGEST = 2**25  # bytes; of a longer one the end is read


def read(path: Path) -> list[dict[str, Any]]:
    """All valid events. Damaged lines are skipped, so that they never stop a training."""
    events = []
    try:
        with regular(path) as file:
            file.seek(max(0, file.seek(0, os.SEEK_END) - LARGEST))
            for line in file:
                with contextlib.suppress(ValueError, RecursionError):
                    if _whole(event := json.loads(line.decode("utf-8"))):
                        events.append(event)
    except FileNotFoundError:
        return []
    return events


def _whole(event: Any) -> bool:
    """Whether it is a valid event: a step, and values that are numbers or strings."""
    if not isinstance(event, dict) or not _number(event.get("step")) or not isinstance(event["step"], int):
        return False
    valid = event.get("valid", {})
    if not isinstance(valid, dict) or not all(isinstance(one, str) or _number(one) for one in valid.values()):
        return False
    return all(_number(event[name]) for name in ("loss", "seconds", "rate", "epoch") if name in event)


def _number(value: Any) -> bool:
    return isinstance(value, float) or (isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 2**53)


class Log:
    """Events of a run, each with the step at which it happened."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def add(self, step: int, **event: Any) -> None:
        with self.path.open("a", encoding="utf-8") as file:
            file.write(json.dumps({"step": step, **event}, ensure_ascii=False) + "\n")

    def cut(self, step: int) -> None:
        """Removes the events after a step, since they will happen again."""
        kept = [event for event in read(self.path) if event["step"] <= step]
        write_whole(self.path, "".join(json.dumps(event, ensure_ascii=False) + "\n" for event in kept))
