"""Watching the search of every task that has one: the same answers, and steps that lead back from each of them."""

from copy import deepcopy
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import nn

from generation_tasks import sides
from regard.api import Model, configure, make_task
from regard.errors import RegardError
from regard.search import Search
from regard.search.beam import Beam
from regard.search.greedy import Greedy
from regard.search.sample import Sample
from regard.train.run import Run
from regard.train.task import Ask
from regard.types import Example, Prediction

decoding: dict[str, Any] = {
    "encoder": {"name": "recurrent", "hidden": 5},
    "decoder": {"name": "recurrent", "embed": 6, "hidden": 7},
    "attention": {"score": {"name": "additive", "hidden": 4}},
}
word = {"name": "word", "split": "punctuation"}
letters = sides(max_length=24)
options: dict[str, dict[str, Any]] = {
    "translate": {**decoding, **letters},
    "summarise": {**decoding, **letters},
    "describe": {**decoding, **sides(word, max_length=24, name="record", delexicalise=["name"])},
    "language": {"text": {"tokenizer": "word", "max_length": 12}, "network": {"hidden": 6}},
}
lines = {
    "translate": ["ab ba", "a", "abba abab baba", ""],
    "summarise": ["ab ba", "a", "abba abab baba"],
    "describe": ["name[Blue Spice], eatType[pub]", "name[Zizzi]", "eatType[pub], near[here], name[Old Mill]"],
    "language": ["the cat", "a", "", "the dog sat on the"],
}
targets = {"describe": ["Blue Spice is a pub.", "Zizzi is here.", "A pub near here: Old Mill."]}


def model_of(name: str, tmp_path: Path) -> Model:
    torch.manual_seed(2)
    config = configure(name, {**options[name], "data": {"train": "own"}})
    task: Any = make_task(config)
    said = targets.get(name, ["xy", "yyx", "xxyyxy", "x"])
    task.learn([Example((line,), said[row], f"a:{row}") for row, line in enumerate(lines[name])])
    network: nn.Module = task.network().eval()
    return Model(Run.create(tmp_path / name, config, task.keep(), network), task, network)


def walked(prediction: Prediction) -> list[tuple[str, ...]]:
    """All that ended, each found again by its parents from the last step to the first."""
    found = []
    for t, step in enumerate(prediction.steps):
        for last in step:
            if last.ended:
                one, tokens, before = last, list[str](), float("-inf")
                for s in reversed(range(t + 1)):
                    tokens.insert(0, one.tokens[-1])
                    assert one.log_prob >= before
                    before = one.log_prob
                    assert (one.parent == -1) is (s == 0)
                    one = prediction.steps[s - 1][one.parent] if s else one
                assert last.tokens == tuple(tokens)
                found.append(last.tokens)
    return found


@pytest.mark.parametrize("name", options)
@pytest.mark.parametrize("search", [Greedy(), Beam(4, 1.0, 3), Beam(4, 0.5, 3, groups=2), Sample(count=3, seed=4)])
def test_steps_lead_to_the_answers(name: str, search: Search, tmp_path: Path) -> None:
    model = model_of(name, tmp_path)
    rows = [(line,) for line in lines[name]]
    watched = model.task.predict(model.network, rows, Ask(look=False, search=deepcopy(search), trace=True))
    # A sampler that has drawn draws others.
    plain = model.task.predict(model.network, rows, Ask(look=False, search=deepcopy(search)))
    for one, other in zip(watched, plain, strict=True):
        assert (one.text, one.log_prob, one.others) == (other.text, other.log_prob, other.others)
        assert other.steps == ()
        ended = walked(one)
        texts = {"".join(tokens).replace(" ", "").removesuffix("</s>") for tokens in ended}
        for answer in (one, *one.others):
            said = answer.text.removeprefix(one.source.rstrip() if name == "language" else "")
            assert said.replace(" ", "") in texts


def test_values_are_in_the_steps(tmp_path: Path) -> None:
    model = model_of("describe", tmp_path)
    found = model.predict(["name[New Place], eatType[pub]"], trace=True, beam_size=20, look=False)[0]
    seen = {token for step in found.steps for one in step for token in one.tokens}
    assert "x_name" not in seen
    assert "New Place" in seen


def test_asked_for_by_a_person(tmp_path: Path) -> None:
    model = model_of("translate", tmp_path)
    found = model("ab ba", trace=True, beam_size=2)
    assert found.steps
    assert max(map(len, found.steps)) <= 4
    assert [token.text for token in found.look.rows] in [[*tokens] for tokens in walked(found)]
    assert model("ab ba").steps == ()
    assert model.predict([], trace=True) == []
    [narrow] = model.predict(["ab ba"], trace=True, name="greedy")
    assert all(len(step) == 1 for step in narrow.steps)


def test_a_task_without_a_search_says_so(tmp_path: Path) -> None:
    config = configure("classify", {"data": {"train": "own"}})
    task: Any = make_task(config)
    task.learn([Example(("good",), "yes", "a:1"), Example(("bad",), "no", "a:2")])
    network = task.network().eval()
    model = Model(Run.create(tmp_path / "c", config, task.keep(), network), task, network)
    with pytest.raises(RegardError, match="classify has no search; remove trace"):
        model.predict(["good"], trace=True)
