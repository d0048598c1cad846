"""Word embeddings: learned, or pre-trained vectors from a file.

A word's vector is `x = fixed[f] + learned[l]`, where `f` and `l` are its rows in the two tables. Row 0 of each is
zeros, and at least one of the two is row 0; for padding both are. With a file of vectors, `mode` is one of:

- `fixed`: the vectors are fixed; all missing words and the special tokens share one learned vector.
- `missing`: the vectors are fixed; each missing word and each special token has its own learned vector (as in
  "Reinforced Self-Attention Network", Shen et al. 2018, for SNLI).
- `tuned`: all vectors are trained, starting from the file.

Without a file all vectors are learned; they start normally distributed with a standard deviation of `init_std`
(0: one over the square root of the width). The tables are saved with the weights, so the file is read only once;
their shapes follow from `vocab`, `found` and the options.

    words = Words(vocab=len(text), found=len(known(text.vocabulary, vectors)), vectors="glove.6B.300d.txt")
    words.fill(text.vocabulary, vectors)
    words(sequences).values     # [batch, time, 300]
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Literal

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn
from torch.nn.functional import dropout, embedding

from regard.errors import RegardError
from regard.fields._vectors import Vectors, bare
from regard.fields.embed import Embedding
from regard.ranges import Count, Dropout, NonNegative, Width, ranged
from regard.text import Tokenizer, special
from regard.types import Sequences

__all__ = ["Coverage", "Words", "coverage", "known"]


class Words(Embedding):
    """Token ids → vectors, learned or from a file."""

    fixed: Float[Tensor, "row width"]
    fixed_row: Int[Tensor, " vocab"]
    learned_row: Int[Tensor, " vocab"]

    @ranged
    def __init__(
        self,
        vocab: int,
        found: int,
        dim: Annotated[Width, "size of the word vectors; ignored when vectors is set"] = 300,
        vectors: Annotated[
            str, "file of pre-trained vectors, for example GloVe; several files, separated by commas, are concatenated"
        ] = "",
        mode: Annotated[
            Literal["fixed", "tuned", "missing"],
            "what is trained with a file: all vectors (tuned), those it lacks (missing), or one for all those (fixed)",
        ] = "missing",
        max_vectors: Annotated[
            Count, "words to read from the start of the file, in addition to those of the training data"
        ] = 50_000,
        dropout: Annotated[Dropout, "dropout on the word vectors"] = 0.0,
        init_std: Annotated[NonNegative, "standard deviation of newly initialised vectors; 0 means 1/√dim"] = 0.0,
    ) -> None:
        super().__init__()
        if not 0 <= found <= (max(vocab - len(special), 0) if vectors else 0):
            raise RegardError(
                f"vectors for {found} of {vocab} words",
                expected="none without a file, at most all but the special tokens",
            )
        self.vocab, self.found, self.dim, self.dropout, self.size = vocab, found, dim, dropout, dim
        self.mode = mode if vectors else "tuned"
        rows = {"fixed": 2, "missing": vocab - found, "tuned": vocab}[self.mode]
        self.learned = nn.Parameter(torch.empty(rows, dim).normal_(std=init_std or dim**-0.5))
        with torch.no_grad():
            self.learned[0] = 0.0
        if self.mode != "tuned":
            self.register_buffer("fixed", torch.zeros(found + 1, dim))
            self.register_buffer("fixed_row", torch.zeros(vocab, dtype=torch.long))
            self.register_buffer("learned_row", torch.zeros(vocab, dtype=torch.long))
            self._place(torch.arange(found) + len(special))  # any place, until filled or loaded

    def fill(self, vocabulary: Sequence[str], vectors: Vectors) -> None:
        """Take the vectors of a vocabulary's words; for a model that is new."""
        rows = known(vocabulary, vectors)
        for what, got, expected in (
            ("a vocabulary of {}", len(vocabulary), self.vocab),
            ("vectors of width {}", vectors.width, self.dim),
            ("{} words that have vectors", len(rows), self.found),
        ):
            if got != expected:
                raise RegardError(what.format(got), expected=str(expected))
        numbers = torch.tensor(list(rows), dtype=torch.long)
        taken = vectors.matrix[torch.tensor(list(rows.values()), dtype=torch.long)]
        with torch.no_grad():
            if self.mode == "tuned":
                self.learned[numbers] = taken.to(self.learned)
            else:
                self.fixed[1:] = taken
                self._place(numbers)

    def _place(self, numbers: Int[Tensor, " found"]) -> None:
        """Row i + 1 of `fixed` is for token `numbers[i]`; tokens without one get rows of `learned`, padding none."""
        self.fixed_row.zero_()
        self.fixed_row[numbers] = torch.arange(1, self.found + 1, device=self.fixed_row.device)
        without = (self.fixed_row == 0).long()
        without[Tokenizer.pad] = 0
        self.learned_row.copy_(without if self.mode == "fixed" else without.cumsum(0) * without)

    def table(self) -> Float[Tensor, "vocab width"]:
        """The vectors of all tokens, as an output layer that is tied to them needs them."""
        if self.mode == "tuned":
            return self.learned
        return self.fixed[self.fixed_row] + self.learned[self.learned_row]

    def forward(self, inputs: Sequences) -> Sequences:
        tokens = inputs.values
        # padding_idx: row 0 gets no gradient, so it stays zeros.
        if self.mode == "tuned":
            vectors = embedding(tokens, self.learned, padding_idx=Tokenizer.pad)
        else:
            fixed = embedding(self.fixed_row[tokens], self.fixed)
            vectors = fixed + embedding(self.learned_row[tokens], self.learned, padding_idx=0)
        return Sequences(dropout(vectors, self.dropout, self.training), inputs.mask, inputs.lengths)


@dataclass(frozen=True)
class Coverage:
    """How much of a data set has vectors."""

    found: int  # pieces of the vocabulary that have one
    words: float  # share of the different words met
    tokens: float  # share of the running words; unknown ones are among them, and have none
    missing: tuple[str, ...]  # the most frequent without, in that order

    def __str__(self) -> str:
        said = f"{self.words:.1%} of the different words and {self.tokens:.1%} of the running words have a vector"
        return said + (f"; most frequent without: {', '.join(self.missing)}" if self.missing else "")


def known(vocabulary: Sequence[str], vectors: Vectors) -> dict[int, int]:
    """Token number → row of its vector, for every token that has one; special tokens have none."""
    rows = ((number, vectors.row(piece)) for number, piece in enumerate(vocabulary) if number >= len(special))
    return {number: row for number, row in rows if row is not None}


def coverage(vocabulary: Sequence[str], counts: Mapping[int, int], vectors: Vectors, some: int = 10) -> Coverage:
    """The share of tokens with a vector; `counts` has the count of each id, `some` limits the missing words."""
    rows = known(vocabulary, vectors)
    met = {
        n: count
        for n, count in counts.items()
        if count > 0 and n not in (Tokenizer.pad, Tokenizer.start, Tokenizer.end)
    }
    words = [number for number in met if number != Tokenizer.unknown]
    having = [number for number in words if number in rows]
    rest = sorted(set(words) - set(having), key=lambda number: (-met[number], number))
    names = dict.fromkeys(bare(vocabulary[number]) or vocabulary[number] for number in rest)
    return Coverage(
        found=len(rows),
        words=len(having) / max(len(words), 1),
        tokens=sum(met[number] for number in having) / max(sum(met.values()), 1),
        missing=tuple(names)[:some],
    )
