"""Fertility: how much each source token is looked at, by hand, under padding and heads; and its way into the loss."""

import math
from typing import Any

import pytest
import torch
from torch import Tensor, nn

from generation_tasks import sides
from regard import api
from regard.errors import RegardError
from regard.networks.global_fertility import GlobalFertility, pairs
from regard.tasks.translate import Translate
from regard.train.log import read
from regard.types import Example, Look, Memory

examples = [Example(("eins zwei drei",), "one two"), Example(("vier",), "four five six"), Example(("",), "")]
yes = torch.ones(1, 2, dtype=torch.bool)


def seen(weights: Tensor, features: bool = False) -> Look:
    return Look(torch.zeros(len(weights), weights.shape[-2], 1), compute_weights=lambda: weights, features=features)


def remembered(values: Tensor, mask: Tensor | None = None) -> Memory:
    return Memory(values, values, mask)


def fixed(mean: float, log_variance: float) -> GlobalFertility:
    """The same for every token."""
    part = GlobalFertility(3)
    nn.init.zeros_(part.normal.weight)
    part.normal.bias.data = torch.tensor([mean, log_variance])
    return part.requires_grad_(False)


def test_a_number_by_hand() -> None:
    """f = (1.5, 0.5), μ = softplus(0) = ln 2, σ² = 1: two times ½ ln 2π, and half of (1.5 − ln 2)² + (0.5 − ln 2)²."""
    weights = torch.tensor([[[1.0, 0.0], [0.5, 0.5]]])
    nats, tokens = fixed(0.0, math.log(1 - GlobalFertility.least))(remembered(torch.rand(1, 2, 3)), seen(weights), yes)
    expected = math.log(2 * math.pi) + 0.5 * ((1.5 - math.log(2)) ** 2 + (0.5 - math.log(2)) ** 2)
    assert float(nats) == pytest.approx(expected, rel=1e-6)
    assert float(tokens) == 2


def test_padding_on_either_side_counts_for_nothing() -> None:
    torch.manual_seed(1)
    part, values, weights = GlobalFertility(3), torch.randn(2, 4, 3), torch.rand(2, 3, 4)
    source = torch.tensor([[True] * 4, [True, True, False, False]])
    target = torch.tensor([[True] * 3, [True, False, False]])
    alone, few = part(remembered(values[1:, :2]), seen(weights[1:, :1, :2]), target[1:, :1])
    whole, four = part(remembered(values[:1]), seen(weights[:1]), target[:1])
    both, six = part(remembered(values, source), seen(weights), target)
    torch.testing.assert_close(both, alone + whole)
    assert (int(few), int(four), int(six)) == (2, 4, 6)


def test_the_mean_over_heads_and_features() -> None:
    one, other = torch.rand(2, 3, 4), torch.rand(2, 3, 4)
    mean = (one + other) / 2
    torch.testing.assert_close(pairs(seen(torch.stack([one, other], 1))), mean)
    torch.testing.assert_close(pairs(seen(torch.stack([one, other], -1), features=True)), mean)
    assert pairs(seen(mean.bfloat16())).dtype == torch.float32


def test_what_is_known_exactly_is_worth_no_more_than_a_least_variance() -> None:
    weights = torch.full((1, 2, 2), math.log(2) / 2)  # f = ln 2 = μ
    nats, _ = fixed(0.0, -1000.0)(remembered(torch.rand(1, 2, 3)), seen(weights), yes)
    assert float(nats) == pytest.approx(math.log(2 * math.pi * 0.01), rel=1e-5)


def test_gradients_and_a_source_with_nothing_in_it() -> None:
    torch.manual_seed(1)
    part = GlobalFertility(3).double()
    mask = torch.tensor([[True, True, False], [False, False, False]])
    target = torch.tensor([[True, False], [True, True]])

    def nats(values: Tensor, weights: Tensor) -> Tensor:
        return part(remembered(values, mask), seen(weights), target)[0]

    given = [torch.rand(*shape, dtype=torch.float64, requires_grad=True) for shape in ((2, 3, 3), (2, 2, 3))]
    torch.autograd.gradcheck(nats, given)
    nats(*given).backward()  # type: ignore[no-untyped-call]
    of_values, of_weights = (one.grad for one in given)
    assert of_values is not None
    assert of_weights is not None
    for hidden in (of_values[1], of_values[0, 2], of_weights[1], of_weights[0, 1], of_weights[0, :, 2]):
        assert not hidden.any()
    assert of_weights[0, 0, :2].all()


def small(**options: Any) -> Translate:
    sizes: dict[str, Any] = {
        **sides("word"),
        "encoder": {"name": "recurrent", "hidden": 5},
        "decoder": {"name": "recurrent", "embed": 6, "hidden": 7, "dropout": 0.0},
        "attention": {"score": {"name": "additive", "hidden": 4}},
    }
    task = Translate(**{**sizes, **options})
    task.learn(examples)
    return task


def test_without_it_nothing_is_built_and_no_weights_are_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(look: Look) -> Tensor:
        raise AssertionError("weights")

    torch.manual_seed(1)
    plain = small()
    network = plain.network()
    torch.manual_seed(1)
    rich = small(fertility=0.5)
    other = rich.network()
    assert not any("fertility" in name for name in network.state_dict())
    assert other.state_dict().keys() - network.state_dict().keys() == {
        "fertility.normal.weight",
        "fertility.normal.bias",
    }
    batch = plain.collate(plain.items(examples))
    with torch.no_grad():
        expected, found = network.eval()(batch), other.eval()(batch)
    sources = sum(len(item.inputs[0]) for item in plain.items(examples))
    assert expected.notes == {}
    assert float(found.total - expected.total) == pytest.approx(0.5 * sources * float(found.notes["fertility"]), 1e-4)
    monkeypatch.setattr(Look, "weights", property(refuse))
    network.train()(batch).total.backward()  # type: ignore[no-untyped-call]
    with pytest.raises(AssertionError, match="weights"):
        other(batch)


@pytest.mark.parametrize("decoder", [{}, {"place": "after", "feed": False}, {"name": "transformer"}])
@pytest.mark.parametrize("teach", [{}, {"scheduled_sampling": "linear", "source_dropout": 0.3}])
def test_the_attention_learns_from_it(decoder: dict[str, Any], teach: dict[str, Any]) -> None:
    """Of the loss only the fertilities are left: what has a gradient has it through the weights."""
    torch.manual_seed(1)
    spec = {"name": "recurrent", "hidden": 7} if "name" not in decoder else {"size": 8, "layers": 1, "ffn": 8}
    task = small(fertility=1.0, teach=teach, decoder={**spec, **decoder})
    network = task.network().train()
    _, look = network.looked(task.collate(task.items(examples)), 0.9)
    memory = network.encode(task.collate(task.items(examples)).source)
    assert network.fertility is not None
    nats, _ = network.fertility(memory, look, torch.ones(look.weights.shape[0], look.weights.shape[-2]).bool())
    nats.backward()  # type: ignore[no-untyped-call]
    learned = {name for name, value in network.named_parameters() if value.grad is not None and value.grad.any()}
    assert any("score" in name for name in learned), learned
    assert any(name.startswith("encoder") for name in learned)
    assert {"fertility.normal.weight", "fertility.normal.bias"} <= learned


@pytest.mark.sweep
def test_it_is_logged_and_comes_back(tmp_path: Any) -> None:
    data = tmp_path / "pairs.tsv"
    data.write_text("".join(f"{a} {b}\t{b} {a}\n" for a in "abcde" for b in "fghij"))
    made = api.train(
        "translate", data=str(data), out=tmp_path / "run", quiet=True, **sides("word", dim=8),
        encoder={"hidden": 8, "layers": 1}, decoder={"embed": 8, "hidden": 8}, fertility=0.5,
        train={"steps": 40, "validate_every": 20, "lr": 0.02, "warmup": 2},
    )  # fmt: skip
    first, last = (event["notes"]["fertility"] for event in read(tmp_path / "run" / "log.jsonl"))
    assert last < first
    assert api.load(tmp_path / "run")("a f").text == made.model("a f").text


def test_it_cannot_be_wished_away() -> None:
    with pytest.raises(RegardError, match="fertility"):
        small(fertility=-1.0)


def test_what_looks_at_nothing_has_none() -> None:
    blind = small(fertility=0.5, decoder={"name": "plain", "embed": 6, "hidden": 6})
    with pytest.raises(RegardError, match=r"fertility=0\.5 and decoder=plain; expected a decoder that attends"):
        blind.network()
