"""A network in float64 works in float64 throughout: no floating-point number of its forward or backward pass is ever
held in fewer bits, in any encoder, pooling, matching, decoder, language model, normalizer, score, bias or loss."""

import traceback
from collections.abc import Iterator
from typing import Any

import pytest
import torch
from torch import Tensor
from torch.autograd import gradcheck
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves

from generation_tasks import batch_of_all, made
from regard.encode.resan import others, weights_of_others
from regard.find import find, names, settable

small: dict[str, Any] = {"hidden": 4, "size": 4, "ffn": 4, "embed": 4, "layers": 2, "heads": 2}
# Numbers drawn to compare with a chance, and numbers that are only shown, have no part in what is computed.
ASIDE = {torch.ops.aten.rand.generator, torch.ops.aten.rand.default, torch.ops.aten.lift_fresh.default}
NARROW = (torch.float32, torch.float16, torch.bfloat16)


class NoNarrowing(TorchDispatchMode):
    """Notes where a tensor of fewer bits than float64 comes from."""

    def __init__(self) -> None:
        super().__init__()
        self.places: set[str] = set()

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        found = func(*args, **(kwargs or {}))
        if func not in ASIDE and any(isinstance(one, Tensor) and one.dtype in NARROW for one in tree_leaves(found)):
            ours = [frame for frame in traceback.extract_stack() if "/src/regard/" in frame.filename]
            where = f"{ours[-1].filename.partition('/src/')[2]}:{ours[-1].lineno}" if ours else "outside"
            self.places.add(f"{where} {func}")
        return found


def option(folder: str, name: str) -> dict[str, Any]:
    part = find(folder, name)
    return {"name": name, **{key: value for key, value in small.items() if key in settable(part)}}


def cases() -> Iterator[Any]:
    """Every part of every folder once, in a task that can choose it; and every task."""
    yield from (pytest.param(task, {}, id=task) for task in names("tasks"))
    choices = {
        ("classify", "encoder"): "encode", ("classify", "pool"): "pool", ("relate", "match"): "predict.match",
        ("translate", "decoder"): "predict.generate", ("language", "network"): "predict.language",
        ("recommend", "network"): "networks.recommend",
    }  # fmt: skip
    for (task, key), folder in choices.items():
        # A pre-trained encoder needs a folder to come from; it is a Transformer.
        some = [name for name in names(folder) if name != "pretrained"]
        yield from (pytest.param(task, {key: option(folder, name)}, id=f"{key}-{name}") for name in some)
    for key in ("normalizer", "score", "bias"):
        for name in names(f"attend.{key}"):
            one = [name] if key == "bias" else name
            if name not in ("learned_query", "argmax"):  # which a decoder does not take
                yield pytest.param("translate", {"attention": {key: one}}, id=name)


@pytest.mark.parametrize(("task", "options"), list(cases()))
def test_nothing_is_narrowed(task: str, options: dict[str, Any]) -> None:
    torch.manual_seed(1)
    one = made(task, **{"gamma": 0.0, **options})
    model, batch = one.network().double(), batch_of_all(one)
    with NoNarrowing() as seen:
        model.train()(batch).total.backward()
        model.eval()(batch)
    assert not seen.places


def test_means_of_others_in_float64() -> None:
    """One of three is 1/3 to the last bit of the precision asked for, also for chosen heads that get none."""
    pairs = torch.tensor([True, True, True, False]).expand(2, 1, 2, 4)
    chosen = torch.tensor([[False, True]])
    for dtype in (torch.float64, torch.float32, torch.bfloat16):
        A = weights_of_others(pairs, chosen, dtype)
        assert A.dtype == dtype
        third = torch.tensor(1 / 3, dtype=torch.float64).to(dtype)
        assert torch.equal(A[:, :, 0], torch.tensor([1, 1, 1, 0]).to(dtype).mul(third).expand(2, 1, 4))
        assert not A[:, :, 1].any()


def test_both_ways_to_the_mean_of_others_agree_to_float64() -> None:
    torch.manual_seed(1)
    h, mask = torch.randn(2, 3, 7, 2, dtype=torch.float64), torch.ones(3, 7, dtype=torch.bool)
    earlier = torch.ones(7, 7, dtype=torch.bool).tril(-1)
    pairs = torch.stack([earlier, earlier.T])[:, None].expand(2, 3, 7, 7)
    A = weights_of_others(pairs, torch.zeros(3, 7, dtype=torch.bool), h.dtype)
    torch.testing.assert_close(A @ h, others(h, mask), rtol=1e-14, atol=1e-14)
    assert gradcheck(lambda x: A @ x, h.requires_grad_())
