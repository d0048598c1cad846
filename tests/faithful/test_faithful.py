"""Is it an explanation? A model where attention is one comes out strong, one where weights do not matter weak."""

import json
import math
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from random import Random
from typing import Any, cast

import pytest
import torch

from regard.api import Model
from regard.encode import Encoder
from regard.errors import RegardError
from regard.faithful import faithful, probes
from regard.faithful.probe import Probe
from regard.fields.embed.words import Words
from regard.networks.reader import Reader
from regard.pool.attention import Attention
from regard.tasks.agree import Agree
from regard.tasks.classify import Classify
from regard.tasks.language import Language
from regard.train.run import Run
from regard.types import Example, Memory, Network, Sequences

names = [f"w{n}" for n in range(8)]


def sentences(count: int = 24) -> list[Example]:
    """A few different words in any order; the strongest of them is the label."""
    random = Random(1)
    some = [random.sample(names, random.randint(4, 6)) for _ in range(count)]
    return [Example((" ".join(words),), max(words), f"x:{n}") for n, words in enumerate(some, 1)]


class Plain(Network):
    """A network that no probe knows."""

    def __init__(self) -> None:
        super().__init__()
        self.number = torch.nn.Parameter(torch.zeros(1))


class Same(Encoder):
    """Every word for itself: h_i = x_i."""

    size = summary = 9

    def forward(self, inputs: Sequences) -> Memory:
        return Memory(inputs.values, inputs.values, inputs.mask, inputs.values.sum(1))


def by_hand(equal: bool) -> Model:
    """A word is its strength, which attention asks for, and its meaning, which the answer is made of.

    e_i = 40 tanh(strength_i); p = softmax(6 Σ a_i meaning_i). Each word has a meaning of its own, or (`equal`) all the
    same one.
    """
    task = Classify(input={"name": "text", "tokenizer": "word"})
    task.learn([Example((" ".join(names),), name) for name in names])
    field: Any = task.inputs["input"]
    words, pool, head = Words(len(field.text), 0, dim=9), Attention(9, hidden=1), task.Head(9, 8, hidden=8)
    with torch.no_grad():
        words.learned.zero_()
        for n, name in enumerate(names):
            number = field.text.encode(name)[0]
            words.learned[number, 0] = 0.04 * n
            words.learned[number, 1 if equal else n + 1] = 1.0
        pool.attention.score.W.weight.zero_()  # type: ignore[union-attr]
        pool.attention.score.W.weight[0, 0] = 1.0  # type: ignore[union-attr,index]
        pool.attention.score.w.fill_(300.0 if equal else 40.0)  # type: ignore[union-attr,operator]
        for layer, scale in ((head.W_1, 1.0), (head.W_2, 6.0)):
            layer.weight.zero_()  # type: ignore[union-attr,operator]
            layer.bias.zero_()  # type: ignore[union-attr,operator]
            layer.weight[:, -8:] += scale * torch.eye(8)  # type: ignore[union-attr,index]
    network = Reader(words, Same(), pool, None, head, None, dropout=0.5)
    return Model(Run(Path("nowhere"), {"task": "classify", "train": {"precision": "fp32"}}, {}), task, network)


def test_where_attention_is_the_explanation() -> None:
    found = faithful(by_hand(equal=False), sentences(), shuffles=30)["summary"]
    assert found["level"] == "strong"
    assert found["tau_gradient"]["mean"] > 0.95
    assert found["tau_leave_one_out"]["mean"] > 0.8
    assert found["shuffled"]["median_tv"] > 0.4
    assert found["adversarial"]["max_js"] < 0.1
    assert found["verdict"].startswith("The weights may be read as an explanation")


def test_where_weights_do_not_matter() -> None:
    """All values are equal: nothing moves the answer, and any weights will do."""
    found = faithful(by_hand(equal=True), sentences(), shuffles=30)["summary"]
    assert found["level"] == "weak"
    assert found["shuffled"]["median_tv"] == pytest.approx(0, abs=1e-6)
    assert found["adversarial"]["median_js"] == pytest.approx(math.log(2), abs=1e-3)
    assert found["tau_leave_one_out"] == {"mean": None, "std": None, "share_significant": None, "undefined": 24}
    assert found["votes"] == {"importance": -1, "shuffled": -1, "adversarial": -1}


def test_the_model_is_left_as_it_was_and_the_report_is_the_same_twice() -> None:
    model, told = by_hand(equal=False), list[tuple[int, int, float]]()
    model.network.train()
    model.network.head.W_1.bias.requires_grad_(False)  # type: ignore[union-attr,operator]
    before = torch.get_rng_state()
    first = faithful(model, sentences(6), shuffles=10, seed=3, told=lambda *step: told.append(step))
    assert torch.equal(torch.get_rng_state(), before)
    assert model.network.training
    learning = [name for name, one in model.network.named_parameters() if not one.requires_grad]
    assert learning == ["head.W_1.bias"]
    assert told[-1] == (6, 6, pytest.approx(0))
    again = faithful(model, sentences(6), shuffles=10, seed=3)
    assert json.dumps(first, allow_nan=False) == json.dumps(again, allow_nan=False)
    other = faithful(model, sentences(6), shuffles=10, seed=4)
    assert other["rows"] != first["rows"]


def test_a_row_for_each_answer_in_order() -> None:
    rows = faithful(by_hand(equal=False), sentences(5), shuffles=5)["rows"]
    assert [row["example"] for row in rows] == [0, 1, 2, 3, 4]
    assert [row["said"] for row in rows] == [example.target for example in sentences(5)]
    assert rows[2]["where"] == "x:3"
    assert rows[2]["tokens"] == len(sentences(5)[2].source.split())
    assert rows[2]["word"] is None
    assert rows[2]["adversarial_tv"] <= 0.01


def test_an_only_token_leaves_no_choice() -> None:
    model = by_hand(equal=False)
    found = faithful(model, [*sentences(2), Example(("w3",), "w3")], shuffles=5)
    assert found["summary"]["examples"] == 3
    assert found["summary"]["cases"] == len(found["rows"]) == 2
    with pytest.raises(RegardError, match="no input has more than one position"):
        faithful(model, [Example(("w3",), "w3")], shuffles=5)


def test_what_cannot_be_asked_is_told() -> None:
    model: Any = by_hand(equal=False)
    for arguments, line in (({"shuffles": 0}, "0 shuffles"), ({"examples": []}, "no examples")):
        with pytest.raises(RegardError, match=line):
            faithful(model, **({"examples": sentences(2)} | arguments))
    other = Model(Run(Path("nowhere"), {"task": "language"}, {}), Language(), Plain())
    with pytest.raises(RegardError, match=r"nowhere is a run of language.*classify or translate"):
        faithful(other, sentences(2))


def same(one: Probe, other: Probe) -> bool:
    tensors = ("weights", "mask", "p", "gradient", "leave_one_out")
    return one.said == other.said and all(torch.equal(getattr(one, name), getattr(other, name)) for name in tensors)


def test_two_threads_may_probe_one_network() -> None:
    """In training mode, and while a third has not finished: the same figures as alone, without dropout."""
    model = by_hand(equal=False)
    model.network.train()
    [alone] = probes(model, sentences(6))
    with ThreadPoolExecutor(4) as pool:
        every = [*pool.map(lambda _: next(probes(model, sentences(6))), range(8))]
    assert all(same(one, alone) for one in every)
    assert model.network.training
    assert all(one.requires_grad for one in model.network.parameters())
    torch.testing.assert_close(alone.answer(alone.weights.unsqueeze(1)).squeeze(1), alone.p)


def test_of_two_directions_the_one_that_predicts() -> None:
    """The network of `agree`: two networks trained together."""
    some = [Example(("a b c",), "x y"), Example(("b a",), "y x y")]
    words = {"tokenizer": "word"}
    task = Agree(
        source={"name": "text", "embed": {"dim": 6}, **words},
        target=words,
        encoder={"name": "recurrent", "hidden": 4},
        attention={"score": "dot"},
        decoder={"name": "recurrent", "embed": 8, "hidden": 8},
    )
    task.learn(some)
    model = Model(Run(Path("nowhere"), {"task": "agree"}, {}), task, task.network())
    found = list(probes(model, some, words=2))
    assert {one.input for one in found} == {"source"}
    assert sum(one.worth for one in found) == pytest.approx(2)


def test_a_list_of_items() -> None:
    """Ids instead of words, with the same vectors: the same figures."""
    model, task = by_hand(equal=False), Classify(input={"name": "items", "embed": {"dim": 9}})
    task.learn([Example((" ".join(names),), name) for name in names])
    text, items = (cast("Any", one.inputs["input"]) for one in (model.task, task))
    assert [items.numbers[name] for name in names] == [text.text.encode(name)[0] for name in names]
    other = Model(Run(Path("nowhere"), {"task": "classify"}, {}), task, model.network)
    [one], [expected] = probes(other, sentences(5)), probes(model, sentences(5))
    assert same(one, expected)
    assert faithful(other, sentences(2), shuffles=2)["summary"]["cases"] == 2
