"""Data sets of the Hugging Face hub, with the optional package `datasets`: `hf:name`, `hf:name/config`.

`hf:a/b` is the repository `a/b` if it exists, else the configuration `b` of `a`; `hf:a/b/c` is the configuration `c` of
`a/b`. The splits are train, validation and test. Class labels are read as their names, and rows without a label (−1)
are skipped; numbers are read as written. No code from the hub is run.

    read_hf("hf:bentrevett/multi30k", fields=("de", "en"))
    read_hf("hf:wmt16/de-en", fields=("translation.de", "translation.en"))
"""

import importlib
from typing import Any

from regard.data.read import pick
from regard.data.splits import Splits
from regard.errors import RegardError
from regard.types import Example

__all__ = ["loaded", "read_hf"]

splits = {"train": ("train",), "valid": ("validation", "valid", "val", "dev"), "test": ("test",)}


def read_hf(name: str, fields: tuple[str, ...] = ()) -> Splits:
    """The splits that are there; `valid` and `test` may be empty. `fields` ends with the target."""
    found = loaded(name)
    if "train" not in found:
        raise RegardError(
            f"{name}: no split 'train'", expected="train, validation, test", do=f"the data set has {', '.join(found)}"
        )
    parts = {}
    for ours, theirs in splits.items():
        split = next((split for split in theirs if split in found), None)
        parts[ours] = (
            [] if split is None else _examples(found[split], f"{name}:{split}", fields or ("source", "target"))
        )
    return Splits(**parts)


def loaded(name: str) -> Any:
    """The splits of a data set, by name, as the package `datasets` gives them: mapped from disk."""
    try:
        datasets = importlib.import_module("datasets")
    except ImportError:
        raise RegardError(f"{name} needs the datasets package", do="pip install 'regard[hf]'") from None
    parts = name.removeprefix("hf:").split("/")
    if not all(parts) or len(parts) > 3:
        raise RegardError(f"{name!r}", expected="hf:name, hf:name/config, hf:owner/name or hf:owner/name/config")
    whole, (*owner, last) = "/".join(parts), parts
    ways = {1: [[whole]], 2: [[whole], parts], 3: [["/".join(owner), last]]}[len(parts)]
    reasons = []
    for way in ways:
        try:
            return datasets.load_dataset(*way)
        except Exception as error:  # the hub, the network, the builder: each raises its own kinds
            reasons.append(str(error).split("\n")[0] or type(error).__name__)
    raise RegardError(f"{name} could not be loaded ({reasons[0]})", do="check the name and the network")


def _examples(rows: Any, where: str, fields: tuple[str, ...]) -> list[Example]:
    columns = [_column(rows, where, name) for name in fields]
    return [
        Example(tuple(values[:-1]), values[-1], f"{where}:{number}")
        for number, values in enumerate(zip(*columns, strict=True), 1)
        if None not in values
    ]


def _column(rows: Any, where: str, name: str) -> list[str | None]:
    """One field of every row as text; None for a row without a label."""
    top = name if name in rows.column_names else name.split(".")[0]
    if top not in rows.column_names or len(rows) == 0:
        pick(rows[0] if len(rows) else {}, name, where)  # says what there is
    classes = getattr(rows.features[top], "names", None)
    values: list[str | None] = []
    for number, cell in enumerate(rows[top], 1):
        value = cell if top == name else pick({top: cell}, name, f"{where}:{number}")
        if classes is not None and isinstance(value, int):
            values.append(classes[value] if value >= 0 else None)
        elif isinstance(value, str):
            values.append(value)
        elif isinstance(value, int | float):
            values.append(str(value))
        else:
            raise RegardError(f"{where}:{number}: {name!r} is a {type(value).__name__}", expected="text or a number")
    return values
