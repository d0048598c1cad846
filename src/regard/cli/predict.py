"""`regard predict RUN`: predictions for texts, or for files line by line, in order.

Input is read as UTF-8; only a line feed ends a line (a carriage return before it is dropped). What has
arrived is answered at once, up to 512 lines together: a pipe that drips is answered line by line, a file in
large batches. An empty line is answered with an empty line. For a task of two inputs a line holds both, with a TAB
between, or a JSON object with a value for each input; with `--document` every line is a
question. A file whose name ends in .gz is unpacked as it is read. What is a file and what a text, arguments.py says.

A line that cannot be answered (not UTF-8, more than 1 MiB, more tokens than the model takes, a field too few) is named
on stderr and answered with an empty line, in JSON with a null text and an "error". The others are answered as ever, and
the exit code is 3. With `--strict` the first such line ends the command with exit code 2, as soon as all before it are
answered.

With `--score` nothing is searched for: a line holds a source and its target (TAB between), and the log-probability of
the target is written.

With `--stream` a one-way tagger answers each line before the next is there: a line holds a token or several, its
labels are written at once, and the model reads on from where it was; an empty line ends the sentence.
"""

import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING, Annotated, Any

import typer

from regard.cli.answers import Answered, answers, scores
from regard.cli.arguments import lines_of, texts_of
from regard.cli.inputs import Line, chunks, opened
from regard.cli.options import search
from regard.cli.show import plain
from regard.errors import RegardError, counted
from regard.ranges import (
    Count,
    Few,
    FewOrNone,
    Hypotheses,
    LengthOrNone,
    NonNegative,
    Range,
    Seed,
    Temperature,
    range_of,
)
from regard.reading import longest

if TYPE_CHECKING:
    from regard.api import Model

__all__ = ["run"]

TOGETHER = 64  # files that are answered together
example = "regard predict runs/translate 'Dienstag, 5. März 2024' --beam 10"


def run(
    folder: Annotated[str, typer.Argument(metavar="RUN", help="Folder of the run.")],
    files: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[TEXT|FILE]...",
            help="Texts, or files with one text per line; - is standard input. Tasks with two inputs take pairs: two "
            "texts, or TAB between them in a file. Runs that read pictures or recordings take their files. The name of "
            "an existing file is read as a file; anything else is a text, unless it looks like a path (notes.tx, a/b).",
        ),
    ] = None,
    as_texts: Annotated[
        bool, typer.Option("--text", "-t", help="Read every argument as a text, even if a file has that name.")
    ] = False,
    as_json: Annotated[
        bool, typer.Option("--json", help="Print one JSON object per line, with log_prob and log_prob_per_token.")
    ] = False,
    beam: Annotated[int | None, typer.Option("--beam", metavar="N", help="Beam size."), range_of(Hypotheses)] = None,
    n_best: Annotated[
        int,
        typer.Option("--n-best", metavar="N", help="Number of predictions per input, best first; needs --json."),
        range_of(Hypotheses),
    ] = 1,
    sample: Annotated[
        bool, typer.Option("--sample", help="Sample instead of searching for the best prediction.")
    ] = False,
    temperature: Annotated[
        float | None,
        typer.Option("--temperature", metavar="T", help="With --sample: temperature; lower is less random."),
        range_of(Temperature),
    ] = None,
    top_k: Annotated[
        int | None,
        typer.Option("--top-k", metavar="K", help="With --sample: draw from the K most likely tokens."),
        range_of(Count),
    ] = None,
    top_p: Annotated[
        float | None,
        typer.Option("--top-p", metavar="P", help="With --sample: draw from the most likely tokens that sum to P."),
        Range(0, 1, above=True),
    ] = None,
    seed: Annotated[
        int | None,
        typer.Option("--seed", metavar="S", help="With --sample: random seed."),
        range_of(Seed),
    ] = None,
    groups: Annotated[
        int | None,
        typer.Option("--groups", metavar="N", help="Split the beam into N diverse groups."),
        range_of(Hypotheses),
    ] = None,
    diversity: Annotated[
        float | None,
        typer.Option("--diversity", metavar="X", help="With --groups: diversity penalty (default: 0.5)."),
        range_of(NonNegative),
    ] = None,
    min_length: Annotated[
        int | None,
        typer.Option("--min-length", metavar="N", help="Minimum number of tokens per prediction."),
        range_of(LengthOrNone),
    ] = None,
    no_repeat: Annotated[
        int | None,
        typer.Option("--no-repeat-ngram", metavar="N", help="Do not repeat any n-gram of this size in a prediction."),
        range_of(FewOrNone),
    ] = None,
    prefix: Annotated[
        str, typer.Option("--prefix", metavar="TEXT", help="Start every prediction with this text.")
    ] = "",
    allowed: Annotated[
        str, typer.Option("--allowed", metavar="FILE", help="Allow only the predictions in this file, one per line.")
    ] = "",
    banned: Annotated[
        list[str] | None,
        typer.Option(
            "--banned",
            metavar="WORD",
            help="Never write this word; may be repeated. @FILE reads one per line.",
        ),
    ] = None,
    top: Annotated[
        int | None,
        typer.Option("--top", metavar="N", help="Number of items to recommend (recommend)."),
        range_of(Few),
    ] = None,
    scoring: Annotated[
        bool, typer.Option("--score", help="Print the log-probability of each target; lines are source TAB target.")
    ] = False,
    tagging: Annotated[
        bool, typer.Option("--stream", help="Tag tokens as they arrive, line by line; an empty line ends the sentence.")
    ] = False,
    document: Annotated[
        str,
        typer.Option(
            "--document",
            "-d",
            metavar="FILE",
            help="Document that all texts or lines are questions about (answer): a text file, or the text itself.",
        ),
    ] = "",
    strict: Annotated[
        bool,
        typer.Option("--strict", help="Stop at the first line that fails instead of continuing."),
    ] = False,
    device: Annotated[str, typer.Option("--device", metavar="DEVICE", help="Device: auto, cpu, cuda or mps.")] = "auto",
    trust: Annotated[bool, typer.Option("--trust", help="Allow the run to import your own code.")] = False,
) -> None:
    """Predict for texts, or for files line by line. Prints one line for each text or line, in order, as soon as it is
    ready. Exit code 3 means that some failed: each one is reported on stderr, and its output line is empty."""
    if n_best != 1 and not as_json:
        raise RegardError(
            f"--n-best {n_best} without --json", do="add --json, since plain output has one prediction per line"
        )
    if tagging and as_json:
        raise RegardError("--stream and --json", expected="only one of them")
    sampling = {"temperature": temperature, "top_k": top_k, "top_p": top_p, "seed": seed}
    wanted = search(beam, n_best, sample, sampling) | _grouped(groups, diversity, sample, n_best)
    constraints = {"min_length": min_length, "no_repeat_ngram": no_repeat, "prefix": prefix or None}
    wanted |= {name: value for name, value in constraints.items() if value is not None}
    if top is not None:
        wanted["top"] = top
    if allowed:
        wanted["allowed"] = _lines(allowed)
    if banned:
        wanted["banned"] = [word for given in banned for word in (_lines(given[1:]) if given[:1] == "@" else [given])]
    texts = texts_of(files or [], as_texts)
    names, bad, count = (files if texts is None and files else ["-"]), 0, 0
    with ExitStack() as stack:
        # What is missing is told before all else.
        streams = [stack.enter_context(_stream(name)) for name in names] if texts is None else []
        from regard.api import load

        model = load(folder, device, trust)
        if document:
            document = _document(model, document, scoring)
        if scoring:
            if wanted or tagging:
                raise RegardError("--score does not search", do="remove the search options and --stream")
            model.score([])  # whether it can is told before a line is waited for
        if wanted:
            model.predict([], **wanted)  # options that make no search are told before a line is waited for
        answer = _tagger(model, folder) if tagging else None
        alone = any(field.per_file for field in model.task.inputs.values()) and files
        given: Iterable[tuple[int, list[Line]]]
        if texts is not None:
            given = [(0, _given(model, texts, scoring, bool(document)))]
        else:
            given = _files(names) if alone else _lines_of(names, streams, eager=seed is None)
        for before, lines in given:
            if seed is not None:
                wanted["seed"] = (seed + before) % 2**63  # else every chunk would draw alike
            some: Iterable[Answered]
            if answer is not None:
                some = (("" if line.error else answer(line.text), line.error) for line in lines)
            else:
                some = scores(model, lines, as_json) if scoring else answers(model, lines, as_json, wanted, document)
            bad += _put(some, strict, at_once=answer is not None)
            count += len(lines)
    if bad:
        print(f"regard: {bad:,} of {counted(count, 'line')} failed", file=sys.stderr)
        raise typer.Exit(3)


@contextmanager
def _stream(name: str) -> Iterator[Callable[[int], bytes]]:
    if name == "-":
        # read1 waits for some bytes, where read would wait for all it was asked for.
        yield getattr(sys.stdin.buffer, "read1", sys.stdin.buffer.read)
    else:
        with opened(name) as read:
            yield read


def _lines_of(names: list[str], streams: list[Callable[[int], bytes]], eager: bool) -> Iterator[tuple[int, list[Line]]]:
    """The lines of all files, with the number of lines before them."""
    count = 0
    for name, read in zip(names, streams, strict=True):
        for _, lines in chunks(read, "standard input" if name == "-" else name, eager):
            yield count, lines
            count += len(lines)


def _document(model: "Model", given: str, scoring: bool) -> str:
    """The document that the questions are about."""
    if list(model.task.inputs) != ["document", "question"] or scoring:
        raise RegardError("--document", expected="a run of the task answer, without --score", do="remove --document")
    if (texts := texts_of([given], as_texts=False)) is not None:
        return texts[0]
    with opened(given) as read:
        data = b""
        while some := read(1 << 16):
            data += some
            if len(data) > longest:
                raise RegardError(f"{given}: more than {longest:,} bytes", expected="one document")
    try:
        return data.removeprefix(b"\xef\xbb\xbf").decode("utf-8")
    except UnicodeDecodeError as error:
        raise RegardError(f"{given}: byte {error.start + 1} is not UTF-8", do="convert it to UTF-8") from None


def _given(model: "Model", texts: list[str], scoring: bool, questions: bool) -> list[Line]:
    """The texts of the command as lines; to be scored, each with its target after it."""
    if questions:
        return lines_of(texts, 1, RegardError("no question"))
    if not scoring:
        return lines_of(texts, model.inputs, model.wrong_count(len(texts)))
    roles = list(model.task.fields)
    wrong = RegardError(counted(len(texts), "text"), expected=f"{len(roles)} each ({', '.join(roles)})")
    return lines_of(texts, len(roles), wrong)


def _files(names: list[str]) -> Iterator[tuple[int, list[Line]]]:
    """Files that are inputs themselves, as if their names were lines."""
    for first in range(0, len(names), TOGETHER):
        yield first, [Line(name, name) for name in names[first : first + TOGETHER]]


def _put(answers: Iterable[Answered], strict: bool, at_once: bool) -> int:
    """Write them, each on its line and at the latest together; returns how many are none."""
    bad = 0
    try:
        for text, error in answers:
            if error is not None:
                if strict:
                    raise error
                print(f"regard: {plain(str(error))}", file=sys.stderr)
                bad += 1
            sys.stdout.buffer.write(f"{text}\n".encode())
            if at_once:
                sys.stdout.buffer.flush()
    finally:
        sys.stdout.buffer.flush()
    return bad


def _tagger(model: "Model", folder: str) -> Callable[[str], str]:
    """Labels of the tokens of a line, which go on from the line before; a line without any begins anew."""
    if not model.task.can("streams"):
        raise RegardError(f"--stream: {folder} is a run of task {model.config['task']}", expected="a run of task tag")
    try:
        stream = model.task.stream(model.network)
    except RegardError as error:
        raise RegardError(f"--stream: {folder} has {error}") from None

    def answer(text: str) -> str:
        with model.precision():
            labels = stream.labels(text)
        if not labels:
            stream.end()
        return " ".join(labels)

    return answer


def _grouped(groups: int | None, diversity: float | None, sample: bool, n_best: int) -> dict[str, Any]:
    """The options of a beam in groups, where one was asked for."""
    if groups is None:
        if diversity is not None:
            raise RegardError("--diversity without --groups", do="add --groups, or remove --diversity")
        return {}
    if sample:
        raise RegardError("--sample and --groups", expected="only one of them")
    given = {} if diversity is None else {"diversity": diversity}
    return {"name": "beam", "n_best": n_best, "groups": groups, **given}


def _lines(path: str) -> list[str]:
    """The lines of a file that are not blank."""
    with opened(path) as read:
        lines = [line for _, some in chunks(read, path) for line in some if line.error or line.text.strip()]
    for line in lines:
        if line.error is not None:
            raise line.error
    if not lines:
        raise RegardError(f"{path}: no texts", expected="one per line")
    return [line.text for line in lines]
