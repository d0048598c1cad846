"""After the last step: the test in the time left, warnings, and how to train for longer."""

import math
import shlex
from collections.abc import Callable, Sequence

from regard.measure import Results
from regard.own_code import code_flags
from regard.train.budget import Budget, seconds_each, spread
from regard.train.loop import Outcome
from regard.train.progress import Progress
from regard.train.progress import clock as spoken
from regard.train.run import Run
from regard.train.schedule import seconds, spelled
from regard.types import Example

__all__ = ["advised", "longer", "tested"]

# However little time is left, so many examples are tested.
FEWEST = 10
# By so much of the limit a test may run over it, rather than be cut.
SLACK = 0.02
# After so many epochs it is rarely more of the same that helps.
MANY = 20


def tested(
    answer: Callable[[Sequence[Example]], Results], examples: Sequence[Example], budget: Budget, show: Progress
) -> Results:
    """Predictions on the test set, or on as many examples as the time allows."""
    some, about = examples, ""
    if budget.limited:
        show.phase("testing", "a few examples to estimate the time")
        most = 0.2 * max(0.0, budget.left() - budget.tail)  # a larger sample tells more
        each = seconds_each(answer, examples, most, budget.now)
        room = budget.left() - budget.tail / 2 + SLACK * budget.limit  # the curve is drawn by now
        fit_in = int(room / each) if each > 0 else len(examples)
        some = spread(examples, max(min(len(examples), FEWEST), fit_in))
        about = f", about {spoken(each * len(some))}"
        if len(some) < len(examples):
            show.say(
                f"testing on {len(some):,} of {len(examples):,} examples: all of them would take "
                f"{spoken(each * len(examples))}, but only {spoken(budget.left())} is left"
            )
    show.phase("testing", f"{len(some):,} examples{about}")
    return answer(some)


def advised(found: Sequence[str], command: str, outcome: Outcome) -> tuple[str, ...]:
    """One line per warning, and a last line with what to do."""
    if not found:
        return ()
    do = f"train longer: {command}"
    if outcome.ended == "patience":
        do = "it stopped improving: check the data, or try a lower train.lr or a smaller model"
    elif outcome.epochs >= MANY:
        do += ", or check the data and try a smaller model"
    return (*found, do)


def longer(run: Run, outcome: Outcome) -> str:
    """The command that trains a finished run for twice as long."""
    plan = run.config["train"]
    words = ["regard", "train", run.config["task"], "--out", str(run.folder)]
    if outcome.ended == "time":
        words += ["--time", spelled(2 * seconds(plan["time"]))]
    elif outcome.ended == "patience":
        words.append(f"train.patience={2 * plan['patience']}")
    else:
        steps, epochs = max(plan["steps"], outcome.step), max(plan["epochs"], math.ceil(outcome.epochs))
        words.append(f"train.steps={2 * steps}" if plan["steps"] else f"train.epochs={2 * epochs}")
    return shlex.join([*words, *code_flags(run.config)])
