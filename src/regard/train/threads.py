"""The number of CPU threads in training: one per core, or one if the cores are busy.

Threads that wait for a busy core are slower than one thread alone. So training times a step both ways at the start and
at every save. The number is saved too, since it may change the last bits of a sum.

    with restored():                     # restores the caller's number of threads
        torch.set_num_threads(quicker(lambda: work(), most=usable(), now=time.monotonic))
"""

import contextlib
import os
from collections.abc import Callable, Iterator
from pathlib import Path

import torch

from regard.train.device import usable_cores

__all__ = ["quicker", "restored", "usable"]

# Several threads must save this much of the time to be worth their cores.
WORTH = 0.95
CGROUP = Path("/sys/fs/cgroup/cpu.max")


def usable() -> int:
    """PyTorch's number of threads, at most the cores this process may use; 0 if the user has set the number
    (OMP_NUM_THREADS), which is then kept."""
    if os.environ.get("OMP_NUM_THREADS"):
        return 0
    cores = usable_cores()
    with contextlib.suppress(OSError, ValueError):  # a container's share, as "200000 100000": 2 cores
        quota, period = CGROUP.read_text().split()
        cores = min(cores, max(1, int(quota) // int(period)))
    return max(1, min(cores, torch.get_num_threads()))


def quicker(work: Callable[[], object], most: int, now: Callable[[], float], rounds: int = 3) -> int:
    """`most` or 1, whichever is faster now; it stays set."""
    if most <= 1:
        return 1
    best = {most: float("inf"), 1: float("inf")}
    torch.set_num_threads(most)
    work()  # what is only done once counts for neither
    for _ in range(rounds):
        for threads in best:
            torch.set_num_threads(threads)
            before = now()
            work()
            best[threads] = min(best[threads], now() - before)
    chosen = most if best[most] < WORTH * best[1] else 1
    torch.set_num_threads(chosen)
    return chosen


@contextlib.contextmanager
def restored() -> Iterator[None]:
    """Restores PyTorch's number of threads after the block."""
    before = torch.get_num_threads()
    try:
        yield
    finally:
        torch.set_num_threads(before)
