"""Tensors in a safetensors file with a checksum; read only if names, dtypes and shapes are as expected.

The header is checked before any data is read, so a file that does not fit is never loaded.

    path.write_bytes(packed({"weight": weight}))
    tensors = unpacked(path, like={"weight": weight})      # ValueError says what is wrong
"""

import hashlib
from collections.abc import Mapping
from pathlib import Path

import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import save
from torch import Tensor

from regard.files import regular

__all__ = ["packed", "reason", "unpacked"]

SUM = "sha256"
HEADER = 16 * 2**20  # bytes; a thousand tensors take a tenth of a megabyte


def packed(tensors: Mapping[str, Tensor]) -> bytes:
    """The file's content."""
    whole = {name: value.detach().contiguous() for name, value in tensors.items()}
    return save(whole, {SUM: _sum(whole)})


def unpacked(path: Path, like: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """The tensors of a file, each with the name, dtype and shape of one in `like`; some may be missing."""
    most = sum(value.numel() * value.element_size() for value in like.values())
    with regular(path, most + HEADER) as file:
        if int.from_bytes(file.read(8), "little") > HEADER:
            raise ValueError("its header is too long")
    try:
        with safe_open(path, "pt") as opened:
            names, metadata = list(opened.keys()), opened.metadata() or {}
            for name in names:
                if name not in like:
                    raise ValueError(f"tensor {name!r:.100} is not one of the model's")
                shape = tuple(opened.get_slice(name).get_shape())
                if shape != tuple(like[name].shape):
                    raise ValueError(f"tensor {name!r} has the shape {list(shape)}, not {list(like[name].shape)}")
            tensors = {name: opened.get_tensor(name) for name in names}
    except (SafetensorError, RuntimeError, TypeError, KeyError, AttributeError, OverflowError) as error:
        raise ValueError(str(error) or type(error).__name__) from None
    for name, value in tensors.items():
        if value.dtype != like[name].dtype:
            raise ValueError(f"tensor {name!r} is {value.dtype}, not {like[name].dtype}".replace("torch.", ""))
    if SUM in metadata and metadata[SUM] != _sum(tensors):
        raise ValueError("its checksum is wrong")
    return tensors


def _sum(tensors: Mapping[str, Tensor]) -> str:
    total = hashlib.sha256()
    for name in sorted(tensors):
        value = tensors[name].cpu()
        total.update(f"{name}\n{value.dtype}\n{list(value.shape)}\n".encode())
        total.update(value.reshape(-1).view(torch.uint8).numpy().data)
    return total.hexdigest()


def reason(error: Exception) -> str:
    """The reason why a file could not be used, in one short line."""
    text = " ".join(str(error).split()) or type(error).__name__
    if isinstance(error, OSError):
        text = error.strerror or text
    elif isinstance(error, KeyError):
        text = f"{text} is missing"
    elif isinstance(error, RecursionError):
        text = "it is nested too deeply"
    elif isinstance(error, TypeError | AttributeError | OverflowError):  # what Python says of it helps nobody
        text = "a value in it is of the wrong kind"
    return text[:200]
