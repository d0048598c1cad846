"""A scene says what a model looked at in plain JSON: every token as shown, and exactly where that differs."""

import json
import math
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from test_attention_map import dot, hostile, in_picture, map_of

from regard.look.attention_map import AttentionMap, visible
from regard.look.scene import describe_run, item, of_maps, scene, table
from regard.regions import Entry, Item, Token
from regard.types import Network, Prediction, Step


def plain(text: str, **more: object) -> dict[str, Any]:
    known = {"letter": True, "space": False, "out": False, "special": False, "start": -1, "end": -1}
    return {"text": text, **known, **more}


def test_the_table_of_an_attention_map_by_hand() -> None:
    weights = np.array([[[0.25, 0.75]], [[0.75, 0.25]]])
    columns = (Token("a", 0, 1), Token(" ", 1, 2))
    assert table(AttentionMap(weights, (Token("5"),), columns, "date", links=((0, 1),))) == {
        "title": "date",
        "rows": [plain("5")],
        "columns": [plain("a", start=0, end=1), plain("␣", space=True, start=1, end=2, raw=" ")],
        "directions": {"rows": "ltr", "columns": "ltr"},
        "names": ["mean", "head 1", "head 2"],
        "heads": [[0.5, 0.5], [0.25, 0.75], [0.75, 0.25]],
        "top": 1.0,
        "axes": ["", ""],
        "links": [[0, 1]],
        "breaks": [],
        "panels": "heads",
        "source": "",
    }


def test_boxes_keep_their_edges_and_their_picture() -> None:
    data = table(in_picture(("cat", "dog")))
    assert data["source"] == dot
    assert data["columns"][1] == {
        "kind": "box",
        "text": "50%–100% × 0%–50%",
        "left": 0.5,
        "top": 0,
        "right": 1.0,
        "bottom": 0.5,
        "letter": False,
        "space": False,
        "out": False,
        "special": False,
    }
    items = table(AttentionMap(np.ones((1, 1)), (Entry("name", "<b>"),), (Item("</s>", 0),)))
    assert (items["rows"][0]["text"], items["columns"][0]["special"]) == ("name: <b>", False)


def test_choices_names_and_breaks_by_hand() -> None:
    attention_map = map_of(
        ("5",), ("a", " "), 2, head_names=("forward", "\x1b<b>"), column_selected=(True, False), breaks=(1,)
    )
    data = table(attention_map)
    assert data["names"] == ["mean", "forward", "␛<b>"]
    assert data["breaks"] == [1]
    assert data["columns"][1] == plain("(␣)", letter=False, space=True, out=True, raw=" ")


def test_tokens_are_shown_visibly_and_in_bounds_and_kept_exactly() -> None:
    rows = table(map_of(hostile, ("a",)))["rows"]
    assert [row["text"] for row in rows] == ["x" * 199 + "…" if t == "x" * 10_000 else visible(t) for t in hostile]
    assert [row.get("raw", row["text"]) for row in rows] == list(hostile)
    assert "raw" not in rows[0]


@pytest.mark.parametrize(
    ("token", "special"),
    [
        (Token("</s>", 5, 5), True),
        (Token("", 5, 5), False),  # a piece that is only the mark before a word: a place of the input
        (Token("</s>", 0, 4), False),  # somebody wrote it
        (Token("</s>"), True),
        (Token("[CLS]"), True),
        (Token("<|end|>"), True),
        (Token("<b>x"), False),
        (Token("a"), False),
    ],
)
def test_special_tokens_are_known(token: Token, special: bool) -> None:
    assert table(AttentionMap(np.ones((1, 1)), (token,), (token,)))["rows"][0]["special"] is special


@pytest.mark.parametrize(("panels", "mean"), [("heads", True), ("layers", True), ("rows", True), ("features", False)])
def test_names_mean_nothing_panels_do(panels: str, mean: bool) -> None:
    """Features bring their own mean, which is of all of them; of others it is worked out."""
    data = table(map_of(("yes 1", "yes 2"), ("a", "b"), 2, head_names=("mean", "feature 3"), panels=panels))
    assert data["panels"] == panels
    assert data["names"] == ["mean"] * mean + ["mean", "feature 3"]


def test_lines_begin_where_their_script_begins() -> None:
    assert table(map_of(("1", "كتاب"), ("-", "book")))["directions"] == {"rows": "rtl", "columns": "ltr"}


def test_small_weights_keep_their_digits() -> None:
    attention_map = AttentionMap(np.array([[1.2344e-7, 5e-8]]), (Token("a"),), (Token("b"), Token("c")))
    assert table(attention_map)["heads"] == [[1.234e-07, 5e-08]]
    for top in (5e-324, 1e300, 0.0):
        json.dumps(table(AttentionMap(np.array([[top]]), (Token("a"),), (Token("b"),))), allow_nan=False)


def test_an_item_by_hand() -> None:
    first, second = map_of(("x",), ("y",)), map_of(("z",), ("y",))
    other = Prediction("no", -math.inf)
    found = item(1, ("in",), Prediction("yes", -0.5, first, "in", (other,), (second,)))
    assert found == {
        "run": 1,
        "inputs": ["in"],
        "answer": "yes",
        "log_prob": -0.5,
        "log_prob_per_token": None,
        "others": [{"text": "no", "log_prob": None, "log_prob_per_token": None}],
        "drop_tokens": [[]],
        "steps": None,
        "maps": [table(first), table(second)],
    }
    assert item(0, ("a", "b"), Prediction("yes", 0.0), [(), (2, 5)])["drop_tokens"] == [[], [2, 5]]
    assert item(0, ("a",), Prediction("yes", 0.0))["maps"] == []


def test_sum_and_mean_have_their_own_names() -> None:
    text = item(0, ("in",), Prediction("a b", -3.0, log_prob_per_token=-1.0))
    assert (text["log_prob"], text["log_prob_per_token"]) == (-3.0, -1.0)
    assert "score" not in text
    mean = item(0, ("in",), Prediction("3.7", None, others=(Prediction("4", -0.5), Prediction("3", -1.5))))
    assert (mean["log_prob"], mean["log_prob_per_token"]) == (None, None)


def test_steps_of_a_search_stand_in_their_item() -> None:
    step = Step(tokens=("a", "\x1b"), log_prob=-math.inf, parent=-1, ended=False)
    steps = item(0, ("in",), Prediction("a", -1.0, steps=((step,), (step, step))))["steps"]
    assert [len(one) for one in steps] == [1, 2]
    assert steps[0][0] == {"tokens": ["a", "␛"], "log_prob": None, "parent": -1, "ended": False}


def test_a_scene_by_hand() -> None:
    assert scene([], [{"name": "r"}], "t\n", "api") == {
        "version": 1,
        "title": "t↵",
        "live": {"base": "api"},
        "runs": [{"name": "r"}],
        "items": [],
    }
    alone = of_maps([map_of(("x",), ("y",))] * 2, "two")
    assert (len(alone["items"]), alone["runs"], alone["live"]) == (2, [], None)
    assert alone["items"][0]["run"] == -1


def described(folder: Path, *roles: str, features: bool = False) -> dict[str, Any]:
    run = SimpleNamespace(folder=folder)
    task = SimpleNamespace(does="Translates {input}.")
    model = SimpleNamespace(network=Network(), searches=True, config={"task": "translate"}, run=run, task=task)
    return describe_run(model, "mine", [{"name": role, "kind": "text", "noun": "a text"} for role in roles], features)


def test_a_run_is_described_with_its_badge_where_it_has_one(tmp_path: Path) -> None:
    known = {"name": "mine", "task": "translate", "searches": True, "badge": None, "layers": 0, "features": True}
    known |= {"does": "Translates a text.", "about": None}
    role = {"name": "text", "kind": "text"}
    assert described(tmp_path, "text", features=True) == {**known, "roles": [role]}
    summary = {"verdict": "weights explain little", "level": "weak", "examples": 20}
    (tmp_path / "faithful.json").write_text(json.dumps({"version": 1, "summary": summary}))
    assert described(tmp_path)["badge"] == summary


def test_a_badge_is_of_these_very_weights(tmp_path: Path) -> None:
    summary = {"verdict": "weights explain little", "level": "weak"}
    (tmp_path / "model.safetensors").write_bytes(b"abc")
    # blake2b of "abc", of 16 bytes
    found = {"version": 1, "model": "cf4ab791c62b8d2b2109c90275287816", "summary": summary}
    (tmp_path / "faithful.json").write_text(json.dumps(found))
    assert described(tmp_path)["badge"] == summary
    (tmp_path / "model.safetensors").write_bytes(b"abd")  # as long as before
    assert described(tmp_path)["badge"] is None
    (tmp_path / "model.safetensors").unlink()
    assert described(tmp_path)["badge"] is None


@pytest.mark.parametrize(
    "text", ["", "{", "[]", "3", '{"summary": 3}', '{"summary": {}}', '{"summary": {"verdict": 1}}']
)
def test_a_badge_that_cannot_be_read_is_none(tmp_path: Path, text: str) -> None:
    (tmp_path / "faithful.json").write_text(text)
    assert described(tmp_path)["badge"] is None


def test_what_training_kept_is_told_and_nothing_else(tmp_path: Path) -> None:
    kept = {"data": "pairs.tsv", "examples": 2900, "inputs": [["a", "b"], ["c", "<b>"]]}
    (tmp_path / "about.json").write_text(json.dumps(kept))
    assert described(tmp_path, "x", "y")["about"] == kept
    assert described(tmp_path, "x")["about"]["inputs"] == []  # of another number of inputs
    wrong = [["a", 3], "ab", ["a", " "], *[["a", "b"]] * 20]
    (tmp_path / "about.json").write_text(json.dumps({**kept, "data": "\x1b", "inputs": wrong, "more": 1}))
    assert described(tmp_path, "x", "y")["about"] == {"data": "␛", "examples": 2900, "inputs": [["a", "b"]] * 10}


@pytest.mark.parametrize("text", ["", "{", "[]", "3", "{}", '{"data": 1, "examples": 2, "inputs": []}', "[" * 99_999])
def test_what_training_did_not_write_is_not_told(tmp_path: Path, text: str) -> None:
    (tmp_path / "about.json").write_text(text)
    assert described(tmp_path)["about"] is None


def test_a_picture_is_called_one(tmp_path: Path) -> None:
    model = SimpleNamespace(
        network=Network(), searches=False, config={"task": "classify"}, run=SimpleNamespace(folder=tmp_path)
    )
    model.task = SimpleNamespace(does="Classifies {input}.")
    role = {"name": "input", "kind": "image"}
    run = describe_run(model, "mine", [{**role, "noun": "a picture"}], False)
    assert (run["does"], run["roles"]) == ("Classifies a picture.", [role])


def test_an_answer_that_is_a_part_of_the_input() -> None:
    other = Prediction("Ada left", -2.0, span=(0, 8))
    found = item(0, ("Ada left", "who"), Prediction("Ada", -0.1, span=(0, 3), others=(other,)))
    assert (found["span"], found["others"][0]["span"]) == ([0, 3], [0, 8])
    assert "span" not in item(0, ("a",), Prediction("yes", 0.0))
