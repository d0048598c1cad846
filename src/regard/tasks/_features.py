"""Single features of a feature-wise attention: beside the mean that is shown of all, the weights of a few.

Such an attention (DiSAN, ReSAN, source2token) has for each feature f weights of its own over the tokens, α_jif. A gaze
shows `mean_f α_jif`; asked for `features`, it has a panel for each of some of them too: those of the numbers named, or
the n that vary most over the tokens, by the variance over i of α_jif, summed over j. Features count from 1.

    model.predict(["a dog runs"], features=5)             # or features=[3, 17, 40]
"""

from collections.abc import Sequence
from dataclasses import replace
from inspect import signature
from typing import Any

import numpy as np
from jaxtyping import Float

from regard.errors import RegardError
from regard.look.gaze import Gaze

__all__ = ["Features", "checked", "fitting", "spread"]

Features = int | Sequence[int]
"""How many, or which ones; 0 or none at all where the mean will do."""


def checked(task: Any, features: Features) -> Features:
    """The same, if the task can do it and they are such as can be counted."""
    if "features" not in signature(task.predict).parameters:
        raise RegardError(f"{task.name} shows no single features", do="leave out features")
    for number in [features] if isinstance(features, int) else features:
        if number < 1:
            raise RegardError(f"features: {number}", expected="1 or more")
    return features


def fitting(features: Features, sizes: Sequence[int]) -> None:
    """Raises where no look has them; `sizes` are how many each feature-wise look has."""
    if not sizes:
        raise RegardError(
            "a model without feature-wise attention",
            expected="one with encoder=disan, encoder=resan or pool=source2token, to show features of",
        )
    for number in [] if isinstance(features, int) else features:
        if number > max(sizes):
            raise RegardError(f"feature {number}", expected=f"1 to {max(sizes)}")


def spread(gaze: Gaze, weights: np.ndarray | None, features: Features) -> tuple[Gaze, ...]:
    """The gaze with its features, whose weights have one axis more at the end; a gaze of several panels, as of two
    directions, becomes several gazes. As it was where there are none."""
    if weights is None:
        return (gaze,)
    if gaze.weights.ndim == 2:
        return (_with(gaze, weights, features),)
    alone = [
        replace(gaze, weights=one, panels=(), title=f"{name} {gaze.title}")
        for name, one in zip(gaze.names, gaze.heads, strict=True)
    ]
    return tuple(_with(one, some, features) for one, some in zip(alone, weights, strict=True))


def _with(gaze: Gaze, weights: Float[np.ndarray, "row column feature"], features: Features) -> Gaze:
    numbers = _varied(weights, features) if isinstance(features, int) else [number - 1 for number in features]
    numbers = [number for number in numbers if number < weights.shape[-1]]
    if not numbers:
        return gaze
    names = [f"feature {number + 1}" for number in numbers]
    shown = np.stack([gaze.weights, *(weights[..., number] for number in numbers)])
    return replace(gaze, weights=shown, panels=("mean", *names))


def _varied(weights: Float[np.ndarray, "row column feature"], count: int) -> list[int]:
    """Those that vary most, first; of two that vary alike the one that stands first."""
    variance = weights.astype(np.float64).var(axis=1).sum(axis=0) if weights.shape[1] else np.zeros(weights.shape[-1])
    return np.argsort(-variance, kind="stable")[:count].tolist()  # type: ignore[no-any-return]
