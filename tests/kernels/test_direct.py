"""A call goes straight to its kernels only where nothing of PyTorch's listens."""

import torch
from torch._subclasses.fake_tensor import FakeTensorMode

from regard.kernels.direct import directly


def test_a_plain_call_and_a_traced_one() -> None:
    x = torch.zeros(2)
    assert directly(x)
    assert directly(torch.nn.Parameter(x))
    with FakeTensorMode() as mode:
        assert not directly(mode.from_tensor(x))
    assert not torch.func.vmap(lambda one: torch.full_like(one, directly(one)))(x).any()
