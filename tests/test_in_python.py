"""People's own habits in Python: rows as data, one text or several, a file to evaluate on, help, what is printed."""

import inspect
import pydoc
import textwrap
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import regard
from regard.api import Model, Trained, load, train
from regard.errors import RegardError
from regard.look.attention_map import AttentionMap

pytestmark = pytest.mark.usefixtures("one_thread")

films = [
    (f"a {word} film {number}", label)
    for label, words in {"good": ["fine", "warm", "witty"], "bad": ["dull", "weak", "clumsy"]}.items()
    for word in words
    for number in range(9)
]
tiny: dict[str, Any] = {
    "input": {"tokenizer": "word", "embed": {"dim": 8}},
    "encoder": {"hidden": 8},
    "pool": "attention",
    "quiet": True,
}


def steps(count: int = 4) -> dict[str, Any]:
    return {"steps": count, "validate_every": 2, "device": "cpu"}


def refused(act: Callable[[], Any]) -> str:
    with pytest.raises(RegardError) as caught:
        act()
    assert "\n" not in str(caught.value)
    return str(caught.value)


unchecked = inspect.unwrap  # the tests check the types of all arguments; what people call does not


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> Trained:
    return train("classify", data=films, out=tmp_path_factory.mktemp("runs") / "films", train=steps(), **tiny)


@pytest.fixture(scope="module")
def model(trained: Trained) -> Model:
    return load(trained.model.run.folder)


@pytest.fixture(scope="module")
def pairs(tmp_path_factory: pytest.TempPathFactory) -> Model:
    """A run of a task with two inputs."""
    rows = [(text, text if label == "good" else "no", label) for text, label in films]
    return train("entail", data=rows, out=tmp_path_factory.mktemp("runs") / "pairs", train=steps(1), **tiny).model


# --- data ----------------------------------------------------------------------------------------------------


def test_a_run_records_the_name_of_its_rows(trained: Trained, model: Model) -> None:
    assert model.config["data"]["train"].startswith("python:54 rows (")
    assert "trained with regard on python:54 rows (" in (trained.model.run.folder / "card.md").read_text()
    assert trained.model.data() == trained.splits  # as long as it is in memory


def test_the_same_rows_resume_a_run_and_no_others(trained: Trained) -> None:
    folder = trained.model.run.folder
    again = train("classify", data=(row for row in films), out=folder, train=steps(6), **tiny)
    assert (again.outcome.step, again.outcome.per_second > 0) == (6, True)
    assert again.splits == trained.splits
    said = refused(lambda: train("classify", data=films[1:], out=folder, train=steps(8), **tiny))
    assert "was started with data.train=python:54 rows (" in said
    said = refused(lambda: train("classify", out=folder, quiet=True))
    assert "the data was given in Python (54 rows) and is not saved with the run; give it again: regard.train(" in said


def test_data_of_the_wrong_kind_leaves_nothing_behind(tmp_path: Path) -> None:
    for data in (42, None, b"x", np.zeros((2, 2)), [("a", "b", "c")]):
        assert "expected" in refused(lambda data=data: train("classify", data=data, out=tmp_path / "run", **tiny))
    assert list(tmp_path.iterdir()) == []


# --- predictions ---------------------------------------------------------------------------------------------


def test_a_text_has_a_prediction_and_a_list_has_a_list(model: Model, pairs: Model) -> None:
    one = model.predict("a dull film")
    assert (one.text, one.log_prob) == (model("a dull film").text, model("a dull film").log_prob)
    [same] = model.predict(["a dull film"])
    assert same.text == one.text
    for several in (("a film", "no film"), np.array(["a film", "no film"]), (text for text in ("a film", "no film"))):
        assert [found.source for found in model.predict(several)] == ["a film", "no film"]
    assert pairs.predict(("a film", "no film")).text in ("good", "bad")
    assert len(pairs.predict([("a film", "no film")] * 2)) == 2
    assert len(pairs.predict([["a film", "no film"]])) == 1


@pytest.mark.parametrize(
    ("texts", "said"),
    [
        (5, "cannot predict for 5; expected a text, or a list of them"),
        (None, "cannot predict for None; expected a text, or a list of them"),
        (b"a film", "cannot predict for b'a film'; expected a text, or a list of them"),
        ({"text": "a"}, "cannot predict for {'text': 'a'}; expected a text, or a list of them"),
        (["a", 5], "cannot predict for input 2: 5; expected a text"),
        (["a", None], "cannot predict for input 2: None; expected a text"),
        ([b"a"], "cannot predict for input 1: b'a'; expected a text"),
        (np.zeros(2), "cannot predict for input 1: np.float64(0.0); expected a text"),
        (np.zeros((2, 2)), "cannot predict for input 1: array([0., 0.]); expected a text"),
        ([("a", "b")], "2 texts for a task with 1 input"),
    ],
)
def test_what_is_no_text_is_told(model: Model, texts: Any, said: str) -> None:
    assert refused(lambda: unchecked(Model.predict)(model, texts)) == said


def test_a_pair_is_asked_for_by_its_names(pairs: Model) -> None:
    expected = "expected a tuple of 2 texts (premise, hypothesis), or a list of them"
    assert refused(lambda: unchecked(Model.predict)(pairs, 5)) == f"cannot predict for 5; {expected}"
    assert refused(lambda: pairs.predict("a")) == "1 text for a task with 2 inputs (premise, hypothesis)"


# --- evaluation ----------------------------------------------------------------------------------------------


def test_a_model_is_evaluated_on_all_that_it_can_be_trained_on(trained: Trained, model: Model, tmp_path: Path) -> None:
    test = trained.splits.test
    rows = [(one.source, one.target) for one in test]
    (tmp_path / "test.tsv").write_text("".join(f"{a}\t{b}\n" for a, b in rows))
    expected = model.evaluate(test)
    assert expected.keys() == {"accuracy", "loss"}
    named = [{"text": a, "label": b} for a, b in rows]
    for data in (str(tmp_path / "test.tsv"), tmp_path / "test.tsv", rows, named, iter(rows)):
        assert model.evaluate(data) == expected
    assert trained.model.evaluate() == trained.model.evaluate(test)
    assert trained.evaluate() == trained.model.evaluate()  # what training returns answers, too
    assert trained.predict("a fine film") == trained.model.predict("a fine film")
    assert "row 1: label 'so-so'" in refused(lambda: model.evaluate([("a film", "so-so")]))
    assert "data: got 5; expected a file name" in refused(lambda: model.evaluate(5))
    assert "given in Python (54 rows) and is not saved" in refused(model.evaluate)


def test_without_a_test_set_evaluate_asks_for_data(trained: Trained, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = trained.model.data()
    monkeypatch.setattr(Model, "data", lambda self: type(whole)(whole.train, whole.valid))
    instead = "give data, for example model.evaluate(model.data().valid)"
    assert refused(trained.model.evaluate) == f"{trained.model.run.folder} has no test set; {instead}"


# --- help, wrong types, and what is printed ------------------------------------------------------------------


def test_the_example_of_the_help_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    shown = pydoc.plain(pydoc.render_doc(regard.train))
    for name in inspect.signature(train).parameters:
        assert f"{name}:" in shown
    assert "`regard list` on the command line shows every part" in shown
    assert str(inspect.signature(regard.train)).startswith("(task: str, data: Any = ''")
    example = next(part for part in inspect.getdoc(train).split("\n\n") if "films = " in part)
    code = textwrap.dedent("    import regard\n\n" + example).replace("out=", "quiet=True, out=")
    exec(code, given := {})
    assert given["trained"].model.run.folder == Path("runs/films")


@pytest.mark.parametrize(
    ("call", "said"),
    [
        (lambda: unchecked(train)(3), "task: got 3; expected the name of a task (agree, answer, "),
        (lambda: unchecked(train)(None), "task: got None; expected the name of a task"),
        (lambda: unchecked(train)("classify", time=5), 'time: got 5; expected a limit such as "90s" or "5m"'),
        (lambda: unchecked(train)("classify", out=5), "out: got 5; expected the folder of the run"),
        (lambda: train("classify", encoder=3), "encoder: got 3; expected the name of a part"),
        (lambda: train("classify", train=3), "train: got 3; expected a table of options"),
        (lambda: unchecked(load)(3), "cannot load 3; expected the folder of a run"),
    ],
)
def test_arguments_of_the_wrong_type(
    call: Callable[[], Any], said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert refused(call).startswith(said)
    assert list(tmp_path.iterdir()) == []


def test_what_people_print_is_one_line(trained: Trained, model: Model) -> None:
    one = model.predict("a dull film")
    shown = [repr(each) for each in (trained, model, one, one.look, trained.splits, model.results(films[:3]))]
    assert not any("\n" in line or len(line) > 200 for line in shown)
    assert shown[0].startswith(f"<trained classify model, step {trained.outcome.step}, accuracy ")
    assert shown[1].startswith("<regard classify model, ")
    assert shown[2] == f"<prediction {one.text!r}, log_prob {one.log_prob:.4g}, 1 other>"
    assert isinstance(one.look, AttentionMap)
    assert shown[3] == "<attention map of 'a dull film', 1 row × 3 columns>"
    assert shown[4].startswith("<splits: train 50, ")
    assert shown[5] == "<results: 3 predictions for 3 examples>"
