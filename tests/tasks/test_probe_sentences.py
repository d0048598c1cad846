"""Sentences asked again: own weights give the own answer, importance is what it says, padding never matters."""

from typing import Any

import pytest
import torch
from sentence_tasks import both, examples
from torch import Tensor

from regard.errors import RegardError
from regard.pool import there
from regard.tasks._asked import Asked, variation
from regard.tasks._probe_sentences import probe_sentences
from regard.tasks._reader import stacked
from regard.types import Sequences

pools = ["attention", "intra", "structured", "source2token", {"name": "attention", "normalizer": "sparsemax"}]


def probed(name: str, some: Any = None, **options: Any) -> tuple[Any, Any, list[Asked]]:
    task, model = both(name, **options)
    return task, model, list(probe_sentences(task, model, examples[name] if some is None else some))


def p_of(task: Any, model: Any, some: Any) -> Tensor:
    items = task.items(some)
    inputs = [Sequences.pad([item.inputs[side] for item in items]) for side in range(task.columns - 1)]
    with torch.no_grad():
        return torch.softmax(model(inputs).logits, -1)


@pytest.mark.parametrize("pool", pools)
@pytest.mark.parametrize("name", ["classify", "entail", "relate"])
def test_own_weights_give_the_own_answer(name: str, pool: Any) -> None:
    task, model, found = probed(name, pool=pool)
    assert len(found) == task.columns - 1
    for one in found:
        expected = p_of(task, model, [examples[name][row] for row in one.examples])
        torch.testing.assert_close(one.p, expected, atol=1e-6, rtol=0)
        torch.testing.assert_close(one.answer(one.weights.unsqueeze(1)).squeeze(1), expected, atol=1e-6, rtol=0)
        torch.testing.assert_close(one.weights.sum(-1), torch.ones(one.weights.shape[:2]))
        assert float(one.weights.masked_fill(one.mask.unsqueeze(1), 0).abs().max()) == 0
        assert sum(each.worth for each in found) == pytest.approx(len(examples[name]))


def test_other_weights_give_another_answer_and_many_go_side_by_side() -> None:
    _, _, [one] = probed("classify", pool="attention")
    even = (one.mask / one.mask.sum(1, keepdim=True)).unsqueeze(1)
    both_ways = one.answer(torch.stack([even, one.weights], 1)).detach()
    torch.testing.assert_close(both_ways[:, 1], one.p, atol=1e-6, rtol=0)
    assert float(variation(both_ways[:, 0], one.p).max()) > 1e-3


def test_the_vector_by_hand() -> None:
    """All weight on one token: the answer is the head's for that token's state."""
    task, model, [one] = probed("classify", pool="attention")
    first = torch.zeros_like(one.weights)
    first[..., 1] = 1
    source = Sequences.pad([task.items(examples["classify"])[row].inputs[0] for row in one.examples])
    with torch.no_grad():
        states = model.encoder(Sequences(model.words(source.values), source.mask, source.lengths)).values
        expected = torch.softmax(model.head(states[:, 1]), -1)
        torch.testing.assert_close(one.answer(first.unsqueeze(1)).squeeze(1), expected, atol=1e-6, rtol=0)


def test_one_input_of_a_pair_is_asked_with_the_other_fixed() -> None:
    _, _, (first, second) = probed("entail", pool="attention")
    assert (first.input, second.input) == ("premise", "hypothesis")
    torch.testing.assert_close(first.p, second.p)
    assert not torch.equal(first.weights, second.weights)


@pytest.mark.parametrize("name", ["classify", "entail"])
def test_leaving_one_out_is_reading_without_it(name: str) -> None:
    task, model, found = probed(name, pool="attention")
    for side, one in enumerate(found):
        for case, row in enumerate(one.examples):
            example = examples[name][row]
            length = int(one.mask[case].sum())
            for place in range(length) if length > 1 else ():
                without = [tuple((place,) if number == side else () for number in range(len(found)))]
                [answer] = task.predict(model, [example.inputs], look=False, without=without)
                q = {label.text: label.log_prob for label in (answer, *answer.others)}
                q_of = torch.tensor([q[label] for label in task.labels]).exp()
                assert float(one.leave[case, place]) == pytest.approx(float(variation(one.p[case], q_of)), abs=1e-5)


@pytest.mark.parametrize("pool", ["attention", "source2token"])
@pytest.mark.parametrize("name", ["classify", "entail"])
def test_gradients_are_slopes_with_the_weights_held(name: str, pool: str) -> None:
    """∂p/∂s at s = 1 where a token's vector is s · x, by central differences."""
    task, model, found = probed(name, pool=pool)
    rows = found[0].examples
    items = task.items([examples[name][row] for row in rows])
    inputs = [Sequences.pad([item.inputs[side] for item in items]) for side in range(len(found))]
    read = stacked(inputs)
    own = torch.cat([one.weights for one in found])
    answer = found[0].p.argmax(-1, keepdim=True)

    def p(scale: Tensor) -> Tensor:
        x = model.words(read.values) * scale.unsqueeze(-1)
        h, _ = there(model.encoder(Sequences(x, read.mask, read.lengths)))
        vector = torch.einsum("rfk,rkf->rf", own, h) if pool == "source2token" else (own @ h).squeeze(1)
        vectors = vector.chunk(len(inputs))
        logits = model.head(vectors[0] if model.match is None else model.match(*vectors))
        return torch.softmax(logits, -1).gather(-1, answer).squeeze(-1)

    with torch.no_grad():
        for side, one in enumerate(found):
            for place in range(one.weights.shape[-1]):
                scale = torch.ones(read.values.shape)
                step = torch.zeros_like(scale)
                step[side * len(rows) : (side + 1) * len(rows), place] = 2e-3
                slope = (p(scale + step) - p(scale - step)) / 4e-3
                torch.testing.assert_close(one.gradient[:, place], slope.abs(), atol=1e-3, rtol=2e-2)


def test_alone_as_in_a_batch() -> None:
    _, _, [one] = probed("classify", pool="attention")
    for case, row in enumerate(one.examples):
        _, _, [alone] = probed("classify", [examples["classify"][row]], pool="attention")
        length = int(one.mask[case].sum())
        assert float(one.gradient[case, length:].abs().sum() + one.leave[case, length:].abs().sum()) == 0
        for name in ("weights", "gradient", "leave"):
            torch.testing.assert_close(
                getattr(one, name)[case, ..., :length], getattr(alone, name)[0], atol=1e-5, rtol=1e-4
            )


@pytest.mark.parametrize("pool", ["last", "mean"])
def test_a_pooling_without_weights_is_refused(pool: str) -> None:
    with pytest.raises(RegardError, match=f"pool={pool} looks at nothing.*pool=attention or pool=source2token"):
        probed("classify", pool=pool)


def test_tags_are_refused() -> None:
    with pytest.raises(RegardError, match="tag looks at no sentence as a whole"):
        probed("tag")
