"""Whole shares of a call for each core, in buffers that stay in its cache: what the blocked CPU paths have in common.

PyTorch divides every operation among its threads, and each waits for the slowest: thousands of short waits a call,
and on a machine that does other work long ones. Here a call is cut once into shares (some sentences, some of their
queries), the caller and a few helping threads take one after another, and every operation inside runs on one core.
A share is cut by the shape alone and sums of several shares are added in their order, so that the answer is the same
for every number of threads. `torch.get_num_threads()` says how many may work; the caller's setting stays as it is.

    with Team() as team:
        team.each(shares(batch, queries, keys * width), work, floats)     # work(share, buffer of so many floats)

Waking a helper and passing Python's lock to and fro costs some tenths of a millisecond, as much as a small call has to
gain. Such a call is one share, and PyTorch's threads divide its operations after all (`Team(small=True)`). Each core
keeps its own queries in its cache, so that sums over queries are taken in `GROUPS` of them (`by_key`). PyTorch computes
what is left of a range after whole vectors in another way; `small` holds for shapes of which nothing is left over.
"""

import ctypes
import os
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager, nullcontext
from dataclasses import dataclass

import torch
from torch import Tensor

__all__ = [
    "GROUPS", "VECTORS", "Share", "Team", "added", "alone", "by_key", "by_query", "few", "grid", "largest", "shares",
    "small",
]  # fmt: skip

MOST = 16  # shares of a call: more would balance better, but each may hold sums of its own
LEAST = 2**20  # numbers worth a share: below it, handing over costs more than it gives
KEPT = 2**21  # numbers of a buffer that is kept for the next call: 8 MB
GROUPS = 4  # of queries in a block of a small call, and threads that work on it
VECTORS = 32  # numbers of the two vectors (of AVX512; no others are larger) that PyTorch takes at once
LONG = 2**15  # numbers in a row whose sum PyTorch would divide among threads
TALL = 8  # queries a block, at least: the sums over queries are as large as the block divided by these


@dataclass(frozen=True)
class Share:
    """Some sentences and some of their queries. Shares of one slot have no sentence in common."""

    rows: slice
    queries: slice
    slot: int
    index: int


def shares(batch: int, count: int, cost: int, first: int = 0) -> list[Share]:
    """The shares of `count` queries from `first` on, each of which works out `cost` numbers; 0: one share."""
    many = min(max(batch * count * cost // LEAST, 1), MOST)
    groups = min(many, batch)
    slots = min(many // groups, count)
    places = [(group, slot) for group in range(groups) for slot in range(slots)]
    return [
        Share(
            rows=slice(batch * group // groups, batch * (group + 1) // groups),
            queries=slice(first + count * slot // slots, first + count * (slot + 1) // slots),
            slot=slot,
            index=index,
        )
        for index, (group, slot) in enumerate(places)
    ]


def grid(share: Share, keys: int, width: int, size: int) -> tuple[list[slice], int, int]:
    """Sentences, and how many queries and keys of them, for blocks of about `size` numbers."""
    (start, stop), queries = (share.rows.start, share.rows.stop), share.queries.stop - share.queries.start
    wide = min(keys, max(size // (min(queries, TALL) * width), 1))
    tall = min(queries, max(size // (wide * width), 1))
    deep = max(size // (queries * keys * width), 1) if (tall, wide) == (queries, keys) else 1
    return [slice(row, min(row + deep, stop)) for row in range(start, stop, deep)], tall, wide


def added(parts: Sequence[Tensor]) -> Tensor:
    """Their sum, in their order; in place of the first."""
    for part in parts[1:]:
        parts[0].add_(part)
    return parts[0]


def small(q: Tensor, k: Tensor, most: int, block: int) -> bool:
    """Whether a call of at most `most` numbers is one share, in blocks of about `block` that can be divided evenly."""
    _, keys, width = k.shape
    even = width % VECTORS == 0 and keys * width % (GROUPS * VECTORS) == 0
    return even and width < LONG and keys * width * TALL <= block and q.numel() * keys <= most


def largest(x: Tensor) -> float:
    """The largest |x|; NaN where one of the numbers is."""
    low, high = x.aminmax()
    return max(-float(low), float(high))  # both are NaN then


def by_query(x: Tensor, groups: int) -> Tensor:
    """The sums over the keys of [some, query, key, feature].

    PyTorch gives each thread some of the sentences and queries; where there are too few it would cut the features, and
    add up those at a cut in another order.
    """
    if len(x) * x.shape[1] >= groups:
        return x.sum(2)
    with alone():
        return x.sum(2)


def by_key(x: Tensor, sums: Tensor) -> None:
    """Adds the sums over the queries of [some, query, key, feature] to those of so many groups of queries, [some,
    group, key, feature]: each thread has some of the sentences or groups."""
    groups = sums.shape[1]
    even = x.shape[1] // groups * groups
    if even:
        sums.add_(x[:, :even].view(len(x), groups, -1, *x.shape[2:]).sum(2))
    if even < x.shape[1]:
        sums[:, : x.shape[1] - even].add_(x[:, even:])


def _setter(name: str) -> Callable[[int], int]:
    """A function that says how many threads the calling thread, and no other, may use; nothing where it is missing."""
    try:
        return getattr(ctypes.CDLL(torch._C.__file__), name)  # type: ignore[no-any-return]
    except (AttributeError, OSError):
        return lambda number: 0


# torch.set_num_threads speaks to this thread's OpenMP, but to MKL and to threads yet to come as well.
_openmp, _mkl = _setter("omp_set_num_threads"), _setter("MKL_Set_Num_Threads_Local")
# The threads of the caller's last operation spin for some milliseconds in wait of the next, on the helpers' cores.
_pause = _setter("omp_pause_resource_all")


@contextmanager
def alone() -> Iterator[int]:
    """Operations of this thread run on one core. Gives how many threads may help: 1 where that cannot be had."""
    before = torch.get_num_threads()  # asked first: PyTorch sets up a new thread when it is
    _openmp(1)
    local = _mkl(1)
    try:
        yield before if torch.get_num_threads() == 1 else 1
    finally:
        _openmp(before)
        _mkl(local)


@contextmanager
def few(threads: int) -> Iterator[None]:
    """Operations of this thread run on one, two or four of so many cores; products of matrices still on one."""
    _openmp(1 if _child or threads < 2 else 2 if threads < GROUPS else GROUPS)
    try:
        yield
    finally:
        _openmp(1)


_helpers: ThreadPoolExecutor | None = None
_child = False


def _forget() -> None:
    """A child process has none of its parent's threads, and OpenMP does not know."""
    global _helpers, _child
    _helpers, _child = None, True


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget)


def _pool() -> ThreadPoolExecutor:
    global _helpers
    if _helpers is None:
        _helpers = ThreadPoolExecutor(max(os.cpu_count() or 1, 2), thread_name_prefix="regard")
    return _helpers


# Buffers of calls that are over. The first touch of a page costs more than the block that is written to it; what
# stays is at most KEPT numbers for each of MOST workers, and as a rule one or two buffers for each core.
_spare: list[Tensor] = []


def _buffer(floats: int) -> Tensor:
    """One that nobody uses, of so many numbers or more."""
    while _spare:
        try:
            one = _spare.pop()
        except IndexError:  # another thread was quicker
            break
        if len(one) >= floats:
            return one
    with torch.inference_mode(False):  # so that it serves callers outside of it too
        return torch.empty(floats)


def _returned(buffer: Tensor) -> None:
    if len(buffer) <= KEPT and len(_spare) < MOST:
        _spare.append(buffer)


class Team:
    """The caller and its helpers; in a small call the caller and a few of PyTorch's own threads."""

    def __init__(self, small: bool = False) -> None:
        self.small = small

    def __enter__(self) -> "Team":
        with ExitStack() as stack:
            self.threads = stack.enter_context(alone())
            stack.enter_context(torch.autocast("cpu", enabled=False))  # as in a thread that never heard of it
            self.stack = stack.pop_all()
        return self

    def __exit__(self, *error: object) -> None:
        self.stack.close()

    def room(self, like: Tensor) -> Tensor:
        """An empty tensor of this shape, until the team is dismissed."""
        buffer = _buffer(like.numel())
        self.stack.callback(_returned, buffer)
        return buffer[: like.numel()].view(like.shape)

    def each(self, some: Sequence[Share], work: Callable[[Share, Tensor], None], floats: int) -> None:
        """Does the work of every share in a buffer of its worker's; what one of them raises is raised here."""
        buffers = [_buffer(floats) for _ in range(1 if self.small else min(self.threads, len(some)))]
        left = iter(some)

        def take(buffer: Tensor) -> None:
            try:
                with torch.inference_mode():  # so that results may be written whether or not the caller is in it
                    for share in left:
                        work(share, buffer)
            except BaseException:
                for _ in left:  # nobody needs to begin another
                    pass
                raise

        def help(buffer: Tensor) -> None:
            with alone():
                take(buffer)

        if len(buffers) > 1:
            _pause(1)
        waiting = [_pool().submit(help, buffer[:floats]) for buffer in buffers[1:]]
        try:
            with few(self.threads) if self.small else nullcontext():
                take(buffers[0][:floats])
        finally:
            for one in waiting:
                if not one.cancel():  # a helper that had not begun by now has nothing left to do
                    one.result()
        for buffer in buffers:  # where one of them raised another may still write to its own: those are left to go
            _returned(buffer)
