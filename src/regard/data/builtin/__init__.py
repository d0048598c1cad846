"""Built-in data sets, generated on the fly: each task has one to start with. One module per data set.

`Builtin` is the base class of a set of your own.
"""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from regard.data.builtin._builtin import Builtin

__all__ = ["Builtin"]


def __getattr__(name: str) -> Any:
    """`Builtin` is imported when it is used: a shell that completes the names of the sets waits for nothing heavy."""
    if name == "Builtin":
        from regard.data.builtin._builtin import Builtin

        return Builtin
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
