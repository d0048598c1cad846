"""Where the numbers are worked out, and in what precision."""

import torch

from regard.errors import RegardError

__all__ = ["device_of", "precise"]


def device_of(name: str) -> torch.device:
    """ "auto" is the GPU where there is one."""
    if name == "auto":
        return torch.device("cuda" if torch.cuda.is_available() else "cpu")
    try:
        return torch.zeros(1).to(name).device
    except (RuntimeError, AssertionError):
        raise RegardError(f"device {name!r} cannot be used here", expected="auto, cpu or cuda") from None


def precise(device: torch.device, precision: str) -> torch.autocast:
    """bfloat16 where the GPU has it (and it is wanted), float32 elsewhere."""
    half = precision == "bf16" or (precision == "auto" and device.type == "cuda" and torch.cuda.is_bf16_supported())
    return torch.autocast(device.type, dtype=torch.bfloat16, enabled=half)
