"""`regard align RUN --data FILE`: which source word each word of a given target came from, by the model's attention.

The target is not searched for but given, and the model looks while it reads it. Links are written as `i-j` (source and
target word, from 0), a line a pair. With a run of the other direction (--other) both are joined. Against links drawn
by people (--gold) or by a statistical aligner (--eflomal) figures follow; they are on stderr where links are on stdout.
"""

import shutil
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from functools import partial
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from regard.cli.evaluate import read_as_trained
from regard.cli.look import kinds
from regard.cli.show import figure, plain, table
from regard.errors import RegardError, counted
from regard.ranges import Number, Range, range_of

if TYPE_CHECKING:
    import numpy as np
    from jaxtyping import Float

    from regard.api import Model
    from regard.look.align import Join, Links
    from regard.types import Example

__all__ = ["forced", "run", "statistical"]

example = "regard align runs/translate --data test.tsv --gold test.gold -o links.txt"


def run(
    folder: Annotated[str, typer.Argument(metavar="RUN", help="Folder of the run.")],
    data: Annotated[str, typer.Option("--data", metavar="FILE", help="File with sources and their targets.")],
    other: Annotated[
        str, typer.Option("--other", metavar="RUN2", help="Run for the reverse direction; its links are joined.")
    ] = "",
    gold: Annotated[
        str,
        typer.Option(
            "--gold", metavar="FILE", help="Gold links: a line per pair (0-0 1p1) or per link (sentence i j S|P)."
        ),
    ] = "",
    base: Annotated[
        int | None,
        typer.Option("--gold-base", help="Number of the first word in --gold (default: 0; 1 with a line per link)."),
        Range(0, 1),
    ] = None,
    turn: Annotated[bool, typer.Option("--gold-reversed", help="The target word comes first in --gold.")] = False,
    how: Annotated[
        Literal["argmax", "threshold"],
        typer.Option(
            "--how", help="Which weights make links: the largest per target word, or all from --threshold up."
        ),
    ] = "argmax",
    threshold: Annotated[
        float | None,
        typer.Option(
            "--threshold", metavar="W", help="With --how threshold: smallest weight of a link (default: 0.3)."
        ),
        Range(0, 1, above=True),
    ] = None,
    join: Annotated[
        Literal["intersection", "union", "grow"] | None,
        typer.Option("--join", help="How to join two directions (default: grow, that is grow-diag-final-and)."),
    ] = None,
    eflomal: Annotated[bool, typer.Option("--eflomal", help="Compare with eflomal, which must be installed.")] = False,
    out: Annotated[
        str, typer.Option("--out", "-o", metavar="FILE", help="File for the links (default: standard output).")
    ] = "",
    picture: Annotated[
        str,
        typer.Option(
            "--picture", metavar="FILE", help=f"Draw the weights of one pair to this file: {', '.join(kinds)}."
        ),
    ] = "",
    row: Annotated[
        int | None,
        typer.Option("--row", metavar="N", help="With --picture: number of the pair (default: 1)."),
        range_of(Number),
    ] = None,
    device: Annotated[str, typer.Option("--device", metavar="DEVICE", help="Device: auto, cpu, cuda or mps.")] = "auto",
    trust: Annotated[bool, typer.Option("--trust", help="Allow the runs to import your own code.")] = False,
) -> None:
    """Align source and target words by attention. With --gold, the picture outlines the gold links."""
    if threshold is not None and how != "threshold":
        raise RegardError("--threshold without --how threshold", do="add --how threshold, or remove --threshold")
    if join and not (other or eflomal):
        raise RegardError(
            "--join without --other", expected="two directions", do="give a run for the reverse direction with --other"
        )
    if (base is not None or turn) and not gold:
        raise RegardError("--gold-base or --gold-reversed without --gold", do="give the file of gold links with --gold")
    if row is not None and not picture:
        raise RegardError("--row without --picture", do="give a file with --picture")
    if picture and Path(picture).suffix.lower() not in kinds:
        raise RegardError(f"{picture!r}: unknown file type", expected="a name ending in " + ", ".join(kinds))
    if eflomal and not (find_spec("eflomal") or shutil.which(program)):
        raise RegardError("--eflomal: eflomal is not installed", do="pip install eflomal, or remove --eflomal")
    if other and Path(other).resolve() == Path(folder).resolve():
        raise RegardError(f"--other {other} is the same run as RUN", expected="a run for the reverse direction")
    import numpy as np

    from regard.api import load
    from regard.data.lines import lines
    from regard.look import align

    choose = partial(align.choose, how=how, threshold=0.3 if threshold is None else threshold)
    choose(np.zeros((0, 0)))  # a threshold that cannot be one is told before anything is read
    model, *backward = [_writes(load(one, device, trust)) for one in (folder, other) if one]
    examples = read_as_trained(model, data)
    shown = 0 if row is None else row - 1
    if not 0 <= shown < len(examples):
        raise RegardError(f"--row {row}", expected=f"1 to {len(examples):,}")
    sizes = [(len(align.words(e.source)), len(align.words(e.target))) for e in examples]
    known = align.read_gold(lines(gold), gold, sizes, base, turn) if gold else []
    weights = forced(model, examples)
    ours = [choose(rows) for rows in weights]
    for one in backward:
        back = [align.swapped(choose(rows)) for rows in forced(one, _swapped(examples))]
        ours = [align.join(*both, join or "grow") for both in zip(ours, back, strict=True)]
    told = sys.stdout if out else sys.stderr
    _write(ours, out)
    statistics: dict[str, list[Links]] = {}
    if eflomal:
        pairs = [*_train(model), *examples]  # counts need more text than a test set has
        statistics["eflomal"] = statistical(pairs, join or "grow")[-len(examples) :]
        if out:
            _write(statistics["eflomal"], str(Path(out).with_stem(f"{Path(out).stem}.eflomal")))
    if known:
        possible = [one.possible for one in known]
        columns = {
            name: align.scores(found, known) | {"off_by_one": align.off_by_one(found, possible)["off_by_one"]}
            for name, found in {"attention": ours, **statistics}.items()
        }
        columns["attention"] |= align.attended(weights, possible)
        print(_figures(gold, columns), file=told)
    for name, found in statistics.items():
        compared = align.off_by_one(ours, found) | align.attended(weights, found)
        print(_figures(name, {"attention": compared}), file=told)
    if picture:
        path = _draw(examples[shown], weights[shown], known[shown].possible if known else frozenset(), picture)
        print(f"picture written to {plain(str(path))}", file=told)


def _writes(model: "Model") -> "Model":
    if not model.task.can("scores") or model.task.target is None:
        raise RegardError(
            f"{model.run.folder} is a run of task {model.config['task']}",
            expected="a task that generates text, such as translate",
        )
    return model


def _swapped(examples: "Sequence[Example]") -> "list[Example]":
    from regard.types import Example

    return [Example((one.target,), one.source, one.where) for one in examples]


def forced(model: "Model", examples: "Sequence[Example]") -> "list[Float[np.ndarray, 'target source']]":
    """Where the model looks while it reads the given targets: weights between words, heads averaged."""
    import numpy as np

    from regard.look.align import by_word, words

    found = [np.zeros((len(words(one.target)), len(words(one.source)))) for one in examples]
    full = [row for row, weights in enumerate(found) if weights.size]  # a side without words has no links
    some = [examples[row] for row in full]
    scored = model.score([(*one.inputs, one.target) for one in some], where=[one.where for one in some])
    for row, example, one in zip(full, some, scored, strict=True):
        if one.look is None or {region.kind for region in one.look.columns} != {"token"}:
            raise RegardError(f"{model.run.folder} does not attend to its source token by token")
        look = one.look.mean()
        found[row] = by_word(look.weights, look.rows, look.columns, words(example.target), words(example.source))
    return found


def _train(model: "Model") -> "list[Example]":
    """What the run was trained on, if that can still be read."""
    try:
        return list(model.data().train)
    except RegardError as error:
        print(f"eflomal sees only these pairs, not the training data: {plain(str(error))}", file=sys.stderr)
        return []


program = "eflomal-align"


def statistical(examples: "Sequence[Example]", how: "Join") -> "list[Links]":
    """Links by eflomal (Östling & Tiedemann 2016), its two directions joined: the installed package, or the program."""
    from regard.look.align import from_pharaoh, join, words

    with tempfile.TemporaryDirectory() as folder:
        source, target, forward, backward = (str(Path(folder, name)) for name in ("source", "target", "there", "back"))
        for path, texts in ((source, [e.source for e in examples]), (target, [e.target for e in examples])):
            lines = (" ".join(word.text for word in words(text)) + "\n" for text in texts)
            Path(path).write_bytes("".join(lines).encode())
        try:
            if find_spec("eflomal"):
                aligner = import_module("eflomal").Aligner()
                with open(source, encoding="utf-8") as one, open(target, encoding="utf-8") as two:
                    aligner.align(one, two, links_filename_fwd=forward, links_filename_rev=backward)
            else:
                asked = [program, "-s", source, "-t", target, "-f", forward, "-r", backward]
                subprocess.run(asked, check=True, capture_output=True)
            read = [Path(path).read_text(encoding="utf-8").splitlines() for path in (forward, backward)]
        except (OSError, ValueError, subprocess.SubprocessError) as error:
            raise RegardError(f"eflomal failed ({error})", do="remove --eflomal") from None
    if not len(read[0]) == len(read[1]) == len(examples):
        raise RegardError(f"eflomal returned {len(read[0]):,} lines for {len(examples):,} pairs", do="remove --eflomal")
    both = zip(*([from_pharaoh(line, "eflomal") for line in side] for side in read), strict=True)
    return [join(there, back, how) for there, back in both]


def _write(links: "Sequence[Links]", out: str) -> None:
    from regard.look.align import to_pharaoh
    from regard.look.attention_map import write

    text = "".join(f"{to_pharaoh(one)}\n" for one in links)
    if out:
        print(f"{counted(len(links), 'pair')} written to {plain(str(write(Path(out), text.encode())))}")
    else:
        print(text, end="", flush=True)


def _draw(one: "Example", weights: "Float[np.ndarray, 'target source']", links: "Links", path: str) -> Path:
    from regard.look.align import swapped, words
    from regard.look.attention_map import AttentionMap

    outlined = tuple(sorted(swapped(links)))  # an attention map has the target's word first
    return AttentionMap(
        weights, words(one.target), words(one.source), title=one.source, links=outlined, axes=("target", "source")
    ).save(path)


def _figures(against: str, columns: Mapping[str, Mapping[str, float]]) -> str:
    names = dict.fromkeys(name for column in columns.values() for name in column)
    rows = [[name, *(figure(column[name]) if name in column else "" for column in columns.values())] for name in names]
    return f"compared with {plain(against)}\n" + table([["", *columns], *rows] if len(columns) > 1 else rows)
