"""Probe of a pooling: own weights give the own answer, importance is what it says, padding never matters."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from PIL import Image
from torch import Tensor

from regard.errors import RegardError
from regard.faithful.measures import total_variation
from regard.faithful.pooling import probe_pooling
from regard.faithful.probe import Probe, frozen
from regard.pool import there
from regard.tasks.classify import Classify
from regard.train.task import Ask
from regard.types import Example, Sequences
from sentence_tasks import both, examples, small

pools = ["attention", "intra", "structured", "source2token", {"name": "attention", "normalizer": "sparsemax"}]


def probed(name: str, some: Any = None, **options: Any) -> tuple[Any, Any, list[Probe]]:
    task, model = both(name, **options)
    return task, model, list(probe_pooling(task, frozen(model), examples[name] if some is None else some))


def p_of(task: Any, model: Any, some: Any) -> Tensor:
    with torch.no_grad():
        return torch.softmax(model.read(task.collate(task.items(some)).inputs).logits, -1)


@pytest.mark.parametrize("pool", pools)
@pytest.mark.parametrize("name", ["classify", "entail", "relate"])
def test_own_weights_give_the_own_answer(name: str, pool: Any) -> None:
    task, model, found = probed(name, pool=pool)
    assert len(found) == len(task.inputs)
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
    assert float(total_variation(both_ways[:, 0], one.p).max()) > 1e-3


def test_the_vector_by_hand() -> None:
    """All weight on one token: the answer is the head's for that token's state."""
    task, model, [one] = probed("classify", pool="attention")
    first = torch.zeros_like(one.weights)
    first[..., 1] = 1
    batch = task.collate(task.items([examples["classify"][row] for row in one.examples]))
    with torch.no_grad():
        states = model.encoder(model.vectors(batch.inputs)).values
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
                [answer] = task.predict(model, [example.inputs], Ask(look=False, drop_tokens=without))
                q = {label.text: label.log_prob for label in (answer, *answer.others)}
                q_of = torch.tensor([q[label] for label in task.target.names]).exp()
                assert float(one.leave_one_out[case, place]) == pytest.approx(
                    float(total_variation(one.p[case], q_of)), abs=1e-5
                )


@pytest.mark.parametrize("pool", ["attention", "source2token"])
@pytest.mark.parametrize("name", ["classify", "entail"])
def test_gradients_are_slopes_with_the_weights_held(name: str, pool: str) -> None:
    """∂p/∂s at s = 1 where a token's vector is s · x, by central differences."""
    task, model, found = probed(name, pool=pool)
    rows = found[0].examples
    with torch.no_grad():
        read = model.vectors(task.collate(task.items([examples[name][row] for row in rows])).inputs)
    own = torch.cat([one.weights for one in found])
    answer = found[0].p.argmax(-1, keepdim=True)

    def p(scale: Tensor) -> Tensor:
        x = read.values * scale.unsqueeze(-1)
        h, _ = there(model.encoder(Sequences(x, read.mask, read.lengths)))
        vector = torch.einsum("rfk,rkf->rf", own, h) if pool == "source2token" else (own @ h).squeeze(1)
        vectors = vector.chunk(len(found))
        logits = model.head(vectors[0] if model.match is None else model.match(*vectors))
        return torch.softmax(logits, -1).gather(-1, answer).squeeze(-1)

    with torch.no_grad():
        for side, one in enumerate(found):
            for place in range(one.weights.shape[-1]):
                scale = torch.ones(read.mask.shape)
                step = torch.zeros_like(scale)
                step[side * len(rows) : (side + 1) * len(rows), place] = 2e-3
                slope = (p(scale + step) - p(scale - step)) / 4e-3
                torch.testing.assert_close(one.gradient[:, place], slope.abs(), atol=1e-3, rtol=2e-2)


def test_a_list_of_items() -> None:
    some = [Example(("d4 x1 d2",), "up"), Example(("x1 x1 b7 c3",), "down"), Example(("c3",), "up")]
    torch.manual_seed(3)
    task = Classify(**{**small, "input": {"name": "items", "embed": {"dim": 6}}, "pool": "attention"})
    task.learn(some)
    model = task.network().eval()
    [one] = probe_pooling(task, frozen(model), some)
    torch.testing.assert_close(one.answer(one.weights.unsqueeze(1)).squeeze(1), one.p, atol=1e-6, rtol=0)
    assert one.input == "input"
    for case, row in enumerate(one.examples):
        length = len(some[row].source.split())
        assert int(one.mask[case].sum()) == length
        for place in range(length) if length > 1 else ():
            left = [word for at, word in enumerate(some[row].source.split()) if at != place]
            q = p_of(task, model, [Example((" ".join(left),), "up")])[0]
            found = float(total_variation(one.p[case], q))
            assert float(one.leave_one_out[case, place]) == pytest.approx(found, abs=1e-5)
    assert float(one.gradient[one.mask].min()) > 0


def test_a_picture(tmp_path: Path) -> None:
    """A box that is left out is blanked; the weights are those of the boxes."""
    random = np.random.default_rng(0)
    some = [Example((str(tmp_path / f"{label}.png"),), label) for label in ("up", "down")]
    for example in some:
        Image.fromarray(random.integers(0, 255, (16, 16), dtype=np.uint8)).save(example.source)
    torch.manual_seed(3)
    field = {"name": "image", "size": 16, "colour": False}
    task = Classify(**{**small, "input": field, "encoder": "identity", "pool": "attention"})
    task.learn(some)
    model = task.network().eval()
    [one] = probe_pooling(task, frozen(model), some)
    torch.testing.assert_close(one.answer(one.weights.unsqueeze(1)).squeeze(1), one.p, atol=1e-6, rtol=0)
    assert bool(one.mask.all())
    boxes = one.weights.shape[-1]
    assert boxes == len(task.inputs["input"].regions([some[0].source])[0])
    for case, row in enumerate(one.examples):
        [answer] = task.predict(model, [some[row].inputs], Ask(look=False, drop_tokens=[((boxes - 1,),)]))
        q = {label.text: label.log_prob for label in (answer, *answer.others)}
        expected = total_variation(one.p[case], torch.tensor([q[label] for label in task.target.names]).exp())
        assert 0 < float(expected) == pytest.approx(float(one.leave_one_out[case, -1]), abs=1e-6)


def test_alone_as_in_a_batch() -> None:
    _, _, [one] = probed("classify", pool="attention")
    for case, row in enumerate(one.examples):
        _, _, [alone] = probed("classify", [examples["classify"][row]], pool="attention")
        length = int(one.mask[case].sum())
        assert float(one.gradient[case, length:].abs().sum() + one.leave_one_out[case, length:].abs().sum()) == 0
        for name in ("weights", "gradient", "leave_one_out"):
            torch.testing.assert_close(
                getattr(one, name)[case, ..., :length], getattr(alone, name)[0], atol=1e-5, rtol=1e-4
            )


@pytest.mark.parametrize("pool", ["last", "mean"])
def test_a_pooling_without_weights_is_refused(pool: str) -> None:
    with pytest.raises(RegardError, match=f"pool={pool} has no attention.*pool=attention or pool=source2token"):
        probed("classify", pool=pool)


def test_tags_are_refused() -> None:
    with pytest.raises(RegardError, match="tag has no pooling"):
        probed("tag")
