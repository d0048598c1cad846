"""Builds the model of a task, if its options are valid and it fits into this machine's memory.

network = network_of(task)
"""

import math
import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from torch import nn
from torch.nn.modules.module import register_module_parameter_registration_hook

from regard.errors import RegardError
from regard.types import Network

__all__ = ["fits", "network_of"]


def memory() -> int | float:
    """Bytes of this machine."""
    return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") if hasattr(os, "sysconf") else math.inf


@contextmanager
def fits() -> Iterator[None]:
    """Within this block, building a model larger than the memory raises.

    Parameters are registered before they are filled, and the system allocates memory only when it is filled.
    """
    size, most = 0, memory()

    def count(module: nn.Module, name: str, parameter: nn.Parameter | None) -> None:
        nonlocal size
        size += 0 if parameter is None else parameter.numel() * parameter.element_size()
        if size > most:
            raise RegardError(
                f"the model needs more than {size / 2**30:,.3g} GiB",
                expected=f"at most {most / 2**30:,.3g} GiB, the memory of this machine",
                do="use smaller sizes",
            )

    counting = register_module_parameter_registration_hook(count)
    try:
        yield
    finally:
        counting.remove()


def network_of(task: Any) -> Network:
    """The task's model; invalid or too large sizes raise a RegardError."""
    try:
        with fits():
            return task.network()  # type: ignore[no-any-return]
    except (ValueError, RuntimeError, TypeError, ZeroDivisionError, MemoryError) as error:
        if isinstance(error, RegardError):
            raise
        reason = str(error).splitlines()[0] if str(error) else type(error).__name__
        raise RegardError(f"cannot build a model with these options ({reason})", do="check the sizes") from None
