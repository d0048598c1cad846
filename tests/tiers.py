"""Two tiers: the tests that everybody runs, and the sweeps (`@pytest.mark.sweep`) that CI runs after them.

A sweep repeats what a quick test shows once: over more shapes, more kinds or more random cases, or for longer. A test
over random cases (hypothesis) has few of them in the first tier, and runs again as a sweep with as many as it says.
"""

from collections.abc import Iterable
from typing import Any
from zlib import crc32

import hypothesis
import pytest

__all__ = ["at_length", "quick", "sweep_but", "thin", "tries"]

FEW = 20
_few = False  # whether this run is of the first tier


def quick(config: pytest.Config) -> None:
    """Take note of which tier is run, before any test is imported."""
    global _few
    _few = config.option.markexpr == "not sweep"
    hypothesis.settings.register_profile("regard", deadline=None, max_examples=tries(100))
    hypothesis.settings.load_profile("regard")  # a busy machine is not a failing test: no deadline


def tries(examples: int) -> int:
    """How many random cases, of as many as a test would like."""
    return min(examples, FEW) if _few else examples


def sweep_but(values: Iterable[Any], *quick: Any) -> list[Any]:
    """Values of a parameter, all but the `quick` ones marked as a sweep. A tuple has a value for each of several."""
    return [
        one if one in quick else pytest.param(*(one if isinstance(one, tuple) else (one,)), marks=pytest.mark.sweep)
        for one in values
    ]


def at_length(items: list[pytest.Item]) -> None:
    """Tests over random cases are sweeps too, where the first tier is left out."""
    if not _few:
        for item in items:
            if hypothesis.is_hypothesis_test(getattr(item, "obj", None)):
                item.add_marker(pytest.mark.sweep)


def thin(items: list[pytest.Item]) -> None:
    """Of each test marked `thin` as many cases stay in the first tier as show every value of every parameter once; the
    other combinations become sweeps. The order in which they are tried is mixed, and the same in every process."""
    shown: dict[str, set[tuple[str, str | int]]] = {}
    many = [item for item in items if item.get_closest_marker("thin")]
    for item in sorted(many, key=lambda item: crc32(item.nodeid.encode())):
        seen = shown.setdefault(item.nodeid.partition("[")[0], set())
        params: dict[str, Any] = item.callspec.params  # type: ignore[attr-defined]
        values = {(name, value if isinstance(value, str) else id(value)) for name, value in params.items()}
        if values <= seen:
            item.add_marker(pytest.mark.sweep)
        seen |= values
