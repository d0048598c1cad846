"""Train, be killed, go on: children of this process end by SIGKILL at moments drawn by lot, many inside a save.

    python killed.py FOLDER SEED KILLS     → one line a child; FOLDER/whole and FOLDER/killed are the two runs

The moments are counted in calls (the third loss, the fifth fsync, …) and the axe falls just before or
just after one, so that every kind of half-done work is left behind now and then.
"""

import os
import shutil
import signal
import sys
from collections.abc import Callable
from pathlib import Path
from random import Random
from typing import Any

import torch

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))  # where the set-ups that tests share are

from small_runs import fit_in, small_task

from regard.networks.encoder_decoder import EncoderDecoder
from regard.tasks.translate import Translate
from regard.train import checkpoint, loop
from regard.train.run import Run

# Each with the most calls a sitting makes before it is likely to be over.
moments: list[tuple[Any, str, int]] = [
    (EncoderDecoder, "forward", 9),
    (Translate, "results", 2),
    (checkpoint, "save_file", 12),
    (os, "fsync", 16),
    (os, "rename", 3),
    (os, "replace", 4),
    (shutil, "rmtree", 2),
]


def deadly(call: Callable[..., Any], number: int, after: bool) -> Callable[..., Any]:
    calls = iter(range(1, 10**6))

    def wrapped(*given: Any, **named: Any) -> Any:
        now = next(calls) == number
        if now and not after:
            os.kill(os.getpid(), signal.SIGKILL)
        result = call(*given, **named)
        if now:
            os.kill(os.getpid(), signal.SIGKILL)
        return result

    return wrapped


def sitting(folder: Path, moment: tuple[Any, str, int, bool] | None) -> int:
    """Train in a child, to the end or to a moment; the signal that ended it, or 0."""
    child = os.fork()
    if not child:
        try:
            if moment:
                where, name, number, after = moment
                setattr(where, name, deadly(getattr(where, name), number, after))
            fit_in(folder, save_every=0)
            os._exit(0)
        finally:
            os._exit(1)
    _, status = os.waitpid(child, 0)
    assert os.WIFSIGNALED(status) or os.WEXITSTATUS(status) == 0, "training failed"
    return os.WTERMSIG(status) if os.WIFSIGNALED(status) else 0


def main(folder: Path, seed: int, kills: int) -> None:
    torch.set_num_threads(1)  # threads do not survive a fork
    loop.draw = lambda folder: None  # type: ignore[assignment]  # pictures would take most of the time
    fit_in(folder / "whole", save_every=0)  # here, so that what torch loads on first use is loaded once
    random, run = Random(seed), folder / "killed"
    while True:
        where, name, most = random.choice(moments)
        moment = (where, name, random.randint(1, most), random.random() < 0.5) if kills > 0 else None
        ended = sitting(run, moment)
        print(f"{name}, call {moment[2]}: {ended}" if moment else "left in peace", flush=True)
        kills -= 1
        if Run.is_in(run):  # at every moment a run is one that loads
            opened, task = Run.open(run), small_task()
            task.restore(opened.kept)
            opened.load_weights(task.network())
        if not ended:
            return


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3]))
