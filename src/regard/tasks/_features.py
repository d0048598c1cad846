"""Single features of feature-wise attention: their weights beside the mean over all.

Such an attention (DiSAN, ReSAN, source2token) has for each feature f weights of its own over the tokens, α_jif. An
attention map shows `mean_f α_jif`; asked for `features`, it has a panel for each of some of them too: those of the
numbers named, or the n that vary most over the tokens, by the variance over i of α_jif, summed over j. Features count
from 1.

    model.predict(["a dog runs"], features=5)             # or features=[3, 17, 40]
"""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from jaxtyping import Float

from regard.errors import RegardError
from regard.look.attention_map import AttentionMap
from regard.train.task import Features

__all__ = ["fitting", "spread"]


def fitting(features: Features, sizes: Sequence[int]) -> None:
    """Raises where no look has them; `sizes` are how many each feature-wise look has."""
    if not sizes:
        raise RegardError(
            "a model without feature-wise attention",
            expected="one trained with encoder=disan, encoder=resan or pool=source2token",
        )
    for number in [] if isinstance(features, int) else features:
        if number > max(sizes):
            raise RegardError(f"feature {number}", expected=f"1 to {max(sizes)}")


def spread(attention_map: AttentionMap, weights: np.ndarray | None, features: Features) -> tuple[AttentionMap, ...]:
    """The attention map with its features, whose weights have one axis more at the end; one of several heads, as of two
    directions, becomes several. As it was where there are none."""
    if weights is None:
        return (attention_map,)
    if attention_map.weights.ndim == 2:
        return (_with(attention_map, weights, features),)
    alone = [
        replace(attention_map, weights=one, head_names=(), title=f"{name} {attention_map.title}")
        for name, one in zip(attention_map.names, attention_map.heads, strict=True)
    ]
    return tuple(_with(one, some, features) for one, some in zip(alone, weights, strict=True))


def _with(
    attention_map: AttentionMap, weights: Float[np.ndarray, "row column feature"], features: Features
) -> AttentionMap:
    numbers = _varied(weights, features) if isinstance(features, int) else [number - 1 for number in features]
    numbers = [number for number in numbers if number < weights.shape[-1]]
    if not numbers:
        return attention_map
    names = [f"feature {number + 1}" for number in numbers]
    shown = np.stack([attention_map.weights, *(weights[..., number] for number in numbers)])
    return replace(attention_map, weights=shown, head_names=("mean", *names), panels="features")


def _varied(weights: Float[np.ndarray, "row column feature"], count: int) -> list[int]:
    """Those that vary most, first; of two that vary alike the one that stands first."""
    variance = weights.astype(np.float64).var(axis=1).sum(axis=0) if weights.shape[1] else np.zeros(weights.shape[-1])
    return np.argsort(-variance, kind="stable")[:count].tolist()  # type: ignore[no-any-return]
