"""A closed set of answers as a prefix tree, level by level, for scoring all of them at once.

Answers that begin alike share nodes, so a prefix is read once, however many answers go on from it:

    log p(answer | source) = Σ_t log p(token_t | tokens before t) + log p(end | answer)

Nodes are numbered level by level (0 is the root, read as the start token), so a level is a slice. An edge leads from a
node to a child or, by the end token, out of the tree; edges are ordered by their node. (`regard.search` has a tree of
its own, which keeps a search inside the set. Kannan et al. 2016, "Smart Reply", section 3, score such a set by beam.)

    tree = PrefixTree.of([[5, 6, 3], [5, 7, 8, 3]], start=2, end=3)
    tree.totals(edges)          # log-probabilities of edges [batch, edge] → of answers [batch, answer]
"""

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from jaxtyping import Float, Int
from torch import Tensor

from regard.errors import RegardError

__all__ = ["PrefixTree"]


@dataclass(frozen=True, eq=False)  # compared and hashed by identity
class PrefixTree:
    """Nodes level by level, and the edges that leave them."""

    token: Int[Tensor, " node"]  # that leads to each node
    parent: Int[Tensor, " node"]  # the root is its own
    levels: tuple[tuple[int, int], ...]  # of each level its first node and the one after its last
    source: Int[Tensor, " edge"]  # the node that an edge leaves, ascending
    word: Int[Tensor, " edge"]  # the token it stands for
    first: Int[Tensor, " bound"]  # of each node its first edge, and one more: the number of all
    into: Int[Tensor, " node"]  # the edge that leads to each node; 0 for the root, which has none
    last: Int[Tensor, " answer"]  # the edge that ends each answer

    @staticmethod
    def of(answers: Sequence[Sequence[int]], start: int, end: int) -> "PrefixTree":
        """The tree of different answers, each with the end as its last token and nowhere else."""
        if not answers:
            raise RegardError("no answers to make a tree of", expected="at least one")
        token, parent, levels = [start], [0], [(0, 1)]
        here = [0] * len(answers)  # the node at which each answer stands
        ends: dict[int, int] = {}  # of each answer its last node
        taken: set[int] = set()
        alive, depth = [*range(len(answers))], 0
        while alive:
            known: dict[tuple[int, int], int] = {}
            going = []
            for answer in sorted(alive, key=here.__getitem__):  # so that children stand in the order of their parents
                tokens, node = answers[answer], here[answer]
                if depth >= len(tokens) or (tokens[depth] == end) != (depth == len(tokens) - 1):
                    raise RegardError(f"answer {answer + 1}", expected="the end token as its last, and nowhere else")
                if tokens[depth] == end:
                    if node in taken:
                        raise RegardError(f"answer {answer + 1} is there twice", expected="different answers")
                    ends[answer] = node
                    taken.add(node)
                    continue
                key = node, tokens[depth]
                if key not in known:
                    known[key] = len(token)
                    token.append(tokens[depth])
                    parent.append(node)
                here[answer] = known[key]
                going.append(answer)
            if known:
                levels.append((levels[-1][1], len(token)))
            alive, depth = going, depth + 1
        return PrefixTree._with_edges(token, parent, levels, [ends[n] for n in range(len(answers))], end)

    @staticmethod
    def _with_edges(
        token: list[int], parent: list[int], levels: list[tuple[int, int]], ends: list[int], end: int
    ) -> "PrefixTree":
        tokens, parents = torch.tensor(token), torch.tensor(parent)
        source = torch.cat([parents[1:], torch.tensor(ends)])
        word = torch.cat([tokens[1:], tokens.new_full((len(ends),), end)])
        source, order = source.sort(stable=True)
        place = torch.empty_like(order)
        place[order] = torch.arange(len(order))
        into = torch.cat([place.new_zeros(1), place[: len(token) - 1]])
        first = torch.searchsorted(source, torch.arange(len(token) + 1))
        return PrefixTree(tokens, parents, tuple(levels), source, word[order], first, into, place[len(token) - 1 :])

    def __len__(self) -> int:
        """The number of nodes."""
        return len(self.token)

    def to(self, device: torch.device | str) -> "PrefixTree":
        moved = {name: value.to(device) for name, value in vars(self).items() if isinstance(value, Tensor)}
        return PrefixTree(**{**vars(self), **moved})

    def totals(self, edges: Float[Tensor, "batch edge"]) -> Float[Tensor, "batch answer"]:
        """The log-probability of each answer, from those of the edges."""
        found = edges.new_zeros(len(edges), len(self))
        steps = edges[:, self.into]
        for begin, end in self.levels[1:]:
            found[:, begin:end] = found[:, self.parent[begin:end]] + steps[:, begin:end]
        return found[:, self.source[self.last]] + edges[:, self.last]
