"""Constraints on the output of a search: length, prefix, repeats, allowed answers and banned words.

`Limits` are options of every search (`search.limits.min_length=3`); `Rules` are the limits of one call as
tensors. A search asks the rules for log-probabilities instead of the decoder's own: what may not come is
−inf, and the rest keep the probability the model gave them. A new limit is a field of `Limits` and a line
in `Rules.log_probs`, and works under every search.

    choices = rules.log_probs(logits, past, t)
    past = rules.after(past.follow(parents), token)

All limits hold together. Only a prefix is taken as it is: it may repeat itself, though what comes after it
may not repeat it. Allowed answers that break another limit are struck from the set beforehand. Limits in token numbers
are made from texts by `compiled` (see _constraints.py).
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, fields
from typing import Annotated, Any

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from regard.errors import RegardError, brief
from regard.ranges import FewOrNone, LengthOrNone, Range, within
from regard.search._banned import Banned
from regard.search._common import NOTHING, log_probs, steps_of
from regard.search._tree import NOWHERE, ROOT, Tree, tree_of
from regard.types import Beams, Sequences

__all__ = ["Limits", "Past", "Rules"]


@dataclass(frozen=True)
class Limits:
    """Constraints that every search takes.

    A sentence with no room for `min_length` tokens is cut without an end. `no_repeat_ngram=3` is that of Paulus, Xiong
    & Socher 2017, "A Deep Reinforced Model for Abstractive Summarization", section 2.5. A prefix has no end; that of
    allowed answers may be left out."""

    min_length: Annotated[LengthOrNone, "shortest output, in tokens"] = 0
    no_repeat_ngram: Annotated[FewOrNone, "size of n-grams that must not repeat, in tokens; 0 allows repeats"] = 0
    prefix: Annotated[
        tuple[Annotated[int, Range(0, 10**7)], ...],
        "token ids that every answer starts with (as text: regard predict --prefix)",
    ] = ()
    # Any, for there may be thousands, and `find` would look at each token by itself.
    allowed: Annotated[
        Any, "the only answers allowed, each a list of token ids; empty allows all (as text: regard predict --allowed)"
    ] = ()
    banned: Annotated[Any, "set by regard predict --banned: words that no answer contains"] = None

    def __post_init__(self) -> None:
        for one in fields(self):
            within(f"limits.{one.name}", getattr(self, one.name), one.type)
        if not isinstance(self.banned, Banned | None):
            raise RegardError(f"limits.banned={brief(self.banned)}", do="give banned words to predict: banned=[…]")
        if isinstance(self.allowed, Tree):
            return
        lists = isinstance(self.allowed, Iterable) and all(isinstance(one, list | tuple) for one in self.allowed)
        if not lists or not all(isinstance(token, int) for one in self.allowed for token in one):
            raise RegardError(f"limits.allowed={str(self.allowed)[:40]}", expected="answers, each a list of tokens")
        object.__setattr__(self, "allowed", tuple(map(tuple, self.allowed)))


@dataclass(frozen=True)
class Past(Beams):
    """What the rules must know of each hypothesis: its tokens, its place in the tree, its state among banned words."""

    said: Int[Tensor, "batch beam time"] | None
    node: Int[Tensor, "batch beam"] | None
    state: Int[Tensor, "batch beam"] | None

    @property
    def empty(self) -> bool:
        return self.said is None and self.node is None and self.state is None


class Rules:
    """The limits of one call, and where each sentence starts, ends and is cut."""

    def __init__(
        self,
        limits: Limits,
        *,
        start: int,
        end: int,
        max_length: Int[Tensor, " batch"],
        banned: Sequence[int] = (),
        prefixes: Sequence[Sequence[int]] | None = None,
        allowed: Sequence[Sequence[int]] | None = None,
        device: torch.device | str = "cpu",
    ) -> None:
        self.start, self.end, self.min_length, self.no_repeat_ngram = (
            start,
            end,
            limits.min_length,
            limits.no_repeat_ngram,
        )
        self.steps = steps_of(max_length)
        prefixes = [limits.prefix] * len(max_length) if prefixes is None else prefixes
        if len(prefixes) != len(max_length):
            raise RegardError(f"{len(prefixes)} prefixes", expected=f"{len(max_length)}, one a sentence")
        tree = limits.allowed if isinstance(limits.allowed, Tree) and allowed is None else None
        if tree is None and (allowed is not None or limits.allowed):
            answers = tuple(map(tuple, limits.allowed if allowed is None else allowed))
            tree = tree_of(answers, end, tuple(banned), limits.min_length, limits.no_repeat_ngram)
        prefix = Sequences.pad(prefixes, fill=-1)
        if tree is not None or prefix.values.numel():
            _check(prefix, tree, max_length.cpu(), [end, *banned])
        self.largest = max(-1 if tree is None else tree.largest, *(max(tokens, default=-1) for tokens in prefixes))
        self.max_length, self.prefix = max_length.to(device), prefix.values.to(device)
        self.banned = torch.tensor(list(banned), dtype=torch.long, device=device)
        self.tree = None if tree is None else tree.to(device)
        self.words: Banned | None = limits.banned

    def begin(self, beam: int) -> Past:
        """Before the first token, for so many hypotheses a sentence."""
        shape, device = (len(self.max_length), beam), self.max_length.device
        return Past(
            said=torch.zeros(*shape, 0, dtype=torch.long, device=device) if self.no_repeat_ngram else None,
            node=torch.full(shape, ROOT, device=device) if self.tree is not None else None,
            state=torch.zeros(shape, dtype=torch.long, device=device) if self.words is not None else None,
        )

    def after(self, past: Past, token: Int[Tensor, "batch beam"]) -> Past:
        """One token further."""
        return Past(
            said=None if past.said is None else torch.cat([past.said, token[..., None]], dim=-1),
            node=None if self.tree is None or past.node is None else self.tree.after(past.node, token),
            state=None if self.words is None or past.state is None else self.words.after(past.state, token),
        )

    def log_probs(self, logits: Float[Tensor, "batch beam vocab"], past: Past, t: int) -> Tensor:
        """log p of what may come after `t` tokens; −inf for the rest."""
        found, vocab = log_probs(logits, self.banned), logits.shape[-1]
        if self.largest >= vocab:
            raise RegardError(f"token {self.largest} in a prefix or an allowed answer", expected=f"less than {vocab}")
        forced = self.prefix[:, t, None] if t < self.prefix.shape[1] else None
        if t < self.min_length:
            found[..., self.end] = NOTHING
        if past.said is not None:
            again = _again(past.said, self.no_repeat_ngram, vocab)
            found.masked_fill_(again if forced is None else again & (forced < 0)[..., None], NOTHING)
        if self.words is not None and past.state is not None:
            found.masked_fill_(self.words.mask(past.state, self.max_length == t + 1), NOTHING)
        if self.tree is not None and past.node is not None:
            found.masked_fill_(~self.tree.open(past.node, t, self.max_length - (t + 1), vocab), NOTHING)
        if forced is not None:
            other = (forced >= 0) & (torch.arange(vocab, device=forced.device) != forced)
            found.masked_fill_(other[:, None], NOTHING)
        return found


def _again(said: Int[Tensor, "batch beam time"], n: int, vocab: int) -> Bool[Tensor, "batch beam vocab"]:
    """Which tokens would make the last n tokens ones that were there before."""
    mask = torch.zeros(*said.shape[:2], vocab + 1, dtype=torch.bool, device=said.device)
    if said.shape[-1] >= n:
        grams, last = said.unfold(-1, n, 1), said[..., said.shape[-1] - n + 1 :]
        same = (grams[..., :-1] == last[..., None, :]).all(-1)  # of n = 1 no token needs to be the same
        mask.scatter_(-1, torch.where(same, grams[..., -1], vocab), True)  # the last column is cut off
    return mask[..., :vocab]


def _check(prefix: Sequences, tree: Tree | None, max_length: Int[Tensor, " batch"], never: list[int]) -> None:
    """Raise where a prefix, or all that is allowed, cannot come out: before the first step, naming the sentence."""

    def hold(fine: Bool[Tensor, " batch"], what: str, expected: str) -> None:
        if not bool(fine.all()):
            raise RegardError(f"sentence {int(fine.int().argmin())} of the batch: {what}", expected=expected)

    tokens, there = prefix.values, prefix.mask
    usable = ((tokens >= 0) & ~torch.isin(tokens, torch.tensor(never))) | ~there
    hold(usable.all(1), "a token in its prefix that cannot come", "tokens from 0, neither the end nor a banned one")
    hold(prefix.lengths <= max_length, "a prefix longer than its greatest length", "a shorter prefix, or more room")
    if tree is None:
        return
    node = torch.full_like(max_length, ROOT)
    for token, is_there in zip(tokens.unbind(1), there.unbind(1), strict=True):
        node = torch.where(is_there, tree.after(node, token), node)
    hold(node != NOWHERE, "no allowed answer begins with its prefix", "the beginning of one")
    room = max_length - prefix.lengths
    hold(tree.need[node] <= room, "no allowed answer is short enough", "more room, or a shorter answer among them")
