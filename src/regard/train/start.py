"""Starting a training from another run: `regard train classify --start runs/pretrained`.

The new run gets the tokenizer, the embedding and the encoder of that run, with their sizes; everything else is new. A
run of the same kind of network that predicts its own text (pretrain from pretrain, language from language) gets all
weights. Options of what is taken cannot be changed, but dropout can. The started run passes the same gate as any other
run that is opened (trust.py).

    options = taken_options(ours, theirs, opened.config, options, folder, "text")    # before the new task is made
    take(network, opened.network, ours, folder, whole=False)                         # after its network is built
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any

import torch
from torch import nn

from regard.errors import RegardError
from regard.find import flat, merge, table

__all__ = ["ENCODER", "Start", "Starts", "freeze", "take", "taken_options"]

# Options of a field that say how much of a text is read, not what it is read as.
FREE = ("max_length", "truncate")


@dataclass(frozen=True)
class Start:
    """What a training starts from."""

    run: Annotated[str, "run whose tokenizer, embedding and encoder to start from; empty: start from scratch"] = ""
    freeze: Annotated[bool, "keep what was taken from that run as it is; false trains it further"] = False


@dataclass(frozen=True)
class Starts:
    """What a task can take from a run: the option of the field that is read, the options of the parts that read it, and
    their names in the network ("" for all of it)."""

    field: str
    parts: tuple[str, ...] = ("encoder",)
    modules: tuple[str, ...] = ("embed", "encoder")

    def has(self, name: str) -> bool:
        """Whether a parameter belongs to what is taken."""
        return any(not module or name.startswith(f"{module}.") for module in self.modules)


ENCODER = Starts("input")


def taken_options(
    ours: Starts, theirs: Starts, config: Mapping[str, Any], asked: Mapping[str, Any], folder: str, kind: str
) -> dict[str, Any]:
    """What was asked for, over the options of the started run; `kind` names its input where that has to be named."""
    given = {key: value for key, value in table(config[theirs.field]).items() if key not in (*FREE, "name")}
    field = {**({"name": kind} if kind else {}), **given}
    taken = {ours.field: field, **{part: config.get(part) for part in ours.parts if config.get(part) is not None}}
    known = dict(flat(taken))
    for part in taken:
        given = asked.get(part, {})
        for key, value in flat({part: {"name": given} if isinstance(given, str) else given}):
            own = known.get(key, known.get(f"{key}.name", ...))
            if own == value or key.split(".")[-1] in FREE or "dropout" in key:
                continue
            name = key.removesuffix(".name")
            said = "nothing of that name" if own is ... else f"{name}={own}"
            raise RegardError(f"{name}={value}, but {folder} has {said}", do=f"remove {name}, or --start")
    return merge(taken, asked)


@torch.no_grad()
def take(network: nn.Module, begun: nn.Module, ours: Starts, folder: str, whole: bool) -> None:
    """Copy the weights. With `whole` also all others that have the same name and shape."""
    weights, own = begun.state_dict(), network.state_dict()
    for name, value in own.items():
        there = weights.get(name)
        if there is not None and there.shape == value.shape and (whole or ours.has(name)):
            value.copy_(there)
        elif ours.has(name):
            shape = "none" if there is None else f"{list(there.shape)}"
            raise RegardError(f"{name} has the shape {list(value.shape)}, but in {folder} {shape}", do="remove --start")


def freeze(network: nn.Module, ours: Starts) -> None:
    """Only what was not taken is trained."""
    for name, parameter in network.named_parameters():
        if ours.has(name):
            parameter.requires_grad_(False)
    if not any(parameter.requires_grad for parameter in network.parameters()):
        raise RegardError("start.freeze=true leaves nothing to train", do="remove it")
