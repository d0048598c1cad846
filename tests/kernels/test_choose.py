"""The only switch: which path, and why."""

import pytest
import torch
from torch._subclasses.fake_tensor import FakeTensorMode

from regard.kernels.choose import FEW, MANY, SMALL, choose, explain


def rows(dtype: torch.dtype = torch.float32, queries: int = 512, keys: int = 512) -> tuple[torch.Tensor, torch.Tensor]:
    """2 × 512 × 512 × 32 elements: enough to be worth a kernel."""
    return torch.empty(2, queries, 32, dtype=dtype), torch.empty(2, keys, 32, dtype=dtype)


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.float16])
@pytest.mark.parametrize(("score", "path"), [("dot", "sdpa"), ("additive", "additive"), ("feature", "feature")])
def test_what_has_a_kernel_is_fused_under_a_softmax(dtype: torch.dtype, score: str, path: str) -> None:
    assert choose(score, "softmax", *rows(dtype)).path == path
    assert explain(score, "softmax", *rows(dtype)).startswith("fused: ")


@pytest.mark.parametrize("score", ["additive", "feature"])
def test_a_fused_kernel_must_be_worth_its_launch(score: str) -> None:
    keys = SMALL["cpu"]["additive"] // (2 * 32)
    assert choose(score, "softmax", *rows(queries=1, keys=keys)).path == score
    assert "little" in explain(score, "softmax", *rows(queries=1, keys=keys - 1))
    assert choose("dot", "softmax", *rows(queries=1, keys=1)).path == "sdpa"


@pytest.mark.parametrize(
    ("device", "queries", "keys", "path"),
    [
        ("cuda", FEW, MANY, "readable"),
        ("cuda", FEW + 1, MANY, "sdpa"),
        ("cuda", FEW, MANY - 1, "sdpa"),
        ("cpu", FEW, MANY, "sdpa"),
    ],
)
def test_a_question_or_two_over_many_keys_leave_a_fused_gpu_idle(
    device: str, queries: int, keys: int, path: str
) -> None:
    with FakeTensorMode():
        q, k = (torch.empty(2, n, 32, device=device) for n in (queries, keys))
        assert choose("dot", "softmax", q, k).path == path


@pytest.mark.parametrize(
    ("score", "normalizer", "dtype", "paired", "why"),
    [
        ("dot", "softmax", torch.float64, False, "float64"),
        ("additive", "softmax", torch.float64, False, "float64"),
        ("dot", None, torch.float32, False, "normalizer"),
        (None, "softmax", torch.float32, False, "score"),
        ("dot", "softmax", torch.float32, True, "pair"),
        ("additive", "softmax", torch.float32, True, "pair"),
    ],
)
def test_everything_else_is_readable_and_says_why(
    score: str | None, normalizer: str | None, dtype: torch.dtype, paired: bool, why: str
) -> None:
    q, keys = rows(dtype)
    assert choose(score, normalizer, q, keys, paired).path == "readable"
    assert why in explain(score, normalizer, q, keys, paired)


def test_it_is_the_rooms_own_word() -> None:
    import regard.kernels

    assert regard.kernels.explain is explain
    with pytest.raises(AttributeError, match="no attribute 'excuse'"):
        _ = regard.kernels.excuse
