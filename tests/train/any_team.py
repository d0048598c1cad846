"""One of several processes that train tasks by `regard.train`, as torchrun starts them; see test_distribute_tasks.py.

    RANK=0 WORLD_SIZE=2 MASTER_ADDR=… MASTER_PORT=… python any_team.py FOLDER STEPS DIES_AT TASK TASK …

The process of rank 1 ends by SIGKILL before its step number DIES_AT (0: never). Each run is FOLDER/TASK.
"""

import os
import signal
import sys
from pathlib import Path
from typing import Any

import torch

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))  # where the set-ups that tests share are

from generation_tasks import data, options_of, pairs
from regard import api
from regard.errors import RegardError
from regard.train import loop
from regard.train.distribute import joined

TRAIN = {"batch_size": 2, "batch_tokens": 0, "validate_every": 100, "save_every": 0, "device": "cpu", "threads": 1}


def given(task: str, folder: Path) -> Any:
    """Text to pre-train on is streamed from a file; all else is given as rows."""
    if task == "pretrain":
        file = folder / "text.txt"
        if os.environ["RANK"] == "0" and not file.exists():
            file.write_text("".join(f"{a} {b} {c}\n" for a in "abcdef" for b in "abcdef" for c in "abcdef"))
        return {"train": str(file)}
    if task == "recommend":
        return {
            "train": [(f"u{user}", "abcdef"[(user + time) % 6], str(time)) for user in range(8) for time in range(5)]
        }
    rows = list(data.get(task, pairs))
    return {"train": rows * 3, "valid": rows}


def main(folder: Path, steps: int, dies_at: int, tasks: list[str]) -> None:
    torch.set_num_threads(1)
    loop.draw = lambda folder: None  # type: ignore[assignment]
    made, step = 0, loop.step

    def deadly(*positional: Any, **named: Any) -> Any:
        nonlocal made
        made += 1
        if made == dies_at and os.environ["RANK"] == "1":
            os.kill(os.getpid(), signal.SIGKILL)
        return step(*positional, **named)

    loop.step = deadly
    try:
        with joined():
            for task in tasks:
                train = {**TRAIN, "steps": steps}
                api.train(
                    task, data=given(task, folder), out=folder / task, quiet=True, train=train, **options_of(task)
                )
    except RegardError as error:
        print(error)
        raise SystemExit(2) from None


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3]), sys.argv[4:])
