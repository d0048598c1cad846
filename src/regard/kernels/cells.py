"""The recurrent networks by the name of their cell; an LSTM works in bfloat16 only where the processor can.

On a CPU autocast takes an LSTM (and no other cell) to oneDNN in bfloat16, which oneDNN knows only on processors with
AVX-512 or the like. Elsewhere it raises "could not create a primitive descriptor"; there it runs in float32, as the
other cells always do.

    CELLS["lstm"](256, 512, batch_first=True)
"""

from collections.abc import Callable
from functools import cache
from typing import Any

import torch
from torch import nn

__all__ = ["CELLS", "PortableLstm"]


@cache
def _lstm_works_in(kind: torch.dtype) -> bool:
    """Whether this machine's oneDNN has an LSTM of this type, forward and backward: it is asked by running one."""
    with (
        torch.random.fork_rng(devices=[]),
        torch.inference_mode(False),
        torch.enable_grad(),
        torch.autocast("cpu", kind),
    ):
        try:
            nn.LSTM(1, 1)(torch.zeros(1, 1, 1))[0].sum().backward()
        except RuntimeError:
            return False
    return True


class PortableLstm(nn.LSTM):
    """PyTorch's LSTM, in float32 under autocast on a CPU that has none in half precision."""

    def forward(self, input: Any, hx: Any = None) -> Any:
        if input.is_cuda or not torch.is_autocast_enabled("cpu") or _lstm_works_in(torch.get_autocast_dtype("cpu")):
            return super().forward(input, hx)
        kind = self.weight_hh_l0.dtype
        with torch.autocast("cpu", enabled=False):
            return super().forward(input.to(kind), None if hx is None else tuple(one.to(kind) for one in hx))


CELLS: dict[str, Callable[..., nn.RNNBase]] = {"elman": nn.RNN, "lstm": PortableLstm, "gru": nn.GRU}
