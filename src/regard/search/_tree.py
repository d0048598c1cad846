"""Allowed answers as a prefix tree: each edge is a token, each path from the root to an end an answer.

Each hypothesis stands at a node. Its next token must be one of that node's edges, and of those only the
ones from which an end is still within its greatest length: `need(child) ≤ longest − (t + 1)`, where
`need` is the fewest tokens from a node to an end. So no search is ever led where nothing can follow, and
nothing but a whole allowed answer comes out. (A beam held to a tree of replies: Kannan et al. 2016, "Smart Reply".)

    tree = tree_of(((5, 6), (5, 7, 8)), end=3)
    tree.open(node, depth=0, room=longest - 1, vocab=100)      # which tokens may come first

Edges lie in one sorted list, a number for (node, token), so a step is a look-up in it and a tree of
100,000 answers fits on a GPU beside the model. All hypotheses have read the same number of tokens, and a
step looks at as many edges as the widest node of that depth has.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache

import torch
from jaxtyping import Bool, Int
from torch import Tensor

from regard.errors import RegardError

__all__ = ["NOWHERE", "ROOT", "Tree", "repeats", "tree_of"]

NOWHERE, ROOT = 0, 1
WIDE = 2**32  # more than any vocabulary


@dataclass(frozen=True, eq=False)  # compared and hashed by identity: the same answers give the same tree
class Tree:
    """Edges and nodes; node 0 is where all stand who have left the tree or come to an end."""

    edges: Int[Tensor, " edge"]  # node · WIDE + token, ascending
    child: Int[Tensor, " edge"]
    first: Int[Tensor, " bound"]  # of each node its first edge, and one more: the number of all
    need: Int[Tensor, " node"]  # how many more tokens, the end included, the shortest way to an end has
    fans: tuple[int, ...]  # by depth, the most edges of one node
    largest: int  # of all tokens
    copies: dict[str, "Tree"] = field(default_factory=dict, repr=False)  # on other devices

    def to(self, device: torch.device | str) -> "Tree":
        """On that device, copied there once."""
        if torch.device(device) == self.edges.device:
            return self
        if str(device) not in self.copies:
            parts = ("edges", "child", "first", "need")
            self.copies[str(device)] = replace(self, **{part: getattr(self, part).to(device) for part in parts})
        return self.copies[str(device)]

    def after(self, node: Int[Tensor, "*shape"], token: Int[Tensor, "*shape"]) -> Int[Tensor, "*shape"]:
        """The node one token further; nowhere, if the tree has no such edge."""
        wanted = (node * WIDE + token).contiguous()
        edge = torch.searchsorted(self.edges, wanted).clamp_max(len(self.edges) - 1)
        return torch.where(self.edges[edge] == wanted, self.child[edge], NOWHERE)

    def open(
        self, node: Int[Tensor, "batch beam"], depth: int, room: Int[Tensor, " batch"], vocab: int
    ) -> Bool[Tensor, "batch beam vocab"]:
        """Which tokens may follow; `room` is how many more may come after them."""
        fan = self.fans[depth] if depth < len(self.fans) else 0
        edge = self.first[node][..., None] + torch.arange(fan, device=node.device)
        there = edge < self.first[node + 1][..., None]
        edge = edge.clamp_max(len(self.edges) - 1)
        there &= self.need[self.child[edge]] <= room[:, None, None]
        # What is not there is written into a column that is cut off.
        mask = torch.zeros(*node.shape, vocab + 1, dtype=torch.bool, device=node.device)
        return mask.scatter_(-1, torch.where(there, self.edges[edge] % WIDE, vocab), True)[..., :vocab]


def repeats(tokens: Sequence[int], n: int) -> bool:
    """Whether some n tokens in a row come twice; n = 0 asks for nothing."""
    grams = [tuple(tokens[i : i + n]) for i in range(len(tokens) - n + 1)] if n else []
    return len(set(grams)) < len(grams)


@lru_cache(maxsize=4)  # made of the same answers for every batch
def tree_of(
    answers: tuple[tuple[int, ...], ...],
    end: int,
    banned: tuple[int, ...] = (),
    min_length: int = 0,
    no_repeat_ngram: int = 0,
) -> Tree:
    """The tree of those answers (given with or without their end) that keep the other limits too."""
    nodes: list[dict[int, int]] = [{}, {}]
    depths, never = [0, 0], set(banned)
    for number, answer in enumerate(answers):
        tokens = answer[:-1] if answer[-1:] == (end,) else answer
        if end in tokens or any(not 0 <= token < WIDE for token in tokens):
            raise RegardError(
                f"allowed[{number}] is {answer}", expected=f"tokens from 0, and the end {end} last if at all"
            )
        if len(tokens) < min_length or repeats(tokens, no_repeat_ngram) or not never.isdisjoint(tokens):
            continue
        node = ROOT
        for depth, token in enumerate(tokens, 1):
            if token not in nodes[node]:
                nodes[node][token] = len(nodes)
                nodes.append({})
                depths.append(depth)
            node = nodes[node][token]
        nodes[node][end] = NOWHERE
    if not nodes[ROOT] or end in never:
        raise RegardError(
            f"none of {len(answers):,} allowed answers can come out",
            expected="one or more without a banned token, not shorter than `min_length` and without a repeat",
        )
    need = [0] * len(nodes)
    for node in reversed(range(ROOT, len(nodes))):  # children come after their parents
        need[node] = 1 + min(need[child] for child in nodes[node].values())
    fans = [0] * (max(depths) + 1)
    for depth, edges in zip(depths[1:], nodes[1:], strict=True):
        fans[depth] = max(fans[depth], len(edges))
    ordered = [
        (node * WIDE + token, child) for node, edges in enumerate(nodes) for token, child in sorted(edges.items())
    ]
    largest = max(token for edges in nodes for token in edges)
    first = torch.tensor([0, *(len(edges) for edges in nodes)]).cumsum(0)
    numbers, children = torch.tensor(ordered).unbind(1)
    return Tree(numbers.contiguous(), children.contiguous(), first, torch.tensor(need), tuple(fans), largest)
