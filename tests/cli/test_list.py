"""`regard list`: every part with its equation, its paper and its options."""

import json
import re
import shlex
from collections.abc import Callable, Iterator
from importlib import import_module
from typing import Any

import pytest
from command_line import Regard

from regard.cli.list import kinds, papers, parts, sections, usage
from regard.cli.options import parse_pairs
from regard.find import In, find, full, mark, names, settable


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
    assert hidden["about"] == "size of the projected queries and keys"


capitals = ("CPU ",)  # a sentence may begin with one of these


@pytest.mark.parametrize("kind", [*kinds, *sections])
def test_every_option_has_a_sentence(kind: str) -> None:
    for part in parts(kind):
        for option in part["options"]:
            said = option["about"]
            where = f"{kind} {part['name']}, {option['name']}: {said!r}"
            assert said, where
            assert len(said) <= 120, where
            assert said == " ".join(said.split()), where
            assert not said.endswith((".", ",", ";", ":")), where
            assert said[0].islower() or said[0].isdigit() or said.startswith(capitals), where


def places(thing: Callable[..., Any], path: str = "") -> Iterator[tuple[str, str]]:
    """Every option below `thing` that is itself a part, and where such parts are."""
    for name, parameter in settable(thing).items():
        found = mark(parameter)
        if found is None:
            continue
        if isinstance(found, In):
            yield path + name, found.folder
            inner = [find(found.folder, one) for one in names(found.folder)]
        else:
            yield path + name, found.place
            module, _, attribute = found.place.rpartition(".")
            inner = [getattr(import_module(f"regard.{module}"), attribute)]
        for one in inner:
            yield from places(one, f"{path}{name}.")


def test_every_usage_leads_to_its_parts() -> None:
    assert usage.keys() == kinds.keys() | sections.keys()
    there = {place for task in names("tasks") for place in places(find("tasks", task))}
    there |= {(section, sections[section]) for section in ("data", "train", "start")}
    for kind, place in (kinds | sections).items():
        if kind not in ("task", "builtin"):
            option = re.match(r"([a-z_.]+?)(=NAME|\.OPTION=)", usage[kind])
            assert option is not None, kind
            assert any(name == option[1] and (at + ".").startswith(f"{place}.") for name, at in there), kind


@pytest.mark.parametrize("kind", ["bias", "measure"])
def test_an_example_of_a_list_with_options(kind: str) -> None:
    pairs = shlex.split(usage[kind].partition(" or ")[2])
    assert full(find("tasks", "translate"), parse_pairs(pairs))


def test_ranges_in_json(regard: Regard) -> None:
    [train] = json.loads(regard("list", "train", "--json").out)
    options = {option.pop("name"): option for option in train["options"]}
    assert options["lr"] == {
        "default": 0.001,
        "about": "peak learning rate of AdamW",
        "expected": "a number above 0 and at most 1,000",
        "values": "above 0 and at most 1,000",
        "exclusiveMinimum": 0,
        "maximum": 1000,
    }
    assert options["ema"]["exclusiveMaximum"] == 1
    assert options["decay"]["choices"] == ["cosine", "linear", "inverse", "none"]


def test_as_text(regard: Regard, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "100")
    said = regard("list", "encode").out
    assert said.startswith("ENCODE: Encoders: ")
    assert "\n  recurrent: " in said
    assert "\n  usage: encoder=NAME encoder.OPTION=VALUE\n" in said
    assert re.search(r"\n      cell=gru +kind of recurrent cell \[elman, lstm, gru\]\n", said)
    assert re.search(r"\n      normalizer=softmax +how .* weights \[regard list normalizer\]\n", said)
    said = regard("list", "train").out
    assert re.search(r"\n      lr=0.001 +peak learning rate of AdamW \[above 0 and at most 1,000\]\n", said)
    assert all(len(line) <= 100 and line == line.rstrip() for line in regard("list").out.split("\n"))


def test_a_long_default_has_a_line_to_itself(regard: Regard, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "100")
    said = regard("list", "translate").out
    assert re.search(
        r'\n      encoder=\{"name": .*\}\n {20,}the encoder that reads the source \[regard list encode\]\n', said
    )
    monkeypatch.setenv("COLUMNS", "60")
    said = re.sub(r"=\[.*", "", regard("list", "train").out)
    assert all(line.count("[") == line.count("]") for line in said.split("\n")), "what an option may be is one piece"


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("Luong, Pham & Manning 2015, section 3.1.", ["Luong, Pham & Manning 2015"]),
        ("(Press &\nWolf 2017). GRU\n(Cho et al. 2014)", ["Press & Wolf 2017", "Cho et al. 2014"]),
        ('Lin et al. 2017, "A Title"; Lin et al. 2017', ['Lin et al. 2017, "A Title"']),
        ('Lin 2017, Tai 2015. Lin et al. 2017, "A Title"', ["Tai 2015", 'Lin et al. 2017, "A Title"']),
        ('Lin 2017, "A Title"; Lin 2017, "Another"', ['Lin 2017, "A Title"', 'Lin 2017, "Another"']),
        ("Lin 2017, Lin 2016, Liu & Lin 2017", ["Lin 2017", "Lin 2016", "Liu & Lin 2017"]),
        ('"Dienstag, 5. März 2024" → "2024-03-05", the years are 1900 to 2099', []),
    ],
)
def test_papers(text: str, found: list[str]) -> None:
    assert papers(text) == found


def test_an_unknown_kind(regard: Regard) -> None:
    assert regard("list", "encoder").line() == "unknown part 'encoder'; did you mean 'encode'?"


def test_one_part_by_its_name(regard: Regard) -> None:
    """In every kind that has one of that name."""
    assert [part["kind"] for part in json.loads(regard("list", "structured", "--json").out)] == ["encode", "pool"]
    said = regard("list", "resan").out
    assert "\n  resan: " in said
    assert "disan: " not in said


def test_an_option_is_listed_as_it_is_written() -> None:
    """`from` is no name in Python; of two sentences that of the task counts."""
    [encoder] = [part for part in parts("encode") if part["name"] == "pretrained"]
    assert encoder["options"][0]["name"] == "from"
    [answer] = [part for part in parts("task") if part["name"] == "answer"]
    [best] = [option for option in answer["options"] if option["name"] == "best_metric"]
    assert "empty: squad_f1 (span)" in best["about"]


def test_what_sentences_are_made_of() -> None:
    """Whatever a task takes by name can be listed, and the options of what it always has."""
    assert {"max", "attention", "source2token"} <= {part["name"] for part in parts("pool")}
    assert {"difference", "factored"} <= {part["name"] for part in parts("match")}
    [words] = [part for part in parts("embed") if part["name"] == "words"]
    assert [option["name"] for option in words["options"]] == [
        *("dim", "vectors", "mode", "max_vectors", "dropout", "init_std")
    ]
    assert "baseline" in {option["name"] for option in parts("reinforce")[0]["options"]}
