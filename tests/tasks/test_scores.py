"""Texts that are given: as likely as step after step says, as search says of its own, alone as in a batch."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch.nn.functional import log_softmax

from generation_tasks import made, sides
from regard.api import Model
from regard.errors import RegardError
from regard.networks.encoder_decoder import EncoderDecoder
from regard.search import Search
from regard.search.beam import Beam
from regard.search.sample import Sample
from regard.tasks._generation import Generation
from regard.tasks.agree import Agree
from regard.tasks.describe import Describe
from regard.tasks.summarise import Summarise
from regard.tasks.translate import Translate
from regard.text import Tokenizer
from regard.train.run import Run
from regard.train.task import Ask
from regard.types import Example, Sequences
from sentence_tasks import both as sentences

examples = [Example(("ab ba",), "xy"), Example(("a",), "y"), Example(("abba abab baba",), "xxyyxy")]
rows = [("ab ba", "xy"), ("a", "yxxyyxyxxy"), ("abba abab baba", "y"), ("b", "xx")]
deep = {"name": "transformer", "size": 8, "ffn": 8, "heads": 2, "layers": 2}
decoders: dict[str, dict[str, Any]] = {
    "before": {"decoder": {"name": "recurrent", "embed": 6, "hidden": 7}},
    "after": {"decoder": {"name": "recurrent", "embed": 6, "hidden": 7, "place": "after"}},
    "lstmn": {"decoder": {"name": "lstmn", "embed": 6, "hidden": 7}},
    "plain": {"decoder": {"name": "plain", "embed": 6, "hidden": 7}},
    "transformer": {"decoder": deep, "attention": {"score": "scaled_dot"}},
}


def both(kind: type[Generation] = Translate, some: list[Example] = examples, **options: Any) -> tuple[Any, Any]:
    torch.manual_seed(3)
    sizes: dict[str, Any] = {
        **sides(max_length=40, name="record" if kind is Describe else "text"),
        "encoder": {"name": "recurrent", "hidden": 5, "layers": 1},
        **decoders["before"],
        "attention": {"score": {"name": "additive", "hidden": 4}},
    }
    task = kind(**{**sizes, **options})
    task.learn(some)
    model = task.network().eval()
    with torch.no_grad():  # sharper than at the start of training, so that answers differ
        for parameter in model.parameters():
            parameter.mul_(1.5)
    return task, model


def model_of(task: Any, network: Any) -> Model:
    return Model(Run(Path("none"), {"task": task.name, "train": {"precision": "fp32"}}, {}), task, network)


def stepped(task: Generation, model: EncoderDecoder, source: str, target: str) -> list[float]:
    """The log-probability of each token, one step after the other."""
    with torch.no_grad():
        memory = model.encode(Sequences.pad([task.source.text.encode(source)]))
        state, before, found = model.decoder.start(memory), Tokenizer.start, []
        for token in task.target.text.encode(target):
            state, _, logits = model.decoder.step(state, torch.tensor([[before]]))
            found.append(float(log_softmax(logits[0, 0].double(), -1)[token]))
            before = token
    return found


@pytest.mark.parametrize("name", decoders)
def test_as_step_after_step(name: str) -> None:
    task, model = both(**decoders[name])
    for (source, target), one in zip(rows, task.score(model, rows, Ask()), strict=True):
        each = stepped(task, model, source, target)
        assert (one.source, one.text) == (source, target)
        assert [log_prob for _, log_prob in one.tokens] == pytest.approx(each, abs=1e-5)
        assert one.log_prob == pytest.approx(sum(each), abs=1e-5)
        assert [token.text for token, _ in one.tokens] == [*target, "</s>"]
        if name == "plain":
            assert one.look is None
        else:
            assert one.look.weights.shape[-2:] == (len(target) + 1, len(source) + 1)
            assert np.allclose(one.look.weights.sum(-1), 1, atol=1e-5)
            assert [token.text for token in one.look.rows] == [*target, "</s>"]


@pytest.mark.parametrize("kind", [Translate, Agree, Summarise])
@pytest.mark.parametrize("search", [Beam(20, 0.0, 20), Sample(count=5, seed=1)])
def test_what_a_search_finds_scores_and_looks_the_same(kind: type[Generation], search: Search) -> None:
    task, model = both(kind)
    found = task.predict(model, [(source,) for source, _ in rows], Ask(search=search))
    answers = [(one.source, each, each.text) for one in found for each in (one, *one.others)]
    whole = [one for one in answers if one[2] and one[1].look.rows[-1].text == "</s>"]  # not cut at the greatest length
    assert len(whole) > 3
    for (source, one, text), scored in zip(whole, task.score(model, [(s, t) for s, _, t in whole], Ask()), strict=True):
        assert (scored.source, scored.text) == (source, text)
        assert scored.log_prob == pytest.approx(one.log_prob, abs=1e-5)
        assert np.allclose(scored.look.weights, one.look.weights, atol=1e-5)
        assert (scored.look.rows, scored.look.columns) == (one.look.rows, one.look.columns)


def test_alone_as_in_a_batch_and_without_looking() -> None:
    task, model = both()
    together, alone = (task.score(model, rows, Ask(batch_tokens=tokens)) for tokens in (8_192, 1))
    for one, other, blind in zip(together, alone, task.score(model, rows, Ask(look=False)), strict=True):
        assert one.log_prob == pytest.approx(other.log_prob, abs=1e-5)
        assert np.allclose(one.look.weights, other.look.weights, atol=1e-6)
        assert (blind.look, blind.log_prob, blind.tokens) == (None, one.log_prob, one.tokens)
    assert task.score(model, [], Ask()) == []


def test_what_is_not_known_is_scored_as_unknown_and_shown_as_written() -> None:
    task, model = both()
    strange, mark = task.score(model, [("ab", "xßy"), ("ab", "xy")], Ask())
    assert [token.text for token, _ in strange.tokens] == ["x", "ß", "y", "</s>"]
    assert strange.tokens[1][1] < 0
    assert strange.tokens[0][1] == pytest.approx(mark.tokens[0][1])


def test_values_of_a_record_count_as_their_placeholders() -> None:
    some = [Example(("name[Blue Spice], eatType[pub]",), "Blue Spice is a pub."), Example(("name[A]",), "A is.")]
    word = {"name": "word", "split": "punctuation"}
    task, model = both(Describe, some, **sides(word, name="record", delexicalise=("name",)))
    new, old, hidden = task.score(
        model,
        [(f"name[{name}], eatType[pub]", f"{name} is a pub.") for name in ("New Place", "Blue Spice", "x_name")],
        Ask(),
    )
    assert new.log_prob == pytest.approx(old.log_prob)
    assert new.log_prob == pytest.approx(hidden.log_prob)
    assert (new.text, new.source) == ("New Place is a pub.", "name[New Place], eatType[pub]")
    assert [token.text for token, _ in new.tokens] == ["New Place", "is", "a", "pub", ".", "</s>"]
    assert [token.text for token in new.look.rows] == ["New Place", "is", "a", "pub", ".", "</s>"]
    with pytest.raises(RegardError, match=r"^lines:7: 'just words' is not a field"):
        task.score(model, [("just words", "A")], Ask(), ["lines:7"])


@pytest.mark.parametrize(
    ("row", "said"),
    [
        (("a", ""), "input 2: an empty target; expected at least one character"),
        (("a", " \t"), "input 2: an empty target"),
        (("", "x"), "input 2: an empty source"),
        (("a",), "input 2: 1 text; expected 2 (source, target)"),
        ("a", "input 2: 1 text; expected 2 (source, target)"),
        (("a", "b", "c"), "input 2: 3 texts; expected 2"),
        (("a", "x" * 41), "input 2: 42 tokens in the target; expected at most 40"),
    ],
)
def test_what_cannot_be_scored(row: Any, said: str) -> None:
    model = model_of(*both())
    with pytest.raises(RegardError) as caught:
        model.score([("a", "x"), row])
    assert str(caught.value).startswith(said)
    with pytest.raises(RegardError) as caught:
        model.score([row], where=["lines.tsv:9"])
    assert str(caught.value).startswith(said.replace("input 2", "lines.tsv:9"))


def test_a_task_of_texts_alone_takes_them_as_they_are() -> None:
    task = made("language")
    model = model_of(task, task.network().eval())
    assert [one.text for one in model.score(["a b", ("c",)])] == ["a b", "c"]
    with pytest.raises(RegardError, match=r"^input 1: an empty text"):
        model.score([" "])
    with pytest.raises(RegardError, match=r"^input 1: 2 texts; expected 1 \(text\)"):
        model.score([("a", "b")])


@pytest.mark.parametrize("name", ["classify", "entail", "relate"])
def test_a_task_that_writes_no_texts(name: str) -> None:
    with pytest.raises(RegardError, match=f"^{name} has no texts to score"):
        model_of(*sentences(name)).score([])


def test_from_the_model() -> None:
    task, network = both()
    model = model_of(task, network)
    assert [one.log_prob for one in model.score(rows)] == pytest.approx(
        [one.log_prob for one in task.score(network, rows, Ask())]
    )
    assert model.score(rows[:1], look=False)[0].look is None


@pytest.mark.parametrize("decoder", ["before", "after", "lstmn", "transformer"])
def test_a_decoder_asks_so_its_score_takes_a_query(decoder: str) -> None:
    with pytest.raises(RegardError, match=r"^score learned_query in a decoder; expected a score that takes a query"):
        both(**{**decoders[decoder], "attention": {"score": "learned_query"}})


def test_a_decoder_that_never_looks_does_not_mind() -> None:
    task, model = both(**{**decoders["plain"], "attention": {"score": "learned_query"}})
    assert len(task.score(model, rows, Ask())) == 4
