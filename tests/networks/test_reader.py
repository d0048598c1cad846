"""The network of sentence tasks: words → encode → pool → match → predict, one sentence or two at a time."""

from typing import Any

import pytest
import torch
from torch import nn
from torch.nn.functional import cross_entropy

from regard import find
from regard.attend.bernoulli import heaviest
from regard.attend.reinforce import Reinforce
from regard.errors import RegardError
from regard.networks.reader import stacked
from regard.train.sizes import check
from regard.types import Sequences
from sentence_tasks import batch_of, both, examples, first, reader, second


def test_several_inputs_stand_one_after_the_other() -> None:
    sides = [Sequences.pad(first), Sequences.pad(second)]
    both = stacked([Sequences(one.values.unsqueeze(-1), one.mask, one.lengths) for one in sides])
    assert both.values.squeeze(-1).tolist() == [
        *([5, 6, 7, 0, 0], [4, 0, 0, 0, 0], [8, 5, 0, 0, 0]),
        *([6, 0, 0, 0, 0], [7, 8, 4, 5, 5], [4, 4, 0, 0, 0]),
    ]
    assert both.lengths.tolist() == both.mask.sum(-1).tolist() == [3, 1, 2, 1, 5, 2]
    assert torch.equal(both.mask, both.values.squeeze(-1) != 0)


@pytest.mark.parametrize("encoder", ["bigru", "disan", "hierarchical"])
@pytest.mark.parametrize("pool", ["attention", "source2token", "max"])
def test_a_pair_is_each_sentence_read_alone_then_matched(encoder: str, pool: str) -> None:
    part = reader(encoder, pool)
    read = part.read([Sequences.pad(first), Sequences.pad(second)])
    assert read.pooled is not None
    assert read.choices == ()
    for row, pair in enumerate(zip(first, second, strict=True)):
        vectors = [part.pool(part.encoder(part.embed(Sequences.pad([tokens])))).vector for tokens in pair]
        u, v = vectors
        torch.testing.assert_close(read.pooled.vector[[row, row + 3]], torch.cat(vectors), rtol=1e-5, atol=1e-6)
        matched = torch.cat([u, v, u - v, u * v], -1)
        torch.testing.assert_close(read.logits[[row]], part.head(matched), rtol=1e-5, atol=1e-6)


def test_one_sentence_is_not_matched() -> None:
    part = reader(pair=False)
    read = part.read([Sequences.pad(first)])
    assert read.pooled is not None
    assert torch.equal(read.logits, part.head(read.pooled.vector))


def test_without_a_pooling_every_state_is_answered_for() -> None:
    part = reader(pool=None)
    read = part.read([Sequences.pad(first)])
    assert read.pooled is None
    assert read.logits.shape == (3, 3, 2)
    assert torch.equal(read.logits, part.head(read.memory.values))


def test_dropout_is_for_training_only_and_for_what_is_pooled() -> None:
    part, given = reader(dropout=0.9), [Sequences.pad(first), Sequences.pad(second)]
    assert torch.equal(part.read(given).logits, part.read(given).logits)
    part.train()
    one, other = part.read(given), part.read(given)
    assert torch.equal(one.pooled.vector, other.pooled.vector)
    assert not torch.equal(one.logits, other.logits)


def test_gradients_reach_everything() -> None:
    part = reader("disan", "source2token")
    cross_entropy(part.read([Sequences.pad(first), Sequences.pad(second)]).logits, torch.tensor([0, 1, 1])).backward()
    # A bias that all scores of a softmax share changes no weight.
    unmoved = {name for name, p in part.named_parameters() if p.grad is None or not (p.grad.abs() > 1e-9).any()}
    assert unmoved <= {"pool.W.bias"}


def test_what_a_learned_baseline_reads_knows_nothing_of_the_choice() -> None:
    """The mean of each sentence's words, side by side; padding is no word, and nobody asks for it else."""
    part = reader()
    assert part.read([Sequences.pad(first), Sequences.pad(second)]).summary is None
    part.reinforce = Reinforce(size=8, baseline="learned")
    summary = part.read([Sequences.pad(first), Sequences.pad(second)]).summary
    for row, pair in enumerate(zip(first, second, strict=True)):
        means = [part.embed(Sequences.pad([tokens])).values.mean(1)[0] for tokens in pair]
        torch.testing.assert_close(summary[row], torch.cat(means))


def test_of_several_readings_of_an_example_the_mean_is_the_loss() -> None:
    losses = []
    for samples in (2, 8):
        options = {"encoder": {"name": "resan", "hidden": 3}, "reinforce": {"baseline": "others", "samples": samples}}
        task, part = both("classify", **options)
        losses.append(part(batch_of(task, examples["classify"])))  # in evaluation all readings are the same
    few, many = losses
    assert few.count == many.count == 6
    torch.testing.assert_close(few.total, many.total)
    torch.testing.assert_close(few.shown, many.shown)


@pytest.mark.parametrize("unchosen", ["mean", "none"])
@pytest.mark.parametrize("estimator", find.names("attend.estimator"))
def test_every_estimator_teaches_the_policies(estimator: str, unchosen: str) -> None:
    """In the phase of the policies they move, and the rest only where a gradient has to pass through it."""
    encoder = {"name": "resan", "hidden": 4, "soft": 0.0, "policy": 0.5, "start": 0.0, "unchosen": unchosen}
    task, part = both("entail", encoder=encoder, estimator=estimator, sparsity={"target": 0.5})
    batch = batch_of(task, examples["entail"])
    part.train()
    for progress in (0.0, 0.9):
        part.zero_grad(set_to_none=True)
        found = part(batch, progress)
        assert {"chosen", "entropy", "reward", "heads", "multiplier_dependents", "gradient_variance"} <= set(
            found.notes
        )
        found.total.backward()
        assert found.total.isfinite()
        taught = {name.split(".")[1] for name, p in part.named_parameters() if p.grad is not None and p.grad.any()}
        assert "policies" in taught
        assert all(p.grad is None or p.grad.isfinite().all() for p in part.parameters())
        assert ("W" in taught) is (progress > 0 or part.estimator.passes)
    assert part.estimator.variance > 0
    assert part.sparsity.multiplier.any()
    part.eval()
    assert torch.equal(part.read(batch.inputs).logits, part.read(batch.inputs).logits)


def test_a_run_from_before_estimators_is_read() -> None:
    """What choices are taught by may be missing, and begins anew; nothing else may."""
    _, part = both("classify", encoder={"name": "resan", "hidden": 3})
    state = {name: value for name, value in part.state_dict().items() if name not in part.spare}
    assert 0 < len(part.spare) == len(part.state_dict()) - len(state)
    other: nn.Module = both("classify", encoder={"name": "resan", "hidden": 3})[1]
    other.load_state_dict(state)
    shapes = {name: tuple(value.shape) for name, value in state.items()}
    check(lambda: part, shapes)
    with pytest.raises(RegardError, match=r"encoder\.W\.weight is missing there"):
        check(lambda: part, {name: shape for name, shape in shapes.items() if name != "encoder.W.weight"})
    with pytest.raises(RegardError, match=r"sparsity\.share is 7 there"):
        check(lambda: part, {**shapes, "sparsity.share": (7,)})


def test_policies_imitate_the_pooling_first() -> None:
    """While all tokens are used they learn which weigh most, and nothing else is pulled by that."""
    encoder = {"name": "resan", "hidden": 4, "soft": 0.5, "imitate": True, "unchosen": "none"}
    task, part = both("entail", encoder=encoder, sparsity={"target": 0.5})
    batch = batch_of(task, examples["entail"])
    part.train()
    found = part(batch, 0.0)
    found.total.backward()
    pulled = {name: p.grad for name, p in part.named_parameters() if p.grad is not None}
    part.zero_grad(set_to_none=True)
    part.encoder.imitate = False
    part(batch, 0.0).total.backward()
    for name, parameter in part.named_parameters():
        if "policies" in name:
            assert pulled[name].any()
            assert parameter.grad is None
        elif parameter.grad is not None:
            torch.testing.assert_close(pulled[name], parameter.grad)
    with torch.no_grad():
        read = part.read(batch.inputs, 0.0)
        weights = read.pooled.look.by_key.mean(1)
    optimiser = torch.optim.Adam(part.encoder.policies.parameters(), lr=0.1)
    for _ in range(40):
        optimiser.zero_grad()
        part.encoder.imitated(read.inputs, weights, 0.5).sum().backward()
        optimiser.step()
    wanted = heaviest(weights, read.inputs.mask, 0.5)
    for choice in part.eval().read(batch.inputs).choices:
        assert (choice.chosen == wanted)[read.inputs.mask].float().mean() > 0.9


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"pool": "mean", "sparsity": {"target": 0.5}}, "encoder.imitate without a pooling that has weights"),
        ({}, "encoder.imitate without sparsity.target; say which share"),
    ],
)
def test_nothing_to_imitate(options: dict[str, Any], said: str) -> None:
    task, part = both("entail", encoder={"name": "resan", "hidden": 4, "imitate": True}, **options)
    with pytest.raises(RegardError, match=said):
        part.train()(batch_of(task, examples["entail"]), 0.0)
