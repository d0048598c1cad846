"""What sentence tasks share: the loss and who learns from it, counts against a plain loop, answers."""

import copy
import math
from typing import Any

import numpy as np
import pytest
import torch
from torch.nn.functional import cross_entropy
from torch.utils._pytree import tree_map

from regard.api import configure
from regard.attend.bernoulli import share
from regard.data.batch import in_order
from regard.errors import RegardError
from regard.networks.reader import Reader
from regard.pool.structured import overlap
from regard.train.task import Ask
from regard.types import Batch, Example, Sequences
from sentence_tasks import batch_of, both, examples, new_task, task_of

every = pytest.mark.parametrize("name", sorted(examples))
choosing: dict[str, Any] = {"name": "resan", "hidden": 4, "start": 0.0}


def policies(name: str) -> bool:
    return name.startswith("encoder.policies.")


# --- the loss ------------------------------------------------------------------------------------------------


@every
@pytest.mark.parametrize("encoder", ["bigru", "disan"])
def test_the_loss_of_many_is_the_sum_of_each(name: str, encoder: str) -> None:
    task, model = both(name, encoder={"name": encoder, "hidden": 4})
    alone = [model(batch_of(task, [one])) for one in examples[name]]
    batch = batch_of(task, examples[name])
    together = model(batch)
    assert together.count == sum(one.count for one in alone)
    assert together.total.item() == pytest.approx(sum(one.total.item() for one in alone), rel=1e-5)
    assert together.shown.item() == pytest.approx(together.total.item(), rel=1e-6)
    wider = Batch(tuple(_wider(one) for one in batch.inputs), batch.target)
    if name != "tag":
        assert model(wider).total.item() == pytest.approx(together.total.item(), rel=1e-5)


def _wider(given: Sequences) -> Sequences:
    """The same with more padding."""
    more = torch.zeros(len(given.values), 3, dtype=torch.long)
    return Sequences(torch.cat([given.values, more], 1), torch.cat([given.mask, more.bool()], 1), given.lengths)


def test_a_pooling_may_cost_something() -> None:
    task, model = both("entail", pool={"name": "structured", "hops": 2, "penalty": 0.7})
    batch = batch_of(task, examples["entail"])
    loss = model(batch)
    weights = model.read(batch.inputs).pooled.look.weights  # of premises and hypotheses
    assert len(weights) == 12
    assert loss.total.item() == pytest.approx(loss.shown.item() + 0.7 * overlap(weights).sum().item(), rel=1e-5)


@pytest.mark.thin
@pytest.mark.parametrize("name", ["entail", "classify", "tag"])
@pytest.mark.parametrize("phase", ["both", "policy"])
@pytest.mark.parametrize("copies", [1, 2, 3])
def test_what_teaches_a_choice(name: str, phase: str, copies: int) -> None:
    """`−Σ_b (R_b − b) log p(z_b)` with R = −nats, and the price times the expected share; before there is an average, b
    is the mean of the others.
    With several draws of a sentence it is the mean of its others, and the loss a mean over the draws.

    The policies get the gradient of this alone and the rest that of the task's own loss alone.
    """
    reinforce = {"baseline": "moving" if copies == 1 else "others", "samples": copies, "bonus": 0.0}
    task, model = both(name, encoder={**choosing, "soft": 0.0, "policy": 0.5}, sparsity=0.4, reinforce=reinforce)
    model.train()
    progress = 0.0 if phase == "policy" else 0.5
    twin, batch = copy.deepcopy(model), batch_of(task, examples[name])
    torch.manual_seed(5)
    loss = model(batch, progress)
    loss.total.backward()

    torch.manual_seed(5)
    assert loss.count == model.count(batch)
    batch = tree_map(lambda one: torch.cat([one] * copies), batch)
    read = twin.read(batch.inputs, progress)
    nats = twin.head.loss(read.logits, batch.target)
    sides, size = len(batch.inputs), len(examples[name]) * copies
    log_p, chosen, expected = torch.zeros(size), torch.zeros(size), torch.zeros(size)
    for choice in read.choices:
        for side in range(sides):
            rows = slice(side * size, (side + 1) * size)
            log_p = log_p + choice.log_prob[rows]
            expected = expected + choice.expected[rows] / sides / 2
            chosen += choice.chosen[rows].sum(-1) / batch.inputs[side].lengths / sides / 2
    assert 0 < chosen.mean() < 1
    assert chosen.std() > 0
    R = -nats.detach()
    drawn = R.view(1, -1).T if copies == 1 else R.view(copies, -1)
    b = ((drawn.sum(0) - drawn) / (len(drawn) - 1)).flatten()
    policy = (-((R - b) * log_p).sum() + 0.4 * expected.sum()) / copies
    assert loss.notes["chosen"].item() == pytest.approx(chosen.mean().item(), rel=1e-5)
    nats = nats / copies
    assert loss.shown.item() == pytest.approx(nats.sum().item(), rel=1e-5)
    total = policy if phase == "policy" else nats.sum() + policy
    assert loss.total.item() == pytest.approx(total.item(), rel=1e-4)

    names = [key for key, _ in twin.named_parameters()]
    of_policy = torch.autograd.grad(policy, list(twin.parameters()), retain_graph=True, allow_unused=True)
    of_task = torch.autograd.grad(nats.sum(), list(twin.parameters()), allow_unused=True)
    got = dict(model.named_parameters())
    for key, taught, supervised in zip(names, of_policy, of_task, strict=True):
        if policies(key):
            assert supervised is None or not supervised.any()
            torch.testing.assert_close(got[key].grad, taught, rtol=1e-4, atol=1e-6)
        else:
            assert taught is None or not taught.any()
            if phase == "policy":
                assert got[key].grad is None
            elif supervised is not None:
                torch.testing.assert_close(got[key].grad, supervised, rtol=1e-4, atol=1e-6)
    assert model.reinforce.average.item() == pytest.approx(R.mean().item(), rel=1e-5)


def steps(model: Reader, batch: Batch, progress: float = 1.0, count: int = 3) -> set[str]:
    """Which parameters a few steps of AdamW, with its weight decay, move."""
    before = {key: p.detach().clone() for key, p in model.named_parameters()}
    optimiser = torch.optim.AdamW(model.parameters(), lr=0.01, weight_decay=0.1)
    for _ in range(count):
        model(batch, progress).total.backward()
        optimiser.step()
        optimiser.zero_grad(set_to_none=True)
    return {key for key, p in model.named_parameters() if not torch.equal(p, before[key])}


@pytest.mark.parametrize("baseline", ["moving", "learned", "none", "others"])
def test_each_phase_moves_its_own_part(baseline: str) -> None:
    encoder = {**choosing, "soft": 0.4, "policy": 0.2}
    task, model = both("entail", encoder=encoder, reinforce={"baseline": baseline})
    batch = batch_of(task, examples["entail"])
    model.train()
    every = {key for key, _ in model.named_parameters()}
    its_own = {key for key in every if policies(key) or key.startswith("reinforce.")}
    assert ("reinforce.value.weight" in its_own) == (baseline == "learned")
    moved = {}
    for progress in (0.0, 0.4, 0.7):
        moved[model.encoder.phase(progress)] = steps(model, batch, progress)
    assert moved["supervised"] == every - its_own
    assert moved["policy"] == its_own
    assert moved["both"] == every


def test_in_the_end_policies_rest_and_the_rest_learns_with_what_inference_selects() -> None:
    encoder = {**choosing, "soft": 0.2, "policy": 0.2, "settle": 0.2}
    task, model = both("entail", encoder=encoder, sparsity={"target": 0.5})
    batch = batch_of(task, examples["entail"])
    model.train()
    model(batch, 0.7)  # a target moves its price
    price = model.sparsity.multiplier.clone()
    every = {key for key, _ in model.named_parameters()}
    assert steps(model, batch, 0.85) == {key for key in every if not policies(key)}
    assert torch.equal(model.sparsity.multiplier, price)
    assert model.copies(0.85) == 1
    found = [model.read(batch.inputs, 0.85) for _ in range(2)]
    decided = model.eval().read(batch.inputs)
    for read in found:  # nothing is drawn
        for one, other in zip(read.choices, decided.choices, strict=True):
            assert torch.equal(one.chosen, other.chosen)
    model.train()
    for _ in range(60):
        model(batch, 0.85)  # the cut moves
    for one in model.eval().read(batch.inputs).choices:
        mask = decided.inputs.mask
        assert share(one.chosen, mask).mean().item() == pytest.approx(0.5, abs=0.2)  # there are a few tokens


def test_examples_are_read_twice_only_where_a_choice_is_measured_by_another() -> None:
    for options, wanted in (
        ({"encoder": {**choosing, "soft": 0.5, "policy": 0.2}}, [1, 2, 2]),  # as an encoder that chooses has it
        ({"encoder": {**choosing, "soft": 0.5, "policy": 0.2}, "reinforce": {"baseline": "moving"}}, [1, 1, 1]),
        ({"pool": sampling}, [1, 1, 1]),
        ({"pool": sampling, "reinforce": {"baseline": "others", "samples": 4}}, [4, 4, 4]),
        ({"encoder": "bigru"}, [1, 1, 1]),
    ):
        task, model = both("entail", **options)
        model.train()
        batch, found = batch_of(task, examples["entail"]), []
        for progress in (0.0, 0.5, 0.9):
            found.append(model.copies(progress))
            loss = model(batch, progress)
            assert loss.count == len(examples["entail"])
            assert loss.total.isfinite()
        assert found == wanted
    task, model = both("entail", encoder=choosing)
    assert (model.reinforce.baseline, model.reinforce.bonus) == ("others", 0.003)
    model.eval()(batch, 0.0)  # used, and not taught: it chooses in every phase


def test_in_the_first_phase_nothing_is_noted_of_choices() -> None:
    task, model = both("entail", encoder=choosing)
    model.train()
    assert model(batch_of(task, examples["entail"]), 0.0).notes == {}


def test_other_encoders_have_nothing_to_reinforce() -> None:
    assert both("entail")[1].reinforce is None
    assert both("tag", encoder=choosing)[1].reinforce is not None


# --- counts --------------------------------------------------------------------------------------------------


@pytest.mark.thin
@every
@pytest.mark.parametrize("encoder", [{"name": "bigru", "hidden": 4}, choosing])
def test_results_are_those_of_a_plain_loop(name: str, encoder: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("regard.tasks._decision.in_order", lambda lengths, tokens: in_order(lengths, rows=2))
    task, model = both(name, encoder=encoder)
    nats, tokens, shares, texts = 0.0, 0, [], []
    for example in examples[name]:
        batch = batch_of(task, [example])
        with torch.no_grad():
            read = model.read(batch.inputs)
        nats += model.head.loss(read.logits, batch.target).item()
        tokens += len(example.source.split()) if name == "tag" else 1
        sides = [each for one in read.choices for each in (one.chosen.sum(-1) / read.inputs.lengths).tolist()]
        shares += [sum(sides) / len(sides)] if sides else []
        texts.append(task.predict(model, [example.inputs], Ask())[0].text)
    results = task.results(model, examples[name], quick=True)
    assert results.tokens == tokens
    assert results.nats == pytest.approx(nats, rel=1e-5)
    assert [one.text for one in results.predictions] == texts
    assert results.examples is examples[name]
    if encoder is choosing:
        assert results.chosen == pytest.approx(sum(shares) / len(shares), rel=1e-5)
        assert 0 < results.chosen < 1
    else:
        assert results.chosen is None
    figures = task.measure(results)
    assert figures["loss"] == pytest.approx(nats / tokens, rel=1e-5)
    assert ("chosen" in figures) == (encoder is choosing)


@every
def test_the_best_is_one_that_is_measured(name: str) -> None:
    with pytest.raises(RegardError, match="is not one of metrics"):
        task_of(name, best_metric="bleu")
    task = task_of(name, best_metric="loss")
    assert task.metrics.better(1.0, 2.0)
    assert not task.metrics.better(1.0, 1.0)
    assert task_of(name).metrics.better(2.0, 1.0)


# --- answers -------------------------------------------------------------------------------------------------


@pytest.mark.thin
@every
@pytest.mark.parametrize("encoder", ["bigru", "disan", "resan", "multi_head"])
def test_answers_do_not_depend_on_neighbours(name: str, encoder: str) -> None:
    sizes = {"size": 8, "heads": 2} if encoder == "multi_head" else {"hidden": 4}
    task, model = both(name, encoder={"name": encoder, **sizes})
    texts = [example.inputs for example in examples[name]]
    together = task.predict(model, texts, Ask())
    for one, other in zip(together, task.predict(model, texts, Ask(batch_tokens=1)), strict=True):
        assert (one.text[:4], one.source) == (other.text[:4], other.source)  # of a number the first digits
        assert one.log_prob == pytest.approx(other.log_prob, abs=1e-4)
        for a, b in zip((one.look, *one.looks), (other.look, *other.looks), strict=True):
            assert a is b is None or np.allclose(a.weights, b.weights, atol=1e-5)
    unseen = task.predict(model, texts, Ask(look=False))
    assert [(one.text, one.log_prob) for one in unseen] == [(one.text, pytest.approx(one.log_prob)) for one in together]
    assert all(one.look is None and one.looks == () for one in unseen)
    assert task.predict(model, [], Ask()) == []


def test_too_long_and_empty_texts_are_told_with_their_place() -> None:
    task, model = both("entail")
    task.inputs["premise"].max_length = 3
    good, long, empty = ("a dog", "a cat"), ("a dog", "a cat runs fast"), ("", "a cat")
    with pytest.raises(RegardError, match=r"^input 2: 4 tokens in the hypothesis; expected at most 3; shorten it"):
        task.predict(model, [good, long], Ask())
    with pytest.raises(RegardError, match=r"^input 1: an empty premise; expected at least one word$"):
        task.predict(model, [empty], Ask())
    with pytest.raises(RegardError, match=r"^b\.tsv:7: an empty premise"):
        task.predict(model, [empty], Ask(), ["b.tsv:7"])
    with pytest.raises(RegardError, match=r"^b\.tsv:7: 4 tokens in the hypothesis"):
        task.results(model, [Example(good, "yes", "b.tsv:6"), Example(long, "yes", "b.tsv:7")])


# --- words ---------------------------------------------------------------------------------------------------


@every
def test_what_was_learned_is_kept(name: str) -> None:
    task, model = both(name)
    other = new_task(name)
    other.restore(task.keep())
    assert other.keep() == task.keep()
    assert other.items(examples[name]) == task.items(examples[name])
    twin = other.network().eval()
    twin.load_state_dict(model.state_dict())
    texts = [example.inputs for example in examples[name]]
    assert [one.text for one in other.predict(twin, texts, Ask())] == [
        one.text for one in task.predict(model, texts, Ask())
    ]
    log_prob = task.predict(model, texts, Ask())[0].log_prob
    assert log_prob is None if name == "relate" else math.isfinite(log_prob)


@every
def test_a_mistake_in_the_data_is_told_before_a_run_is_begun(name: str) -> None:
    """The items of the training are made, and so checked, when the words are learned; and then not made again."""
    task = task_of(name)
    assert task.items(examples[name]) is task.items(examples[name])
    assert task.items(list(examples[name])) == task.items(examples[name])
    assert task.items(examples[name][:1]) == task.items(examples[name])[:1]
    empty = Example(("",) * len(task.inputs), examples[name][0].target, "x.tsv:9")
    with pytest.raises(RegardError, match=r"^x\.tsv:9: an empty"):
        task.learn([*examples[name], empty])


def test_dropout_and_smoothing_are_for_training_only() -> None:
    task, model = both("entail", dropout=0.5, head={"hidden": 5, "label_smoothing": 0.3})
    batch = batch_of(task, examples["entail"])
    read = model.read(batch.inputs)
    assert torch.equal(read.logits, model.read(batch.inputs).logits)
    smoothed = cross_entropy(read.logits, batch.target, reduction="none", label_smoothing=0.3)
    plain = cross_entropy(read.logits, batch.target, reduction="none")
    torch.testing.assert_close(model.head.loss(read.logits, batch.target), plain)
    model.train()
    torch.testing.assert_close(model.head.loss(read.logits, batch.target), smoothed)
    assert not torch.equal(model.read(batch.inputs).logits, model.read(batch.inputs).logits)


def test_a_pooling_that_samples_is_taught_by_reinforcement() -> None:
    task, model = both("classify", pool={"name": "attention", "hidden": 4, "normalizer": "sample"})
    model.train()
    assert model.reinforce is not None
    loss = model(batch_of(task, examples["classify"]))
    loss.total.backward()
    assert model.pool.attention.score.W.weight.grad.abs().sum() > 0
    assert "chosen" not in loss.notes
    _, soft = both("classify", pool={"name": "attention", "hidden": 4})
    assert soft.reinforce is None


sampling: dict[str, Any] = {"name": "attention", "hidden": 4, "normalizer": "sample"}


@pytest.mark.parametrize("options", [{"encoder": choosing}, {"pool": sampling}])
@pytest.mark.parametrize("name", ["entail", "classify"])
def test_a_learned_baseline_does_not_know_what_was_drawn(name: str, options: dict[str, Any]) -> None:
    """Else it would take part of what the policy should learn from."""
    task, model = both(name, reinforce={"baseline": "learned"}, dropout=0.0, **options)
    model.train()
    batch = batch_of(task, examples[name])
    reads = [model.read(batch.inputs) for _ in range(8)]
    assert any(not torch.equal(read.logits, reads[0].logits) for read in reads)
    assert all(torch.equal(read.summary, reads[0].summary) for read in reads)
    means = [
        torch.stack(
            [
                model.embed(Sequences.pad([row[there].tolist()])).values[0].mean(0)
                for row, there in zip(one.values, one.mask, strict=True)
            ]
        )
        for one in batch.inputs
    ]
    torch.testing.assert_close(reads[0].summary, torch.cat(means, -1))


def test_of_some_examples_the_expected_value_is_read() -> None:
    """In place of a sample, in both sentences of a pair or in none (Xu et al. 2015, section 4.1)."""
    task, model = both("entail", pool=sampling, reinforce={"expected": 0.5}, dropout=0.0)
    _, soft = both("entail", pool={**sampling, "normalizer": "softmax"}, dropout=0.0)
    soft.load_state_dict({key: value for key, value in model.state_dict().items() if not key.startswith("reinforce")})
    batch = batch_of(task, examples["entail"])
    expected = soft.read(batch.inputs).logits
    model.train()
    kinds = set()
    for _ in range(8):
        read = model.read(batch.inputs)
        same = torch.isclose(read.logits, expected, atol=1e-6).all(-1)
        assert same[~read.kept].all()
        kinds |= set(read.kept.tolist())
    assert kinds == {True, False}
    model.reinforce.expected = 1.0
    model(batch).total.backward()  # nobody kept a sample: what the score learns, it learns from the loss
    soft(batch).total.backward()
    W, W_soft = (one.pool.attention.score.W.weight.grad for one in (model, soft))
    torch.testing.assert_close(W, W_soft)
    assert model.eval().read(batch.inputs).kept is None


def test_an_expected_value_where_there_is_none() -> None:
    with pytest.raises(
        RegardError, match=r"^reinforce\.expected=0\.5 and .*add pool=attention pool\.normalizer=sample"
    ):
        both("entail", encoder=choosing, reinforce={"expected": 0.5})


def test_a_model_that_chooses_settles_when_it_learns_with_its_choices() -> None:
    model = task_of("classify", encoder={"name": "resan", "hidden": 8, "soft": 0.5, "policy": 0.2}).network()
    found = [model.ready(progress) for progress in (0.0, 0.4, 0.5, 0.6, 0.7, 0.9)]
    assert found == [False, False, False, False, True, True]
    assert task_of("classify").network().ready(0.0)


@pytest.mark.parametrize("unchosen", ["mean", "none"])
@pytest.mark.parametrize("name", ["entail", "classify", "tag"])
def test_skipping_what_was_not_chosen_changes_no_answer(name: str, unchosen: str) -> None:
    """Answers without attention maps skip it, those with maps do not."""
    encoder = {**choosing, "unchosen": unchosen, "start": 0.2}
    task, model = both(name, encoder=encoder)
    with torch.no_grad():
        model.encoder.policies.w.mul_(60)
    texts = [example.inputs for example in examples[name]]
    plain, looked = (task.predict(model, texts, Ask(look=look)) for look in (False, True))
    assert [one.text for one in plain] == [one.text for one in looked]
    for one, other in zip(plain, looked, strict=True):
        assert one.log_prob == pytest.approx(other.log_prob, abs=1e-5)
    results = task.results(model, examples[name])
    assert 0 < results.chosen < 1
    assert set(results.policies) == {"heads", "dependents"}
    assert results.chosen == pytest.approx(sum(results.policies.values()) / 2)


def test_a_configuration_has_what_teaches_its_encoder_best() -> None:
    """All defaults are filled in before a task is made, and must not take the place of the encoder's own."""
    found = configure("entail", {"encoder": "resan", "data": {"train": "pairs.tsv"}})
    assert (found["reinforce"]["baseline"], found["reinforce"]["bonus"]) == ("others", 0.003)
    asked = configure("entail", {"encoder": {"name": "resan", "hidden": 8}, "reinforce": {"baseline": "moving"}})
    assert (asked["reinforce"]["baseline"], asked["reinforce"]["bonus"]) == ("moving", 0.003)
    assert configure("entail", {"encoder": "disan"})["reinforce"]["baseline"] == "moving"
