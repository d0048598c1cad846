"""`regard info`: versions and hardware, for bug reports; or the task, data, progress and results of a run."""

import os
import platform
import re
from contextlib import suppress
from pathlib import Path
from typing import Annotated

import typer

from regard import __version__
from regard.cli.show import figure, plain, table
from regard.errors import RegardError
from regard.files import read_whole

__all__ = ["run"]

example = "regard info runs/translate"


def run(
    folder: Annotated[str | None, typer.Argument(metavar="RUN", help="Folder of the run.")] = None,
    trust: Annotated[bool, typer.Option("--trust", help="Allow the run to import your own code.")] = False,
) -> None:
    """Show versions and hardware. With RUN, show its task, data, progress and results."""
    print(table(_run(folder, trust) if folder is not None else _machine(), indent=0))


def _version(package: str) -> str:
    from importlib.metadata import PackageNotFoundError, version

    try:
        return version(package)
    except PackageNotFoundError:
        return "not installed"


def _machine() -> list[tuple[str, str]]:
    import torch

    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30 if hasattr(os, "sysconf") else 0.0
    rows = [
        ("regard", __version__),
        ("python", platform.python_version()),
        *(
            (package, _version(package))
            for package in ("torch", "triton", "numpy", "tokenizers", "safetensors", "entmax")
        ),
        ("system", f"{platform.system()} {platform.release()} {platform.machine()}"),
        (
            "cpu",
            f"{os.cpu_count()} cores, torch uses {torch.get_num_threads()}"
            + f"; {memory:.0f} GiB memory" * (memory > 0),
        ),
    ]
    if not torch.cuda.is_available():
        return [*rows, ("gpu", f"none that torch can use (CUDA {torch.version.cuda or 'not built in'})")]
    for number in range(torch.cuda.device_count()):
        of = torch.cuda.get_device_properties(number)
        rows.append((f"gpu {number}", f"{of.name}, {of.total_memory / 2**30:.0f} GiB, CUDA {torch.version.cuda}"))
    return rows


def _run(folder: str, trust: bool) -> list[tuple[str, str]]:
    from regard.api import load
    from regard.train.log import read

    model = load(folder, "cpu", trust)
    network, config = model.network, model.config
    events = read(Path(folder) / "log.jsonl")
    rows = [
        ("run", plain(folder)),
        ("task", plain(config["task"])),
        ("size", f"{sum(p.numel() for p in network.parameters()):,} parameters"),
        ("data", plain(config["data"]["train"] or f"{model.task.default_data} (built in)")),
    ]
    if not events:
        return [*rows, ("steps", "no validation yet")]
    last = events[-1]
    rows.append(("steps", f"{last['step']:,}, {figure(last.get('seconds', 0))} s"))
    best, kept = model.task.metrics.best, None
    for event in events:
        value = event.get("valid", {}).get(best)
        if isinstance(value, int | float) and (kept is None or model.task.metrics.better(value, kept["valid"][best])):
            kept = event
    if kept is not None:
        rows.append((f"valid {best}", f"{figure(kept['valid'][best])} (best, at step {kept['step']:,})"))
    return rows + _tested(Path(folder) / "card.md")


def _tested(card: Path) -> list[tuple[str, str]]:
    """The measures on the test set, from the card that training wrote when it ended."""
    text = ""
    with suppress(OSError, RegardError):  # there is none, or it is no card
        text = read_whole(card, 2**20).decode("utf-8", "replace")
    return [(f"test {name}", plain(value)) for name, value in re.findall(r"^\| (\w+) \| `?([^|`]+)`? \|$", text, re.M)]
