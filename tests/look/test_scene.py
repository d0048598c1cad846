"""A scene says what a model looked at in plain JSON: every token as shown, and exactly where that differs."""

import json
import math
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from test_attention_map import gaze_of, hostile

from regard.api import configure, make_task
from regard.look.attention_map import AttentionMap, visible
from regard.look.scene import describe_run, item, of_maps, scene, table
from regard.types import Prediction, Step, Token


def plain(text: str, **more: object) -> dict[str, Any]:
    known = {"letter": True, "space": False, "out": False, "special": False, "start": -1, "end": -1}
    return {"text": text, **known, **more}


def test_the_table_of_a_gaze_by_hand() -> None:
    weights = np.array([[[0.25, 0.75]], [[0.75, 0.25]]])
    columns = (Token("a", 0, 1), Token(" ", 1, 2))
    assert table(AttentionMap(weights, (Token("5"),), columns, "date", links=((0, 1),))) == {
        "title": "date",
        "rows": [plain("5")],
        "columns": [plain("a", start=0, end=1), plain("␣", space=True, start=1, end=2, raw=" ")],
        "directions": {"rows": "ltr", "columns": "ltr"},
        "names": ["mean", "head 1", "head 2"],
        "heads": [[0.5, 0.5], [0.25, 0.75], [0.75, 0.25]],
        "top": 0.75,
        "links": [[0, 1]],
        "breaks": [],
        "kind": "heads",
        "features": False,
    }


def test_choices_names_and_breaks_by_hand() -> None:
    attention_map = gaze_of(
        ("5",), ("a", " "), 2, head_names=("forward", "\x1b<b>"), column_selected=(True, False), breaks=(1,)
    )
    data = table(attention_map)
    assert data["names"] == ["mean", "forward", "␛<b>"]
    assert data["breaks"] == [1]
    assert data["columns"][1] == plain("(␣)", letter=False, space=True, out=True, raw=" ")


def test_tokens_are_shown_visibly_and_in_bounds_and_kept_exactly() -> None:
    rows = table(gaze_of(hostile, ("a",)))["rows"]
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


@pytest.mark.parametrize(
    ("rows", "head_names", "kind"),
    [
        (("yes 1", "yes 2", "yes 3"), (), "rows"),
        (("yes 1", "yes 3"), (), "heads"),
        (("yes 1", "no 2"), (), "heads"),
        (("yes",), (), "heads"),
        (("1", "2"), (), "heads"),
        (("a", "b"), ("layer 1", "layer 2"), "layers"),
        (("a", "b"), ("feature 3", "feature 9"), "features"),
        (("a", "b"), ("mean", "feature 3"), "features"),
        (("a", "b"), ("mean",), "heads"),
        (("a", "b"), ("forward", "backward"), "heads"),
    ],
)
def test_what_the_panels_are(rows: tuple[str, ...], head_names: tuple[str, ...], kind: str) -> None:
    data = table(gaze_of(rows, ("a", "b"), len(head_names), head_names=head_names))
    assert (data["kind"], data["features"]) == (kind, kind == "features")


def test_lines_begin_where_their_script_begins() -> None:
    assert table(gaze_of(("1", "كتاب"), ("-", "book")))["directions"] == {"rows": "rtl", "columns": "ltr"}


def test_small_weights_keep_their_digits() -> None:
    attention_map = AttentionMap(np.array([[1.2344e-7, 5e-8]]), (Token("a"),), (Token("b"), Token("c")))
    assert table(attention_map)["heads"] == [[1.234e-07, 5e-08]]
    for top in (5e-324, 1e300, 0.0):
        json.dumps(table(AttentionMap(np.array([[top]]), (Token("a"),), (Token("b"),))), allow_nan=False)


def test_an_item_by_hand() -> None:
    first, second = gaze_of(("x",), ("y",)), gaze_of(("z",), ("y",))
    other = Prediction("no", -math.inf)
    found = item(1, ("in",), Prediction("yes", -0.5, first, "in", (other,), (second,)))
    assert found == {
        "run": 1,
        "inputs": ["in"],
        "answer": "yes",
        "log_prob": -0.5,
        "log_prob_per_token": None,
        "others": [{"text": "no", "log_prob": None, "log_prob_per_token": None}],
        "without": [[]],
        "steps": None,
        "gazes": [table(first), table(second)],
    }
    assert item(0, ("a", "b"), Prediction("yes", 0.0), [(), (2, 5)])["without"] == [[], [2, 5]]
    assert item(0, ("a",), Prediction("yes", 0.0))["gazes"] == []


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
    alone = of_maps([gaze_of(("x",), ("y",))] * 2, "two")
    assert (len(alone["items"]), alone["runs"], alone["live"]) == (2, [], None)
    assert alone["items"][0]["run"] == -1


def model(folder: Path, roles: tuple[str, ...] = (), inputs: int = 1) -> Any:
    task = SimpleNamespace(**({"roles": roles} if roles else {}))
    run = SimpleNamespace(folder=folder)
    return SimpleNamespace(task=task, inputs=inputs, searches=True, config={"task": "translate"}, run=run)


def test_a_run_is_described_with_its_badge_where_it_has_one(tmp_path: Path) -> None:
    described = {"name": "mine", "task": "translate", "roles": ["text"], "searches": True, "badge": None}
    assert describe_run(model(tmp_path), "mine") == {**described, "layers": 0, "features": False}
    assert describe_run(model(tmp_path, ("premise", "hypothesis"), 2), "mine")["roles"] == ["premise", "hypothesis"]
    summary = {"verdict": "weights explain little", "level": "weak", "examples": 20}
    (tmp_path / "faithful.json").write_text(json.dumps({"version": 1, "summary": summary}))
    assert describe_run(model(tmp_path), "mine")["badge"] == summary


@pytest.mark.parametrize(
    ("task", "options", "features"),
    [
        ("classify", {"encoder": "disan"}, True),
        ("entail", {"encoder": {"name": "resan", "hidden": 8}}, True),
        ("entail", {"encoder": {"name": "transformer", "score": "feature_wise"}}, True),
        ("relate", {"encoder": {"name": "bigru", "hidden": 8}, "pool": "source2token"}, True),
        ("classify", {"encoder": "bigru"}, False),
        ("translate", {"attention": {"score": "feature_wise"}}, False),  # of which only the mean is shown
    ],
)
def test_whether_single_features_can_be_shown(tmp_path: Path, task: str, options: Any, features: bool) -> None:
    one = model(tmp_path)
    one.config = configure(task, options)
    one.task = make_task(one.config)
    one.inputs = one.task.columns - 1
    assert describe_run(one, "mine")["features"] is features


def test_a_badge_is_of_these_very_weights(tmp_path: Path) -> None:
    summary = {"verdict": "weights explain little", "level": "weak"}
    (tmp_path / "model.safetensors").write_bytes(b"abc")
    # blake2b of "abc", of 16 bytes
    found = {"version": 1, "model": "cf4ab791c62b8d2b2109c90275287816", "summary": summary}
    (tmp_path / "faithful.json").write_text(json.dumps(found))
    assert describe_run(model(tmp_path), "mine")["badge"] == summary
    (tmp_path / "model.safetensors").write_bytes(b"abd")  # as long as before
    assert describe_run(model(tmp_path), "mine")["badge"] is None
    (tmp_path / "model.safetensors").unlink()
    assert describe_run(model(tmp_path), "mine")["badge"] is None


@pytest.mark.parametrize(
    "text", ["", "{", "[]", "3", '{"summary": 3}', '{"summary": {}}', '{"summary": {"verdict": 1}}']
)
def test_a_badge_that_cannot_be_read_is_none(tmp_path: Path, text: str) -> None:
    (tmp_path / "faithful.json").write_text(text)
    assert describe_run(model(tmp_path), "mine")["badge"] is None
