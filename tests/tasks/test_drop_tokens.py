"""Leaving tokens out: the answer is that of the text without them, and so is the attention map."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from generation_tasks import sides
from regard.api import Model
from regard.errors import RegardError
from regard.tasks.describe import Describe
from regard.tasks.language import Language
from regard.tasks.translate import Translate
from regard.train.run import Run
from regard.types import Example
from sentence_tasks import both


def model_of(task: Any, network: Any, name: str) -> Model:
    config = {"task": name, "train": {"precision": "fp32"}}
    return Model(Run(Path("run"), config, {}), task, network)


@pytest.mark.parametrize("name", ["classify", "tag"])
def test_a_sentence_answers_as_the_shorter_one(name: str) -> None:
    task, network = both(name, **({} if name == "tag" else {"pool": "attention"}))
    model = model_of(task, network, name)
    whole = ["a cat sleeps on the mat", "the old man sleeps", "cats run"]
    short = ["a sleeps on mat", "the old man sleeps", "run"]
    found, expected = model.predict(whole, drop_tokens=[((1, 4),), ((),), ((0,),)]), model.predict(short)
    for one, other in zip(found, expected, strict=True):
        assert one.text == other.text
        assert one.log_prob == pytest.approx(other.log_prob, abs=1e-6)
        if one.look is not None:
            np.testing.assert_allclose(one.look.weights, other.look.weights, atol=1e-6)
            assert [token.text for token in one.look.columns] == [token.text for token in other.look.columns]
    assert found[0].source == whole[0]
    if name == "classify":
        assert [(token.start, token.end) for token in found[0].look.columns][1] == (6, 12)  # where it stood


def test_each_input_of_a_pair_has_its_own() -> None:
    task, network = both("entail", encoder={"name": "disan", "hidden": 4})
    model = model_of(task, network, "entail")
    [found] = model.predict([("a cat sleeps", "a dog runs")], drop_tokens=[((1,), (0, 2))])
    [expected] = model.predict([("a sleeps", "dog")])
    assert found.log_prob == pytest.approx(expected.log_prob, abs=1e-6)
    assert [len(attention_map.columns) for attention_map in found.looks] == [
        len(attention_map.columns) for attention_map in expected.looks
    ]
    assert found.look.breaks == (2,)


pairs = [Example(("ein Mann schläft",), "a man sleeps"), Example(("ein Hund",), "a dog")]


def test_a_translation_is_of_what_is_left() -> None:
    task = Translate(**sides("word", dim=8), encoder={"name": "recurrent", "hidden": 8},
                     decoder={"name": "recurrent", "embed": 8, "hidden": 8})  # fmt: skip
    task.learn(pairs)
    model = model_of(task, task.network().eval(), "translate")
    found = model.predict(["ein Mann schläft", "ein Hund"], drop_tokens=[((1,),), ((),)])
    expected = model.predict(["ein schläft", "ein Hund"])
    for one, other in zip(found, expected, strict=True):
        assert one.text == other.text
        np.testing.assert_allclose(one.look.weights, other.look.weights, atol=1e-6)
    assert [token.text for token in found[0].look.columns][:2] == ["ein", "schläft"]
    [ended] = model.predict(["ein Hund"], drop_tokens=[((2,),)])  # the end, too, is a token that is read
    assert [token.text for token in ended.look.columns] == ["ein", "Hund"]


def test_a_record_loses_a_token() -> None:
    task = Describe(**sides("word", dim=8, name="record"), encoder={"name": "recurrent", "hidden": 8},
                    decoder={"name": "recurrent", "embed": 8, "hidden": 8})  # fmt: skip
    task.learn([Example(("name[Blue Spice], area[riverside]",), "Blue Spice is riverside")])
    model = model_of(task, task.network().eval(), "describe")
    [whole] = model.predict(["name[Blue Spice], area[riverside]"])
    [found] = model.predict(["name[Blue Spice], area[riverside]"], drop_tokens=[((0,),)])
    assert found.look.columns == whole.look.columns[1:]


def test_wrong_entries_are_told_in_one_line() -> None:
    task, network = both("entail", pool="attention")
    model = model_of(task, network, "entail")
    with pytest.raises(RegardError, match=r"^input 1: hypothesis: no token 3 to drop; expected 0 to 2$"):
        model.predict([("a", "the dog runs")], drop_tokens=[((), (3,))])
    with pytest.raises(RegardError, match=r"^b\.tsv:7: premise: no token would be left"):
        model.predict([("a", "dog")], where=["b.tsv:7"], drop_tokens=[((0,), ())])
    with pytest.raises(RegardError, match=r"drop_tokens has 2 entries.*1, one per text"):
        model.predict([("a", "dog")], drop_tokens=[((), ()), ((), ())])
    with pytest.raises(RegardError, match=r"drop_tokens names tokens of 1 input;.*2"):
        model.predict([("a", "dog")], drop_tokens=[((),)])
    torch.manual_seed(0)
    with pytest.raises(RegardError, match="language has no drop_tokens; remove drop_tokens"):
        model_of(Language(), network, "language").predict(["a"], drop_tokens=[((0,),)])
