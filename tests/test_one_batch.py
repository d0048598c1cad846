"""The walk in CONTRIBUTING.md is true: one batch of translate goes through these calls, in this order."""

import re
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from regard import api

root = Path(__file__).resolve().parent.parent


def hops() -> list[str]:
    text = (root / "CONTRIBUTING.md").read_text(encoding="utf-8").partition("## One batch")[2]
    return re.findall(r"^\| \d+ \| `([\w.]+)` \|", text, re.M)


@contextmanager
def called() -> Iterator[list[str]]:
    """Every function of regard in the order of their first calls, by module and name."""
    found: list[str] = []
    source = str(root / "src" / "regard") + "/"

    def note(frame: Any, event: str, _: Any) -> None:
        code = frame.f_code
        if event == "call" and source in code.co_filename:
            module = code.co_filename.partition("/regard/")[2].removesuffix(".py").replace("/", ".")
            name = f"{module}.{code.co_qualname}"
            if name not in found:
                found.append(name)

    before = sys.getprofile()
    sys.setprofile(note)
    try:
        yield found
    finally:
        sys.setprofile(before)


def test_ten_hops_at_most_and_they_happen_in_this_order(tmp_path: Path) -> None:
    pairs = tmp_path / "pairs.tsv"
    pairs.write_text("".join(f"ein Satz {n}\ta sentence {n}\n" for n in range(60)), encoding="utf-8")
    small = {
        "source": {"tokenizer": "word", "embed": {"dim": 4}},
        "target": {"tokenizer": "word"},
        "encoder": {"name": "recurrent", "hidden": 4, "layers": 1},
        "decoder": {"name": "recurrent", "hidden": 4, "embed": 4},
        "train": {"steps": 1, "auto": False},
    }
    with called() as found:
        api.train("translate", data=str(pairs), out=tmp_path / "run", quiet=True, **small)
    walk = hops()
    assert 5 <= len(walk) <= 10
    assert [hop for hop in walk if hop not in found] == []
    places = [found.index(hop) for hop in walk]
    assert places == sorted(places)
