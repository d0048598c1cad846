"""`regard faithful RUN`: can the attention weights of a trained model be read as an explanation of its predictions?

Three tests (Jain & Wallace 2019): do the weights agree with importance, does the prediction change when they are
shuffled, and do very different weights give the same prediction? The report goes to the run's folder (or --out):
`faithful.json`, `faithful.md` and `faithful.png`.

Of a Hugging Face classifier (a folder or `hf:NAME`) only the first test is made, for every head, on the texts of
--data, one a line (a pair with a TAB between): whose weights agree with importance?
"""

import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from regard.cli.evaluate import read_as_trained
from regard.cli.show import plain, table, to_json
from regard.errors import RegardError, counted
from regard.files import ready
from regard.ranges import Count, Number, Range, Seed, range_of

if TYPE_CHECKING:
    from regard.api import Model
    from regard.types import Example

__all__ = ["run"]

example = "regard faithful runs/classify --data reviews.tsv --limit 500"


def run(
    ctx: typer.Context,
    folder: Annotated[
        str, typer.Argument(metavar="RUN", help="Folder of the run; or a Hugging Face classifier, a folder or hf:NAME.")
    ],
    data: Annotated[
        str, typer.Option("--data", metavar="FILE", help="Test on this file instead of the run's own test set.")
    ] = "",
    limit: Annotated[
        int, typer.Option("--limit", metavar="N", help="Maximum number of examples, drawn at random."), range_of(Number)
    ] = 200,
    shuffles: Annotated[
        int, typer.Option("--shuffles", metavar="N", help="Number of times to shuffle the weights."), Range(1, 10**6)
    ] = 100,
    words: Annotated[
        int,
        typer.Option("--words", metavar="N", help="Maximum number of words per output, drawn at random (0: all)."),
        range_of(Count),
    ] = 10,
    seed: Annotated[int, typer.Option("--seed", metavar="N", help="Random seed."), range_of(Seed)] = 0,
    share: Annotated[
        float,
        typer.Option("--share", metavar="S", help="Share of the tokens asked for sufficiency, if none are chosen."),
        Range(0, 1, above=True),
    ] = 0.2,
    out: Annotated[str, typer.Option("--out", "-o", metavar="DIR", help="Folder for the report (default: RUN).")] = "",
    device: Annotated[str, typer.Option("--device", metavar="DEVICE", help="Device: auto, cpu, cuda or mps.")] = "auto",
    trust: Annotated[bool, typer.Option("--trust", help="Allow the run to import your own code.")] = False,
) -> None:
    """Test whether attention explains predictions. Measures the importance of each token, and what changes
    with shuffled and with adversarial weights."""
    place = Path(out or folder)
    if out and place.exists() and not place.is_dir():
        raise RegardError(f"--out {out} is a file", expected="a folder")
    import numpy as np

    from regard.api import load
    from regard.faithful import faithful
    from regard.faithful.report import lines, markdown, picture
    from regard.look.attention_map import write
    from regard.look.models import foreign
    from regard.train.lock import lock
    from regard.train.progress import Progress
    from regard.train.run import Run

    if foreign(folder):
        _classifier(folder, data, limit, seed, out)
        return
    if Run.is_in(place):  # nobody may train it further while it is tested
        ready(place)
        ctx.with_resource(lock(place))
    model = load(folder, device, trust)
    name, examples = (data, read_as_trained(model, data)) if data else _own(model)
    if len(examples) > limit:
        drawn = np.random.default_rng(seed).choice(len(examples), limit, replace=False)
        examples = [examples[row] for row in sorted(drawn.tolist())]
    ready(place)
    with Progress() as show:
        if show.bar is not None:
            show.bar.update(show.row, description="testing")
        report = faithful(
            model,
            examples,
            shuffles,
            words,
            seed,
            told=lambda done, every, left: show.step(done, every, "examples", left),
            share=share,
        )
    command = ["regard", *(str(word) for word in ctx.obj or [])]
    whole = {**report, "data": name, "command": command, "commit": _commit()}
    write(place / "faithful.png", picture(whole))
    write(place / "faithful.md", markdown(whole, folder).encode())
    write(place / "faithful.json", f"{to_json(whole)}\n".encode())
    summary: dict[str, Any] = report["summary"]
    print(f"{plain(name)}, {counted(len(examples), 'example')}, {counted(summary['cases'], 'prediction')}")
    print(table(lines(summary)))
    print(f"{summary['level']}: {plain(summary['verdict'])}")
    print(f"written to {plain(str(place / 'faithful.json'))}, .md and .png", file=sys.stderr)


def _classifier(name: str, data: str, limit: int, seed: int, out: str) -> None:
    """Which weights of a Hugging Face classifier agree with importance."""
    import numpy as np

    from regard.data.lines import lines
    from regard.faithful.models import MEASURES, agreement
    from regard.look.attention_map import write
    from regard.look.models import loaded

    if not data:
        raise RegardError(f"no data for {name}", do="give a file with --data, one text a line")
    rows = [(f"{data}:{number}", line.split("\t")) for number, line in enumerate(lines(data), 1) if line.strip()]
    for where, row in rows:
        if len(row) > 2 or not all(text.strip() for text in row):
            raise RegardError(f"{where}: {counted(len(row), 'column')}", expected="a text, or two with a TAB between")
    if len(rows) > limit:
        drawn = np.random.default_rng(seed).choice(len(rows), limit, replace=False)
        rows = [rows[number] for number in sorted(drawn.tolist())]
    found = agreement(*loaded(name, classifier=True), [(row[0], row[1] if len(row) > 1 else "") for _, row in rows])
    grid = {one: np.array(found["heads"][one], dtype=np.float64) for one in MEASURES}
    shown = []
    for what, said in (("last_layer", "mean of the last layer"), ("rollout", "rollout")):
        means = [found[what][one]["mean"] for one in MEASURES]
        shown.append((said, *("–" if mean is None else f"{mean:.3f}" for mean in means)))
    for one, other in zip(MEASURES, MEASURES[::-1], strict=True):
        if np.isfinite(grid[one]).any():
            best = np.unravel_index(np.nanargmax(grid[one]), grid[one].shape)
            taus = {one: f"{grid[one][best]:.3f}", other: f"{grid[other][best]:.3f}"}
            shown.append((f"layer {best[0] + 1}, head {best[1] + 1}", *(taus[name] for name in MEASURES)))
    print(f"{plain(data)}, {counted(found['texts'], 'text')}; mean of Kendall's τ")
    print(table([("weights", "gradients", "leaving one out"), *dict.fromkeys(shown)]))
    if out:
        whole = {**found, "model": name, "data": data, "seed": seed, "commit": _commit()}
        ready(Path(out))
        write(Path(out) / "faithful.json", f"{to_json(whole)}\n".encode())
        print(f"written to {plain(str(Path(out) / 'faithful.json'))}", file=sys.stderr)


def _own(model: "Model") -> "tuple[str, list[Example]]":
    splits = model.data()
    name, examples = ("test", splits.test) if splits.test else ("valid", splits.valid)
    if not examples:
        raise RegardError(f"{model.run.folder} has no test data of its own", do="give a file with --data")
    return name, examples


def _commit() -> str | None:
    """The commit of regard's source, if it is in a repository."""
    here = str(Path(__file__).parent)
    try:
        asked = subprocess.run(
            ["git", "-C", here, "log", "-1", "--format=%H", "--", here],
            capture_output=True, text=True, timeout=10, check=True,
        )  # fmt: skip
    except (OSError, subprocess.SubprocessError):
        return None
    return asked.stdout.strip() or None
