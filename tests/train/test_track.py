"""Trackers get the configuration and the figures of log.jsonl; they go on with a run, end properly, and may fail."""

import importlib.machinery
import json
import math
import os
import signal
import sys
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest
from small_runs import everything, fit_in, small_task, splits

from regard.errors import RegardError
from regard.train.log import read
from regard.train.progress import Progress
from regard.train.run import Run
from regard.train.stop import Stop
from regard.train.track import Tracking, installed

pytestmark = pytest.mark.usefixtures("one_thread")

SHORT = {"steps": 4, "validate_every": 2}


class Service:
    """Stands for a service: what wandb 0.31 and MLflow 3 are called with, in order."""

    def __init__(self) -> None:
        self.calls: list[tuple[str, Any]] = []
        self.broken = False

    def note(self, name: str, what: Any) -> None:
        if self.broken:
            raise ConnectionError("no route to\nhost")
        self.calls.append((name, what))

    def of(self, name: str) -> list[Any]:
        return [what for called, what in self.calls if called == name]


def module(monkeypatch: pytest.MonkeyPatch, name: str, **content: Any) -> None:
    made = ModuleType(name)
    made.__spec__ = importlib.machinery.ModuleSpec(name, None, origin=f"{name}.py")
    vars(made).update(content)
    monkeypatch.setitem(sys.modules, name, made)


@pytest.fixture
def wandb(monkeypatch: pytest.MonkeyPatch) -> Service:
    service = Service()

    def init(
        project: str, name: str, id: str, resume: str, config: dict[str, Any], allow_val_change: bool
    ) -> SimpleNamespace:
        service.note("init", {"project": project, "name": name, "id": id, "resume": resume, "config": config})
        return SimpleNamespace(
            define_metric=lambda name, step_metric, step_sync: None,
            log=lambda data: service.note("log", data),
            finish=lambda exit_code: service.note("finish", exit_code),
        )

    module(monkeypatch, "wandb", init=init)
    for name in ("WANDB_PROJECT", "WANDB_NAME"):
        monkeypatch.delenv(name, raising=False)
    return service


@pytest.fixture
def mlflow(monkeypatch: pytest.MonkeyPatch) -> Service:
    service = Service()

    def start_run(run_id: str | None = None, run_name: str | None = None) -> SimpleNamespace:
        service.note("start_run", run_id or run_name)
        return SimpleNamespace(info=SimpleNamespace(run_id=run_id or "0123abcd"))

    module(
        monkeypatch,
        "mlflow",
        start_run=start_run,
        log_params=lambda params: service.note("log_params", params),
        log_metrics=lambda metrics, step: service.note("log_metrics", (step, metrics)),
        end_run=lambda status: service.note("end_run", status),
    )
    monkeypatch.setenv("MLFLOW_HTTP_REQUEST_TIMEOUT", "10")  # so that what is set is taken back
    monkeypatch.setenv("MLFLOW_HTTP_REQUEST_MAX_RETRIES", "2")
    return service


def flat(event: dict[str, Any]) -> dict[str, float]:
    """A line of log.jsonl as it is reported."""
    single = {key: value for key, value in event.items() if not isinstance(value, dict)}
    return single | {f"{key}/{name}": value for key in ("valid", "notes") for name, value in event[key].items()}


def test_wandb_gets_what_the_log_gets(wandb: Service, tmp_path: Path) -> None:
    fit_in(tmp_path / "run", report_to="wandb", **SHORT)
    events = read(tmp_path / "run" / "log.jsonl")
    assert [event["step"] for event in events] == [2, 4]
    assert {"loss", "lr", "epoch", "seconds", "valid"} <= events[0].keys()
    assert wandb.of("log") == [flat(event) for event in events]
    [begun] = wandb.of("init")
    assert (begun["project"], begun["name"], begun["config"]) == ("regard", "run", {"task": "translate"})
    assert wandb.calls[-1] == ("finish", 0)


def test_a_tracked_run_trains_as_one_that_is_not(wandb: Service, tmp_path: Path) -> None:
    fit_in(tmp_path / "tracked", report_to="wandb", **SHORT)
    fit_in(tmp_path / "plain", **SHORT)
    assert everything(tmp_path / "tracked") == everything(tmp_path / "plain")


def test_stopped_by_ctrl_c_and_resumed_in_the_same_tracked_run(wandb: Service, tmp_path: Path) -> None:
    from test_loop import at_step

    out = fit_in(tmp_path / "run", at_step(3, lambda: os.kill(os.getpid(), signal.SIGINT)), report_to="wandb", **SHORT)
    assert out.stopped == signal.SIGINT
    assert wandb.calls[-1] == ("finish", 130)
    fit_in(tmp_path / "run", report_to="wandb", **SHORT)
    assert wandb.calls[-1] == ("finish", 0)
    first, second = wandb.of("init")
    assert first["id"] == second["id"]
    assert second["resume"] == "allow"
    assert [logged["step"] for logged in wandb.of("log")] == [2, 4]
    fit_in(tmp_path / "run", report_to="wandb", **SHORT)  # there is nothing left to do
    assert len(wandb.of("init")) == 2


def test_mlflow(mlflow: Service, tmp_path: Path) -> None:
    """Parameters once and at most 100 at a time; figures by step; the same run again on resuming."""
    run, stop, warned = Run(tmp_path, {"train": {f"o{n}": n for n in range(250)}, "x": "y" * 9000}, {}), Stop(), []
    with Tracking("mlflow", run, 0, stop, warned.append) as track:
        track.add(7, {"loss": 1.5, "valid": {"bleu": 3, "bleu_signature": "nrefs:1"}})
        stop.asked = 2
    assert [len(params) for params in mlflow.of("log_params")] == [100, 100, 51]
    assert mlflow.of("log_params")[0]["train.o1"] == "1"
    assert max(len(value) for params in mlflow.of("log_params") for value in params.values()) == 500
    assert mlflow.of("log_metrics") == [(7, {"loss": 1.5, "valid/bleu": 3.0})]
    with Tracking("mlflow", run, 7, Stop(), warned.append):
        pass
    assert mlflow.of("start_run") == [tmp_path.name, "0123abcd"]
    assert len(mlflow.of("log_params")) == 3
    assert mlflow.of("end_run") == ["KILLED", "FINISHED"]
    assert warned == []


def test_a_training_that_fails_is_told(mlflow: Service, tmp_path: Path) -> None:
    with pytest.raises(ZeroDivisionError), Tracking("mlflow", Run(tmp_path, {}, {}), 0, Stop(), print):
        raise ZeroDivisionError
    assert mlflow.of("end_run") == ["FAILED"]


def test_a_tracker_that_fails_on_the_way_is_left_out(wandb: Service, tmp_path: Path) -> None:
    """One warning, and the training is as it would have been."""

    from test_loop import at_step

    warned: list[str] = []
    show = Progress(True)
    show.warn = warned.append  # type: ignore[method-assign]
    break_it = at_step(1, lambda: setattr(wandb, "broken", True))
    fit_in(tmp_path / "run", break_it, show=show, report_to="wandb", **SHORT)
    assert warned == ["wandb failed (ConnectionError: no route to host); the training goes on without it"]
    fit_in(tmp_path / "plain", **SHORT)
    assert everything(tmp_path / "run") == everything(tmp_path / "plain")


def test_one_that_cannot_start_is_one_line(wandb: Service, tmp_path: Path) -> None:
    wandb.broken = True
    with pytest.raises(RegardError) as told:
        fit_in(tmp_path / "run", report_to="wandb", **SHORT)
    assert str(told.value) == (
        "train.report_to=wandb: ConnectionError: no route to host; "
        "check the settings of wandb, or use train.report_to=none"
    )


@pytest.mark.parametrize("name", ["tensorboard", "wandb", "mlflow"])
def test_a_package_that_is_missing(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Told before the data is read. A folder of that name is no package."""
    from regard import api

    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    (tmp_path / name).mkdir()
    monkeypatch.setattr("regard.train.track.find_spec", lambda name: SimpleNamespace(origin=None))
    with pytest.raises(RegardError) as told:
        api.train("translate", data="no-such-file.tsv", train={"report_to": name}, quiet=True)
    assert str(told.value) == f"train.report_to={name}: the package {name} is not installed; pip install {name}"
    monkeypatch.setattr("regard.train.track.find_spec", lambda name: None)
    with pytest.raises(RegardError, match="is not installed"):
        installed(name)
    installed("none")


@pytest.mark.parametrize("kept", ["{", "[]", json.dumps({"wandb": "../../x"}), json.dumps({"wandb": ["a"]}), "\x00"])
def test_an_id_from_elsewhere_that_is_none(wandb: Service, tmp_path: Path, kept: str) -> None:
    (tmp_path / "tracking.json").write_text(kept)
    with Tracking("wandb", Run(tmp_path, {}, {}), 0, Stop(), print):
        pass
    assert len(wandb.of("init")[0]["id"]) == 16
    assert json.loads((tmp_path / "tracking.json").read_text())["wandb"] == wandb.of("init")[0]["id"]


def test_tensorboard(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """With a writer that only remembers; the real one is asked for in the next test, where it is installed."""
    made: list[Any] = []

    class SummaryWriter:
        def __init__(self, log_dir: str, purge_step: int | None) -> None:
            self.given, self.calls, self.closed = (log_dir, purge_step), list[Any](), False
            made.append(self)

        def add_text(self, *given: Any) -> None:
            self.text = given

        def add_scalar(self, *given: Any) -> None:
            self.calls.append(given)

        def flush(self) -> None: ...

        def close(self) -> None:
            self.closed = True

    module(monkeypatch, "tensorboard")
    module(monkeypatch, "torch.utils.tensorboard", SummaryWriter=SummaryWriter)
    for step in (0, 4):
        with Tracking("tensorboard", Run(tmp_path, {"x": "```"}, {}), step, Stop(), print) as track:
            track.add(step + 2, {"loss": 1.5, "valid": {"bleu": math.inf}})
    assert [one.given for one in made] == [(str(tmp_path / "tensorboard"), purge) for purge in (None, 5)]
    assert [one.calls for one in made] == [[("loss", 1.5, n), ("valid/bleu", math.inf, n)] for n in (2, 6)]
    assert made[0].text == ("config", '````toml\nx = "```"\n\n````', 0)
    assert all(one.closed for one in made)


@pytest.mark.filterwarnings("ignore")
def test_tensorboard_reads_it(tmp_path: Path) -> None:
    accumulator = pytest.importorskip("tensorboard.backend.event_processing.event_accumulator")
    run = Run.create(tmp_path / "run", {"task": "translate"}, {}, _network())
    with Tracking("tensorboard", run, 0, Stop(), pytest.fail) as track:
        track.add(2, {"loss": 1.5, "valid": {"bleu": 7.0}})
    found = accumulator.EventAccumulator(str(tmp_path / "run" / "tensorboard")).Reload()
    assert [(one.step, one.value) for one in found.Scalars("valid/bleu")] == [(2, 7.0)]
    Run.remove(tmp_path / "run")  # what a tracker leaves does not keep a run from being started over
    assert not (tmp_path / "run").exists()


def _network() -> Any:
    task = small_task()
    task.learn(splits().train)
    return task.network()
