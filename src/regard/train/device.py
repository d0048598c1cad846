"""Device and precision."""

import os

import torch

from regard.errors import RegardError

__all__ = ["device_of", "precise", "usable_cores", "widest"]


def device_of(name: str) -> torch.device:
    """ "auto" is a GPU (NVIDIA or Apple) if there is one."""
    if name == "auto":
        apple = "mps" if torch.backends.mps.is_available() else "cpu"
        return torch.device("cuda" if torch.cuda.is_available() else apple)
    try:
        return torch.zeros(1).to(name).device
    except (RuntimeError, AssertionError):
        raise RegardError(f"device {name!r} cannot be used here", expected="auto, cpu, cuda or mps") from None


def widest(device: torch.device) -> torch.dtype:
    """The most precise dtype of a device: MPS has no float64."""
    return torch.float32 if device.type == "mps" else torch.float64


def usable_cores() -> int:
    """The cores this process may run on."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def precise(device: torch.device, precision: str, wide: bool = True) -> torch.autocast:
    """bfloat16 if requested, or if the GPU supports it and it pays for the network (`Network.wide`)."""
    gains = device.type == "cuda" and wide and torch.cuda.is_bf16_supported()
    half = precision == "bf16" or (precision == "auto" and gains)
    return torch.autocast(device.type, dtype=torch.bfloat16, enabled=half)
