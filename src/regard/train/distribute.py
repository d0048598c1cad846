"""Several processes, one training, on the GPUs of one machine or of several:

    torchrun --nproc-per-node 4 -m regard train pretrain --data text.txt --out runs/pretrained

Every process reads the same data and takes its share of the rows of each batch; DistributedDataParallel adds up the
gradients. What one process computes from a batch, N processes compute together, to rounding. The first process (rank 0)
reads first, validates, decides and writes; the others follow what it says, so that all stop together. The run's folder
must be visible to all. A training is resumed with as many processes as it was begun with.

Gradients travel by NCCL between GPUs and by gloo between CPUs, decisions by gloo as numbers and JSON; nothing is
pickled.

    with joined():                 # does nothing where there is one process
        team = Processes.now();  forward = team.wrapped(network)
"""

import json
import os
import warnings
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

import torch
import torch.distributed as dist
from torch import Tensor, nn
from torch.nn.parallel import DistributedDataParallel

from regard.errors import RegardError
from regard.types import Network

__all__ = ["Processes", "joined"]

# The longest wait for another process, if its connection does not tell that it is gone.
WAIT = timedelta(minutes=30)
# What torch says when one is: in errors of kinds that have other causes, too.
LOST = ("gloo", "NCCL", "Connection closed", "Connection reset", "Broken pipe", "Socket", "TCPStore", "timed out")


@dataclass(frozen=True)
class Processes:
    """The processes of this training; alone, everything here does nothing."""

    rank: int = 0
    size: int = 1

    @staticmethod
    def now() -> "Processes":
        if not dist.is_initialized():
            return Processes()
        return Processes(dist.get_rank(), dist.get_world_size())

    @property
    def first(self) -> bool:
        """Whether this is the one that decides and writes."""
        return self.rank == 0

    @property
    def alone(self) -> bool:
        return self.size == 1

    def share(self, rows: list[int]) -> list[int]:
        """This process's rows of a batch. A batch with fewer rows than processes is read by all of them: the mean over
        what they count is then the same."""
        return rows if self.alone or len(rows) < self.size else rows[self.rank :: self.size]

    def total(self, number: int) -> int:
        """The sum over all processes."""
        if self.alone:
            return number
        found = torch.tensor([number], dtype=torch.int64)
        dist.all_reduce(found)
        return int(found)

    def told(self, value: Any = None) -> Any:
        """What the first process says, as JSON."""
        if self.alone:
            return value
        data = json.dumps(value).encode() if self.first else b""
        size = torch.tensor([len(data)], dtype=torch.int64)
        dist.broadcast(size, 0)
        text = (
            torch.frombuffer(bytearray(data), dtype=torch.uint8) if data else torch.empty(int(size), dtype=torch.uint8)
        )
        dist.broadcast(text, 0)
        return json.loads(bytes(text.numpy()))

    def agreed(self, decided: Sequence[int], asked: int) -> tuple[list[int], int]:
        """What the first process decided, none of it below 0, and the largest of what each was asked."""
        if self.alone:
            return list(decided), asked
        found = torch.tensor([*(decided if self.first else [-1] * len(decided)), asked], dtype=torch.int64)
        dist.all_reduce(found, dist.ReduceOp.MAX)
        *taken, asked = found.tolist()
        return taken, asked

    def align(self, network: nn.Module) -> None:
        """The first process's weights for all."""
        if not self.alone:
            for value in network.state_dict().values():
                dist.broadcast(value, 0)

    def gathered(self, states: dict[str, Tensor]) -> dict[str, Tensor]:
        """The states of all processes; `cpu.1` is that of the second."""
        found = dict(states)
        for name, state in states.items():
            if not self.alone:
                each = [torch.empty_like(state) for _ in range(self.size)]
                dist.all_gather(each, state)
                found |= {f"{name}.{rank}": one for rank, one in enumerate(each) if rank}
        return found

    def own(self, name: str) -> str:
        """The name under which `gathered` has this process's state."""
        return name if self.first else f"{name}.{self.rank}"

    def wrapped(self, network: Network) -> nn.Module:
        """What is called in place of the network. Parts that a step does not use are looked for; then buckets of
        gradients also stay as they are, and a run that is resumed adds them up in the same order."""
        if self.alone:
            return network
        with warnings.catch_warnings():
            # What takes the place of broadcast_buffers is not in every version of PyTorch that we run with.
            warnings.simplefilter("ignore", FutureWarning)
            return DistributedDataParallel(network, find_unused_parameters=True, broadcast_buffers=False)


def unsynchronised(network: nn.Module) -> AbstractContextManager[None]:
    """Within the block, gradients are added up in each process alone."""
    return network.no_sync() if isinstance(network, DistributedDataParallel) else nullcontext()


@contextmanager
def joined() -> Iterator[None]:
    """Within the block, this process is part of the group that torchrun has made of it, if it has."""
    if dist.is_initialized() or not _several():
        yield
        return
    if torch.cuda.is_available():
        torch.cuda.set_device(int(os.environ.get("LOCAL_RANK", 0)) % torch.cuda.device_count())
    backend = "cpu:gloo,cuda:nccl" if torch.cuda.is_available() else "gloo"
    try:
        dist.init_process_group(backend, timeout=WAIT)
        yield
    except (RuntimeError, dist.DistError) as error:
        if isinstance(error, RegardError) or not _lost(error):
            raise
        rank = os.environ["RANK"]
        raise RegardError(
            f"process {rank} of {os.environ['WORLD_SIZE']}: another process of this training has ended",
            do="see what it said, then repeat the command to resume",
        ) from None
    dist.destroy_process_group()


def _several() -> bool:
    there = all(name in os.environ for name in ("RANK", "WORLD_SIZE", "MASTER_ADDR", "MASTER_PORT"))
    return there and dist.is_available() and os.environ["WORLD_SIZE"] != "1"


def _lost(error: Exception) -> bool:
    return isinstance(error, dist.DistError) or any(one in str(error) for one in LOST)
