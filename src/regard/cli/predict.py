"""`regard predict RUN`: lines in, lines out, in order and as they come.

Input is read as UTF-8; only a line feed ends a line (a carriage return before it is dropped). What has
arrived is answered at once, up to 512 lines together: a pipe that drips is answered line by line, a file in
large batches. An empty line is answered with an empty line. For a task of two inputs a line holds both, with a TAB
between.

With `--score` nothing is searched for: a line holds a source and its target (TAB between), and the log-probability of
the target is written.

With `--stream` a one-way tagger answers each line before the next is there: a line holds a token or several, its
labels are written at once, and the model reads on from where it was; an empty line ends the sentence.
"""

import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from regard.cli.options import search
from regard.cli.show import labels, to_json
from regard.errors import RegardError, counted
from regard.ranges import Count, FewOrNone, Hypotheses, LengthOrNone, NonNegative, Range, Seed, Temperature, range_of

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
    as_json: Annotated[
        bool, typer.Option("--json", help="One JSON object a line, with log_prob and log_prob_per_token.")
    ] = False,
    beam: Annotated[
        int | None, typer.Option("--beam", metavar="N", help="Search with a beam of this width."), range_of(Hypotheses)
    ] = None,
    nbest: Annotated[
        int,
        typer.Option("--nbest", metavar="N", help="How many answers, best first; needs --json."),
        range_of(Hypotheses),
    ] = 1,
    sample: Annotated[bool, typer.Option("--sample", help="Draw answers instead of searching the best.")] = False,
    temperature: Annotated[
        float | None,
        typer.Option("--temperature", metavar="T", help="With --sample: below 1 surer, above 1 freer."),
        range_of(Temperature),
    ] = None,
    top_k: Annotated[
        int | None,
        typer.Option("--top-k", metavar="K", help="With --sample: only the K likeliest tokens."),
        range_of(Count),
    ] = None,
    top_p: Annotated[
        float | None,
        typer.Option("--top-p", metavar="P", help="With --sample: only tokens that make up this share."),
        Range(0, 1, above=True),
    ] = None,
    seed: Annotated[
        int | None,
        typer.Option("--seed", metavar="S", help="With --sample: the same seed draws the same."),
        range_of(Seed),
    ] = None,
    groups: Annotated[
        int | None,
        typer.Option("--groups", metavar="N", help="Share the beam out to N groups that differ."),
        range_of(Hypotheses),
    ] = None,
    diversity: Annotated[
        float | None,
        typer.Option("--diversity", metavar="X", help="With --groups: how much they should differ; 0.5."),
        range_of(NonNegative),
    ] = None,
    least: Annotated[
        int | None, typer.Option("--least", metavar="N", help="At least N tokens an answer."), range_of(LengthOrNone)
    ] = None,
    no_repeat: Annotated[
        int | None,
        typer.Option("--no-repeat", metavar="N", help="No N tokens in a row come twice in an answer."),
        range_of(FewOrNone),
    ] = None,
    prefix: Annotated[str, typer.Option("--prefix", metavar="TEXT", help="Every answer begins with this.")] = "",
    allowed: Annotated[
        str, typer.Option("--allowed", metavar="FILE", help="Only the answers in this file, one a line, come out.")
    ] = "",
    scoring: Annotated[
        bool, typer.Option("--score", help="Lines hold source TAB target: the target's log-probability comes out.")
    ] = False,
    tagging: Annotated[
        bool, typer.Option("--stream", help="Tag tokens as they come, a line each; an empty line ends the sentence.")
    ] = False,
    device: Annotated[str, typer.Option("--device", metavar="DEVICE", help="auto, cpu or cuda.")] = "auto",
    trust: Annotated[bool, typer.Option("--trust", help="Run code of yours that the run names.")] = False,
) -> None:
    """Answer line after line. One line comes out for one line in, in order, as soon as it is there."""
    if nbest != 1 and not as_json:
        raise RegardError(f"--nbest {nbest} without --json", do="add --json: a line holds one answer")
    if tagging and as_json:
        raise RegardError("--stream and --json", expected="one of them")
    sampling = {"temperature": temperature, "top_k": top_k, "top_p": top_p, "seed": seed}
    wanted = search(beam, nbest, sample, sampling) | _grouped(groups, diversity, sample, nbest)
    from contextlib import ExitStack

    with ExitStack() as stack:
        stream = sys.stdin.buffer if file == "-" else stack.enter_context(Path(file).expanduser().open("rb"))
        from regard.api import load

        model = load(folder, device, trust)
        if wanted.get("name") == "beam" and "width" not in wanted:
            spec = model.config.get("search")
            own: dict[str, Any] = spec if isinstance(spec, dict) else {}
            shares = max(1, wanted.get("groups", own.get("groups", 1)))
            wanted["width"] = -(-max(nbest, own.get("width", 5)) // shares) * shares
        wanted |= _limits(model, least, no_repeat, prefix, allowed)
        if scoring:
            if wanted or tagging:
                raise RegardError("--score searches for nothing", do="leave out the options of a search, and --stream")
            model.score([])  # whether it can is told before a line is waited for
        if wanted:
            model.predict([], **wanted)  # options that make no search are told before a line is waited for
        answer = _tagger(model, folder) if tagging else None
        # read1 waits for some bytes, where read would wait for all it was asked for.
        for number, lines in chunks(
            getattr(stream, "read1", stream.read), "standard input" if file == "-" else file, eager=seed is None
        ):
            if answer is not None:
                for text, _ in lines:
                    sys.stdout.buffer.write(f"{answer(text)}\n".encode())
                    sys.stdout.buffer.flush()
                continue
            if seed is not None:
                wanted["seed"] = (seed + number) % 2**63  # else every chunk would draw alike
            some = _scores(model, lines, as_json) if scoring else _answers(model, lines, as_json, wanted)
            sys.stdout.buffer.write("".join(f"{line}\n" for line in some).encode())
            sys.stdout.buffer.flush()


def _tagger(model: "Model", folder: str) -> Callable[[str], str]:
    """Labels of the tokens of a line, which go on from the line before; a line without any begins anew."""
    if not hasattr(model.task, "stream"):
        raise RegardError(f"--stream: {folder} is a run of {model.config['task']}", expected="one of tag")
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


def _grouped(groups: int | None, diversity: float | None, sample: bool, nbest: int) -> dict[str, Any]:
    """The options of a beam in groups, where one was asked for."""
    if groups is None:
        if diversity is not None:
            raise RegardError("--diversity without --groups", do="add --groups, or leave it out")
        return {}
    if sample:
        raise RegardError("--sample and --groups", expected="one of them")
    given = {} if diversity is None else {"diversity": diversity}
    return {"name": "beam", "nbest": nbest, "groups": groups, **given}


def _limits(
    model: "Model", least: int | None, no_repeat: int | None, prefix: str, allowed: str
) -> dict[str, dict[str, Any]]:
    """The limits of the search, texts as the tokens of the task's answers."""
    given = {"least": least, "repeat": no_repeat}
    limits: dict[str, Any] = {key: number for key, number in given.items() if number is not None}
    if (prefix or allowed) and not model.searches:
        raise RegardError(f"{model.config['task']} has no search", do="leave out --prefix and --allowed")
    if prefix:
        limits["prefix"] = _tokens(model, prefix, f"--prefix {prefix!r}")[:-1]
    if allowed:
        with Path(allowed).expanduser().open("rb") as stream:
            lines = [line for _, some in chunks(stream.read, allowed) for line in some if line[0].strip()]
        if not lines:
            raise RegardError(f"{allowed}: no answers", expected="one a line")
        limits["allowed"] = [_tokens(model, text, where) for text, where in lines]
    return {"limits": limits} if limits else {}


def _tokens(model: "Model", text: str, where: str) -> list[int]:
    """The tokens of an answer, with its end."""
    task = model.task
    target = task.texts["target"] if hasattr(task, "texts") else task.text  # what goes on with a text has but one
    tokens: list[int] = target.encode(text)
    if target.unknown in tokens:
        piece = target.tokens(text)[tokens.index(target.unknown)].text
        raise RegardError(f"{where}: {piece!r} is not in the vocabulary of the answers", do="write it otherwise")
    return tokens


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


def _scores(model: "Model", lines: list[tuple[str, str]], as_json: bool) -> Iterator[str]:
    """How likely the targets are; a task whose data are texts alone takes the line as it is."""
    from regard.types import Example

    alone, places = model.task.columns == 1, []
    for text, where in lines:
        fields = (text,) if alone else tuple(text.split("\t"))
        if text.strip(" "):  # a TAB alone is no empty line, but a pair of nothing
            if not alone and len(fields) != 2:
                raise RegardError(f"{where}: {counted(len(fields), 'field')}", expected="2, source TAB target")
            places.append(Example(fields[:-1], fields[-1], where))
    answers = iter(model.score([(*one.inputs, one.target) for one in places], look=False, places=places))
    for text, _ in lines:
        one = next(answers) if text.strip(" ") else None
        if not as_json:
            yield "" if one is None else f"{one.log_prob:.6g}"
            continue
        said = {"source": one.source if one else ""} if not alone else {}
        tokens = [{"text": token.text, "log_prob": log_prob} for token, log_prob in one.tokens] if one else []
        yield to_json(
            {**said, "text" if alone else "target": one.text if one else "", **_probable(one), "tokens": tokens}
        )


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
        return {"text": "", **_probable(None)}
    said: dict[str, Any] = {"text": prediction.text, **_probable(prediction)}
    if chances := labels(prediction, searched):
        said["labels"] = [{"label": label, "probability": probability} for label, probability in chances]
    elif prediction.others:
        said["others"] = [{"text": one.text, **_probable(one)} for one in prediction.others]
    return said


def _probable(prediction: "Prediction | None") -> dict[str, float | None]:
    """The log-probability of an answer, as the sum over its tokens and as their mean."""
    names = ("log_prob", "log_prob_per_token")
    return {name: getattr(prediction, name, None) for name in names}
