"""`regard look RUN TEXT`: the answer, and where the model looked while giving it.

A task of two inputs takes its texts two by two. What the answer was drawn from is shown first, then where the encoder
itself looked, where it does. A page holds all of it, and how the answer was searched for; of other files each holds one
picture: look.png, look-2.png, …
"""

import inspect
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from regard.cli.options import search
from regard.cli.show import answered, looked, plain
from regard.errors import RegardError

if TYPE_CHECKING:
    from regard.look.gaze import Gaze
    from regard.types import Prediction

__all__ = ["run"]

example = "regard look runs/translate 'Dienstag, 5. März 2024' -o look.html"
kinds = (".png", ".svg", ".html", ".json", ".txt")


def run(
    folder: Annotated[str, typer.Argument(metavar="RUN", help="The folder of a run.")],
    texts: Annotated[list[str], typer.Argument(metavar="TEXT", help="What to answer; of a pair both texts.")],
    out: Annotated[
        str, typer.Option("--out", "-o", metavar="FILE", help=f"Where to write it: {', '.join(kinds)}.")
    ] = "",
    beam: Annotated[int | None, typer.Option("--beam", metavar="N", help="Search with a beam of this width.")] = None,
    device: Annotated[str, typer.Option("--device", metavar="DEVICE", help="auto, cpu or cuda.")] = "auto",
    trust: Annotated[bool, typer.Option("--trust", help="Run code of yours that the run names.")] = False,
) -> None:
    """Show where the model looked. In the terminal, or with -o as a picture or a page."""
    suffix = Path(out).suffix.lower()
    if out and suffix not in kinds:
        raise RegardError(f"{out!r}: cannot tell what to write", expected="a name ending in " + ", ".join(kinds))
    if not all(text.strip() for text in texts):
        raise RegardError("an empty text", expected="something to look at")
    wanted = search(beam)
    from regard.api import load

    model = load(folder, device, trust)
    size = model.inputs
    if len(texts) % size:
        raise model.wrong_count(len(texts))
    rows = [tuple(texts[i : i + size]) for i in range(0, len(texts), size)]
    if out and suffix != ".html" and len(rows) > 1:
        one = "text" if size == 1 else "pair"
        raise RegardError(f"{len(rows)} {one}s for one {suffix}", do=f"give one {one}, or write a page: -o look.html")
    if suffix == ".html" and model.searches and "trace" in inspect.signature(model.predict).parameters:
        wanted["trace"] = True  # the page plays the search step by step
    predictions = model.predict(rows, **wanted)
    if any(prediction.look is None for prediction in predictions):
        raise RegardError(f"{folder} does not look at its input", expected="a run whose model attends")
    for row, prediction in zip(rows, predictions, strict=True):
        if out:
            print(answered(prediction, row, model.searches))
            continue
        from regard.look.terminal import show

        print("\n\n".join([looked(prediction, row, model.searches), *map(show, prediction.looks)]) + "\n")
    if out:
        gazes = [gaze for prediction in predictions for gaze in (prediction.look, *prediction.looks)]
        page = suffix == ".html"
        written = [_page(model, folder, rows, predictions, Path(out))] if page else _save(gazes, Path(out))
        print(f"written to {', '.join(plain(str(path)) for path in written)}")


def _page(
    model: Any, folder: str, rows: Sequence[tuple[str, ...]], predictions: "Sequence[Prediction]", path: Path
) -> Path:
    """All of it in one page."""
    from regard.look.gaze import write
    from regard.look.page import page
    from regard.look.scene import describe_run, item, scene

    items = [item(0, row, prediction) for row, prediction in zip(rows, predictions, strict=True)]
    run = describe_run(model, Path(folder).name or folder)
    return write(path, page(scene(items, [run], run["name"])).encode())


def _save(gazes: "list[Gaze]", path: Path) -> list[Path]:
    """A file each: the first under the name given, the others beside it."""
    names = [path, *(path.with_stem(f"{path.stem}-{number}") for number in range(2, len(gazes) + 1))]
    return [gaze.save(name) for gaze, name in zip(gazes, names, strict=True)]
