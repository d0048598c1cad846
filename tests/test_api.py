"""What a person calls from Python: options become a configuration, a run is trained, loaded, asked, gone on with."""

import json
import os
import re
import shutil
import signal
import sys
import tomllib
from collections.abc import Callable
from pathlib import Path
from random import Random
from typing import Any

import pytest
import tomli_w
import torch
from torch import nn

import regard
import regard.train.loop
from regard import api
from regard.api import configure, load, make_task, merge, prepare, train
from regard.errors import RegardError
from regard.networks.encoder_decoder import EncoderDecoder
from regard.tasks.translate import Translate
from regard.train.curve import draw
from regard.train.lock import lock
from regard.types import Batch, Example, Output, Prediction
from tiers import sweep_but

pytestmark = pytest.mark.usefixtures("one_thread")

words = ("one", "two", "three", "four", "five", "six")
small: dict[str, Any] = {
    "source": {"tokenizer": "character", "embed": {"dim": 8}, "max_length": 24},
    "target": {"tokenizer": "character", "max_length": 24},
    "encoder": {"hidden": 8, "layers": 1},
    "decoder": {"embed": 8, "hidden": 16},
    "attention": {"score": {"hidden": 8}},
    "search": {"beam_size": 3, "n_best": 2},
    "metrics": ["perplexity", "exact_match", "bleu"],
    "best_metric": "perplexity",
    "train": {"batch_size": 8, "steps": 24, "validate_every": 8, "lr": 0.01, "warmup": 4, "ema": 0.5, "device": "cpu"},
}


def with_train(**options: Any) -> dict[str, Any]:
    return {**small, "train": {**small["train"], **options}}


def lines(seed: int = 1, count: int = 60) -> list[str]:
    random = Random(seed)
    made = []
    for _ in range(count):
        picked = [random.randrange(len(words)) for _ in range(random.randint(1, 4))]
        made.append(" ".join(words[i] for i in picked) + "\t" + "".join(str(i + 1) for i in picked) + "\n")
    return made


@pytest.fixture(scope="module")
def pairs(tmp_path_factory: pytest.TempPathFactory) -> str:
    path = tmp_path_factory.mktemp("data") / "pairs.tsv"
    path.write_text("".join(lines()))
    return str(path)


@pytest.fixture(scope="module")
def trained(pairs: str, tmp_path_factory: pytest.TempPathFactory) -> api.Trained:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(regard.train.loop, "draw", draw)
        return train("translate", data=pairs, out=tmp_path_factory.mktemp("runs") / "one", quiet=True, **small)


def refused(act: Callable[[], Any]) -> str:
    with pytest.raises(RegardError) as caught:
        act()
    assert "\n" not in str(caught.value)
    return str(caught.value)


# --- options -------------------------------------------------------------------------------------------------


def test_presets_are_for_the_built_in_data() -> None:
    ours, own = configure("translate", {}), configure("translate", {"data": {"train": "mine.tsv"}})
    assert ours["source"]["tokenizer"]["name"] == "character"
    assert ours["source"]["embed"]["dim"] == Translate.preset["source"]["embed"]["dim"] == 64
    assert ours["train"]["lr"] == Translate.preset["train"]["lr"]
    assert own["source"]["tokenizer"]["name"] == "bpe"
    assert own["source"]["embed"]["dim"] == 256
    assert own["train"]["lr"] != ours["train"]["lr"]


def test_what_is_asked_for_counts_over_the_presets() -> None:
    asked = {"source": {"embed": {"dim": 5}}, "encoder": {"hidden": 7}, "train": {"lr": 1, "batch_size": 3}}
    config = configure("translate", asked)
    assert config["source"]["embed"]["dim"] == 5
    assert config["source"]["tokenizer"]["name"] == "character"
    assert config["encoder"]["hidden"] == 7
    assert config["encoder"]["name"] == "recurrent"
    assert config["decoder"]["hidden"] == Translate.preset["decoder"]["hidden"]
    assert (config["train"]["lr"], config["train"]["batch_size"]) == (1.0, 3)
    assert config["train"]["warmup"] == Translate.preset["train"]["warmup"]
    assert config["task"] == "translate"


def test_the_presets_stay_as_they_are() -> None:
    before = repr(Translate.preset)
    configure("translate", {"encoder": {"hidden": 7}, "attention": {"score": {"hidden": 1}}, "train": {"lr": 1.0}})
    assert repr(Translate.preset) == before


def test_a_part_of_another_name_takes_none_of_the_old_options() -> None:
    preset = Translate.preset["attention"]["score"]
    assert preset == {"name": "additive", "hidden": 64}

    def score(asked: Any) -> Any:
        return configure("translate", {"attention": {"score": asked}})["attention"]["score"]

    assert score("dot") == {"name": "dot"}
    assert score({"name": "dot"}) == {"name": "dot"}
    assert score("additive")["hidden"] == 64  # the same part by its name alone
    assert score({"hidden": 9}) == {**score("additive"), "hidden": 9}
    assert configure("translate", {"search": "greedy"})["search"] == {"name": "greedy"}
    assert configure("translate", {"search": {"beam_size": 9}})["search"]["name"] == "beam"


@pytest.mark.parametrize(
    ("base", "over", "both"),
    [
        ({"a": 1}, {"b": 2}, {"a": 1, "b": 2}),
        ({"a": {"x": 1, "y": 2}}, {"a": {"y": 3}}, {"a": {"x": 1, "y": 3}}),
        ({"a": {"name": "p", "x": 1}}, {"a": "p"}, {"a": {"name": "p", "x": 1}}),
        ({"a": {"name": "p", "x": 1}}, {"a": "q"}, {"a": {"name": "q"}}),
        ({"a": {"name": "p", "x": 1}}, {"a": {"name": "q", "y": 2}}, {"a": {"name": "q", "y": 2}}),
        ({"a": {"name": "p", "x": 1}}, {"a": {"name": "p", "y": 2}}, {"a": {"name": "p", "x": 1, "y": 2}}),
        ({"a": "p"}, {"a": {"x": 1}}, {"a": {"name": "p", "x": 1}}),
        ({"a": "p"}, {"a": {"name": "q", "x": 1}}, {"a": {"name": "q", "x": 1}}),
        ({"a": ["p"]}, {"a": ["q"]}, {"a": ["q"]}),
        ({"a": {"x": 1}}, {"a": {"name": "p"}}, {"a": {"x": 1, "name": "p"}}),
    ],
)
def test_merging(base: dict[str, Any], over: dict[str, Any], both: dict[str, Any]) -> None:
    kept = repr((base, over))
    assert merge(base, over) == both
    assert repr((base, over)) == kept


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"sorce": {}}, "unknown option 'sorce'; did you mean 'source'?"),
        ({"source": {"embd": 3}}, "unknown option 'source.embd'; did you mean 'embed'?"),
        ({"encoder": {"hiden": 3}}, "unknown option 'encoder.hiden'; did you mean 'hidden'?"),
        ({"attention": {"score": {"hiden": 3}}}, "unknown option 'attention.score.hiden'; did you mean 'hidden'?"),
        ({"train": {"patienc": 3}}, "unknown option 'train.patienc'; did you mean 'patience'?"),
        ({"data": {"trian": "x"}}, "unknown option 'data.trian'; did you mean 'train'?"),
        ({"lr": 1e-3}, "unknown option 'lr'"),
        ({"search": "beem"}, "unknown search 'beem'; did you mean 'beam'?"),
        ({"source": {"embed": {"dim": "big"}}}, "source.embed.dim: got 'big'; expected a whole number"),
        ({"train": {"decay": "cosin"}}, "train.decay: got 'cosin'; expected one of cosine"),
        ({"metrics": ["blue"]}, "unknown metric 'blue'; did you mean 'bleu'?"),
    ],
)
def test_a_slip_is_told_with_its_place(options: dict[str, Any], said: str) -> None:
    assert refused(lambda: configure("translate", options)).startswith(said)


def test_no_such_task() -> None:
    assert refused(lambda: configure("transalte", {})) == "unknown task 'transalte'; did you mean 'translate'?"


@pytest.mark.parametrize("options", [{}, {**small, "data": {"train": "x.tsv"}}, {"attention": {"heads": 2}}])
def test_a_configuration_goes_through_toml_and_means_the_same(options: dict[str, Any]) -> None:
    config = configure("translate", options)
    again = tomllib.loads(tomli_w.dumps(config))
    assert again == config
    assert configure("translate", again) == config  # the file alone would do as the options of another run

    def model(of: dict[str, Any]) -> nn.Module:
        task = make_task(of)
        task.learn([Example(("one two",), "12")])
        torch.manual_seed(0)
        return task.network()

    one, other = model(config), model(again)
    assert str(one) == str(other)
    assert all(torch.equal(a, b) for a, b in zip(one.parameters(), other.parameters(), strict=True))


# --- trained, loaded, asked ----------------------------------------------------------------------------------


def alike(one: Prediction, other: Prediction, exactly: bool = False) -> None:
    assert (one.text, one.source) == (other.text, other.source)
    assert one.log_prob == (other.log_prob if exactly else pytest.approx(other.log_prob, abs=1e-5))
    assert (one.look is None) == (other.look is None)
    if one.look is not None:
        assert (one.look.rows, one.look.columns) == (other.look.rows, other.look.columns)
        assert one.look == other.look if exactly else abs(one.look.weights - other.look.weights).max() < 1e-5
    for a, b in zip(one.others, other.others, strict=True):
        alike(a, b, exactly)


texts = ["six", "one two three four", "two", "", "three, six?", "one " * 5, "six"]


def test_training_leaves_a_whole_run(trained: api.Trained) -> None:
    folder = trained.model.run.folder
    assert {path.name for path in folder.iterdir()} == {
        *(
            "config.toml",
            "model.safetensors",
            "tokenizer.json",
            "log.jsonl",
            "about.json",
            "card.md",
            "curve.png",
            "state",
        )
    }
    assert trained.outcome.step == 24
    assert trained.outcome.stopped is None
    assert trained.test.keys() == {"perplexity", "exact_match", "bleu", "bleu_signature"}
    assert f"| perplexity | {trained.test['perplexity']:.4f} |" in (folder / "card.md").read_text()
    assert "translate model" in repr(trained.model)


def test_the_loaded_model_answers_as_the_one_in_memory(trained: api.Trained) -> None:
    loaded = load(trained.model.run.folder)
    for one, other in zip(loaded(texts), trained.model(texts), strict=True):
        alike(one, other, exactly=True)
    assert loaded.evaluate(trained.splits.test) == trained.test
    assert not loaded.network.training
    assert loaded.config == trained.model.config


def test_many_at_once_are_as_one_by_one_and_in_order(trained: api.Trained) -> None:
    together = trained.model(texts)
    assert [prediction.source for prediction in together] == texts
    for text, prediction in zip(texts, together, strict=True):
        alike(prediction, trained.model(text))
    backwards = trained.model(texts[::-1])
    for one, other in zip(together, backwards[::-1], strict=True):
        alike(one, other)
    assert trained.model([]) == []


def test_the_search_may_be_chosen_for_one_call(trained: api.Trained) -> None:
    model = trained.model
    usual = model("two six")
    assert len(usual.others) == 1
    assert len(model("two six", n_best=3).others) == 2
    greedy = model("two six", name="greedy")
    assert greedy.others == ()
    alike(greedy, model("two six", beam_size=1, n_best=1, length_penalty=0.0))
    alike(model("two six"), usual, exactly=True)
    assert "did you mean 'beam_size'?" in refused(lambda: model("two", beam_siz=3))
    assert model("two", look=False).look is None


def test_evaluating_with_another_search_changes_nothing_after_it(trained: api.Trained) -> None:
    model = trained.model
    usual = model("two six")
    model.evaluate(trained.splits.test, name="greedy")
    assert len(model("two six").others) == 1
    alike(model("two six"), usual, exactly=True)


def test_too_long_a_text_is_told_with_its_place(trained: api.Trained) -> None:
    long = "one " * 30
    said = refused(lambda: trained.model(["two", long]))
    assert said.startswith("input 2: 121 tokens in the source; expected at most 24")
    where = ["lines.txt:7", "lines.txt:8"]
    assert refused(lambda: trained.model.predict(["two", long], where=where)).startswith("lines.txt:8: 121 tokens")


def test_the_data_can_be_read_again(trained: api.Trained) -> None:
    assert trained.model.data() == trained.splits


def test_regard_train_is_a_room_and_a_function(tmp_path: Path) -> None:
    """`regard.train.loop` was imported at the top of this file, which made `regard.train` the package."""
    assert regard.train.loop.fit is api.fit
    assert callable(regard.train)
    assert "unknown task 'transalte'" in refused(lambda: regard.train("transalte", out=tmp_path / "run"))
    assert regard.load is api.load
    assert regard.Model is api.Model
    assert {"train", "load", "Model"} <= set(dir(regard))


def test_nothing_is_written_where_something_is_wrong(tmp_path: Path, pairs: str) -> None:
    out = tmp_path / "run"
    assert "time 'soon'" in refused(lambda: train("translate", data=pairs, out=out, time="soon", **small))
    assert "device" in refused(lambda: train("translate", data=pairs, out=out, **with_train(device="toaster")))
    assert "best" in refused(lambda: train("translate", data=pairs, out=out, **{**small, "best_metric": "bleurt"}))
    assert "best" in refused(lambda: train("translate", data=pairs, out=out, **{**small, "best_metric": "chrf"}))
    refused(lambda: train("translate", data=str(tmp_path / "none.tsv"), out=out, **small))
    refused(lambda: train("translate", data=pairs, out=out, **{**small, "source": {"embed": {"dim": -1}}}))
    assert list(tmp_path.iterdir()) == []


# --- gone on with --------------------------------------------------------------------------------------------


def weights(folder: Path) -> bytes:
    return (folder / "model.safetensors").read_bytes()


def test_stopped_and_gone_on(tmp_path: Path, pairs: str, trained: api.Trained, monkeypatch: pytest.MonkeyPatch) -> None:
    real, calls = EncoderDecoder.forward, iter(range(1, 100))

    def forward(self: EncoderDecoder, batch: Batch, progress: float = 1.0) -> Output:
        if next(calls) == 11:
            os.kill(os.getpid(), signal.SIGINT)
        return real(self, batch, progress)

    monkeypatch.setattr(EncoderDecoder, "forward", forward)
    stopped = train("translate", data=pairs, out=tmp_path / "run", quiet=True, **small)
    assert (stopped.outcome.step, stopped.outcome.stopped, stopped.test) == (11, signal.SIGINT, {})
    assert not (tmp_path / "run" / "card.md").exists()
    assert isinstance(stopped.model("one"), Prediction)  # what it knows by now can be asked
    done = train("translate", data=pairs, out=tmp_path / "run", quiet=True, **small)
    assert (done.outcome.step, done.outcome.stopped, done.test) == (24, None, trained.test)
    assert weights(tmp_path / "run") == weights(trained.model.run.folder)


@pytest.mark.sweep
def test_done_is_done_until_more_is_wanted(tmp_path: Path, pairs: str, trained: api.Trained) -> None:
    out = tmp_path / "run"

    def go(**options: Any) -> api.Trained:
        return train("translate", data=pairs, out=out, quiet=True, **with_train(**options))

    go(steps=8)
    card = (out / "card.md").read_text()
    assert go(steps=8).outcome.per_second == 0
    assert (out / "card.md").read_text() == card  # with the speed it had, not that of doing nothing
    longer = go(steps=16)
    assert longer.outcome.step == 16
    assert tomllib.loads((out / "config.toml").read_text())["train"]["steps"] == 16
    assert (out / "card.md").read_text() != card


def test_a_run_goes_on_with_what_it_holds(tmp_path: Path, pairs: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """An option that is not given is not changed, whatever defaults and presets say by now."""
    out = tmp_path / "run"
    train("translate", data=pairs, out=out, quiet=True, **with_train(steps=2))
    before = tomllib.loads((out / "config.toml").read_text())
    monkeypatch.setattr(Translate, "preset", {**Translate.preset, "label_smoothing": 0.9, "train": {"lr": 0.5}})
    with monkeypatch.context() as patch:
        patch.setattr(api, "suited", lambda *_: pytest.fail("chosen anew"))
        more = train("translate", out=out, quiet=True, train={"steps": 4, "time": "1h"})
    assert (more.outcome.step, more.outcome.ended) == (4, "steps")
    changed = merge(before, {"train": {"steps": 4, "time": "1h"}})
    assert tomllib.loads((out / "config.toml").read_text()) == changed
    assert train("translate", out=out, quiet=True).outcome.per_second == 0
    assert tomllib.loads((out / "config.toml").read_text()) == changed
    assert refused(lambda: train("translate", out=out, quiet=True, label_smoothing=0.77)).startswith(
        f"{out} was started with label_smoothing={before['label_smoothing']}, not 0.77"
    )
    assert f"{out} was started with task=translate, not agree" in refused(lambda: train("agree", out=out, quiet=True))


def test_a_run_with_values_of_its_own_that_cannot_be_is_named(tmp_path: Path, trained: api.Trained) -> None:
    """Whoever wrote them: the run is what is wrong, and its folder is said."""
    run = shutil.copytree(trained.model.run.folder, tmp_path / "run")
    config = (run / "config.toml").read_text()
    (run / "config.toml").write_text(re.sub(r'time = ".*"', 'time = "²"', config))
    assert refused(lambda: train("translate", out=run, quiet=True)).startswith(f"{run}: time '²'")
    (run / "config.toml").write_text(config)
    kept = json.loads((run / "tokenizer.json").read_text())
    kept["source"]["found"] = float("inf")  # which JSON as Python writes it can hold, and no whole number is
    (run / "tokenizer.json").write_text(json.dumps(kept))
    assert refused(lambda: api.load(run)).startswith(f"{run} is a damaged run (tokenizer.json: ")


@pytest.mark.sweep
def test_data_that_changed_before_the_first_checkpoint_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Else new words would be trained under the old tokenizer."""
    path, out = tmp_path / "pairs.tsv", tmp_path / "run"
    path.write_text("".join(lines()))
    monkeypatch.setattr("regard.train.checkpoint.save", lambda *_: None)
    train("translate", data=str(path), out=out, quiet=True, **with_train(steps=1))
    path.write_text("".join(lines()) + "zwei\t七\n" * 40)
    said = refused(lambda: train("translate", out=out, quiet=True))
    assert said.startswith(f"the training data is not what {out} was started with")


@pytest.mark.parametrize(
    ("options", "named"),
    [
        ({**small, "source": {**small["source"], "embed": {"dim": 16}}}, "source.embed.dim=8, not 16"),
        (with_train(lr=0.5), "train.lr=0.01, not 0.5"),
        (with_train(seed=9), "train.seed=1, not 9"),
        ({**small, "attention": {"score": "dot"}}, "attention.score=additive, not dot"),
        ({**small, "decoder": {"embed": 8, "hidden": 16, "cell": "lstm"}}, "decoder.cell=gru, not lstm"),
        ({**small, "metrics": ["perplexity"]}, "metrics="),
    ],
)
def test_another_configuration_is_refused_by_name(
    trained: api.Trained, pairs: str, options: dict[str, Any], named: str
) -> None:
    folder = trained.model.run.folder
    before = weights(folder), (folder / "config.toml").read_text()
    said = refused(lambda: train("translate", data=pairs, out=folder, quiet=True, **options))
    assert said.startswith(f"{folder} was started with {named}")
    assert "--fresh" in said
    assert (weights(folder), (folder / "config.toml").read_text()) == before


@pytest.mark.sweep
def test_a_run_from_before_an_option_goes_on(trained: api.Trained, pairs: str, tmp_path: Path) -> None:
    """What came since counts as not asked for: at its default the run goes on, at another value it is another run."""
    folder = tmp_path / "run"
    shutil.copytree(trained.model.run.folder, folder)
    config, before = folder / "config.toml", weights(folder)
    lines = config.read_text().splitlines(keepends=True)
    older = [line for line in lines if not line.startswith("fertility = ")]
    assert len(older) == len(lines) - 1
    config.write_text("".join(older))
    said = refused(lambda: train("translate", data=pairs, out=folder, quiet=True, **small, fertility=0.5))
    assert said.startswith(f"{folder} was started with fertility=0.0, not 0.5")
    train("translate", data=pairs, out=folder, quiet=True, **small)
    assert (weights(folder), config.read_text()) == (before, "".join(lines))


@pytest.mark.parametrize("line", sweep_but(["two\t3\n", "zwei\t七\n"], "two\t3\n"))
def test_other_data_under_the_same_name_is_refused(tmp_path: Path, line: str) -> None:
    """Also where its letters, and so the sizes of the model, are others."""
    path = tmp_path / "pairs.tsv"
    path.write_text("".join(lines()))
    train("translate", data=str(path), out=tmp_path / "run", quiet=True, **with_train(steps=2))
    path.write_text("".join(lines()) + line * 40)
    said = refused(lambda: train("translate", data=str(path), out=tmp_path / "run", quiet=True, **with_train(steps=2)))
    assert said.startswith("the training data is not what")


@pytest.mark.sweep
def test_fresh_begins_again(tmp_path: Path, pairs: str) -> None:
    out = tmp_path / "run"
    train("translate", data=pairs, out=out, quiet=True, **with_train(steps=2))
    (out / ".model.safetensors.tmp-left").write_text("by a writer that was killed")
    begun = train(
        "translate", data=pairs, out=out, quiet=True, fresh=True, **{**with_train(steps=3), "decoder": {"hidden": 4}}
    )
    assert begun.outcome.step == 3
    assert load(out).config["decoder"]["hidden"] == 4
    train("translate", data=pairs, out=tmp_path / "new", quiet=True, fresh=True, **with_train(steps=2))


def contents(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


@pytest.mark.parametrize("fresh", [False, True])
def test_a_run_that_somebody_trains_is_left_alone(tmp_path: Path, trained: api.Trained, fresh: bool) -> None:
    """Told before the data is read, so before anything else can go wrong."""
    out = shutil.copytree(trained.model.run.folder, tmp_path / "run")
    with lock(out):
        before = contents(out)
        said = refused(lambda: train("translate", data="not there.tsv", out=out, quiet=True, fresh=fresh, **small))
        assert f"{out} is in use by process {os.getpid()} " in said
        assert contents(out) == before
        load(out)("one two")  # reading is free to all


def test_the_folder_is_held_while_it_is_trained(tmp_path: Path, pairs: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """From the first step to the last file, in a new run, in one gone on with, and in one begun again."""
    out, held = tmp_path / "run", []

    def watched(real: Callable[..., Any]) -> Callable[..., Any]:
        def call(*given: Any, **named: Any) -> Any:
            held.append("is in use" in refused(lambda: lock(out).__enter__()))
            return real(*given, **named)

        return call

    monkeypatch.setattr(api, "card", watched(api.card))
    monkeypatch.setattr(EncoderDecoder, "forward", watched(EncoderDecoder.forward))
    for steps, fresh in ((1, False), (2, False), (1, True)):
        train("translate", data=pairs, out=out, quiet=True, fresh=fresh, **with_train(steps=steps))
        assert not (out / ".lock").exists()
    assert held == [True] * 6


def test_a_folder_that_is_no_run_is_left_alone(tmp_path: Path, pairs: str) -> None:
    (tmp_path / "diary").write_text("dear diary")
    for fresh in (False, True):
        said = refused(lambda fresh=fresh: train("translate", data=pairs, out=tmp_path, fresh=fresh, **small))
        assert "is not a run" in said
    assert [path.name for path in tmp_path.iterdir()] == ["diary"]


def test_data_as_a_table_and_the_usual_place(tmp_path: Path, pairs: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "valid.tsv").write_text("one\t1\n")
    done = train("translate", data={"train": pairs, "valid": "valid.tsv"}, quiet=True, **with_train(steps=2))
    assert done.model.run.folder == Path("runs/translate")
    assert len(done.splits.valid) == 1
    assert done.test == {}  # valid was given and test was not
    assert "There was no test set." in (tmp_path / "runs/translate/card.md").read_text()


def test_the_time_limit_is_part_of_the_configuration(pairs: str) -> None:
    ready = prepare("translate", {**with_train(time="9m"), "data": {"train": pairs}})
    assert ready.config["train"]["time"] == "9m"


# --- runs of others ------------------------------------------------------------------------------------------


def test_no_run_and_damaged_ones(tmp_path: Path, trained: api.Trained) -> None:
    assert "does not exist" in refused(lambda: load(tmp_path / "none"))
    assert "it has no config.toml" in refused(lambda: load(tmp_path))
    for name, content in (
        ("tokenizer.json", "{}"),
        ("tokenizer.json", '{"source": {}, "target": {}}'),
        ("tokenizer.json", '{"source": 3, "target": []}'),
        ("model.safetensors", ""),
    ):
        folder = tmp_path / "run"
        copy(trained.model.run.folder, folder)
        (folder / name).write_text(content)
        assert "damaged run" in refused(lambda folder=folder: load(folder)), (name, content)


def copy(source: Path, target: Path) -> None:
    target.mkdir(exist_ok=True)
    for name in ("config.toml", "tokenizer.json", "model.safetensors"):
        (target / name).write_bytes((source / name).read_bytes())


@pytest.mark.parametrize(
    "change",
    [
        {"task": "evil.Thing"},
        {"encoder": "evil.Thing"},
        {"encoder": {"name": "evil.Thing"}},
        {"metrics": ["evil.Thing"]},
        {"metrics": [{"name": "evil.Thing"}]},
        {"attention": {"score": {"name": "evil.Thing"}}},
        {"attention": {"bias": [{"name": "evil.Thing"}]}},
        {"search": "ev-il.Thing"},
        {"search": "0evil.Thing"},
        {"data": {"train": "builtin:evil.Thing"}},
    ],
)
def test_code_from_outside_is_run_only_if_trusted(
    tmp_path: Path, trained: api.Trained, monkeypatch: pytest.MonkeyPatch, change: dict[str, Any]
) -> None:
    for name in ("evil", "ev-il", "0evil"):
        (tmp_path / f"{name}.py").write_text(f"open({str(tmp_path / 'ran')!r}, 'w').close()")
    monkeypatch.syspath_prepend(tmp_path)
    copy(trained.model.run.folder, tmp_path / "run")
    config = merge(tomllib.loads((tmp_path / "run" / "config.toml").read_text()), change)
    (tmp_path / "run" / "config.toml").write_text(tomli_w.dumps(config))
    said = refused(lambda: load(tmp_path / "run").data())
    assert "which is not part of regard; add --" in said
    assert "--trust (trust=True in Python)" in said
    assert not (tmp_path / "ran").exists()


def test_a_part_of_one_s_own_works_when_trusted(
    tmp_path: Path, trained: api.Trained, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "mine_own.py").write_text("from regard.search.greedy import Greedy\nclass Mine(Greedy): ...\n")
    monkeypatch.syspath_prepend(tmp_path)
    copy(trained.model.run.folder, tmp_path / "run")
    config = tomllib.loads((tmp_path / "run" / "config.toml").read_text())
    (tmp_path / "run" / "config.toml").write_text(tomli_w.dumps({**config, "search": {"name": "mine_own.Mine"}}))
    assert load(tmp_path / "run", trust=True)("two").others == ()


def test_a_run_goes_on_with_a_part_of_one_s_own_only_if_it_is_named_again_or_trusted(
    tmp_path: Path, trained: api.Trained, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "my_own_search.py").write_text("from regard.search.greedy import Greedy\nclass Mine(Greedy): ...\n")
    monkeypatch.syspath_prepend(tmp_path)
    copy(trained.model.run.folder, tmp_path / "run")
    config = tomllib.loads((tmp_path / "run" / "config.toml").read_text())
    config["search"] = {"name": "my_own_search.Mine"}
    (tmp_path / "run" / "config.toml").write_text(tomli_w.dumps(config))
    options = {key: value for key, value in config.items() if key not in ("format", "task", "data")}
    again = {"data": config["data"], "out": tmp_path / "run", "quiet": True}
    other = {**options, "search": "greedy"}
    assert "my_own_search.Mine, which is not part of regard" in refused(lambda: train(config["task"], **again, **other))
    assert "my_own_search" not in sys.modules
    assert "search=my_own_search.Mine, not greedy" in refused(
        lambda: train(config["task"], **again, **other, trust=True)
    )
    assert train(config["task"], **again, **options).outcome.stopped is None


def test_what_is_wrong_with_a_configuration_names_its_file(trained: api.Trained, tmp_path: Path) -> None:
    folder = shutil.copytree(trained.model.run.folder, tmp_path / "run")
    config = tomllib.loads((folder / "config.toml").read_text())
    for change in (
        {"data": 3},
        {"train": "x"},
        {"source": {"embed": {"dim": "²"}}},
        {"sources": 3},
        {"task": "nothing"},
        {"label_smoothing": 7.0},
        {"decoder": {"hidden": 0}},
    ):
        (folder / "config.toml").write_text(tomli_w.dumps({**config, **change}))
        assert refused(lambda: load(folder)).startswith(f"{folder / 'config.toml'}: ")
    for table in ("data", "train"):
        (folder / "config.toml").write_text(tomli_w.dumps({key: config[key] for key in config if key != table}))
        assert f"{table}: got None; expected a table" in refused(lambda: load(folder))
        assert f"{table}: got 1.5; expected a table" in refused(
            lambda table=table: configure("translate", {table: 1.5})
        )


def test_an_option_that_is_missing_in_a_configuration_has_its_default(trained: api.Trained, tmp_path: Path) -> None:
    folder = shutil.copytree(trained.model.run.folder, tmp_path / "run")
    config = tomllib.loads((folder / "config.toml").read_text())
    (folder / "config.toml").write_text(tomli_w.dumps({**config, "data": {}, "train": {"lr": 0.5}}))
    model = load(folder)
    assert model.config["train"]["lr"] == 0.5
    assert model.config["train"]["precision"] == "auto"
    assert model.config["data"]["train"] == ""
    assert model("ab").text == trained.model("ab").text
