"""Decoders small enough to know everything about, for the tests of the searches."""

import math
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor

from regard.search import Hypothesis
from regard.types import Beams, Look, Memory

PRIME = 1_000_003
START, END = 0, 1


@dataclass(frozen=True)
class Prefix(Beams):
    """What was read so far, as one number; and a memory, which `reorder` must leave alone."""

    memory: Memory
    digest: Tensor


def memory_of(seeds: list[int]) -> Memory:
    keys = torch.tensor(seeds, dtype=torch.float64)[:, None, None]
    return Memory(keys, keys)


def digest_after(digest, token):
    """Works alike for Python's whole numbers and for tensors of them."""
    return (digest * 31 + token * 7919 + 12345) % PRIME


def mixed(digest, token):
    return ((digest + 17) * (token + 3) * 7907 + (digest % 101) * (token + 11) ** 3) % 9973


@dataclass
class Hashed:
    """Logits that depend on the sentence and on the whole prefix. `holes` in 7 of them are −inf.

    A look's weights are (digest of the prefix, sentence); with `heads` also (head + those).
    """

    vocab: int = 3
    scale: float = 6.0
    holes: int = 0
    heads: int = 0
    end: int = END
    steps: int = 0

    def start(self, memory: Memory) -> Prefix:
        return Prefix(memory, memory.keys[:, :, 0].long())

    def step(self, state: Prefix, token: Tensor) -> tuple[Prefix, Look, Tensor]:
        self.steps += 1
        assert state.digest.shape == token.shape
        digest = digest_after(state.digest, token)
        tokens = torch.arange(self.vocab)
        number = mixed(digest[..., None], tokens)
        # The sine parts tokens that share a number: which of equals a search takes is nobody's promise.
        parted = number + 0.3 * torch.sin(digest[..., None].double() + 1.7 * tokens)
        logits = (parted.double() / 9973 * self.scale).masked_fill(number % 7 < self.holes, float("-inf"))
        weights = torch.stack([digest.double(), state.memory.keys[:, :, 0].expand_as(digest)], dim=-1)
        if self.heads:
            weights = torch.stack([weights + head for head in range(self.heads)], dim=1)
        return (
            Prefix(state.memory, digest),
            Look(context=digest[..., None].double(), compute_weights=lambda: weights),
            logits,
        )

    # The same in plain Python, to check against.

    def python_log_probs(self, digest: int, banned: tuple[int, ...] = ()) -> list[float]:
        numbers = [mixed(digest, v) for v in range(self.vocab)]
        parted = [n + 0.3 * math.sin(digest + 1.7 * v) for v, n in enumerate(numbers)]
        logits = [
            -math.inf if n % 7 < self.holes else p / 9973 * self.scale for n, p in zip(numbers, parted, strict=True)
        ]
        z = sum(map(math.exp, logits))
        return [-math.inf if v in banned or not z else logit - math.log(z) for v, logit in enumerate(logits)]

    def digests(self, seed: int, tokens: tuple[int, ...]) -> list[int]:
        """The digest that each token was chosen under."""
        result, digest = [], seed
        for token in (START, *tokens[:-1]):
            digest = digest_after(digest, token)
            result.append(digest)
        return result

    def everything(self, seed: int, max_length: int, banned: tuple[int, ...] = ()) -> dict[tuple[int, ...], float]:
        """Every sequence there is, with its log-probability."""
        found: dict[tuple[int, ...], float] = {}

        def go(tokens: tuple[int, ...], digest: int, total: float) -> None:
            for v, log_prob in enumerate(self.python_log_probs(digest, banned)):
                if log_prob > -math.inf:
                    longer = (*tokens, v)
                    if v == self.end or len(longer) == max_length:
                        found[longer] = total + log_prob
                    else:
                        go(longer, digest_after(digest, v), total + log_prob)

        go((), digest_after(seed, START), 0.0)
        return found

    def plain_beam(
        self,
        seed: int,
        max_length: int,
        beam_size: int,
        length_penalty: float,
        n_best: int,
        may: Callable[[tuple[int, ...]], bool] = lambda tokens: True,
        groups: int = 1,
        diversity: float = 0.0,
    ) -> list[tuple[tuple[int, ...], float]]:
        """Beam search as one would write it on paper: lists, no batch, and it never stops early."""
        beams = [[(0.0, (), digest_after(seed, START))] for _ in range(groups)]
        pools: list[list[tuple[tuple[int, ...], float]]] = [[] for _ in range(groups)]
        each = beam_size // groups
        for t in range(1, max_length + 1):
            taken = Counter[int]()
            for group in range(groups):
                candidates = [
                    (total + log_prob, (*tokens, v), digest_after(digest, v))
                    for total, tokens, digest in beams[group]
                    for v, log_prob in enumerate(self.python_log_probs(digest))
                    if log_prob > -math.inf and may((*tokens, v))
                ]
                candidates.sort(key=lambda c: -(c[0] - diversity * taken[c[1][-1]]))
                candidates = candidates[: 2 * each]
                taken.update(tokens[-1] for _, tokens, _ in candidates[:each])
                for rank, (total, tokens, _) in enumerate(candidates):
                    if t == max_length or (tokens[-1] == self.end and rank < each):
                        pools[group].append((tokens, total / t**length_penalty))
                beams[group] = [c for c in candidates if c[1][-1] != self.end][:each]
        lists = [sorted(pool, key=lambda p: -p[1])[:n_best] for pool in pools]
        chosen: dict[tuple[int, ...], float] = {}
        for rank in range(n_best):
            for tokens, score in sorted((one[rank] for one in lists if rank < len(one)), key=lambda p: -p[1]):
                if len(chosen) < n_best:
                    chosen.setdefault(tokens, score)
        return sorted(chosen.items(), key=lambda p: -p[1])


@dataclass(frozen=True)
class Allowance:
    """Limits in plain Python: whether the last of these tokens may come after the others."""

    max_length: int
    min_length: int = 0
    no_repeat_ngram: int = 0
    prefix: tuple[int, ...] = ()
    allowed: tuple[tuple[int, ...], ...] | None = None
    banned: tuple[int, ...] = ()

    def __call__(self, tokens: tuple[int, ...]) -> bool:
        *before, v = tokens
        if v in self.banned or (v == END and len(before) < self.min_length):
            return False
        if len(before) < len(self.prefix):
            if v != self.prefix[len(before)]:
                return False
        elif self.again(tokens):
            return False
        if self.allowed is None:
            return True
        return any((*answer, END)[: len(tokens)] == tokens for answer in self.allowed if self.keeps(answer))

    def keeps(self, answer: tuple[int, ...]) -> bool:
        """Whether an allowed answer keeps the other limits."""
        twice = any(self.again(answer[: i + 1]) for i in range(len(answer)))
        inside = not any(token in self.banned for token in (*answer, END))
        return self.min_length <= len(answer) < self.max_length and not twice and inside

    def again(self, tokens: tuple[int, ...]) -> bool:
        """Whether the last n tokens were there before."""
        n = self.no_repeat_ngram
        return 0 < n < len(tokens) and any(tokens[i : i + n] == tokens[-n:] for i in range(len(tokens) - n))

    def whole(self, tokens: tuple[int, ...]) -> bool:
        """Whether all of a sequence may come, and its beginning is there."""
        return all(self(tokens[: i + 1]) for i in range(len(tokens))) and len(tokens) >= len(self.prefix)


def same(found: Hypothesis, other: Hypothesis) -> bool:
    return found.tokens == other.tokens and math.isclose(
        found.rank_score, other.rank_score, rel_tol=1e-9, abs_tol=1e-12
    )
