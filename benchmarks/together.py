"""Many trainings side by side, where one that fails does not take the others with it.

    for key, found in together({"plain": (train, options, 1), "markov": (train, others, 1)}, jobs=8): ...

A call that raised, or whose process died, is told of and gives `{"failed": "RegardError: …"}` in place of its figures.
After `stop` seconds those that still run are ended and give nothing.
"""

import math
import time
import traceback
from collections.abc import Iterator, Mapping
from contextlib import closing
from typing import Any

from regard.compare.processes import in_processes
from regard.errors import RegardError

__all__ = ["spread", "together", "tried"]


def tried(function: Any, threads: int, *given: Any) -> dict[str, Any]:
    """What the function gives, in the process made for it."""
    import torch

    torch.set_num_threads(threads)
    try:
        return function(*given)  # type: ignore[no-any-return]
    except Exception as error:  # whatever it is, the others go on
        traceback.print_exc()
        return {"failed": f"{type(error).__name__}: {error}"}


def together(
    work: Mapping[str, tuple[Any, ...]], jobs: int, stop: float = math.inf
) -> Iterator[tuple[str, dict[str, Any]]]:
    """Each key with the figures of its call (function, arguments …), as they come."""
    import torch

    threads, began = max(1, torch.get_num_threads() // jobs), time.monotonic()
    calls = {key: (tried, call[0], threads, *call[1:]) for key, call in work.items()}
    with closing(in_processes(calls, jobs, began + stop, alone=True)) as results:
        for number, (key, found) in enumerate(results, 1):
            if isinstance(found, RegardError):
                found = {"failed": f"RegardError: {found}"}
            told = found.get("failed") or ", ".join(f"{k} {v:.4g}" for k, v in found.items() if isinstance(v, float))
            print(f"{number}/{len(work)}  {time.monotonic() - began:.0f} s  {key}: {told}", flush=True)
            yield key, found


def spread(rows: Mapping[int, Mapping[str, Any]]) -> dict[str, Any]:
    """Figures of several seeds as one row: a list each, those that failed left out."""
    whole = [rows[seed] for seed in sorted(rows) if "failed" not in rows[seed]]
    names = dict.fromkeys(name for row in whole for name in row)
    failed = {"failed": [row["failed"] for row in rows.values() if "failed" in row]}
    return {name: [row.get(name) for row in whole] for name in names} | (failed if failed["failed"] else {})
