"""The loop goes on bit for bit after any stop, keeps the best, ends in time, and says what is wrong."""

import json
import math
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file
from small_runs import everything, fit_in, newest, place_of, small_task, splits
from torch import nn

from regard.data.splits import Splits
from regard.errors import RegardError
from regard.networks.encoder_decoder import EncoderDecoder
from regard.tasks.translate import Translate
from regard.train import checkpoint, loop
from regard.train.curve import draw
from regard.train.log import read
from regard.train.loop import fit
from regard.train.metrics import MetricSet
from regard.train.progress import Progress
from regard.train.run import Run
from regard.train.schedule import Plan
from regard.train.task import Encoded
from regard.train.threads import restored
from regard.types import Batch, Example, Network, Output, Sequences
from tiers import sweep_but

pytestmark = pytest.mark.usefixtures("one_thread")

Change = Callable[[Translate], None]


Forward = Callable[[Batch, float], Output]


def around(task: Translate, forward: Callable[[Forward, Batch, float], Output]) -> None:
    """The networks that the task makes from now on run `forward`, which is given their own."""
    inherit(task, forward=lambda kind, self, batch, progress=1.0: forward(partial(kind.forward, self), batch, progress))


def inherit(task: Translate, **methods: Callable[..., Any]) -> None:
    """The networks that the task makes from now on, and copies of them, have other methods: each is given the class it
    inherits from."""
    make = task.network

    def changed() -> EncoderDecoder:
        network = make()
        kind = type(network)
        network.__class__ = type("Changed", (kind,), {n: given(m, kind) for n, m in methods.items()})
        return network

    task.network = changed  # type: ignore[method-assign]


def given(method: Callable[..., Any], kind: type) -> Callable[..., Any]:
    return lambda self, *args, **kwargs: method(kind, self, *args, **kwargs)


def at_step(number: int, act: Callable[[], Any]) -> Change:
    """A task whose loss does something more when it is asked for the nth time in a sitting."""

    def change(task: Translate) -> None:
        calls = iter(range(1, 10**6))

        def forward(real: Forward, batch: Batch, progress: float) -> Output:
            if next(calls) == number:
                act()
            return real(batch, progress)

        around(task, forward)

    return change


def signalled(step: int, number: int) -> Change:
    return at_step(step, lambda: os.kill(os.getpid(), number))


def scripted(values: list[float], seen: list[dict[str, torch.Tensor]] | None = None) -> Change:
    """Validations that come out as written here; the weights at each are put into `seen`."""

    def change(task: Translate) -> None:
        figures = iter(values)

        def results(model: nn.Module, *_: Any, **__: Any) -> Any:
            if seen is not None:
                assert not model.training
                seen.append({name: value.clone() for name, value in model.state_dict().items()})

        task.results = results  # type: ignore[assignment, method-assign]
        task.measure = lambda _: {"perplexity": next(figures)}  # type: ignore[assignment, method-assign]

    return change


class Clock:
    """Time that passes only when told to."""

    now = 100.0

    def monotonic(self) -> float:
        return self.now


@pytest.fixture
def ticking(monkeypatch: pytest.MonkeyPatch) -> Callable[[float], Change]:
    """`ticking(2.0)`: every loss takes two seconds, and nothing else takes any."""
    clock = Clock()
    monkeypatch.setattr(loop, "clock", clock)

    def rate(seconds: float) -> Change:
        def change(task: Translate) -> None:
            def forward(real: Forward, batch: Batch, progress: float) -> Output:
                clock.now += seconds
                return real(batch, progress)

            around(task, forward)

        return change

    return rate


def both(*changes: Change) -> Change:
    def change(task: Translate) -> None:
        for one in changes:
            one(task)

    return change


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """The run that nobody stopped: 22 steps, 6 batches an epoch, a validation every 5 steps and at the end."""
    folder = tmp_path_factory.mktemp("whole") / "run"
    outcome = fit_in(folder)
    assert (outcome.step, outcome.stopped) == (22, None)
    return everything(folder)


# --- stopped and gone on -------------------------------------------------------------------------------------


@pytest.mark.sweep
def test_the_same_twice(tmp_path: Path, whole: dict[str, Any]) -> None:
    fit_in(tmp_path / "run")
    assert everything(tmp_path / "run") == whole
    assert [event["step"] for event in whole["log"]] == [5, 10, 15, 20, 22]
    assert [event["epoch"] for event in whole["log"]] == [0, 1, 2, 3, 3]
    place = whole["place"]
    assert (place["step"], place["steps"], place["epoch"], place["batch"], place["finished"]) == (22, 22, 3, 4, True)
    assert place["best"] == min(event["valid"]["perplexity"] for event in whole["log"])


def test_chance_matters_here(tmp_path: Path, whole: dict[str, Any]) -> None:
    """Or else the tests below would not notice if the random state were lost."""
    fit_in(tmp_path / "run", at_step(7, lambda: torch.rand(1)))
    found = everything(tmp_path / "run")
    assert all(found[name] != whole[name] for name in found if name != "place")


@pytest.mark.sweep
def test_stopped_at_every_step_it_goes_on_as_if_it_never_had_been(tmp_path: Path, whole: dict[str, Any]) -> None:
    folder = tmp_path / "run"
    for step in range(1, 22):
        number = (signal.SIGINT, signal.SIGTERM)[step % 2]
        outcome = fit_in(folder, signalled(1, number))
        assert (outcome.step, outcome.stopped) == (step, number)
        assert place_of(folder)["step"] == step
    assert fit_in(folder).stopped is None
    assert everything(folder) == whole


@pytest.mark.parametrize("stops", sweep_but([[1], [5], [6, 6], [3, 1, 8]], [3, 1, 8]))
def test_stopped_now_and_then(tmp_path: Path, whole: dict[str, Any], stops: list[int]) -> None:
    """Within an epoch and at its end, at a validation and between two."""
    folder, done = tmp_path / "run", 0
    for more in stops:
        done += more
        assert fit_in(folder, signalled(more, signal.SIGINT)).step == done
    fit_in(folder)
    assert everything(folder) == whole


@pytest.mark.sweep
def test_broken_off_anywhere_it_goes_on_from_the_last_save(tmp_path: Path, whole: dict[str, Any]) -> None:
    """An error of any kind, at any step: what came after the last save happens again, the same way."""

    def broken() -> None:
        raise MemoryError

    folder, save = tmp_path / "run", 0
    for step in (3, 4, 9, 2, 8):
        with pytest.raises(MemoryError):
            fit_in(folder, at_step(step, broken))
        save += 5 * ((step - 1) // 5)
        assert (place_of(folder)["step"] if save else 0) == save
    fit_in(folder)
    assert everything(folder) == whole


@pytest.mark.sweep
def test_broken_off_in_a_validation(tmp_path: Path, whole: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> None:
    """Best weights were written, the log was not, and the state is an old one."""

    def broken(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    folder = tmp_path / "run"
    for call in ("regard.train.log.Log.add", "regard.train.checkpoint.save", "regard.train.run.Run.save_weights"):
        with monkeypatch.context() as patch:
            patch.setattr(call, broken)
            with pytest.raises(KeyboardInterrupt):
                fit_in(folder)
    fit_in(folder)
    assert everything(folder) == whole


@pytest.mark.sweep
@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_killed_at_random_moments_it_goes_on_bit_for_bit(tmp_path: Path) -> None:
    """SIGKILL, before and after losses, validations, writes, fsyncs, moves and removals."""
    script = Path(__file__).with_name("killed.py")
    done = subprocess.run(
        [sys.executable, str(script), str(tmp_path), "1", "16"],
        capture_output=True,
        text=True,
        timeout=200,
        env={**os.environ, "OMP_NUM_THREADS": "1", "TOKENIZERS_PARALLELISM": "false"},
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.count(": 9\n") >= 8, done.stdout
    assert everything(tmp_path / "killed") == everything(tmp_path / "whole")
    left = [path.name for path in (tmp_path / "killed").rglob(".*")]
    assert left == [], "half-written files were never cleared away"


def test_a_stop_says_which_signal_and_leaves_handlers_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(loop, "draw", draw)
    before = signal.getsignal(signal.SIGTERM)
    outcome = fit_in(tmp_path / "run", signalled(3, signal.SIGTERM))
    assert (outcome.stopped, outcome.step) == (15, 3)
    assert signal.getsignal(signal.SIGTERM) is before
    assert not (tmp_path / "run" / "curve.png").exists()  # nothing was validated yet
    [first] = fit_in(tmp_path / "run", steps=5) and read(tmp_path / "run" / "log.jsonl")
    assert first["step"] == 5
    assert (tmp_path / "run" / "curve.png").exists()


def test_a_stop_in_the_last_step_comes_too_late(tmp_path: Path, whole: dict[str, Any]) -> None:
    assert fit_in(tmp_path / "run", signalled(22, signal.SIGINT)).stopped is None
    assert everything(tmp_path / "run") == whole


def test_a_second_ctrl_c_ends_it_at_once(tmp_path: Path, whole: dict[str, Any]) -> None:
    def twice() -> None:
        os.kill(os.getpid(), signal.SIGINT)
        os.kill(os.getpid(), signal.SIGINT)

    with pytest.raises(KeyboardInterrupt):
        fit_in(tmp_path / "run", at_step(12, twice))
    assert place_of(tmp_path / "run")["step"] == 10
    fit_in(tmp_path / "run")
    assert everything(tmp_path / "run") == whole


# --- how long ------------------------------------------------------------------------------------------------


def test_a_finished_run_does_not_train_again(tmp_path: Path, whole: dict[str, Any]) -> None:
    def never() -> None:
        raise AssertionError("trained")

    folder = tmp_path / "run"
    fit_in(folder)
    outcome = fit_in(folder, at_step(1, never))
    assert (outcome.step, outcome.stopped, outcome.per_second) == (22, None, 0.0)
    assert outcome.best == whole["place"]["best"]
    assert fit_in(folder, at_step(1, never), steps=10).step == 22  # nor where fewer steps would do
    assert everything(folder) == whole


def test_more_steps_go_on(tmp_path: Path, whole: dict[str, Any]) -> None:
    folder = tmp_path / "run"
    fit_in(folder)
    outcome = fit_in(folder, steps=30)
    assert (outcome.step, outcome.stopped) == (30, None)
    found = everything(folder)
    assert found["log"][:5] == whole["log"]
    assert [event["step"] for event in found["log"][5:]] == [25, 30]
    assert found["place"]["finished"]


def test_epochs_are_counted_in_batches(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """44 examples, 8 a batch: 6 batches an epoch, and a validation at the end of each, were it not for `RARELY`."""
    fit_in(tmp_path / "rarely", scripted([1.0]), steps=0, epochs=2, validate_every=0)
    assert [event["step"] for event in read(tmp_path / "rarely" / "log.jsonl")] == [12]
    monkeypatch.setattr(loop, "RARELY", 1)
    fit_in(tmp_path / "run", steps=0, epochs=2, validate_every=0)
    assert [(event["step"], event["epoch"]) for event in read(tmp_path / "run" / "log.jsonl")] == [(6, 0), (12, 1)]
    assert fit_in(tmp_path / "run", steps=0, epochs=3, validate_every=0).step == 18


def test_every_example_is_seen_once_an_epoch(tmp_path: Path) -> None:
    seen: list[tuple[int, ...]] = []

    def change(task: Translate) -> None:
        real = task.collate

        def collate(items: list[Encoded]) -> Batch:
            seen.extend(tuple(item.inputs[0]) for item in items)
            return real(items)

        task.collate = collate  # type: ignore[assignment, method-assign]
        scripted([1.0] * 9)(task)

    fit_in(tmp_path / "run", change, steps=12)
    task = small_task()
    task.learn(splits().train)
    once = sorted(tuple(item.inputs[0]) for item in task.items(splits().train))
    assert sorted(seen[:44]) == sorted(seen[44:]) == once
    assert seen[:44] != seen[44:]


def test_patience(tmp_path: Path) -> None:
    """Perplexity: lower is better; the third value is the best, and three worse ones (or equal) are enough."""
    values = [5.0, 4.0, 3.0, 3.5, 3.0, 9.0, 1.0]
    outcome = fit_in(tmp_path / "run", scripted(values), steps=100, validate_every=2, patience=3)
    assert (outcome.step, outcome.best, outcome.stopped) == (12, 3.0, None)
    again = fit_in(tmp_path / "run", scripted([0.1]), steps=100, validate_every=2, patience=3)
    assert (again.step, again.best) == (12, 3.0)
    more = fit_in(tmp_path / "run", scripted(values[6:] + [2.0] * 9), steps=100, validate_every=2, patience=4)
    assert (more.step, more.best) == (22, 1.0)  # more patience was asked for: step 14 finds the 1.0, then four worse


def test_the_best_weights_are_kept(tmp_path: Path) -> None:
    folder, seen = tmp_path / "run", []
    outcome = fit_in(folder, scripted([5.0, 2.0, 3.0, 2.5], seen), steps=8, validate_every=2)
    assert outcome.best == 2.0
    kept = load_file(folder / "model.safetensors")
    assert [all(torch.equal(kept[name], one[name]) for name in kept) for one in seen] == [False, True, False, False]
    # They are averages: neither those in the state, nor those of any one step.
    last = load_file(newest(folder) / "weights.safetensors")
    assert not any(torch.equal(last[name], seen[-1][name]) for name in last)


def unsettled(validations: int) -> Change:
    """A task whose model is not what it will be at so many validations."""

    def change(task: Translate) -> None:
        asked = iter(range(10**6))
        inherit(task, ready=lambda kind, self, progress: next(asked) >= validations)

    return change


def test_what_was_best_before_the_model_settled_does_not_count(tmp_path: Path) -> None:
    """1.0 and 0.5 are of another model; from the third validation on 3.0 is the best, and patience begins there."""
    folder, seen = tmp_path / "run", []
    values = [1.0, 0.5, 4.0, 3.0, 3.5, 3.6, 9.0]
    outcome = fit_in(folder, both(unsettled(2), scripted(values, seen)), steps=100, validate_every=2, patience=2)
    assert (outcome.step, outcome.best) == (12, 3.0)
    kept = load_file(folder / "model.safetensors")
    assert [all(torch.equal(kept[name], one[name]) for name in kept) for one in seen] == [i == 3 for i in range(6)]


def test_patience_does_not_run_out_before_the_model_settled(tmp_path: Path) -> None:
    values = [1.0, 2.0, 2.0, 2.0, 5.0, 6.0, 7.0]
    outcome = fit_in(tmp_path / "run", both(unsettled(4), scripted(values)), steps=100, validate_every=2, patience=2)
    assert (outcome.step, outcome.best) == (14, 5.0)


def test_a_model_that_never_settles_is_kept_as_it_ends(tmp_path: Path) -> None:
    outcome = fit_in(tmp_path / "run", both(unsettled(99), scripted([1.0, 2.0, 3.0])), steps=6, validate_every=2)
    assert outcome.best == 3.0


def test_of_equals_the_later_is_kept(tmp_path: Path) -> None:
    """It has learned for longer; but patience goes on running out."""
    folder, seen = tmp_path / "run", []
    outcome = fit_in(folder, scripted([2.0, 2.0, 3.0, 2.0, 1.0], seen), steps=100, validate_every=2, patience=3)
    assert (outcome.step, outcome.best) == (8, 2.0)
    kept = load_file(folder / "model.safetensors")
    assert [all(torch.equal(kept[name], one[name]) for name in kept) for one in seen] == [False, False, False, True]


def test_the_model_given_holds_the_best_weights_in_the_end(tmp_path: Path) -> None:
    task, seen = small_task(), []
    task.learn(splits().train)
    model = task.network()
    run = Run.create(tmp_path / "run", {"task": "translate"}, task.keep(), model)
    scripted([1.0, 2.0, 3.0], seen)(task)
    fit(task, splits(), run, model, Progress(True), None, steps=6, validate_every=2, batch_size=8, device="cpu")
    assert all(torch.equal(value, seen[0][name]) for name, value in model.state_dict().items())


def test_a_measure_where_more_is_better(tmp_path: Path) -> None:
    def change(task: Translate) -> None:
        values = iter([0.1, 0.4, 0.3])
        task.metrics.best = "exact_match"
        task.results = lambda *_, **__: None  # type: ignore[assignment, method-assign, return-value]
        task.measure = lambda _: {"exact_match": next(values)}  # type: ignore[assignment, method-assign]

    assert fit_in(tmp_path / "run", change, steps=6, validate_every=2).best == 0.4


# --- the clock -----------------------------------------------------------------------------------------------


def rates(folder: Path) -> list[float]:
    return [event["lr"] for event in read(folder / "log.jsonl")]


def test_a_time_limit_ends_training_in_time_with_its_rate_gone_down(
    tmp_path: Path, ticking: Callable[[float], Change]
) -> None:
    folder = tmp_path / "run"
    outcome = fit_in(
        folder, both(ticking(1.0), scripted([1.0] * 99)), steps=10_000, time="2m", validate_every=1000, warmup=4
    )
    assert outcome.step == 117  # two and a half seconds are for what is written afterwards
    assert (outcome.seconds, outcome.ended) == (117.0, "time")
    assert rates(folder)[-1] < 0.001 * 5e-3  # cosine: nothing is left of the rate at the end


@pytest.mark.sweep
def test_a_limit_that_is_far_away_changes_nothing(
    tmp_path: Path, whole: dict[str, Any], ticking: Callable[[float], Change]
) -> None:
    fit_in(tmp_path / "run", ticking(1.0), time="1h")
    found = everything(tmp_path / "run")
    assert found["place"].pop("limit") == 3600.0
    assert whole["place"]["limit"] == math.inf
    assert found["place"] == {key: value for key, value in whole["place"].items() if key != "limit"}
    assert {**found, "place": 0} == {**whole, "place": 0}


def test_slow_steps_do_not_run_over_the_limit(tmp_path: Path, ticking: Callable[[float], Change]) -> None:
    """A minute a step: the loop must not wait for its next glance to see that five minutes are over."""
    outcome = fit_in(tmp_path / "run", both(ticking(60.0), scripted([1.0])), time="5m", validate_every=1000)
    assert outcome.step == 4  # a fifth would leave nothing for what is written afterwards
    assert place_of(tmp_path / "run")["finished"]


@pytest.mark.sweep
def test_a_run_ended_by_its_limit_is_finished_until_more_is_asked_for(
    tmp_path: Path, ticking: Callable[[float], Change]
) -> None:
    """Then the time is for that command."""

    def go(time: str, **more: Any) -> int:
        change = both(ticking(1.0), scripted([1.0] * 99))
        return fit_in(tmp_path / "run", change, **{"steps": 1000, "time": time, "validate_every": 100, **more}).step

    assert go("70s") == 67
    assert go("70s") == 67
    assert go("60s") == 67 + 57
    assert go("2m") == 67 + 57 + 117
    assert go("2m") == 67 + 57 + 117
    assert go("2m", steps=2000) == 67 + 57 + 2 * 117
    assert go("", steps=130) == 67 + 57 + 2 * 117  # all of these are done
    assert go("", steps=360) == 360


@pytest.mark.sweep
def test_a_run_stopped_within_its_limit_has_what_is_left_of_it(
    tmp_path: Path, ticking: Callable[[float], Change]
) -> None:
    """As if it had never been stopped; another limit is for the command it is given to."""
    changes = both(ticking(1.0), scripted([1.0] * 99))
    options = {"steps": 1000, "time": "80s", "validate_every": 100}
    stopped = fit_in(tmp_path / "run", both(changes, signalled(30, signal.SIGINT)), **options)
    assert (stopped.step, stopped.seconds) == (30, 30.0)
    assert place_of(tmp_path / "run")["spent"] == 30.0
    stopped = fit_in(tmp_path / "run", both(changes, signalled(10, signal.SIGINT)), **options)
    assert (stopped.step, stopped.seconds) == (40, 40.0)
    shutil.copytree(tmp_path / "run", tmp_path / "other")
    outcome = fit_in(tmp_path / "run", changes, **options)
    assert (outcome.step, outcome.seconds) == (77, 77.0)
    outcome = fit_in(tmp_path / "other", changes, **{**options, "time": "50s"})
    assert (outcome.step, outcome.seconds) == (40 + 47, 87.0)


def test_time_is_counted_from_the_start_of_the_command(tmp_path: Path, ticking: Callable[[float], Change]) -> None:
    change = both(ticking(1.0), scripted([1.0] * 99))
    outcome = fit_in(tmp_path / "run", change, began=Clock.now - 20, steps=1000, time="80s", validate_every=100)
    assert (outcome.step, outcome.seconds) == (57, 77.0)


def slow_answers(clock: Any, validating: float, testing: float, seen: list[tuple[int, bool]]) -> Change:
    """So many seconds an example; how many were asked for at once, and whether by the quick search."""

    def change(task: Translate) -> None:
        def results(model: nn.Module, examples: list[Example], quick: bool = False) -> None:
            seen.append((len(examples), quick))
            clock.now += len(examples) * (validating if quick else testing)

        task.results = results  # type: ignore[assignment, method-assign]
        task.measure = lambda _: {"perplexity": 1.0}  # type: ignore[assignment, method-assign]

    return change


@pytest.mark.sweep
def test_a_limit_leaves_time_for_validating_and_testing(tmp_path: Path, ticking: Callable[[float], Change]) -> None:
    """Eight examples of validation take 4 s and as many of the test 16 s: they are kept back."""
    change, seen = ticking(1.0), list[tuple[int, bool]]()
    slow = slow_answers(loop.clock, 0.5, 2.0, seen)
    outcome = fit_in(tmp_path / "run", both(change, slow), steps=1000, time="200s", validate_every=20, warmup=4)
    left = 200 - outcome.seconds
    assert 16 + 2.5 <= left <= 16 + 2.5 + 2  # the test, what is written afterwards, and no more than a step or two
    assert outcome.ended == "time"
    assert rates(tmp_path / "run")[-1] < 0.001 * 5e-3
    validating = sum(count * 0.5 for count, quick in seen if quick)
    assert validating <= 0.16 * 200
    assert {count for count, quick in seen if quick and count > 1} == {8}


@pytest.mark.sweep
def test_a_validation_that_would_take_too_long_is_of_fewer_examples(
    tmp_path: Path, ticking: Callable[[float], Change]
) -> None:
    """A minute for all eight, where an hour would be needed to afford that: three, and only now and then."""
    change, seen = ticking(1.0), list[tuple[int, bool]]()
    slow = slow_answers(loop.clock, 7.5, 0.0, seen)
    outcome = fit_in(tmp_path / "run", both(change, slow), steps=10_000, time="10m", validate_every=20)
    assert 590 <= outcome.seconds <= 600
    steps = [event["step"] for event in read(tmp_path / "run" / "log.jsonl")]
    assert 2 <= len(steps) <= 4
    assert place_of(tmp_path / "run")["checked"] == 3


def test_state_is_saved_every_so_many_seconds(
    tmp_path: Path, ticking: Callable[[float], Change], monkeypatch: pytest.MonkeyPatch
) -> None:
    saved: list[int] = []
    monkeypatch.setattr(checkpoint, "save", lambda *given: saved.append(given[-1].step))
    fit_in(tmp_path / "run", both(ticking(1.0), scripted([1.0] * 9)), save_every=3, steps=22, validate_every=10)
    assert saved == [4, 8, 10, 14, 18, 20, 22]  # more than three seconds after the last, at validations, at the end


def test_the_rate_follows_the_plan(tmp_path: Path) -> None:
    """Warm-up of 4 steps, then a line to 0 at step 22; the rate logged is that of the step just taken."""
    fit_in(tmp_path / "run", scripted([1.0] * 11), patience=99, validate_every=2, decay="linear", lr=0.01)
    assert rates(tmp_path / "run") == pytest.approx(
        [0.005, 0.01] + [0.01 * (1 - (step - 1 - 4) / 18) for step in range(6, 23, 2)]
    )


# --- by hand -------------------------------------------------------------------------------------------------


class Line(Network):
    def __init__(self) -> None:
        super().__init__()
        self.matrix = nn.Parameter(torch.tensor([[2.0]]))
        self.vector = nn.Parameter(torch.tensor([3.0]))

    def forward(self, batch: Batch, progress: float = 1.0) -> Output:
        count = 2 * len(batch.source.values)
        return Output(count * (5 * self.matrix.sum() - 7 * self.vector.sum()), count)


class Slope(Translate):
    """A loss of 5·matrix − 7·vector a token, two tokens an example: its slope is (5, −7), whatever the batch."""

    def __init__(self) -> None:
        self.inputs, self.metrics = {}, MetricSet(("perplexity",), "perplexity")

    def tried(self, example: Example) -> list[str]:
        return []

    def items(self, examples: list[Example]) -> list[Encoded]:
        return [Encoded(([1],), [1, 2], (1, 2)) for _ in examples]

    def collate(self, items: list[Encoded]) -> Batch:
        return Batch((Sequences.pad([item.inputs[0] for item in items]),), Sequences.pad([i.target for i in items]))

    def results(self, *_: Any, **__: Any) -> None:
        return None

    def measure(self, _: Any) -> dict[str, float]:
        return {"perplexity": 1.0}


def slope(folder: Path, **options: Any) -> tuple[float, float, dict[str, Any]]:
    model, task = Line(), Slope()
    run = Run.create(folder, {"task": "slope"}, {}, model)
    small = {"batch_size": 4, "steps": 1, "lr": 0.1, "ema": 0.0, "device": "cpu", "weight_decay": 0.5}
    fit(task, splits(), run, model, Progress(True), None, **{**small, **options})
    return model.matrix.item(), model.vector.item(), read(folder / "log.jsonl")[0]


def test_one_step_by_hand(tmp_path: Path) -> None:
    """AdamW's first step is rate · sign(slope), after shrinking matrices (not vectors) by rate · weight_decay."""
    matrix, vector, event = slope(tmp_path / "one")
    assert matrix == pytest.approx(2 * (1 - 0.1 * 0.5) - 0.1)
    assert vector == pytest.approx(3 + 0.1)
    assert event["loss"] == pytest.approx(5 * 2 - 7 * 3)  # a token, before the step


def test_the_average_by_hand(tmp_path: Path) -> None:
    """After step 1 the average is 2/11 of the start and 9/11 of where it went: that is what is kept."""
    matrix, vector, _ = slope(tmp_path / "one", ema=0.9)
    assert matrix == pytest.approx(2 / 11 * 2 + 9 / 11 * 1.8)
    assert vector == pytest.approx(2 / 11 * 3 + 9 / 11 * 3.1)


def test_the_slope_is_clipped(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[float] = []
    real = torch.optim.AdamW.step

    def watching(self: torch.optim.AdamW) -> None:
        seen.append(sum(float(p.grad.square().sum()) for g in self.param_groups for p in g["params"]) ** 0.5)
        real(self)

    monkeypatch.setattr(torch.optim.AdamW, "step", watching)
    slope(tmp_path / "one", clip=0.25)
    slope(tmp_path / "two", clip=100.0)
    assert seen == pytest.approx([0.25, math.hypot(5, 7)], rel=1e-4)


def test_the_loss_of_the_log_is_a_mean_since_the_last_validation(tmp_path: Path) -> None:
    totals: list[tuple[float, int]] = []

    def change(task: Translate) -> None:
        scripted([1.0] * 9)(task)

        def forward(real: Forward, batch: Batch, progress: float) -> Output:
            found = real(batch, progress)
            totals.append((float(found.total.detach()), found.count))
            return found

        around(task, forward)

    fit_in(tmp_path / "run", both(change, signalled(8, signal.SIGINT)), steps=10)  # a stop in between: no matter
    fit_in(tmp_path / "run", change, steps=10)
    means = [sum(total for total, _ in part) / sum(count for _, count in part) for part in (totals[:5], totals[5:])]
    assert [event["loss"] for event in read(tmp_path / "run" / "log.jsonl")] == pytest.approx(means)
    assert place_of(tmp_path / "run")["tokens"] == sum(count for _, count in totals)


def test_only_the_first_of_a_large_validation_set_are_taken(tmp_path: Path) -> None:
    sizes: list[int] = []

    def change(task: Translate) -> None:
        scripted([1.0])(task)
        task.results = lambda model, examples, quick=False: sizes.append(len(examples))  # type: ignore[assignment, method-assign, return-value, func-returns-value]

    fit_in(tmp_path / "run", change, steps=2, max_validation=3)
    assert sizes == [3]


# --- what is wrong -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("bad", [math.nan, math.inf])
def test_a_loss_that_is_no_number(tmp_path: Path, bad: float) -> None:
    def change(task: Translate) -> None:
        calls = iter(range(1, 100))

        def forward(real: Forward, batch: Batch, progress: float) -> Output:
            found = real(batch, progress)
            return Output(found.total * (bad if next(calls) == 8 else 1.0), found.count)

        around(task, forward)

    with pytest.raises(RegardError, match=r"the loss became (nan|inf) at step 10; lower train.lr") as caught:
        fit_in(tmp_path / "run", change)
    assert "\n" not in str(caught.value)
    assert place_of(tmp_path / "run")["step"] == 5  # what was good is still there
    assert all(value.isfinite().all() for value in load_file(tmp_path / "run" / "model.safetensors").values())


def test_other_data_is_refused(tmp_path: Path) -> None:
    fit_in(tmp_path / "run", signalled(3, signal.SIGINT))
    same = splits()
    other = Splits([*same.train[:-1], Example(("six",), "7")], same.valid, same.test)
    with pytest.raises(RegardError, match=r"the training data is not what .* was started with; use --fresh"):
        fit_in(tmp_path / "run", data=other)
    assert place_of(tmp_path / "run")["step"] == 3


@pytest.mark.parametrize("content", ["{}", "[]", '{"step": 3}', '{"step": 3, "steps": 9, "data": "x", "other": 1}'])
def test_a_place_that_is_none(tmp_path: Path, content: str) -> None:
    fit_in(tmp_path / "run", signalled(3, signal.SIGINT))
    (newest(tmp_path / "run") / "place.json").write_text(content)
    with pytest.raises(RegardError, match="damaged"):
        fit_in(tmp_path / "run")


def test_a_damaged_checkpoint_costs_the_steps_since_the_one_before(
    tmp_path: Path, whole: dict[str, Any], capsys: pytest.CaptureFixture[str]
) -> None:
    folder = tmp_path / "run"
    fit_in(folder, signalled(12, signal.SIGTERM))
    file = newest(folder) / "optimiser.safetensors"
    content = bytearray(file.read_bytes())
    content[-9] ^= 4
    file.write_bytes(content)
    with (folder / "log.jsonl").open("ab") as log:
        log.write(b'\xff\xfe{"step"')
    fit_in(folder)
    assert capsys.readouterr().err == f"{file} is damaged (its checksum is wrong)\n"
    assert everything(folder) == whole


@pytest.mark.sweep
def test_damaged_best_weights_are_replaced_by_the_present_ones(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = tmp_path / "run"
    fit_in(folder)
    last = load_file(newest(folder) / "average.safetensors")
    (folder / "model.safetensors").write_bytes(b"")
    assert math.isnan(fit_in(folder).best)  # nothing more is to be done, so nothing to compare with
    assert "model.safetensors is damaged; replaced with the weights of step 22" in capsys.readouterr().err
    now = load_file(folder / "model.safetensors")
    assert all(torch.equal(now[name], value) for name, value in last.items())


def test_a_best_that_is_not_measured(tmp_path: Path) -> None:
    def change(task: Translate) -> None:
        task.metrics.best = "blue"

    with pytest.raises(RegardError, match="blue"):
        fit_in(tmp_path / "run", change, steps=5)


@pytest.mark.sweep
def test_a_full_disk_leaves_a_run_that_goes_on(
    tmp_path: Path, whole: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object, **__: object) -> None:
        raise OSError(28, "No space left on device")

    folder = tmp_path / "run"
    fit_in(folder, signalled(7, signal.SIGTERM))
    for call in ("os.fsync", "os.rename", "os.replace", "regard.train.checkpoint.save_file"):
        with monkeypatch.context() as patch:
            patch.setattr(call, full)
            with pytest.raises(OSError, match="No space"):
                fit_in(folder)
        assert place_of(folder)["step"] == 7
    fit_in(folder)
    assert everything(folder) == whole


def test_progress_is_told(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    fit_in(tmp_path / "run", signalled(3, signal.SIGINT))
    assert capsys.readouterr() == ("", "")
    fit_in(tmp_path / "run", scripted([4.0] * 9), show=Shown())
    assert Shown.said[0] == "resuming at step 3 of 22"
    assert Shown.said[1].startswith("step 5: loss ")
    assert Shown.said[1].endswith("; valid: perplexity 4")
    assert [step for step, *_ in Shown.steps if step in (4, 5, 10, 15, 20, 22)] == [4, 5, 10, 15, 20, 22]  # 4: at once
    assert "perplexity 4" in Shown.steps[-1][2]


@pytest.mark.sweep
def test_a_shorter_warm_up_is_told_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def told(folder: str, *change: Any, **options: Any) -> list[str]:
        Shown.said.clear()
        fit_in(tmp_path / folder, *change, show=Shown(), **options)
        return [line for line in Shown.said if "warmup" in line]

    assert told("fits", warmup=5) == []
    assert told("short", signalled(3, signal.SIGINT), warmup=6) == [Plan(22, 6, "cosine").shortened]
    assert told("short", signalled(8, signal.SIGINT), warmup=6) == [Plan(22, 6, "cosine").shortened]
    assert told("short", warmup=6) == []  # it is over
    # Time cuts the plan from 80 to 40 steps when 20 are done: a warm-up of 15 is over, one of 21 is not.
    monkeypatch.setattr(loop.Budget, "plan", lambda self, wanted, step, every: 40 if step >= 20 else wanted)
    assert told("over", steps=80, warmup=15, validate_every=100) == []
    assert told("slow", steps=88, warmup=21, validate_every=100) == [Plan(40, 21, "cosine").shortened]


class Shown(Progress):
    said: list[str] = []  # type: ignore[assignment]  # noqa: RUF012
    steps: list[tuple[int, int, str, float]] = []  # noqa: RUF012

    def __init__(self) -> None:
        self.quiet, self.later = True, None

    def say(self, text: str) -> None:
        self.said.append(text)

    def step(self, step: int, steps: int, figures: str, left: float) -> None:
        self.steps.append((step, steps, figures, left))


def test_the_log_is_strict_about_what_it_says(tmp_path: Path) -> None:
    fit_in(tmp_path / "run", steps=5)
    [event] = [json.loads(line) for line in (tmp_path / "run" / "log.jsonl").read_text().splitlines()]
    assert event.keys() == {"step", "loss", "valid", "epoch", "lr", "seconds", "tokens_per_second", "notes"}
    assert event["notes"] == {"label_smoothing": pytest.approx(0.1)}
    assert event["valid"].keys() == {"perplexity", "exact_match", "token_accuracy"}
    assert 0 < event["seconds"] < 100
    assert event["tokens_per_second"] > 0


# --- threads -------------------------------------------------------------------------------------------------


@pytest.mark.sweep
def test_threads_are_tried_and_kept_with_the_run(
    tmp_path: Path, whole: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Tried once, on a copy: training itself is as it would have been. Who goes on has the same number, untried."""
    tried: list[int] = []

    def quicker(work: Callable[[], Any], most: int, now: Any, rounds: int) -> int:
        work()
        torch.rand(3)
        tried.append(most)
        torch.set_num_threads(1)
        return 1

    monkeypatch.setattr(loop, "quicker", quicker)
    monkeypatch.setattr(loop, "usable", lambda: 2)
    with restored():
        fit_in(tmp_path / "run", signalled(9, signal.SIGINT))  # the eighth step: the first was the trial
        assert place_of(tmp_path / "run")["threads"] == 1
        fit_in(tmp_path / "run")
        assert torch.get_num_threads() == 1
    assert tried == [2]
    found = everything(tmp_path / "run")
    assert found["place"].pop("threads") == 1
    assert found["place"] == {key: value for key, value in whole["place"].items() if key != "threads"}
    assert {**found, "place": 0} == {**whole, "place": 0}


def test_threads_that_are_asked_for_are_not_tried(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(loop, "quicker", lambda *_: pytest.fail("tried"))
    with restored():
        fit_in(tmp_path / "run", scripted([1.0]), steps=2, threads=2)
        assert torch.get_num_threads() == 2
    assert place_of(tmp_path / "run")["threads"] == 0
