"""card.md: the model card of a run, with its data, results and usage."""

import platform
import shlex
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import torch
from torch import nn

from regard.data.splits import Splits
from regard.files import write_whole
from regard.markdown import code, escaped, fenced
from regard.train.run import Run

__all__ = ["card"]


def card(
    run: Run,
    outcome: Any,
    splits: Splits,
    model: nn.Module,
    test: dict[str, float | str],
    tested: int = 0,
    warnings: Sequence[str] = (),
) -> Path:
    """Writes the card; `tested` is the number of test examples, if not all were used."""
    size = sum(parameter.numel() for parameter in model.parameters())
    data = run.config["data"].get("train") or "built-in data"
    on_gpu = next(model.parameters()).is_cuda
    where = torch.cuda.get_device_name() if on_gpu else f"{platform.machine()} CPU"
    folder = shlex.quote(str(run.folder))
    rows = [
        f"| {escaped(name)} | {value:.4f} |" if isinstance(value, float) else f"| {escaped(name)} | {code(value)} |"
        for name, value in test.items()
    ]
    # A run that was trained in an earlier sitting, and left before its card, has no speed to tell.
    counted = "target tokens" if outcome.counts == "tokens" else outcome.counts
    speed = f", {outcome.per_second:,.0f} {counted} per second" if outcome.per_second else ""
    texts = " ".join(['"your text"', '"your other text"'][: len(splits.train[0].inputs) if splits.train else 1])
    lines = [
        f"# {escaped(run.config['task'])}: {escaped(run.folder.name)}",
        "",
        f"A model with {size:,} parameters, trained with regard on {escaped(data)}: "
        f"{len(splits.train):,} training examples, "
        f"{len(splits.valid):,} validation examples, {len(splits.test):,} test examples.",
        "",
        f"{outcome.step:,} steps in {outcome.seconds:.0f} s on {escaped(where)} (torch {torch.__version__}){speed}; "
        f"best validation score {outcome.best:.4f}.",
        "",
        *(
            [
                "This model has not learned enough:",
                "",
                *(f"- `{line.replace('`', chr(39))}`" for line in warnings),
                "",
            ]
            * bool(warnings)
        ),
        *([f"Tested on {tested:,} of {len(splits.test):,} examples.", ""] if 0 < tested < len(splits.test) else []),
        *(["| test metric | value |", "|---|---|", *rows, ""] if rows else ["There was no test set.", ""]),
        "![learning curve](curve.png)",
        "",
        *fenced("sh", f"regard evaluate {folder}", f"regard look {folder} {texts} -o look.html"),
        "",
        "The model knows only its training data. It also makes predictions for other kinds of text, but they are often "
        "wrong. Attention weights do not prove why it made a prediction.",
        "",
    ]
    return write_whole(run.folder / "card.md", "\n".join(lines))
