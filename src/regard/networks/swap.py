"""A network with another part in the place of one.

swapped(network, network.decoder, other)        # everything else is shared, and the network stays as it is
"""

from copy import copy
from typing import Any

from torch import nn

__all__ = ["swapped"]


def swapped(module: nn.Module, part: nn.Module, other: nn.Module) -> Any:
    """The module with another part in the place of one, however deep that lies; a copy that shares the rest."""
    if module is part:
        return other
    parts = {name: one if one is None else swapped(one, part, other) for name, one in module._modules.items()}
    if all(parts[name] is one for name, one in module._modules.items()):
        return module
    found = copy(module)
    found.__dict__["_modules"] = parts
    return found
