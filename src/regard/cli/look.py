"""`regard look RUN TEXT`: the answer, and where the model looked while giving it."""

from pathlib import Path
from typing import Annotated

import typer

from regard.cli.options import search
from regard.cli.show import looked, plain
from regard.errors import RegardError

__all__ = ["run"]

example = "regard look runs/translate 'Dienstag, 5. März 2024' -o look.html"
kinds = (".png", ".svg", ".html", ".json", ".txt")


def run(
    folder: Annotated[str, typer.Argument(metavar="RUN", help="The folder of a run.")],
    texts: Annotated[list[str], typer.Argument(metavar="TEXT", help="What to answer; several make one page.")],
    out: Annotated[
        str, typer.Option("--out", "-o", metavar="FILE", help=f"Where to write it: {', '.join(kinds)}.")
    ] = "",
    beam: Annotated[int | None, typer.Option(metavar="N", help="Search with a beam of this width.")] = None,
    device: Annotated[str, typer.Option(metavar="DEVICE", help="auto, cpu or cuda.")] = "auto",
    trust: Annotated[bool, typer.Option("--trust", help="Run code of yours that the run names.")] = False,
) -> None:
    """Show where the model looked. In the terminal, or with -o as a picture or a page."""
    suffix = Path(out).suffix.lower()
    if out and suffix not in kinds:
        raise RegardError(f"{out!r}: cannot tell what to write", expected="a name ending in " + ", ".join(kinds))
    if out and suffix != ".html" and len(texts) > 1:
        raise RegardError(f"{len(texts)} texts for one {suffix}", do="give one text, or write a page: -o look.html")
    if not all(text.strip() for text in texts):
        raise RegardError("an empty text", expected="something to look at")
    wanted = search(beam)
    from regard.api import load

    predictions = load(folder, device, trust).predict(texts, **wanted)
    gazes = [prediction.look for prediction in predictions]
    if any(gaze is None for gaze in gazes):
        raise RegardError(f"{folder} does not look at its input", expected="a run whose model attends")
    for text, prediction in zip(texts, predictions, strict=True):
        print(f"{plain(text)} → {plain(prediction.text)}" if out else f"{looked(prediction)}\n")
    if out and len(gazes) > 1:
        from regard.look.gaze import write
        from regard.look.page import page

        print(f"written to {plain(str(write(Path(out), page(gazes, folder).encode())))}")
    elif out:
        print(f"written to {plain(str(gazes[0].save(out)))}")
