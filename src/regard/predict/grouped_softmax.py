"""A softmax in two steps: first a group of words, then a word of that group.

    p(w | r) = p(g(w) | r) · p(w | g(w), r)          g(w) = ⌊w / size⌋

Goodman 2001, "Classes for Fast Maximum Entropy Training"; Mikolov et al. 2011, "Extensions of Recurrent Neural Network
Language Model", section 3. The probability of one word costs the groups and the words of its own group, about 2√V
products instead of V, and is exact: all words together have 1. Words are numbered by how often they come (as the
tokenizer `word` does), so a group holds words of like frequency.

    out = GroupedSoftmax(vocab=4000, width=64)
    out(r)                              # log p of all words [*, vocab]
    out.some(r, out.plan(rows, words))  # log p of one word after each of these rows of r
"""

import math
from dataclasses import dataclass

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

__all__ = ["GroupedSoftmax", "WordPlan"]


LANES = 16  # numbers that a processor adds at once: products of such widths are quickest


@dataclass(frozen=True)
class WordPlan:
    """Which products single words need. A pair is a row with one of its groups, ordered by group."""

    row: Int[Tensor, " pair"]
    bounds: tuple[tuple[int, int, int], ...]  # group, its first pair, the one after its last
    slot: Int[Tensor, " pair"]  # place in the flat table of rows and groups
    pair: Int[Tensor, " word"]  # of each word asked for
    place: Int[Tensor, " word"]  # of the word in the flat table of pairs and words


class GroupedSoftmax(nn.Module):
    """Log-probabilities of words from a vector; `size` words share a group."""

    def __init__(self, vocab: int, width: int) -> None:
        super().__init__()
        size = math.ceil(math.sqrt(vocab))
        self.vocab, self.size = vocab, size if size < LANES else math.ceil(size / LANES) * LANES
        self.groups = math.ceil(vocab / self.size)
        self.group = nn.Linear(width, self.groups)
        self.word = nn.Linear(width, self.groups * self.size)
        missing = torch.arange(self.groups * self.size) >= vocab
        self.register_buffer("missing", missing, persistent=False)  # the last group may not be full
        self.missing: Tensor

    def _bias(self) -> Tensor:
        return self.word.bias.masked_fill(self.missing, -math.inf)

    def forward(self, r: Float[Tensor, "*lead width"]) -> Float[Tensor, "*lead vocab"]:
        logits = nn.functional.linear(r, self.word.weight, self._bias())
        words = logits.reshape(*r.shape[:-1], self.groups, self.size)
        both: Tensor = self.group(r).log_softmax(-1).unsqueeze(-1) + words.log_softmax(-1)
        return both.flatten(-2)[..., : self.vocab]

    def plan(self, rows: Int[Tensor, " word"], words: Int[Tensor, " word"]) -> WordPlan:
        """What it takes to score one word after each of these rows."""
        pairs, pair = torch.unique(words // self.size * (int(rows.max()) + 1) + rows, return_inverse=True)
        row, group = pairs % (int(rows.max()) + 1), pairs // (int(rows.max()) + 1)
        edges = torch.searchsorted(group, torch.arange(self.groups + 1, device=group.device)).tolist()
        bounds = tuple((g, edges[g], edges[g + 1]) for g in range(self.groups) if edges[g] < edges[g + 1])
        return WordPlan(row, bounds, row * self.groups + group, pair, pair * self.size + words % self.size)

    def some(self, r: Float[Tensor, "row width"], plan: WordPlan) -> Float[Tensor, " word"]:
        """log p of the words of a plan."""
        chosen: Tensor = self.group(r).log_softmax(-1).flatten().index_select(0, plan.slot)
        weight = self.word.weight.reshape(self.groups, self.size, -1)
        bias = self._bias().reshape(self.groups, self.size)
        asked, logits = r.index_select(0, plan.row), r.new_empty(len(plan.row), self.size)
        for group, begin, end in plan.bounds:
            torch.addmm(bias[group], asked[begin:end], weight[group].T, out=logits[begin:end])
        some = logits.log_softmax(-1).flatten().index_select(0, plan.place)
        return some + chosen.index_select(0, plan.pair)
