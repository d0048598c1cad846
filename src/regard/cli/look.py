"""`regard look RUN TEXT`: a prediction and its attention.

A task with two inputs takes its texts in pairs. The attention of the prediction comes first, then that of the encoder
if it has any. Of feature-wise attention the mean is shown, and with `--features` also single features. With `--target`
the model reads a given target instead of searching for one, and its log-probability is printed, in all and token by
token. A page holds everything, with the steps of the search and several runs (`--beside`); any other file holds one
attention map: look.png, look-2.png, …

Instead of a run it takes any Hugging Face model that returns attentions, as a folder or `hf:NAME`: a page has all of
its layers and heads, and other files the rollout.
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
    from regard.types import Prediction

    Looked = tuple[Model, list[tuple[str, ...]], list[Prediction]]

__all__ = ["run"]

example = "regard look runs/translate 'Dienstag, 5. März 2024' -o look.html"
kinds = (".png", ".svg", ".gif", ".html", ".json", ".txt")


def run(
    folder: Annotated[
        str, typer.Argument(metavar="RUN", help="Folder of the run; or a Hugging Face model, a folder or hf:NAME.")
    ],
    texts: Annotated[
        list[str], typer.Argument(metavar="TEXT", help="Input: a text or a picture file; for a pair, both texts.")
    ],
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
    smooth: Annotated[
        bool, typer.Option("--smooth", help="Draw weights over a picture smoothly instead of as blocks.")
    ] = False,
    words: Annotated[bool, typer.Option("--words", help="Join subwords to words (Hugging Face models).")] = False,
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
    if smooth and suffix not in (".png", ".svg", ".gif"):
        raise RegardError("--smooth without a picture", do="write a picture with -o look.png, .svg or .gif")
    if beside and suffix != ".html":
        raise RegardError("--beside without a page", do="write a page with -o look.html")
    from regard.look.models import foreign

    if foreign(folder):
        given = {"--target": targets, "--beam": beam, "--layers": layers, "--beside": beside, "--features": features}
        _any_model(folder, texts, targets, words, Path(out) if out else None, given)
        return
    if words:
        raise RegardError("--words with a run", expected="a Hugging Face model")
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
        written = [_page(looks, Path(out))] if suffix == ".html" else _save(looks[0][2][0], Path(out), smooth)
        print(f"written to {', '.join(plain(str(path)) for path in written)}")


def _any_model(
    name: str, texts: list[str], targets: list[str], words: bool, out: Path | None, given: dict[str, Any]
) -> None:
    """The attention of a Hugging Face model."""
    if wrong := next((flag for flag, value in given.items() if value not in (None, "", []) and flag != "--target"), ""):
        raise RegardError(f"{wrong} with a Hugging Face model", expected="a run made by 'regard train'")
    if len(texts) > 2 or len(targets) > 1:
        raise RegardError(f"{counted(len(texts), 'text')} for {name}", expected="one text, or two to be read as one")
    from regard.look import of
    from regard.look.models import loaded

    model, tokenizer = loaded(name)
    text, pair = texts[0], texts[1] if len(texts) > 1 else ""
    looked_at = of(model, tokenizer, text, pair, "".join(targets), words, title=name)
    if out is None:
        part = looked_at.parts[0]
        print(looked_at.rollout() if part.square else looked_at.mean())
    else:
        print(f"written to {plain(str(looked_at.save(out)))}")
    for part in looked_at.parts:
        best = ((what, looked_at.find(what, part.name, 1)[0]) for what in part.scores())
        found = "; ".join(f"{what}: layer {layer}, head {head} ({score:.0%})" for what, (layer, head, score) in best)
        print(f"{part.name}, heads that attend most to: {found}")


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
    """The predictions of one run for the texts, or its scores of the given targets, with their attention maps."""
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
    if targets:
        _take(model, folder, len(targets), len(rows))
        pairs = [(*row, target) for row, target in zip(rows, targets, strict=True)]
        predictions = model.score(pairs, layers=layers)
    else:
        if suffix == ".html" and model.searches:
            wanted = {**wanted, "trace": True}  # the page plays the search step by step
        predictions = model.predict(rows, layers=layers, **wanted)
    silent = next((one.reason for one in predictions if one.reason), "")
    if silent and suffix not in ("", ".html"):
        raise RegardError(f"nothing is suggested: {silent}", expected="a message with suggestions, for a picture")
    if any(prediction.look is None and not prediction.reason for prediction in predictions):
        raise RegardError(f"{folder} has no attention over its input", expected="a run whose model uses attention")
    return model, rows, predictions


def _take(model: "Model", folder: str, targets: int, texts: int) -> None:
    """Raise where there cannot be so many targets for so many texts."""
    model.score([])  # raises where the task cannot score
    if targets != texts:
        raise RegardError(f"{counted(targets, 'target')} for {counted(texts, 'text')}", expected="one target per text")
    if model.task.target is None:
        raise RegardError(
            f"--target: {folder} continues a text and takes no target", do="remove it, or use predict --score"
        )


def _features(text: str) -> int | list[int]:
    """How many features, or which: 5 is a count, "3,17" and "17," are numbers of features."""
    several = [one.strip() for one in text.removesuffix(",").split(",")]
    if not all(one.isascii() and one.isdecimal() and int(one) for one in several):
        raise RegardError(f"--features {text}", expected="a number of features such as 5, or a list such as 3,17,40")
    return [int(one) for one in several] if "," in text else int(text)


def _page(looks: "Sequence[Looked]", path: Path) -> Path:
    """Everything in one page; for each text, the runs one after the other."""
    from regard.look.attention_map import write
    from regard.look.page import page
    from regard.look.scene import describe_run, item, scene

    # A folder's own name, unless another has the same.
    folders = [model.run.folder for model, _, _ in looks]
    names = [folder.resolve().name for folder in folders]
    names = [str(folder) if names.count(name) > 1 else name for folder, name in zip(folders, names, strict=True)]
    runs = [
        describe_run(model, name, model.roles, model.features) for (model, _, _), name in zip(looks, names, strict=True)
    ]
    items = [
        item(number, rows[place], predictions[place])
        for place in range(max(len(rows) for _, rows, _ in looks))
        for number, (_, rows, predictions) in enumerate(looks)
        if place < len(rows)
    ]
    return write(path, page(scene(items, runs, " and ".join(run["name"] for run in runs))).encode())


def _save(prediction: "Prediction", path: Path, smooth: bool) -> list[Path]:
    """One file per map: the first under the given name, the others beside it. Pictures have the answer above them."""
    attention_maps = [one for one in (prediction.look, *prediction.looks) if one is not None]
    caption = f"{attention_maps[0].title}\n→ {prediction.text}"
    names = [path, *(path.with_stem(f"{path.stem}-{number}") for number in range(2, len(attention_maps) + 1))]
    return [
        attention_map.save(name, caption, smooth) for attention_map, name in zip(attention_maps, names, strict=True)
    ]
