"""`regard predict RUN`: lines in, lines out, in order and as they come.

Input is read as UTF-8; only a line feed ends a line (a carriage return before it is dropped). What has
arrived is answered at once, up to 512 lines together: a pipe that drips is answered line by line, a file in
large batches. An empty line is answered with an empty line. For a task of two inputs a line holds both, with a TAB
between.
"""

import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from regard.cli.options import search
from regard.cli.show import labels, to_json
from regard.errors import RegardError

if TYPE_CHECKING:
    from regard.api import Model
    from regard.types import Prediction

__all__ = ["chunks", "run"]

example = "regard predict runs/translate lines.txt --beam 10 > answers.txt"
together = 512  # lines


def run(
    folder: Annotated[str, typer.Argument(metavar="RUN", help="The folder of a run.")],
    file: Annotated[
        str,
        typer.Argument(metavar="FILE", help="One text (or pair, TAB between) a line; - or nothing for standard input."),
    ] = "-",
    as_json: Annotated[bool, typer.Option("--json", help="One JSON object a line, with the score.")] = False,
    beam: Annotated[int | None, typer.Option("--beam", metavar="N", help="Search with a beam of this width.")] = None,
    nbest: Annotated[int, typer.Option("--nbest", metavar="N", help="How many answers, best first; needs --json.")] = 1,
    sample: Annotated[bool, typer.Option("--sample", help="Draw answers instead of searching the best.")] = False,
    temperature: Annotated[
        float | None, typer.Option("--temperature", metavar="T", help="With --sample: below 1 bolder, above 1 freer.")
    ] = None,
    top_k: Annotated[
        int | None, typer.Option("--top-k", metavar="K", help="With --sample: only the K likeliest tokens.")
    ] = None,
    top_p: Annotated[
        float | None, typer.Option("--top-p", metavar="P", help="With --sample: only tokens that make up this share.")
    ] = None,
    seed: Annotated[
        int | None, typer.Option("--seed", metavar="S", help="With --sample: the same seed draws the same.")
    ] = None,
    device: Annotated[str, typer.Option("--device", metavar="DEVICE", help="auto, cpu or cuda.")] = "auto",
    trust: Annotated[bool, typer.Option("--trust", help="Run code of yours that the run names.")] = False,
) -> None:
    """Answer line after line. One line comes out for one line in, in order, as soon as it is there."""
    if nbest != 1 and not as_json:
        raise RegardError(f"--nbest {nbest} without --json", do="add --json: a line holds one answer")
    sampling = {"temperature": temperature, "top_k": top_k, "top_p": top_p, "seed": seed}
    wanted = search(beam, nbest, sample, sampling)
    from contextlib import ExitStack

    with ExitStack() as stack:
        stream = sys.stdin.buffer if file == "-" else stack.enter_context(Path(file).expanduser().open("rb"))
        from regard.api import load

        model = load(folder, device, trust)
        if wanted.get("name") == "beam" and "width" not in wanted:
            own = model.config.get("search")
            wanted["width"] = max(nbest, own.get("width", 5) if isinstance(own, dict) else 5)
        if wanted:
            model.predict([], **wanted)  # options that make no search are told before a line is waited for
        # read1 waits for some bytes, where read would wait for all it was asked for.
        for number, lines in chunks(
            getattr(stream, "read1", stream.read), "standard input" if file == "-" else file, eager=seed is None
        ):
            if seed is not None:
                wanted["seed"] = seed + number  # else every chunk would draw alike
            sys.stdout.buffer.write("".join(f"{line}\n" for line in _answers(model, lines, as_json, wanted)).encode())
            sys.stdout.buffer.flush()


def chunks(read: Callable[[int], bytes], name: str, eager: bool = True) -> Iterator[tuple[int, list[tuple[str, str]]]]:
    """Lines as (text, where), at most `together` at once, with the number of lines before them.

    `read` gives some bytes, at most as many as asked for, and none at the end.
    `eager` gives what has arrived; else chunks are full, and the same however the input comes.
    """
    rest, before = b"", 0
    waiting: list[bytes] = []
    while data := read(1 << 16):
        *whole, rest = (rest + data).split(b"\n")
        waiting += whole
        while len(waiting) >= together or (waiting and eager):
            some, waiting = waiting[:together], waiting[together:]
            yield before, [_line(line, name, before + n) for n, line in enumerate(some, 1)]
            before += len(some)
    waiting += [rest] if rest else []
    if waiting:
        yield before, [_line(line, name, before + n) for n, line in enumerate(waiting, 1)]


def _line(data: bytes, name: str, number: int) -> tuple[str, str]:
    where = f"{name}:{number}"
    data = data.removeprefix(b"\xef\xbb\xbf") if number == 1 else data
    try:
        return data.removesuffix(b"\r").decode("utf-8"), where
    except UnicodeDecodeError as error:
        bad = f"byte {error.start + 1} of the line is 0x{data[error.start]:02x}"
        raise RegardError(f"{where}: {bad}", expected="UTF-8", do="give text in UTF-8") from None


def _answers(model: "Model", lines: list[tuple[str, str]], as_json: bool, wanted: dict[str, Any]) -> Iterator[str]:
    from regard.types import Example

    places = [Example(_inputs(model, text, where), "", where) for text, where in lines if text.strip()]
    found = model.predict([one.inputs for one in places], look=False, places=places, **wanted) if places else []
    answers = iter(zip(places, found, strict=True))
    for text, _ in lines:
        place, prediction = next(answers) if text.strip() else (None, None)
        if as_json:
            given = {"source": text} if model.inputs == 1 else {"inputs": place.inputs if place else ()}
            yield to_json({**given, **_object(prediction, model.searches)})
        else:
            yield _one_line("" if prediction is None else prediction.text)


def _inputs(model: "Model", text: str, where: str) -> tuple[str, ...]:
    """The texts of a line; a task of one input takes the line as it is, with all TABs in it."""
    inputs = (text,) if model.inputs == 1 else tuple(text.split("\t"))
    if len(inputs) != model.inputs:
        roles = ", ".join(getattr(model.task, "roles", ()))
        raise RegardError(
            f"{where}: {len(inputs)} field{'s' * (len(inputs) != 1)}",
            expected=f"{model.inputs}, with a TAB between" + f" ({roles})" * bool(roles),
        )
    return inputs


def _one_line(text: str) -> str:
    return text.replace("\r", " ").replace("\n", " ")


def _object(prediction: "Prediction | None", searched: bool) -> dict[str, Any]:
    if prediction is None:
        return {"text": "", "score": None}
    said: dict[str, Any] = {"text": prediction.text, "score": prediction.score}
    if chances := labels(prediction, searched):
        said["labels"] = [{"label": label, "probability": probability} for label, probability in chances]
    elif prediction.others:
        said["others"] = [{"text": one.text, "score": one.score} for one in prediction.others]
    return said
