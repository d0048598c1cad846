"""What the measurements of generation are made of: every recipe can be configured, figures add up, tables are whole."""

import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from regard.api import configure, make_task, merge
from regard.look.align import Gold
from regard.types import Example, Prediction

sys.path.append(str(Path(__file__).resolve().parent.parent / "benchmarks"))

import alignment
import generation
import generation_pictures
import generation_tables as tables
import language
import together

RESULTS: dict[str, Any] = {"hardware": {"gpu": None, "cores": 2, "cpu": "a CPU"}, "date": "2026-01-01"}


@pytest.mark.sweep
def test_every_recipe_can_be_configured() -> None:
    data = {"data": {"train": "pairs.tsv"}}
    for options in generation.VARIANTS.values():
        make_task(configure("translate", merge(merge(generation.RECIPE, data), options)))
    for task, options in alignment.KINDS.values():
        make_task(configure(task, merge(merge(alignment.RECIPE, data), options)))
        make_task(configure(task, options))  # on the built-in dates
    for options in language.RECIPES.values():
        make_task(configure("language", merge(merge(language.BASE, {"data": {"train": "text.txt"}}), options)))


def test_every_model_has_a_name_for_people() -> None:
    assert {*generation.VARIANTS, *alignment.KINDS} == {*tables.NAMES}
    assert {*generation_pictures.LINES} <= {*generation.VARIANTS}


def test_lengths_are_counted_in_words_of_the_source_and_all_have_a_bin() -> None:
    targets = ["a b c d e", "f g h i j", "k l m n o p"]
    examples = [Example((" ".join(["x"] * n),), text, "") for n, text in zip((3, 9, 30), targets, strict=True)]
    answers = [Prediction(text, 0.0) for text in (targets[0], "z y w v u", targets[2])]
    rows = generation.by_length(examples, answers)
    assert [(row["low"], row["mean"], row["sentences"]) for row in rows] == [(1, 3, 1), (8, 9, 1), (21, 30, 1)]
    assert rows[0]["bleu"] == pytest.approx(100)
    assert rows[1]["bleu"] < 20
    lows, highs = zip(*generation.BINS, strict=True)
    assert [*lows[1:]] == [high + 1 for high in highs[:-1]]


def test_weights_on_the_links_align_without_error_and_one_word_on_are_off_by_one() -> None:
    weights = [np.array([[0.9, 0.1, 0.0], [0.1, 0.8, 0.1]])]
    right = [Gold(frozenset({(0, 0), (1, 1)}), frozenset({(0, 0), (1, 1)}))]
    links = [alignment.choose(rows) for rows in weights]
    found = alignment.compared(weights, links, right)
    assert (found["aer"], found["matched"], found["off_by_one"]) == (0, 1, 0)
    assert found["attention_mass"] == pytest.approx(0.85)
    beside = [Gold(frozenset({(1, 0), (2, 1)}), frozenset({(1, 0), (2, 1)}))]
    found = alignment.compared(weights, links, beside)
    assert (found["aer"], found["matched"], found["off_by_one"]) == (1, 0, 1)


def test_an_aligners_links_are_read_line_by_line(tmp_path: Path) -> None:
    (tmp_path / "links").write_text("0-0 2-1\n\n1-0\n")
    gold = alignment.as_gold(tmp_path / "links")
    assert [sorted(one.sure) for one in gold] == [[(0, 0), (2, 1)], [], [(1, 0)]]
    assert all(one.sure == one.possible for one in gold)


def test_seeds_stand_side_by_side_and_one_that_failed_is_told() -> None:
    row = together.spread({2: {"aer": 0.4}, 1: {"aer": 0.5, "bleu": 3.0}, 3: {"failed": "no memory"}})
    assert row == {"aer": [0.5, 0.4], "bleu": [3.0, None], "failed": ["no memory"]}
    assert together.tried(int, 1, "x")["failed"].startswith("ValueError")
    assert tables.mean(row, "aer", "{:.2f}") == "0.45 ± 0.07"
    assert tables.mean(row, "bleu") == "3.000"
    assert tables.mean(row, "missing") == "–"


def test_a_difference_has_the_error_of_both_means() -> None:
    base, other = {"aer": [0.5, 0.6]}, {"aer": [0.3, 0.4]}
    # variances 0.005 each, of means 0.0025 each: √0.005 = 0.0707
    assert tables.less(other, base, "aer") == "-0.200 ± 0.071"
    assert tables.less(base, base, "aer") == ""
    assert tables.less({"aer": [0.4]}, base, "aer") == "-0.150"


def test_the_best_is_chosen_on_the_validation_set() -> None:
    rows = [
        {"name": "dot", "valid_bleu": [40.0], "bleu": [38.0]},
        {"name": "additive", "valid_bleu": [39.0], "bleu": [41.0]},
        {"name": "transformer", "valid_bleu": [42.0], "bleu": [42.0]},
    ]
    made = tables.generation["generation_goals"]({"generation": {**RESULTS, "figures": {"rows": rows}}})
    assert "**38.0** ✓" in made


def test_tables_say_what_was_not_measured_and_stand_in_line_where_it_was(tmp_path: Path) -> None:
    bins = [{"low": 1, "high": 7, "mean": 6.0, "sentences": 5, "bleu": 30.0}]
    pairs = {"aer": [0.5], "precision": [0.5], "recall": [0.5]}
    rows = [
        {"name": "additive", "bleu": [40.0], "by_length": [bins], "steps": [10], "parameters": [10**6], **pairs},
        {"name": "no_attention_start", "bleu": [30.0], "by_length": [bins]},
    ]
    gold = [
        {"name": "plain", **pairs},
        {"name": "apart", **pairs, "grow_aer": [0.4]},
        {"name": "agreement", **pairs, "grow_aer": [0.3]},
    ]
    figures = {
        "generation": {"rows": rows},
        "alignment_gold": {"rows": gold, "statistical": {**{k: v[0] for k, v in pairs.items()}, "off_by_one": 0.1}},
        "alignment_dates": {"rows": [{"name": "plain", "alignment": [0.9]}], "seeds": 1, "time": "2m"},
        "language": {"rows": [{"name": n, "test": 80.0, "recipe": r} for n, r in language.RECIPES.items()]},
    }
    known = {name: {**RESULTS, "figures": one} for name, one in figures.items()}
    for name, table in tables.generation.items():
        assert "ot measured yet" in table({}), name
        lines = [line for line in table(known).splitlines() if line.startswith("|")]
        assert len(lines) > 2, name
        assert len({line.count("|") for line in lines}) == 1, name
    path = generation_pictures.draw(known["generation"], tmp_path / "length.png")
    assert path.read_bytes().startswith(b"\x89PNG")
