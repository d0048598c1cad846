"""Checks the sizes in a configuration against the weights, before the model is built.

The header of a safetensors file has the name and shape of every tensor. The model is first built on PyTorch's `meta`
device, without memory, and building stops as soon as it has more than the header. So a small file with
`layers = 1000000000` costs no more than a small model.

    check(task.model, shapes(folder / "model.safetensors"))       # RegardError says what does not fit
"""

from collections.abc import Callable, Mapping
from math import prod
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError, safe_open
from torch import Tensor, nn
from torch.nn.modules.module import (
    register_module_buffer_registration_hook,
    register_module_module_registration_hook,
    register_module_parameter_registration_hook,
)
from torch.overrides import TorchFunctionMode

from regard.errors import RegardError
from regard.files import regular
from regard.train.tensors import HEADER
from regard.types import Network

__all__ = ["Shapes", "UnfitError", "bounded", "check", "shapes"]

Shapes = Mapping[str, tuple[int, ...]]

# Beside its weights a model has tables of positions and the like, and what it needs for a moment to make them.
ASIDE, TIMES = 2**26, 8
PARTS = 1000  # modules and buffers that may come without weights
DRAWN = {"bernoulli_", "exponential_", "fill_", "normal_", "random_", "uniform_", "zero_"}


def shapes(path: Path) -> Shapes:
    """The tensors of a safetensors file by name; no data is read."""
    with regular(path) as file:
        if int.from_bytes(file.read(8), "little") > HEADER:
            raise UnfitError("its header is too long")
    try:
        with safe_open(path, "pt") as opened:
            return {name: tuple(opened.get_slice(name).get_shape()) for name in opened.keys()}  # noqa: SIM118
    except SafetensorError as error:
        raise UnfitError(str(error)) from None


class UnfitError(RegardError):
    """Options and weights do not belong to the same model."""

    def __init__(self, why: str) -> None:
        super().__init__(f"it does not fit config.toml: {why}")


def bounded(build: Callable[[], nn.Module], weights: Shapes) -> Shapes:
    """The model on the meta device; raises if it is much larger than these weights."""
    return _shapes(_made(build, weights))


def _made(build: Callable[[], nn.Module], weights: Shapes) -> nn.Module:
    with torch.device("meta"), Bounded(weights):
        return build()


def _shapes(model: nn.Module) -> Shapes:
    return {name: tuple(value.shape) for name, value in model.state_dict().items()}


def check(build: Callable[[], nn.Module], weights: Shapes) -> None:
    """Raises if the model would not have exactly these weights, but for what a run of an older version may lack."""
    model = _made(build, weights)
    found, spare = _shapes(model), model.spare if isinstance(model, Network) else frozenset()
    for name in sorted(found.keys() | weights.keys()):
        if found.get(name) != weights.get(name) and not (name in spare and name not in weights):
            there, asked = (_shown(some.get(name)) for some in (weights, found))
            raise UnfitError(f"{name} is {there} there, and {asked} by the options")


def _shown(shape: tuple[int, ...] | None) -> str:
    return "missing" if shape is None else "×".join(map(str, shape)) or "a number"


class Bounded(TorchFunctionMode):
    """Limits the modules and tensors that can be created to about what these weights need."""

    def __init__(self, weights: Shapes) -> None:
        super().__init__()
        self.numbers = ASIDE + TIMES * sum(map(prod, weights.values()))
        self.parts = PARTS + TIMES * len(weights)
        self.hooks: list[Any] = []

    def __enter__(self) -> "Bounded":
        for register in (
            register_module_buffer_registration_hook,
            register_module_module_registration_hook,
            register_module_parameter_registration_hook,
        ):
            self.hooks.append(register(lambda *_: self._part()))
        super().__enter__()  # type: ignore[no-untyped-call]
        return self

    def __exit__(self, *error: Any) -> None:
        super().__exit__(*error)  # type: ignore[no-untyped-call]
        for hook in self.hooks:
            hook.remove()

    def _part(self) -> None:
        self.parts -= 1
        if self.parts < 0:
            raise UnfitError("the options ask for many more parts")

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        if func.__name__ in DRAWN:  # there is nothing to fill, and to find that out takes PyTorch two seconds
            return args[0] if args else (kwargs or {})["tensor"]
        made = func(*args, **(kwargs or {}))
        if isinstance(made, Tensor):
            given = sum(one.numel() for one in args if isinstance(one, Tensor))
            if made.numel() > given:  # else it is a view of what was counted, or could be
                self.numbers -= made.numel()
        if self.numbers < 0:
            raise UnfitError("the options ask for much larger ones")
        return made
