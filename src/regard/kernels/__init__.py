"""Fused forms of the same functions as in `attend`; `choose.py` is the only switch between them.

regard.kernels.explain("additive", "softmax", q, keys)      # which path such a call takes, and why
"""

from typing import Any

__all__ = ["explain"]


def __getattr__(name: str) -> Any:
    """`explain` is fetched when asked for: importing this room alone stays light."""
    if name != "explain":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from regard.kernels.choose import explain

    return explain
