"""Describe: records in either form, values set aside and put back, looks that show them, and names never seen."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from generation_tasks import sides
from regard.api import configure, make_task
from regard.data.load import load_part
from regard.data.read import Reading
from regard.errors import RegardError
from regard.find import find
from regard.networks.encoder_decoder import EncoderDecoder
from regard.search import Hypothesis
from regard.search.beam import Beam
from regard.search.greedy import Greedy
from regard.tasks.describe import Describe
from regard.text import Tokenizer
from regard.train.task import Ask
from regard.types import Example, Prediction

pytestmark = pytest.mark.usefixtures("one_thread")

examples = [
    Example(("name[Blue Spice], eatType[pub], near[Spice]",), "Blue Spice is a pub near Spice.", "e.csv:2"),
    Example(('{"name": "Zizzi", "eatType": "pub"}',), "zizzi: a pub", "e.csv:3"),
    Example(("eatType[pub], near[Cotto]",), "A pub.", "e.csv:4"),  # does not say where
]
names = ("name", "near")


word = {"name": "word", "split": "punctuation"}


def record(delexicalise: tuple[str, ...] = names) -> dict[str, Any]:
    return sides(word, max_length=30, name="record", delexicalise=delexicalise)


def both(**options: Any) -> tuple[Describe, EncoderDecoder]:
    torch.manual_seed(3)
    sizes: dict[str, Any] = {
        **record(),
        "encoder": {"name": "recurrent", "hidden": 5},
        "decoder": {"name": "recurrent", "embed": 6, "hidden": 7},
        "attention": {"score": {"name": "additive", "hidden": 4}},
    }
    task = Describe(**{**sizes, **options})
    task.learn(examples)
    return task, task.network().eval()


def read(task: Describe, example: Example) -> tuple[str, str]:
    """An example as the network reads it."""
    [item] = task.items([example])
    return task.source.text.decode(item.inputs[0]), task.target.text.decode(item.target)


def test_values_are_set_aside_in_record_and_text() -> None:
    task, _ = both()
    assert [read(task, one) for one in examples] == [
        ("name[x_name], eatType[pub], near[x_near]", "x_name is a pub near x_near."),
        ("name[x_name], eatType[pub]", "x_name: a pub"),
        ("eatType[pub], near[x_near]", "A pub."),
    ]


def test_without_names_records_are_only_brought_to_one_form() -> None:
    task, _ = both(**record(()))
    assert read(task, examples[1]) == ("name[Zizzi], eatType[pub]", "zizzi: a pub")


class Said(Greedy):
    """A search that finds what it is told, for every record."""

    def __init__(self, task: Describe, *texts: str) -> None:
        super().__init__()
        self.ids = [tuple(task.target.text.encode(text)) for text in texts]

    def __call__(self, decoder: Any, memory: Any, **limits: Any) -> list[list[Hypothesis]]:  # type: ignore[override]
        keys = memory.keys.shape[1]
        rows = [
            Hypothesis(ids, -1.0, -1.0, torch.full((len(ids), keys), 1 / keys) if limits["weights"] else None)
            for ids in self.ids
        ]
        return [rows] * len(memory.keys)


def test_values_are_put_back_in_answers_and_looks() -> None:
    task, model = both()
    said = Said(task, "x_name is a pub near x_near.", "near x_name")
    given = [("name[New Place], near[The Old One]",), ('{"near": "B", "name": "A"}',), ("eatType[pub], name[C]",)]
    first, second, third = task.predict(model, given, Ask(search=said))
    assert (first.text, first.others[0].text) == ("New Place is a pub near The Old One.", "near New Place")
    assert (second.text, second.others[0].text) == ("A is a pub near B.", "near A")
    assert third.text == "C is a pub near x_near."  # it says what was not given, and that is shown
    assert [one.source for one in (first, second, third)] == [text for (text,) in given]
    attention_map = first.look
    assert [token.text for token in attention_map.rows] == [
        "New Place",
        "is",
        "a",
        "pub",
        "near",
        "The Old One",
        ".",
        "</s>",
    ]
    assert attention_map.title == given[0][0]
    columns = ["name", "[", "New Place", "]", ",", "near", "[", "The Old One", "]", "</s>"]
    assert [token.text for token in attention_map.columns] == columns
    for side, text in (("rows", first.text), ("columns", attention_map.title)):
        for token in getattr(attention_map, side)[:-1]:
            assert text[token.start : token.end] == token.text
    assert second.look.title == "near[B], name[A]"
    assert first.others[0].look.rows[1].text == "New Place"


def test_answers_are_measured_with_their_values() -> None:
    task, model = both()
    found = task.results(model, examples[:1], search=Said(task, "x_name is a pub near x_near."))
    figures = task.measure(found)
    assert found.predictions[0].text == examples[0].target
    assert (figures["exact_match"], figures["slots"], figures["slots_all"]) == (1.0, 1.0, 1.0)
    assert figures["meteor"] == pytest.approx(100 * (1 - 0.5 / 8**3))  # eight words and signs in one chunk
    assert str(figures["meteor_variant"]).startswith("exact+stem")


@pytest.mark.parametrize("delexicalise", [(), names])
def test_records_alone_and_together(delexicalise: tuple[str, ...]) -> None:
    task, model = both(**record(delexicalise))
    given = [example.inputs for example in examples]
    search = Beam(beam_size=3, n_best=2)
    together, alone = (task.predict(model, given, Ask(search=search, batch_tokens=tokens)) for tokens in (8_192, 1))
    blind = task.predict(model, given, Ask(look=False, search=search))
    for one, other, unseen in zip(together, alone, blind, strict=True):
        assert one.text == other.text == unseen.text
        assert np.allclose(one.look.weights.sum(-1), 1, atol=1e-5)
        assert unseen.look is None
    assert task.predict(model, [], Ask()) == []


def test_mistakes_are_told_with_their_place() -> None:
    task, model = both()
    with pytest.raises(RegardError, match=r"e\.csv:9: 'just words' is not a field"):
        task.items([Example(("just words",), "", "e.csv:9")])
    with pytest.raises(RegardError, match=r"^input 2: 'just words' is not a field"):
        task.predict(model, [("a[b]",), ("just words",)], Ask())
    with pytest.raises(RegardError, match=r"^in\.txt:5: 'just words'"):
        task.predict(model, [("just words",)], Ask(), ["in.txt:5"])
    with pytest.raises(RegardError, match="no record has a field 'nam'; did you mean 'name'"):
        both(**record(("nam",)))


@pytest.mark.parametrize("options", [{}, {"data": {"train": "pairs.tsv"}}])
def test_presets_and_defaults_make_a_model(options: dict[str, Any]) -> None:
    some = [Example(("place[Oslo], sky[grey]",), "It is grey in Oslo.")]
    task = make_task(configure("describe", options))
    task.learn(some)
    loss = task.network()(task.collate(task.items(some)))
    assert torch.isfinite(loss.total)
    assert find("measure", task.metrics.best).better == "higher"


def test_the_file_of_the_challenge_is_known_by_its_columns(tmp_path: Path) -> None:
    path = tmp_path / "train.csv"
    path.write_text('mr,ref\n"name[The Vaults], near[Café A]","The Vaults, near Café A."\n')
    [one] = load_part(str(path), tuple(Describe().fields.values()), Reading(known=Describe.known))
    assert (one.source, one.target) == ("name[The Vaults], near[Café A]", "The Vaults, near Café A.")


def test_it_says_names_it_has_never_seen(tmp_path: Path) -> None:
    """Two ways to say it, by what comes first; the places are new."""
    from regard.api import train

    rows = [f"place[{p}], sky[{s}]\tIn {p} it is {s}." for p in ("Oslo", "New York") for s in ("grey", "clear")]
    rows += [f"sky[{s}], place[{p}]\tIt is {s} in {p}." for p in ("Oslo", "Rome") for s in ("grey", "clear")]
    (tmp_path / "train.tsv").write_text("\n".join(rows * 3))
    done = train(
        "describe",
        data={"train": str(tmp_path / "train.tsv"), "valid": str(tmp_path / "train.tsv")},
        out=tmp_path / "run",
        quiet=True,
        **sides(word, dim=16, name="record", delexicalise=["place"]),
        encoder={"hidden": 16},
        decoder={"embed": 16, "hidden": 24, "dropout": 0.0},
        attention={"score": {"hidden": 16}},
        label_smoothing=0.0,
        train={
            "steps": 40,
            "validate_every": 20,
            "batch_size": 24,
            "lr": 0.03,
            "warmup": 4,
            "ema": 0.0,
            "device": "cpu",
        },
    )
    assert done.model("place[San Marino], sky[clear]").text == "In San Marino it is clear."
    assert done.model('{"sky": "grey", "place": "Ulm"}').text == "It is grey in Ulm."
    assert done.model.task.target.text.encode("Oslo")[0] == Tokenizer.unknown


def test_the_hypothesis_that_says_most_values_comes_first() -> None:
    """By hand: one value, two and one of the two; the likelier of equals stays before the other."""
    task, _ = both()
    source = "name[Zizzi], eatType[pub]"
    others = (Prediction("Zizzi is a pub", -2.0, source=source), Prediction("Zizzi", -3.0, source=source))
    found = task._reranked(Prediction("A pub", -1.0, source=source, others=others), 2)
    assert [one.text for one in (found, *found.others)] == ["Zizzi is a pub", "A pub"]
    assert (found.log_prob, found.source) == (-2.0, source)


def test_values_that_texts_put_otherwise_do_not_count() -> None:
    task, _ = both()
    task.learn([*examples, Example(("name[A], familyFriendly[yes]",), "A welcomes children", "e.csv:5")])
    assert task.repeated == {"name", "eatType", "near"}
    other, _ = both()
    other.restore(task.keep())
    assert other.repeated == task.repeated


def test_a_beam_finds_its_hypotheses_to_rerank_and_gives_as_many_as_were_asked_for() -> None:
    task, model = both()
    for nbest in (1, 3):
        [found] = task.predict(
            model, [("name[Blue Spice], eatType[pub]",)], Ask(search=Beam(beam_size=4, n_best=nbest))
        )
        assert len(found.others) == nbest - 1
    plain, model = both(rerank=False)
    [first] = plain.predict(model, [("name[Blue Spice], eatType[pub]",)], Ask(search=Beam(beam_size=4)))
    every = task.predict(model, [("name[Blue Spice], eatType[pub]",)], Ask(search=Beam(beam_size=4, n_best=4)))[0]
    assert first.text in {one.text for one in (every, *every.others)}
