"""Which layers are shown of a Transformer that writes: the last as it was trained, or others while one looks.

    check(model.network, "all", "runs/translate")
    with shown(model.network, "all", "runs/translate"):
        model.predict(["guten Tag"])  # its attention maps have the heads of every layer

What is said stays the same whichever are shown.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from copy import copy
from typing import Any

from regard.errors import RegardError

__all__ = ["check", "count", "shown"]


def count(network: Any) -> int:
    """How many layers there are to choose from; 0 where one look is all there is."""
    decoder = _decoder(network)
    return len(decoder.blocks) if hasattr(decoder, "look_at") and hasattr(decoder, "blocks") else 0


def check(network: Any, layers: str, name: str) -> None:
    """Raises where `shown` would; changes nothing, so that another thread may use the network meanwhile."""
    decoder = _decoder(network)
    if not hasattr(decoder, "look_at"):
        raise RegardError(f"{name} has no layers that look", expected="a Transformer that writes")
    copy(decoder).look_at(layers)


@contextmanager
def shown(network: Any, layers: str, name: str) -> Iterator[None]:
    """Show `last`, `mean`, `all`, or one by its number from 1, as long as this lasts; "" as it is. `name` is what the
    run is called in a message."""
    if not layers:
        yield
        return
    check(network, layers, name)
    decoder = _decoder(network)
    before = decoder.look
    decoder.look_at(layers)
    try:
        yield
    finally:
        decoder.look = before


def _decoder(network: Any) -> Any:
    """What looks: a part of the network, or, where a text is only gone on with, the whole of it."""
    return getattr(network, "decoder", network)
