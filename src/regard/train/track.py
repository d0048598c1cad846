"""Experiment tracking: TensorBoard, Weights & Biases or MLflow get the configuration and the figures of log.jsonl.

    with Tracking("wandb", run, 0, stop, show.warn) as track:
        track.add(100, {"loss": 1.2, "lr": 1e-3, "valid": {"bleu": 30.1}})      # loss, lr, valid/bleu

Each tracker reads its own environment variables (WANDB_PROJECT, WANDB_MODE, MLFLOW_TRACKING_URI, …). TensorBoard writes
to `tensorboard/` in the run's folder. `tracking.json` keeps the id of the tracked run, so that a resumed training goes
on with the same one. A tracker that cannot start is an error; one that fails later is left out with a warning.
"""

import contextlib
import json
import os
import re
import secrets
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from importlib.util import find_spec
from types import TracebackType
from typing import Any, Literal

import tomli_w

from regard.errors import RegardError
from regard.files import read_whole, write_whole
from regard.find import flat
from regard.markdown import fenced
from regard.train.run import Run
from regard.train.stop import Stop

__all__ = ["ReportTo", "Tracking", "installed"]

ReportTo = Literal["none", "tensorboard", "wandb", "mlflow"]
Ending = Literal["finished", "stopped", "failed"]

IDS = "tracking.json"
MOST_PARAMETERS, LONGEST_VALUE = 100, 500  # that MLflow takes at a time, and in one value


def installed(name: str) -> None:
    """Raises if the package of a tracker is missing."""
    found = None if name == "none" else find_spec(name)
    # A folder of this name (wandb makes one) is a package too, but of no file.
    if name != "none" and (found is None or found.origin is None):
        raise RegardError(f"train.report_to={name}: the package {name} is not installed", do=f"pip install {name}")


class Tracker(ABC):
    """One service, from the start to the end of a training."""

    @abstractmethod
    def add(self, step: int, figures: Mapping[str, float]) -> None: ...

    @abstractmethod
    def end(self, how: Ending) -> None: ...


class Tensorboard(Tracker):
    """Event files in the run's folder."""

    def __init__(self, run: Run, step: int) -> None:
        from torch.utils.tensorboard import SummaryWriter

        # What was written after the step at which a training is resumed will be written again.
        self.writer: Any = SummaryWriter(str(run.folder / "tensorboard"), purge_step=step + 1 if step else None)
        self.writer.add_text("config", "\n".join(fenced("toml", tomli_w.dumps(run.config))), step)

    def add(self, step: int, figures: Mapping[str, float]) -> None:
        for name, value in figures.items():
            self.writer.add_scalar(name, value, step)
        self.writer.flush()

    def end(self, how: Ending) -> None:
        self.writer.close()


class Wandb(Tracker):
    """Weights & Biases; the project is "regard" unless WANDB_PROJECT says otherwise."""

    def __init__(self, run: Run, step: int) -> None:
        import wandb

        self.run = wandb.init(
            project=os.environ.get("WANDB_PROJECT", "regard"),
            name=os.environ.get("WANDB_NAME", run.folder.name),
            id=_saved(run, "wandb") or _save(run, "wandb", secrets.token_hex(8)),
            resume="allow",
            config=run.config,
            allow_val_change=True,  # a resumed training may be longer
        )
        # Its own counter only grows, but a resumed training may repeat some steps.
        self.run.define_metric("*", step_metric="step", step_sync=True)

    def add(self, step: int, figures: Mapping[str, float]) -> None:
        self.run.log({"step": step, **figures})

    def end(self, how: Ending) -> None:
        self.run.finish(exit_code={"finished": 0, "stopped": 130, "failed": 1}[how])


class Mlflow(Tracker):
    """MLflow, at MLFLOW_TRACKING_URI, in the experiment MLFLOW_EXPERIMENT_NAME."""

    def __init__(self, run: Run, step: int) -> None:
        # By default it would try for many minutes to reach a server that is gone, and the training would wait.
        os.environ.setdefault("MLFLOW_HTTP_REQUEST_TIMEOUT", "10")
        os.environ.setdefault("MLFLOW_HTTP_REQUEST_MAX_RETRIES", "2")
        import mlflow

        self.mlflow: Any = mlflow
        if known := _saved(run, "mlflow"):
            self.mlflow.start_run(run_id=known)
            return
        started = self.mlflow.start_run(run_name=run.folder.name)
        _save(run, "mlflow", started.info.run_id)
        pairs = [(key, str(value)[:LONGEST_VALUE]) for key, value in flat(run.config)]
        for first in range(0, len(pairs), MOST_PARAMETERS):
            self.mlflow.log_params(dict(pairs[first : first + MOST_PARAMETERS]))

    def add(self, step: int, figures: Mapping[str, float]) -> None:
        self.mlflow.log_metrics(dict(figures), step=step)

    def end(self, how: Ending) -> None:
        self.mlflow.end_run({"finished": "FINISHED", "stopped": "KILLED", "failed": "FAILED"}[how])


TRACKERS: dict[str, Callable[[Run, int], Tracker]] = {"tensorboard": Tensorboard, "wandb": Wandb, "mlflow": Mlflow}


class Tracking:
    """What the loop reports to; nothing for "none". At the end the tracker is told how the training ended."""

    def __init__(self, name: str, run: Run, step: int, stop: Stop, warn: Callable[[str], None]) -> None:
        installed(name)
        self.name, self.stop, self.warn = name, stop, warn
        self.tracker: Tracker | None = None
        if name == "none":
            return
        try:
            self.tracker = TRACKERS[name](run, step)
        except (Exception, SystemExit) as error:
            raise RegardError(
                f"train.report_to={name}: {_brief(error)}",
                do=f"check the settings of {name}, or use train.report_to=none",
            ) from error

    def add(self, step: int, event: Mapping[str, Any]) -> None:
        """Reports what log.jsonl says of a step; texts are left out."""
        figures = {name.replace(".", "/"): value for name, value in flat(event)}
        numbers = {name: float(value) for name, value in figures.items() if isinstance(value, int | float)}
        self._try(lambda tracker: tracker.add(step, numbers))

    def _try(self, act: Callable[[Tracker], None]) -> None:
        if self.tracker is None:
            return
        try:
            act(self.tracker)
        except Exception as error:  # whatever is wrong with the tracker, the training goes on
            self.tracker = None
            self.warn(f"{self.name} failed ({_brief(error)}); the training goes on without it")

    def __enter__(self) -> "Tracking":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        stopped = self.stop.asked is not None or (kind is not None and issubclass(kind, KeyboardInterrupt))
        how: Ending = "stopped" if stopped else "finished" if kind is None else "failed"
        self._try(lambda tracker: tracker.end(how))


def _brief(error: BaseException) -> str:
    return " ".join(f"{type(error).__name__}: {error}".split())[:200]


def _ids(run: Run) -> dict[str, Any]:
    with contextlib.suppress(OSError, ValueError, RecursionError):
        found = json.loads(read_whole(run.folder / IDS, 2**12))
        if isinstance(found, dict):
            return found
    return {}


def _saved(run: Run, name: str) -> str:
    """The id of the tracked run; a run's folder may come from elsewhere, so only what looks like an id is one."""
    found = str(_ids(run).get(name, ""))
    return found if re.fullmatch(r"[A-Za-z0-9_-]{1,64}", found) else ""


def _save(run: Run, name: str, known: str) -> str:
    write_whole(run.folder / IDS, json.dumps({**_ids(run), name: known}) + "\n")
    return known
