"""Attention: `e_i = score(q, k_i) + biases`, `a = normalizer(e, mask)`, `context = Σ a_i v_i`.

    attention = Attention(Additive(query=512, key=1024), Softmax())
    memory = attention.prepare(keys, values, mask)      # once a sentence
    look = attention(query, memory, state)              # once a step
    look.context, look.weights, look.state

Where possible, the context comes from a fused kernel that never stores the weights. They are then computed
only when `look.weights` is read. The result is the same either way.
"""

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import reduce
from typing import Annotated, Any

import torch
from jaxtyping import Bool, Float
from torch import Tensor, nn

from regard.attend.bias import Bias, Counting, Terms
from regard.attend.heads import Heads
from regard.attend.normalizer import Normalized, Normalizer
from regard.attend.normalizer.softmax import Softmax
from regard.attend.score import Score
from regard.find import In, Spec, build
from regard.kernels.choose import choose
from regard.kernels.dot import dot_attention
from regard.kernels.hidden import reaching, shielded, without_padding
from regard.ranges import Few, Width
from regard.types import Look, Memory

__all__ = ["Attention", "make"]


class Attention(nn.Module):
    """Attention with any score, normalizer and biases, and one head or several."""

    def __init__(
        self, score: Score, normalizer: Normalizer | None = None, bias: Sequence[Bias] = (), heads: Heads | None = None
    ) -> None:
        super().__init__()
        self.score = score
        self.normalizer = Softmax() if normalizer is None else normalizer
        self.bias = nn.ModuleList(bias)
        self.heads = heads

    def prepare(
        self,
        keys: Float[Tensor, "batch key dim"],
        values: Float[Tensor, "batch key value"] | None = None,
        mask: Bool[Tensor, "batch key"] | None = None,
        clean: bool = False,
    ) -> Memory:
        """The memory, with everything that depends on the keys alone precomputed. Values default to the keys. `clean`
        says that what the mask hides is finite."""
        # Before anything is projected: a gradient of 0 times NaN is NaN.
        if mask is not None and not clean:
            shared = values is None or values is keys
            keys = without_padding(keys, mask)
            values = keys if values is None or shared else without_padding(values, mask)
        values = keys if values is None else values
        if self.heads is not None:
            keys, values = self.heads.keys(keys), self.heads.values(values)
        return Memory(self.score.prepare(keys), values, mask)

    def forward(
        self,
        query: Float[Tensor, "batch query dim"] | None,
        memory: Memory,
        state: Any = None,
        mask: Bool[Tensor, "#batch #query key"] | None = None,
        hiding: Float[Tensor, "*some key"] | None = None,
    ) -> Look:
        """Attends to a memory. `mask` hides keys from single queries, in addition to the memory's own mask. `hiding` is
        what both hide, where it is prepared once for many layers (`regard.kernels.dot.hidden`)."""
        asked = query
        if query is not None and self.heads is not None:
            query = self.heads.query(query)
        q = self.score.project(query)
        if query is None:
            q = q.expand(*memory.keys.shape[:-2], *q.shape[-2:])
        state = self.start(memory, q.shape[-2]) if state is None else state
        terms = self._terms(memory, asked, q.shape[-2], state)
        keys = memory.keys
        if terms.query is not None:
            q = q + terms.query
        if terms.keys is not None:
            keys = keys + terms.keys
        seen = self._seen(memory.mask, mask)
        if terms.mask is not None:
            seen = terms.mask if seen is None else seen & terms.mask

        features = self.score.features
        route = choose(self.score.kernel, self.normalizer.kernel, q, keys, paired=terms.pairs is not None)
        normalized: Normalized | None = None
        values, reached = memory.values, None
        clean = mask is None and terms.mask is None  # what the memory itself hides, `prepare` has seen to
        if route.path == "sdpa":
            shared = hiding if terms.scores is None and terms.mask is None else None
            answer = dot_attention(q, keys, values, seen, terms.scores, self.score.scale, clean, shared)
        elif route.path != "readable":
            answer = self._fused(route.path, q, keys, values, seen, terms.scores)
        else:
            if seen is not None and not clean:
                keys, values, reached = shielded(keys, values, seen)
            normalized = self._weighed(q, keys, terms, state, seen)
            answer = reaching(normalized.context(values, features), reached)

        kind = q.device.type
        halved, half = torch.is_autocast_enabled(kind), torch.get_autocast_dtype(kind)

        def weights() -> Tensor:
            with torch.autocast(kind, half, enabled=halved):  # as the look was taken, whenever it is asked
                if route.path == "additive" and not (
                    torch.is_grad_enabled() and (q.requires_grad or keys.requires_grad)
                ):
                    return self._looked(q, keys, seen, terms.scores)
                done = normalized if normalized is not None else self._weighed(q, keys, terms, state, seen)
                each = done.weights(answer.dtype)
                return each.transpose(-1, -2) if features else each

        look = Look(
            context=answer if self.heads is None else self.heads.merge(answer),
            compute_weights=weights,
            log_prob=None if normalized is None else _of_query(normalized.log_prob, features),
            entropy=None if normalized is None else _of_query(normalized.entropy, features),
            features=features,
        )
        return look if state is None else replace(look, state=self._update(state, look, q.shape[-2]))

    def _seen(self, kept: Tensor | None, given: Tensor | None) -> Tensor | None:
        """Both masks as one that broadcasts to `[batch, (head,) query, key]`."""
        seen = None if kept is None else kept.unsqueeze(1)
        if given is not None:
            seen = given if seen is None else seen & given
        return seen if seen is None or self.heads is None else seen.unsqueeze(1)

    def _fused(
        self, path: str, q: Tensor, keys: Tensor, values: Tensor, seen: Tensor | None, bias: Tensor | None
    ) -> Tensor:
        # Imported when first needed: Triton is slow to load, and many models never come here.
        score: Any = self.score
        if path == "additive":
            from regard.kernels.additive import additive_attention

            return additive_attention(q, keys, values, score.w, seen, bias=bias)
        from regard.kernels.feature import feature_attention

        return feature_attention(q, keys, values, seen, scale=score.c, bias=bias)

    def _looked(self, q: Tensor, keys: Tensor, seen: Tensor | None, bias: Tensor | None) -> Tensor:
        """The weights of an additive score, in bounded memory."""
        from regard.kernels.additive import additive_weights

        score: Any = self.score
        found = additive_weights(q, keys, score.w, seen, bias=bias)
        assert isinstance(found, Tensor)
        return found

    def _weighed(self, q: Tensor, keys: Tensor, terms: Terms, state: Any, seen: Tensor | None) -> Normalized:
        """The reference path. A normalizer sees the keys last: `[…, query, key]`, or `[…, query, feature, key]`."""
        scores = self._scores(q, keys, terms, state)
        if self.score.features:
            scores, seen = scores.transpose(-1, -2), None if seen is None else seen.unsqueeze(-2)
        normalized: Normalized = self.normalizer(scores, seen)
        return normalized

    def _scores(self, q: Tensor, keys: Tensor, terms: Terms, state: Any) -> Tensor:
        own = None if state is None else state[0]
        if terms.pairs is None:
            scores = self.score.scores(q, keys, own)
        else:
            # Keys that differ by query: every query becomes a row of its own, so no score needs to know.
            apart = keys.unsqueeze(-3) + terms.pairs
            scores = self.score.scores(q.unsqueeze(-2), apart, own).squeeze(-3 if self.score.features else -2)
        if terms.scores is None:
            return scores
        return scores + (terms.scores.unsqueeze(-1) if self.score.features else terms.scores)

    def _parts(self) -> list[Any]:
        return [self.score, *self.bias]

    @property
    def stateful(self) -> bool:
        """Whether a step passes state to the next."""
        return any(part.stateful for part in self._parts())

    @property
    def waits(self) -> bool:
        """Whether a step depends on the weights of earlier steps, so that steps cannot run in parallel."""
        return any(part.stateful and not isinstance(part, Counting) for part in self._parts())

    def start(self, memory: Memory, hypotheses: int = 1) -> Any:
        """State before the first step of a prepared memory. Without a state the queries are parallel hypotheses; with
        that of one hypothesis they are its successive steps (if `waits` is False)."""
        if not self.stateful:
            return None
        return tuple(part.start(memory, hypotheses) if part.stateful else None for part in self._parts())

    def _update(self, states: Any, look: Look, queries: int) -> Any:
        return tuple(
            None if one is None else self._next(part, one, look, queries)
            for part, one in zip(self._parts(), states, strict=True)
        )

    def _next(self, part: Any, state: Any, look: Look, queries: int) -> Any:
        if isinstance(part, Counting):  # never asks for weights, which a fused kernel has not made
            return part.advance(state, queries)
        return part.update(state, look.by_key if self.heads is None else look.by_key.transpose(1, 2))

    def _terms(self, memory: Memory, query: Tensor | None, queries: int, states: Any) -> Terms:
        """The sum of all biases' terms, by place."""
        if not self.bias:
            return Terms()
        own = [None] * len(self.bias) if states is None else states[1:]
        each = [
            part.terms(memory, queries, one, query) if part.reads else part.terms(memory, queries, one)
            for part, one in zip(self._parts()[1:], own, strict=True)
        ]

        def total(place: str, join: Callable[[Tensor, Tensor], Tensor] = torch.add) -> Tensor | None:
            given = [getattr(one, place) for one in each if getattr(one, place) is not None]
            return reduce(join, given) if given else None

        seen = total("mask", torch.logical_and)
        return Terms(total("query"), total("keys"), total("pairs"), total("scores"), seen)


def _of_query(choices: Tensor | None, features: bool) -> Tensor | None:
    """If each feature samples separately, sums the log-probabilities and entropies of a query."""
    return choices.sum(-1) if features and choices is not None else choices


def make(
    query: int,
    key: int,
    value: int,
    *,
    score: Annotated[Spec, In("attend.score"), "how a query and a key are compared"] = "additive",
    normalizer: Annotated[Spec, In("attend.normalizer"), "how scores become weights"] = "softmax",
    bias: Annotated[
        tuple[Spec, ...],
        In("attend.bias"),
        "terms added to the scores, for example by position; separate several with commas",
    ] = (),
    heads: Annotated[
        Few | None, "number of attention heads, each with its own projections; none: one head without projections"
    ] = None,
    size: Annotated[Width | None, "width of all heads together; none takes the width of the keys"] = None,
) -> Attention:
    """Attention built from its options; the sizes come from the model."""
    around = None if heads is None else Heads(query, key, value, heads, size)
    asked = query
    if around is not None:
        query = key = value = around.size // around.heads
    scored = build("attend.score", score, query=query, key=key, value=value)
    biases = [build("attend.bias", one, query=asked, hidden=scored.hidden, heads=heads) for one in bias]
    return Attention(scored, build("attend.normalizer", normalizer), biases, around)
