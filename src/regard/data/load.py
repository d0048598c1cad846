"""Data: training, validation and test examples from files, built-in sets or the Hugging Face hub.

`train` may be

- `builtin:dates`: a set that regard makes itself;
- a folder of pictures with their captions, or of recordings with their transcripts, where these are to be written (see
  captions.py and transcripts.py);
- `hf:name`: one from the Hugging Face hub (see hf.py);
- a file (see read.py), or parallel files: `train.de,train.en`;
- a file of users, items and times, where these are histories (see histories.py);
- conversations (see turns.py) or mails (see mbox.py), where messages are replied to;
- the idx files of MNIST, or an `.npz` (see arrays.py), where the input is a picture;
- rows given in Python (see given.py);
- a folder that holds `train.*`, `valid.*` (or `val.*`, `dev.*`) and `test*.*`, or, with source=de and
  target=en, the parallel files `train.de`, `train.en`, `val.de`, …; each may be `.gz`.

`source` and `target` name the columns or keys (several inputs: `source=premise,hypothesis`); roles.py has the names
that each task gives them. `form` says how files are written where their names do not, as
`data.form=labelled data.train=stsa.binary.train`.

What is missing: without valid, some of train becomes valid, and test too if there is none. Where valid
was given and test was not, test stays empty: a held-out set one did not ask for would shrink train.

    load("builtin:dates", fields=(Text(end=True), Tokens()), known=(), train="multi30k", source="de", target="en")
"""

import os
import re
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Annotated

from regard.data.arrays import read_arrays
from regard.data.asked import asks, read_asked
from regard.data.captions import by_lists, find_captions, read_captions
from regard.data.cnn import is_cnn
from regard.data.folders import folders, read_folders
from regard.data.given import given_examples, is_given
from regard.data.hf import read_hf
from regard.data.histories import by_user, columns_of, read_histories, whole_histories
from regard.data.mbox import is_mbox, read_mbox
from regard.data.read import Form, Header, Reading, form_of, names_of, read, read_parallel
from regard.data.readlog import ReadLog
from regard.data.references import each_pair, grouped
from regard.data.splits import Splits, split
from regard.data.transcripts import any_beside, find_transcripts, read_beside
from regard.data.turns import are_turns, read_turns
from regard.errors import RegardError
from regard.fields import Field, inputs_of, require
from regard.fields.history import History
from regard.fields.message import Message
from regard.find import build
from regard.types import Example

__all__ = ["load", "load_part"]

VERSION = re.compile(r"-v\d+(\.\d+)*$")  # of SQuAD's files: train-v1.1.json
parts_of = {"train": ("train",), "valid": ("valid", "validation", "val", "dev"), "test": ("test",)}


def load(
    default: str,
    fields: Sequence[Field],
    known: tuple[tuple[str, ...], ...],
    train: Annotated[
        str, "a file, a folder, parallel files (a.de,a.en), builtin:NAME or hf:NAME; empty: the task's own set"
    ] = "",
    valid: Annotated[str, "validation file or parallel files; empty: the one beside train, or a part of train"] = "",
    test: Annotated[
        str, "test file or parallel files; empty: the one beside train, or, without valid, a part of train"
    ] = "",
    source: Annotated[
        str, "column or key of the input; for two inputs, both with a comma, for example premise,hypothesis"
    ] = "",
    target: Annotated[str, "column or key of the target"] = "",
    form: Annotated[Form, "file format; auto goes by the file name"] = "auto",
    header: Annotated[
        Header, "whether line 1 of a table is a header; auto recognises one by its names and by the lines below it"
    ] = "auto",
    separator: Annotated[
        str, "what separates the fields of a table: tab, comma, semicolon, pipe, space or a character; auto finds it"
    ] = "auto",
    encoding: Annotated[
        str, "encoding of the files, for example cp1252 or utf-16; auto detects it, and assumes utf-8 if in doubt"
    ] = "auto",
    skip: Annotated[
        bool, "skip lines that cannot be read or have an empty text or label, and count them; false: they are an error"
    ] = False,
    group: Annotated[bool, "in valid and test, take the targets of equal inputs as references of one example"] = False,
) -> Splits:
    """Where to find the training, validation and test examples.

    `default` stands in for an empty `train`; `fields` are those of the columns, inputs first. `known` are sets of names
    that are taken where a file has them and none were given (see read.py). Where targets are labels, no label is held
    out that train does not have.
    """
    names = names_of(source, target, columns_of(fields))
    how, log = Reading(names, known, form, header, separator, encoding), ReadLog(skip)
    part = partial(load_part, fields=fields, how=how, log=log)
    spec = train or default
    if by_user(fields) and not spec.startswith(("builtin:", "hf:")):
        return noted(read_histories(spec, require(fields[0], History, "history"), valid, test, how, log), log)
    given = _whole(spec, fields, how, part, log)
    valid_rows = part(valid) if valid else given.valid
    test_rows = part(test) if test else given.test
    if not spec.startswith("builtin:"):
        given, valid_rows, test_rows = (
            Splits(filled(given.train, fields, log)),
            filled(valid_rows, fields, log),
            filled(test_rows, fields, log),
        )
    # The seed is always the same: runs with different seeds are compared on the same examples.
    labels = fields[-1].labels
    sides = 1 if asks(fields) else None  # all questions about a document are on one side
    parts = given if valid_rows else split(given.train, 0.05, 0.0 if test_rows else 0.05, labels=labels, sides=sides)
    held_out = valid_rows or parts.valid, test_rows or parts.test
    group = group or captioned(fields)
    several = group or any(e.alternatives for rows in (parts.train, *held_out) for e in rows)
    if several and labels("") is not None:
        raise RegardError("several targets for one input", expected="one label", do="remove data.group, or all but one")
    found = Splits(each_pair(parts.train), *(grouped(rows) if group else rows for rows in held_out))
    found.notes.extend(given.notes)
    return noted(found, log)


def noted(splits: Splits, log: ReadLog) -> Splits:
    """The splits with what was noted when they were read."""
    splits.notes.extend(log.notes())
    splits.faults.extend(log.faults)
    splits.columns.extend(log.columns)
    return splits


def filled(examples: Sequence[Example], fields: Sequence[Field], log: ReadLog) -> list[Example]:
    """The examples without empty texts and labels. Rows with nothing in them count as blank lines."""
    found = []
    for example in examples:
        targets = example.references if len(fields) > len(example.inputs) else ()
        if targets and (tidy := tuple(map(fields[-1].tidied, targets))) != targets:
            example, targets = replace(example, target=tidy[0], alternatives=tidy[1:]), tidy
        values = (*example.inputs, *(() if fields[-1].optional else targets))
        if all(value and not value.isspace() for value in values):
            found.append(example)
        elif not any(value.strip() for value in values) and ":" in example.where:
            path, _, line = example.where.rpartition(":")
            log.blank(path, int(line) if line.isdecimal() else 0)
        else:
            place = next(place for place, value in enumerate(values) if not value.strip())
            written = fields[-1].words("") is not None
            if place < len(example.inputs):
                side = "source" if written else fields[place].kind
            else:
                side = "target" if written or fields[-1].spaced else fields[-1].kind
            log.bad("empty", example.where, f"an empty {side}", "at least one character", "fill it or remove the line")
    if examples and not found:
        raise log.nothing(examples[0].where.rpartition(":")[0], "only blank lines")
    return found


def load_part(
    spec: str, fields: Sequence[Field], how: Reading | None = None, log: ReadLog | None = None
) -> list[Example]:
    """One file, a folder with a subfolder for each label, or parallel files with a comma between."""
    columns, how = len(fields), how or Reading()
    if by_user(fields):
        return whole_histories(spec, require(fields[0], History, "history"), how, log)
    if is_given(spec):
        return given_examples(spec, fields, how, log or ReadLog())
    if os.path.isdir(os.path.expanduser(spec)) and per_file(fields) and not captioned(fields):
        return read_folders(spec)
    if os.path.isdir(os.path.expanduser(spec)) and recorded(fields):
        return read_beside(spec, log or ReadLog())
    if "," in spec and not os.path.exists(os.path.expanduser(spec)):
        paths = tuple(path.strip() for path in spec.split(","))
        if len(paths) != columns or not all(paths):
            raise RegardError(f"{spec!r}: {len(paths)} files", expected=f"{columns} parallel files")
        if how.form != "auto":
            raise RegardError(
                f"{spec!r} with data.form={how.form}", expected="one file", do="remove data.form= for parallel files"
            )
        return read_parallel(paths, how.encoding, log)
    if captioned(fields):
        return read_captions(spec, fields, how, log)
    if asks(fields):
        return read_asked(spec, fields, how, log or ReadLog())
    if isinstance(fields[0], Message) and not how.names:
        if how.form == "mbox" or (how.form == "auto" and is_mbox(spec)):
            return read_mbox(spec, log or ReadLog())
        if how.form == "turns" or (how.form == "auto" and are_turns(spec)):
            return read_turns(spec, how.encoding, log or ReadLog())
    return located(read(spec, fields, how, log), fields, spec)


def per_file(fields: Sequence[Field]) -> bool:
    """Whether each input is a file of its own."""
    return len(fields) == 2 and any(field.per_file for field in inputs_of(fields))


def captioned(fields: Sequence[Field]) -> bool:
    """Whether the targets are texts about files: several of one file are its references."""
    return per_file(fields) and fields[-1].words("") is not None


def recorded(fields: Sequence[Field]) -> bool:
    """Whether the targets are what is said in recordings."""
    return captioned(fields) and any(field.spoken for field in inputs_of(fields))


def located(examples: list[Example], fields: Sequence[Field], path: str) -> list[Example]:
    """The examples of a data file, with paths in it taken from its folder."""
    inputs = inputs_of(fields)
    if not any(field.per_file for field in inputs):
        return examples
    folder = Path(os.path.expanduser(path)).parent
    return [
        replace(one, inputs=tuple(f.located(value, folder) for f, value in zip(inputs, one.inputs, strict=True)))
        for one in examples
    ]


Part = Callable[[str], list[Example]]


def _whole(spec: str, fields: Sequence[Field], how: Reading, part: Part, log: ReadLog) -> Splits:
    kind, _, name = spec.partition(":")
    if kind == "builtin":
        return build("data.builtin", name).splits()  # type: ignore[no-any-return]
    if kind == "hf":
        if how.names and not all(how.names):
            raise RegardError(f"{spec}: some columns without names", do="name all of them")
        return read_hf(spec, how.names)
    if per_file(fields) and (arrays := read_arrays(spec)):
        return Splits(**arrays)
    if os.path.isdir(os.path.expanduser(spec)) and not (asks(fields) and is_cnn(spec)):
        if recorded(fields):
            if file := find_transcripts(spec):
                return Splits(part(file))
            if any_beside(spec):
                beside = folders(spec, parts_of) or {"train": spec}
                return Splits(**{name: read_beside(folder, log) for name, folder in beside.items()})
        elif captioned(fields):
            if file := find_captions(spec):
                return by_lists(spec, part(file), log)
        elif per_file(fields) and (parts := folders(spec, parts_of)):
            return Splits(**{name: read_folders(folder) for name, folder in parts.items()})
        return _folder(spec, how, part, log)
    return Splits(part(spec))


def _folder(folder: str, how: Reading, part_of: Part, log: ReadLog) -> Splits:
    """The parts by the names of their files; only train has to be there. Names may be endings of parallel files."""
    fields = how.names if how.form == "auto" and all(how.names) else ()
    try:
        files = sorted(file.name for file in os.scandir(os.path.expanduser(folder)) if file.is_file())
    except OSError as error:
        raise RegardError(f"{folder}: cannot be read ({error.strerror})") from None
    parts: dict[str, list[Example]] = {}
    for part in parts_of:
        parallel = [_one(folder, part, [f for f in files if _is(f, part, field)]) for field in fields]
        if len(parallel) > 1 and all(parallel):
            parts[part] = read_parallel([path for path in parallel if path], how.encoding, log)
        elif path := _one(folder, part, [f for f in files if form_of(f) != "auto" and _is(f, part, _ending(f))]):
            parts[part] = part_of(path)
        elif any(parallel):
            wanted = [f"{part}.{field}" for field, path in zip(fields, parallel, strict=True) if not path]
            raise RegardError(f"{folder}: no {', '.join(wanted)}", do=f"put it next to {max(parallel)}")
        else:
            parts[part] = []
    if not parts["train"]:
        raise RegardError(
            f"{folder}: no file named train",
            expected="train.tsv, .csv or .jsonl, or train.de and train.en with data.source=de data.target=en",
            do=f"the folder contains {', '.join(files[:10]) or 'nothing'}" + (", …" if len(files) > 10 else ""),
        )
    return Splits(**parts)


def _ending(file: str) -> str:
    return Path(file.removesuffix(".gz")).suffix.removeprefix(".")


def _is(file: str, part: str, ending: str) -> bool:
    """Is this the file of that part with that ending? A test may have a longer name, as test_2016.de."""
    stem, _, last = file.removesuffix(".gz").rpartition(".")
    stem = VERSION.sub("", stem)
    return last == ending and (stem.lower() in parts_of[part] or (part == "test" and stem.lower().startswith("test")))


def _one(folder: str, part: str, files: list[str]) -> str:
    if len(files) > 1:
        raise RegardError(
            f"{folder}: {len(files)} files for {part}: {', '.join(files)}", do=f"choose one with data.{part}="
        )
    return str(Path(folder) / files[0]) if files else ""
