"""The only switch: which path, and why."""

import pytest
import torch

from regard.kernels.choose import choose


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.float16])
def test_a_dot_product_under_a_softmax_is_fused(dtype: torch.dtype) -> None:
    route = choose("dot", "softmax", dtype)
    assert route.path == "sdpa"
    assert "scaled_dot_product_attention" in route.why


@pytest.mark.parametrize(
    ("score", "weigh", "dtype", "paired", "why"),
    [
        ("dot", "softmax", torch.float64, False, "float64"),
        ("dot", None, torch.float32, False, "weighing"),
        (None, "softmax", torch.float32, False, "score"),
        ("additive", "softmax", torch.float32, False, "score"),
        ("dot", "softmax", torch.float32, True, "pair"),
    ],
)
def test_everything_else_is_readable_and_says_why(
    score: str | None, weigh: str | None, dtype: torch.dtype, paired: bool, why: str
) -> None:
    route = choose(score, weigh, dtype, paired)
    assert route.path == "readable"
    assert why in route.why
