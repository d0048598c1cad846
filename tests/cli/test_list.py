"""`regard list`: every part with its equation, its paper and its options."""

import json
import re

import pytest
from command_line import Regard

from regard.cli.list import kinds, papers, parts, sections
from regard.find import names


def test_every_part_is_there(regard: Regard) -> None:
    said = regard("list", "--json")
    assert (said.code, said.err) == (0, "")
    found = {(part["kind"], part["name"]) for part in json.loads(said.out)}
    assert found == {(kind, name) for kind, folder in kinds.items() for name in names(folder)} | {
        (section, section) for section in sections
    }
    assert ("score", "additive") in found


def test_a_part_with_equation_paper_and_options() -> None:
    additive = next(part for part in parts("score") if part["name"] == "additive")
    assert additive["about"] == "e = wᵀ tanh(W_q q + W_k k + b)"
    assert additive["papers"] == [
        'Bahdanau, Cho & Bengio 2014, "Neural Machine Translation by Jointly Learning to Align and Translate"'
    ]
    [hidden] = additive["options"]
    assert (hidden["name"], hidden["default"]) == ("hidden", 256)


def test_ranges_in_json(regard: Regard) -> None:
    [train] = json.loads(regard("list", "train", "--json").out)
    options = {option.pop("name"): option for option in train["options"]}
    expected = "a number above 0 and at most 1,000"
    assert options["rate"] == {"default": 0.001, "expected": expected, "exclusiveMinimum": 0, "maximum": 1000}
    assert options["average"]["exclusiveMaximum"] == 1


def test_as_text(regard: Regard, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "100")
    said = regard("list", "encode").out
    assert said.startswith("ENCODE: Encoders: ")
    assert "\n  recurrent: " in said
    assert re.search(r"\n      cell=gru +one of elman, lstm, gru\n", said)
    assert re.search(r"\n      weigh=softmax +regard list weigh\n", said)
    assert re.search(r"\n      rate=0.001 +a number above 0 and at most 1,000\n", regard("list", "train").out)
    assert all(len(line) <= 100 and line == line.rstrip() for line in regard("list").out.split("\n"))


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("Luong, Pham & Manning 2015, section 3.1.", ["Luong, Pham & Manning 2015"]),
        ("(Press &\nWolf 2017). GRU\n(Cho et al. 2014)", ["Press & Wolf 2017", "Cho et al. 2014"]),
        ('Lin et al. 2017, "A Title"; Lin et al. 2017', ['Lin et al. 2017, "A Title"']),
        ('"Dienstag, 5. März 2024" → "2024-03-05", the years are 1900 to 2099', []),
    ],
)
def test_papers(text: str, found: list[str]) -> None:
    assert papers(text) == found


def test_an_unknown_kind(regard: Regard) -> None:
    assert regard("list", "encoder").line() == "no part or kind of part is named 'encoder'; did you mean 'encode'?"


def test_one_part_by_its_name(regard: Regard) -> None:
    """In every kind that has one of that name."""
    assert [part["kind"] for part in json.loads(regard("list", "structured", "--json").out)] == ["encode", "pool"]
    said = regard("list", "resan").out
    assert "\n  resan: " in said
    assert "disan: " not in said


def test_what_sentences_are_made_of() -> None:
    """Whatever a task takes by name can be listed, and the options of what it always has."""
    assert {"max", "attention", "source2token"} <= {part["name"] for part in parts("pool")}
    assert {"difference", "factored"} <= {part["name"] for part in parts("match")}
    assert [option["name"] for option in parts("embed")[0]["options"]] == [
        "width",
        "vectors",
        "mode",
        "most",
        "drop",
        "init_std",
    ]
    assert "baseline" in {option["name"] for option in parts("reinforce")[0]["options"]}
