"""Where the numbers are worked out, and in what precision."""

import os
from typing import Any

import torch

from regard.errors import RegardError

__all__ = ["device_of", "precise", "usable_cores", "widest"]


def device_of(name: str) -> torch.device:
    """ "auto" is the GPU where there is one, NVIDIA's or Apple's."""
    if name == "auto":
        apple = "mps" if torch.backends.mps.is_available() else "cpu"
        return torch.device("cuda" if torch.cuda.is_available() else apple)
    try:
        return torch.zeros(1).to(name).device
    except (RuntimeError, AssertionError):
        raise RegardError(f"device {name!r} cannot be used here", expected="auto, cpu, cuda or mps") from None


def widest(device: torch.device) -> torch.dtype:
    """The most precise numbers a device has: MPS has no float64."""
    return torch.float32 if device.type == "mps" else torch.float64


def usable_cores() -> int:
    """The cores this process may run on."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def precise(device: torch.device, precision: str, model: Any = None) -> torch.autocast:
    """bfloat16 where it is asked for, or where the GPU has it and the model's work is large enough to gain by it."""
    gains = device.type == "cuda" and getattr(model, "wide", True) and torch.cuda.is_bf16_supported()
    half = precision == "bf16" or (precision == "auto" and gains)
    return torch.autocast(device.type, dtype=torch.bfloat16, enabled=half)
