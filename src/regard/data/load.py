"""The `data` section of a configuration → train, valid and test.

`train` may be

- `builtin:dates`: a set that regard makes itself;
- `hf:name`: one from the Hugging Face hub (see hf.py);
- a file (see read.py), or parallel files: `train.de,train.en`;
- a folder that holds `train.*`, `valid.*` (or `val.*`, `dev.*`) and `test*.*`, or, with source=de and
  target=en, the parallel files `train.de`, `train.en`, `val.de`, …; each may be `.gz`.

`source` and `target` name the columns or keys (several inputs: `source=premise,hypothesis`). `form` says how files
are written where their names do not, as `data.form=labelled data.train=stsa.binary.train`.

What is missing: without valid, some of train becomes valid, and test too if there is none. Where valid
was given and test was not, test stays empty: a held-out set one did not ask for would shrink train.

    load(default="builtin:dates", columns=2, known=(), labels=None, train="multi30k", source="de", target="en")
"""

import os
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Annotated

from regard.data.hf import read_hf
from regard.data.read import Form, form_of, read, read_parallel
from regard.data.splits import Labels, Splits, split
from regard.errors import RegardError
from regard.find import build
from regard.types import Example

__all__ = ["load", "load_part"]

names = {"train": ("train",), "valid": ("valid", "validation", "val", "dev"), "test": ("test",)}


def load(
    default: str,
    columns: int,
    known: tuple[tuple[str, ...], ...],
    labels: Labels | None,
    train: Annotated[
        str, "a file, a folder, parallel files (a.de,a.en), builtin:NAME or hf:NAME; empty: the task's own set"
    ] = "",
    valid: Annotated[str, "validation file or parallel files; empty: the one beside train, or a part of train"] = "",
    test: Annotated[
        str, "test file or parallel files; empty: the one beside train, or, without valid, a part of train"
    ] = "",
    source: Annotated[str, "column or key of the input; of two inputs both, as premise,hypothesis"] = "",
    target: Annotated[str, "column or key of the target"] = "",
    form: Annotated[Form, "format of the files; auto goes by their names"] = "auto",
) -> Splits:
    """Training, validation and test examples, as the `data` section asks for them.

    `default` stands in for an empty `train`; `columns` is the number of inputs and the target together.
    `known` are sets of names that are taken where a file has them and none were given (see read.py).
    `labels` gives those of an example, where targets are labels: none is held out that train does not have.
    """
    fields = tuple(name.strip() for name in f"{source},{target}".split(",") if name.strip())
    if fields and len(fields) != columns:
        raise RegardError(
            f"data.source={source!r} and data.target={target!r}",
            expected=f"{columns - 1 or 1} name{'s' * (columns > 2)} for source" + " and 1 for target" * (columns > 1),
        )
    notes: list[str] = []
    part = partial(load_part, columns=columns, fields=fields, known=known, form=form, notes=notes)
    given = _whole(train or default, fields, form, part)
    valid_rows = part(valid) if valid else given.valid
    test_rows = part(test) if test else given.test
    # The seed is always the same: runs with different seeds are compared on the same examples.
    parts = given if valid_rows else split(given.train, test=0.0 if test_rows else 0.05, labels=labels)
    found = Splits(parts.train, valid_rows or parts.valid, test_rows or parts.test)
    found.notes.extend([*given.notes, *notes])
    return found


def load_part(
    spec: str,
    columns: int,
    fields: tuple[str, ...] = (),
    known: tuple[tuple[str, ...], ...] = (),
    form: Form = "auto",
    notes: list[str] | None = None,
) -> list[Example]:
    """One file, or parallel files with a comma between."""
    if "," in spec and not os.path.exists(os.path.expanduser(spec)):
        paths = tuple(path.strip() for path in spec.split(","))
        if len(paths) != columns or not all(paths):
            raise RegardError(f"{spec!r}: {len(paths)} files", expected=f"{columns} parallel files")
        if form != "auto":
            raise RegardError(
                f"{spec!r} with data.form={form}", expected="one file", do="remove data.form= for parallel files"
            )
        return read_parallel(paths)
    return read(spec, columns, fields, known, form, notes)


Part = Callable[[str], list[Example]]


def _whole(spec: str, fields: tuple[str, ...], form: Form, part: Part) -> Splits:
    kind, _, name = spec.partition(":")
    if kind == "builtin":
        return build("data.builtin", name).splits()  # type: ignore[no-any-return]
    if kind == "hf":
        return read_hf(spec, fields)
    if os.path.isdir(os.path.expanduser(spec)):
        return _folder(spec, fields if form == "auto" else (), part)
    return Splits(part(spec))


def _folder(folder: str, fields: tuple[str, ...], part_of: Part) -> Splits:
    """The parts by the names of their files; only train has to be there. `fields` may be endings of parallel files."""
    try:
        files = sorted(file.name for file in os.scandir(os.path.expanduser(folder)) if file.is_file())
    except OSError as error:
        raise RegardError(f"{folder}: cannot be read ({error.strerror})") from None
    parts: dict[str, list[Example]] = {}
    for part in names:
        parallel = [_one(folder, part, [f for f in files if _is(f, part, field)]) for field in fields]
        if len(parallel) > 1 and all(parallel):
            parts[part] = read_parallel([path for path in parallel if path])
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
    return last == ending and (stem.lower() in names[part] or (part == "test" and stem.lower().startswith("test")))


def _one(folder: str, part: str, files: list[str]) -> str:
    if len(files) > 1:
        raise RegardError(
            f"{folder}: {len(files)} files for {part}: {', '.join(files)}", do=f"choose one with data.{part}="
        )
    return str(Path(folder) / files[0]) if files else ""
