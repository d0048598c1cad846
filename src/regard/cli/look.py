"""`regard look RUN TEXT`: the answer, and where the model looked while giving it.

A task of two inputs takes its texts two by two. What the answer was drawn from is shown first, then where the encoder
itself looked, where it does. Of an attention with weights of its own for each feature the mean is shown, and with
`--features` some of them one by one. With `--target` the answer is given (one a text): the model looks while it reads
it, and how likely it is, in all and token by token, is told. A page holds all of it, and how the answer was searched
for, also of several runs (`--beside`); of other files each holds one picture: look.png, look-2.png, …
"""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from regard.cli.options import search
from regard.cli.show import answered, likely, looked, plain
from regard.errors import RegardError, counted
from regard.ranges import Hypotheses, range_of

if TYPE_CHECKING:
    from regard.api import Model
    from regard.look.attention_map import AttentionMap
    from regard.types import Prediction

    Looked = tuple[Model, list[tuple[str, ...]], list[Prediction]]

__all__ = ["run"]

example = "regard look runs/translate 'Dienstag, 5. März 2024' -o look.html"
kinds = (".png", ".svg", ".html", ".json", ".txt")


def run(
    folder: Annotated[str, typer.Argument(metavar="RUN", help="Folder of the run.")],
    texts: Annotated[list[str], typer.Argument(metavar="TEXT", help="Input text; for a pair, both texts.")],
    out: Annotated[str, typer.Option("--out", "-o", metavar="FILE", help=f"Output file: {', '.join(kinds)}.")] = "",
    targets: Annotated[
        list[str],
        typer.Option(
            "--target", metavar="TARGET", help="Show attention for this target instead of a prediction (one per text)."
        ),
    ] = [],  # noqa: B006
    beam: Annotated[int | None, typer.Option("--beam", metavar="N", help="Beam size."), range_of(Hypotheses)] = None,
    layers: Annotated[
        str, typer.Option("--layers", metavar="N|all", help="Transformer layers to show: N, mean, last or all.")
    ] = "",
    beside: Annotated[
        list[str],
        typer.Option("--beside", metavar="RUN2", help="Another run to compare with on the page (repeatable)."),
    ] = [],  # noqa: B006
    features: Annotated[
        str,
        typer.Option(
            "--features",
            metavar="N|I,J,…",
            help="Also show single features of feature-wise attention: the N that vary most, or a list (3,17 or 17,).",
        ),
    ] = "",
    device: Annotated[str, typer.Option("--device", metavar="DEVICE", help="Device: auto, cpu, cuda or mps.")] = "auto",
    trust: Annotated[bool, typer.Option("--trust", help="Allow the run to import your own code.")] = False,
) -> None:
    """Show what the model attends to. Prints to the terminal, or writes a picture or a page with -o."""
    suffix = Path(out).suffix.lower()
    if out and suffix not in kinds:
        raise RegardError(f"{out!r}: unknown file type", expected="a name ending in " + ", ".join(kinds))
    if not all(text.strip() for text in texts):
        raise RegardError("an empty text", expected="at least one word")
    if targets and (beam is not None or features):
        raise RegardError(f"--target and {'--features' if beam is None else '--beam'}", expected="only one of them")
    wanted = search(beam)
    if features:
        wanted["features"] = _features(features)
    if beside and suffix != ".html":
        raise RegardError("--beside without a page", do="write a page with -o look.html")
    looks = [_look(one, texts, targets, wanted, suffix, layers, device, trust) for one in (folder, *beside)]
    for model, rows, predictions in looks:
        if beside:
            print(f"{plain(str(model.run.folder))}:")
        for row, prediction in zip(rows, predictions, strict=True):
            if out:
                print("\n".join([answered(prediction, row, model.searches), *likely(prediction)]))
                continue
            from regard.look.terminal import show

            parts = [looked(prediction, row, model.searches), *map(show, prediction.looks), *likely(prediction)]
            print("\n\n".join(parts) + "\n")
    if out:
        attention_maps = [
            attention_map for prediction in looks[0][2] for attention_map in (prediction.look, *prediction.looks)
        ]
        written = [_page(looks, Path(out))] if suffix == ".html" else _save(attention_maps, Path(out))
        print(f"written to {', '.join(plain(str(path)) for path in written)}")


def _look(
    folder: str,
    texts: list[str],
    targets: list[str],
    wanted: dict[str, Any],
    suffix: str,
    layers: str,
    device: str,
    trust: bool,
) -> "Looked":
    """What one run says to the texts, or how it takes what is said for it, and where it looked."""
    from regard.api import load

    model = load(folder, device, trust)
    size = model.inputs
    if len(texts) % size:
        raise model.wrong_count(len(texts))
    rows = [tuple(texts[i : i + size]) for i in range(0, len(texts), size)]
    if suffix not in ("", ".html") and len(rows) > 1:
        one = "text" if size == 1 else "pair"
        raise RegardError(
            f"{len(rows)} {one}s for one {suffix}", do=f"give one {one}, or write a page with -o look.html"
        )
    from regard.look.layers import shown

    with shown(model.network, layers, folder):
        if targets:
            _take(model, folder, len(targets), len(rows))
            predictions = model.score([(*row, target) for row, target in zip(rows, targets, strict=True)])
        else:
            if suffix == ".html" and model.searches:
                wanted = {**wanted, "trace": True}  # the page plays the search step by step
            predictions = model.predict(rows, **wanted)
    if any(prediction.look is None for prediction in predictions):
        raise RegardError(f"{folder} has no attention over its input", expected="a run whose model uses attention")
    return model, rows, predictions


def _take(model: "Model", folder: str, targets: int, texts: int) -> None:
    """Raises where so many answers cannot be given for so many texts."""
    model.score([])  # whether it can is told first
    if targets != texts:
        raise RegardError(f"{counted(targets, 'target')} for {counted(texts, 'text')}", expected="one target per text")
    if model.task.columns == 1:
        raise RegardError(
            f"--target: {folder} continues a text and takes no target", do="remove it, or use predict --score"
        )


def _features(text: str) -> int | list[int]:
    """How many, or which: 5 is a number of features, "3,17" and "17," name them."""
    several = [one.strip() for one in text.removesuffix(",").split(",")]
    if not all(one.isascii() and one.isdecimal() and int(one) for one in several):
        raise RegardError(f"--features {text}", expected="a number of features such as 5, or a list such as 3,17,40")
    return [int(one) for one in several] if "," in text else int(text)


def _page(looks: "Sequence[Looked]", path: Path) -> Path:
    """All of it in one page; the runs answer each text one after the other."""
    from regard.look.attention_map import write
    from regard.look.page import page
    from regard.look.scene import describe_run, item, scene

    # A folder's own name, unless another has the same.
    folders = [model.run.folder for model, _, _ in looks]
    names = [folder.resolve().name for folder in folders]
    names = [str(folder) if names.count(name) > 1 else name for folder, name in zip(folders, names, strict=True)]
    runs = [describe_run(model, name) for (model, _, _), name in zip(looks, names, strict=True)]
    items = [
        item(number, rows[place], predictions[place])
        for place in range(max(len(rows) for _, rows, _ in looks))
        for number, (_, rows, predictions) in enumerate(looks)
        if place < len(rows)
    ]
    return write(path, page(scene(items, runs, " and ".join(run["name"] for run in runs))).encode())


def _save(attention_maps: "list[AttentionMap]", path: Path) -> list[Path]:
    """A file each: the first under the name given, the others beside it."""
    names = [path, *(path.with_stem(f"{path.stem}-{number}") for number in range(2, len(attention_maps) + 1))]
    return [attention_map.save(name) for attention_map, name in zip(attention_maps, names, strict=True)]
