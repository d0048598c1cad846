"""One run: what may be asked of it, what the model is given, what comes out; a real one answers as it does alone."""

import json
from pathlib import Path
from typing import Any

import pytest
from small_services import Echo, small_run

from regard.api import Model, load, train
from regard.errors import RegardError
from regard.search import compiled
from regard.serve.hosted import Hosted, Question, Way, names
from regard.serve.limits import ServiceLimits
from regard.serve.metrics import Metrics
from regard.serve.schema import PredictRequest


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Model:
    return load(small_run(tmp_path_factory), "cpu")


def hosted(model: Model, **limits: Any) -> Hosted:
    return Hosted(3, "name", model, ServiceLimits(**limits), Metrics())


def made(folder: Path, task: str, lines: list[str], **options: Any) -> Model:
    (folder / "some.tsv").write_text("".join(f"{line}\n" for line in lines))
    brief = {"steps": 1, "validate_every": 1, "device": "cpu"}
    data = {"train": str(folder / "some.tsv"), "valid": str(folder / "some.tsv")}
    return train(task, data, folder / "run", quiet=True, train=brief, **options).model


def test_what_is_asked_for_as_rows() -> None:
    rows, way = hosted(Echo(2)).rows(
        PredictRequest(inputs=[["a", "b"], ["c", "d"]], drop_tokens=[[[2, 0, 2], []], [[], []]], beam=4)
    )
    assert rows == [Question(("a", "b"), ((0, 2), ()), "input 1"), Question(("c", "d"), ((), ()), "input 2")]
    assert way == Way(look=True, trace=False, beam=4, drop_tokens=True)
    rows, way = hosted(Echo()).rows(PredictRequest(inputs=[["a"]], drop_tokens=[[[]]], look=False))
    assert (rows, way) == ([Question(("a",), ((),), "input 1")], Way(False, False, None, False))


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        ({"inputs": []}, "inputs: 0; expected 1 to 2"),
        ({"inputs": [["a"]] * 3}, "inputs: 3; expected 1 to 2; send several requests"),
        ({"inputs": [["a"], []]}, "input 2: 0 texts for a task with 1 input"),
        ({"inputs": [["a", "b"]]}, "input 1: 2 texts for a task with 1 input"),
        ({"inputs": [["a"], [" \n"]]}, "input 2: empty text"),
        ({"inputs": [["a" * 21]]}, "input 1: 21 characters; expected at most 20"),
        ({"inputs": [["a"]], "beam": 33}, "beam: 33; expected at most 32"),
        ({"inputs": [["a"]], "drop_tokens": []}, "drop_tokens: 0; expected 1, one for each of inputs"),
        ({"inputs": [["a"]], "drop_tokens": [[]]}, "input 1: drop_tokens has 0 lists; expected 1"),
        ({"inputs": [["a"]], "drop_tokens": [[list(range(21))]]}, "input 1: drop_tokens names more tokens"),
    ],
)
def test_what_cannot_be_asked(asked: dict[str, Any], said: str) -> None:
    with pytest.raises(RegardError, match=f"^{said}"):
        hosted(Echo(), texts=2, characters=20).rows(PredictRequest(**asked))


def test_a_run_without_a_search_is_asked_for_none() -> None:
    for asked in ({"beam": 2}, {"trace": True}, {"constraints": {"min_length": 3}}, {"groups": 2}, {"diversity": 1.0}):
        with pytest.raises(RegardError, match="echo has no search; remove beam, groups, diversity, constraints"):
            hosted(Echo(searches=False)).rows(PredictRequest(inputs=[["a"]], **asked))


def test_layers_and_features_are_asked_of_runs_that_have_them() -> None:
    run = hosted(Echo(), features=4)
    for asked, said in (
        ({"layers": 2}, "layers: this model has none to choose from; expected a Transformer"),
        ({"features": 2, "look": False}, "layers or features, but look is false; remove them, or set look to true"),
        ({"layers": "all", "look": False}, "layers or features, but look is false"),
        ({"features": [1, 2]}, "echo has no features; remove features"),
    ):
        with pytest.raises(RegardError, match=f"^{said}"):
            run.rows(PredictRequest(inputs=[["a"]], **asked))
    assert run.rows(PredictRequest(inputs=[["a"]], features=[]))[1] == Way(True, False, None, False)


@pytest.mark.sweep
def test_layers_of_a_transformer(tmp_path: Path, model: Model) -> None:
    with pytest.raises(RegardError, match=r"^layers: this model has none to choose from; expected a Transformer"):
        hosted(model).rows(PredictRequest(inputs=[["abc"]], layers=1))
    deep = made(tmp_path, "translate", ["ab\tba", "abc\tcba", "b\tb"], encoder="transformer", decoder="transformer")
    run = hosted(deep)
    layers = len(deep.network.decoder.blocks)
    assert run.about["layers"] == layers
    assert layers > 1
    for wrong in (layers + 1, "0", "first", "-1"):
        with pytest.raises(RegardError, match=f"^layers {wrong}; expected a number from 1 to {layers}, or last, mean"):
            run.rows(PredictRequest(inputs=[["abc"]], layers=wrong))
    heads = dict[Any, Any]()
    for asked in ("last", layers, "all", 1, None):
        rows, way = run.rows(PredictRequest(inputs=[["abc"]], layers=asked))
        found = json.loads(run.answers(rows, way)[0])
        heads[asked] = found["maps"][0]["heads"]
        assert found["answer"] == deep.predict(["abc"])[0].text
        assert deep.network.decoder.look == "last"  # as it was
    assert heads["last"] == heads[layers] == heads[None] != heads[1]
    for one, alone in zip(heads["all"][1:], heads[1][1:], strict=False):  # the mean first, then layer 1
        assert one == pytest.approx(alone, abs=1e-3)
    assert len(heads["all"]) == 1 + layers * (len(heads[1]) - 1)


def test_single_features(tmp_path: Path) -> None:
    lines = ["a b\tx", "b c\ty", "c a\tx", "a b c\ty"]
    words = {"name": "text", "tokenizer": "word", "embed": {"dim": 8}}
    wide = made(tmp_path, "classify", lines, input=words, encoder={"name": "disan", "hidden": 8})
    run = hosted(wide, features=4)
    assert run.about["features"]
    for asked, shown in ((2, 2), ([3, 1], ["feature 3", "feature 1"]), ([16], ["feature 16"])):
        rows, way = run.rows(PredictRequest(inputs=[["a b c"], ["b"]], features=asked))
        hash(way)  # it tells what may be answered together
        for answer in run.answers(rows, way):
            names = json.loads(answer)["maps"][0]["names"]
            assert names[0] == "mean"
            assert (len(names) - 1 if isinstance(shown, int) else names[1:]) == shown
    with pytest.raises(RegardError, match=r"^features: 5; expected at most 4"):
        run.rows(PredictRequest(inputs=[["a"]], features=5))
    with pytest.raises(RegardError, match=r"^features: 6; expected at most 4"):
        run.rows(PredictRequest(inputs=[["a"]], features=[1] * 6))
    with pytest.raises(RegardError, match=r"^input 1: feature 17; expected 1 to 16"):
        run.answers(*run.rows(PredictRequest(inputs=[["a"]], features=[17])))


def test_only_what_was_asked_for_is_passed_on() -> None:
    echo = Echo()
    run = hosted(echo)
    run.answers([Question(("a",), ((),), "input 1")], Way(False, False, None, False))
    run.answers([Question(("a",), ((1,),), "input 1"), Question(("b",), ((),), "input 1")], Way(True, True, 3, True))
    beam = {"name": "beam", "beam_size": 3, "n_best": 3}
    assert echo.asked == [
        (1, {"look": False}),
        (2, {"look": True, "trace": True, "drop_tokens": [((1,),), ((),)], **beam}),
    ]


def test_a_real_model_answers_as_it_does_alone(model: Model) -> None:
    run, texts = hosted(model), ["abc", "hgfedc", "b"]
    rows = [Question((text,), ((),), "input 1") for text in texts]
    found = [json.loads(answer) for answer in run.answers(rows, Way(True, False, 2, False))]
    for text, item in zip(texts, found, strict=True):
        alone = model.predict([text], beam_size=2, n_best=2)[0]
        assert (item["run"], item["inputs"], item["answer"]) == (3, [text], alone.text)
        assert item["log_prob"] == pytest.approx(alone.log_prob, abs=1e-5)
        assert [one["text"] for one in item["others"]] == [one.text for one in alone.others]
        assert [token["text"] for token in item["maps"][0]["columns"]] == [t.text for t in alone.look.columns]
    assert run.about["task"] == "translate"
    with pytest.raises(RegardError, match=r"^text 7: 71 tokens in the source; expected at most 64"):
        run.answers([Question(("a" * 70,), ((),), "text 7")], Way(True, False, None, False))


def test_names(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert names(["a/run", "b/run", "c/run/", "run-2"]) == ["run", "run-2", "run-3", "run-2-2"]
    assert names(["."]) == [tmp_path.name]
    with pytest.raises(RegardError, match=r"a/\.\./b is given twice"):
        names(["b", "a/../b"])


def test_constraints_reach_the_model() -> None:
    run = hosted(echo := Echo())
    given = {"allowed": ["yes", "no"], "banned": ["cat"], "min_length": 1}
    asks = [PredictRequest(inputs=[["a"]], constraints=given, groups=2, beam=4, diversity=1) for _ in range(2)]
    (rows, way), (_, other) = run.rows(asks[0]), run.rows(asks[1])
    assert way == other
    assert way.constraints is other.constraints  # so that requests are quickly found to be alike
    run.answers(rows, way)
    expected = {"allowed": ("yes", "no"), "banned": ("cat",), "min_length": 1, "groups": 2, "diversity": 1.0}
    assert expected.items() <= echo.asked[-1][1].items()
    assert run.rows(PredictRequest(inputs=[["a"]], constraints={"prefix": "x"}))[1] != way


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        ({"constraints": {"allowed": ["a"] * 4}}, "constraints.allowed: 4; expected at most 3"),
        ({"constraints": {"banned": ["a"] * 3}}, "constraints.banned: 3; expected at most 2"),
        ({"constraints": {"prefix": "a" * 21}}, "constraints: a text of 21 characters; expected at most 20"),
        ({"constraints": {"allowed": []}}, "constraints.allowed: no answers"),
        ({"constraints": {"banned": [" "]}}, "constraints.banned: an empty word"),
        ({"groups": 33}, "groups: 33; expected at most 32"),
        ({"diversity": 1.0}, "diversity without groups; add groups"),
    ],
)
def test_constraints_that_cannot_be_asked(asked: dict[str, Any], said: str) -> None:
    with pytest.raises(RegardError) as error:
        hosted(Echo(), characters=20, allowed=3, banned=2).rows(PredictRequest(inputs=[["a"]], **asked))
    assert str(error.value).startswith(said)


def test_a_real_run_keeps_constraints(model: Model) -> None:
    run = hosted(model)
    source = model.task.inputs["source"].text.vocabulary[4]  # type: ignore[attr-defined]
    letters = model.task.answer_text.vocabulary[4:6]
    allowed = ["".join(letters), letters[0] * 3]
    rows, way = run.rows(PredictRequest(inputs=[[source]], constraints={"allowed": allowed}))
    assert json.loads(run.answers(rows, way)[0])["answer"] in allowed
    before = compiled.cache_info().misses
    rows, way = run.rows(
        PredictRequest(inputs=[[source], [source]], constraints={"allowed": allowed, "banned": [allowed[0]]})
    )
    assert {json.loads(one)["answer"] for one in run.answers(rows, way)} == {allowed[1]}
    assert compiled.cache_info().misses == before + 1
    with pytest.raises(RegardError, match="every allowed answer contains a banned word"):
        run.rows(PredictRequest(inputs=[[source]], constraints={"allowed": allowed, "banned": allowed}))
    groups = run.rows(PredictRequest(inputs=[[source]], groups=3))
    assert "answer" in json.loads(run.answers(*groups)[0])


def test_constraints_of_a_language_model_are_on_what_it_writes(tmp_path: Path) -> None:
    lines = ["the cat sat here", "a cat ran home"] * 4
    small = {"network": {"hidden": 8}, "text": {"tokenizer": "word", "max_length": 5}, "search": "greedy"}
    model = made(tmp_path, "language", lines, **small)
    [found] = model.predict(["the cat"], prefix="sat", banned=["cat", "the"], min_length=4)
    begun, written = found.text[:7], found.text[7:].split()
    assert (begun, written[0]) == ("the cat", "sat")
    assert len(written) >= 4
    assert not {"cat", "the"} & set(written)
    with pytest.raises(RegardError, match="prefix 'sit': 'sit' is not in the target vocabulary"):
        model.predict(["the cat"], prefix="sit")


def test_a_task_that_chooses_a_label_takes_no_constraints(tmp_path: Path) -> None:
    model = made(tmp_path, "classify", ["good film\tyes", "bad film\tno"] * 3)
    with pytest.raises(RegardError, match="classify has no search; remove the search options"):
        model.predict(["good film"], allowed=["yes"])


def test_a_run_may_need_larger_requests_but_a_limit_of_ones_own_stays() -> None:
    model = Echo(1)
    model.task.inputs["source"].request_bytes = 1000  # as of a picture
    assert hosted(model).limits.body == ServiceLimits.body + 1000
    assert hosted(model, body=5000).limits.body == 5000
