"""Two tiers: the tests that everybody runs, and the sweeps (`@pytest.mark.sweep`) that CI runs after them.

A sweep repeats what a quick test shows once: over more shapes, more kinds or more random cases, or for longer.
"""

from collections.abc import Iterable
from typing import Any

import pytest

__all__ = ["sweep_but"]


def sweep_but(values: Iterable[Any], *quick: Any) -> list[Any]:
    """Values of a parameter, all but the `quick` ones marked as a sweep. A tuple has a value for each of several."""
    return [
        one if one in quick else pytest.param(*(one if isinstance(one, tuple) else (one,)), marks=pytest.mark.sweep)
        for one in values
    ]
