"""Masking for masked language modelling: which tokens are to be predicted, and what is read in their place.

Of each text a share of the tokens is chosen, one at least. Of those, 80 % are read as `[MASK]`, 10 % as a random token
and 10 % as they are (Devlin et al. 2019, "BERT: Pre-training of Deep Bidirectional Transformers for Language
Understanding", section 3.1). With whole words all pieces of a word are chosen together.

Every number that decides is a hash of the seed, the epoch, the row and the position (SplitMix64; Steele, Lea & Flood
2014, "Fast Splittable Pseudorandom Number Generators"). So masks are new in each epoch, the same when a run is resumed,
and the same however the rows are shared among processes.

    read, chosen = mask(tokens, lengths, keys([(1, 0, 7)]), share=0.15, mask_id=99, vocab=100)
"""

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
from jaxtyping import Bool, Int

__all__ = ["keys", "mask", "uniform", "word_starts"]

Bits = npt.NDArray[np.uint64]

GOLDEN = np.uint64(0x9E3779B97F4A7C15)
MASKED, RANDOM = 0.8, 0.1  # shares of the chosen tokens; the rest is read as it is
SPECIAL = 4  # tokens at the start of a vocabulary that stand for no text


def _mixed(bits: Bits) -> Bits:
    """SplitMix64's output function; products wrap, as they should."""
    bits = (bits ^ (bits >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    bits = (bits ^ (bits >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return bits ^ (bits >> np.uint64(31))


def keys(places: Sequence[tuple[int, int, int]]) -> Bits:
    """A key for each row, from its seed, epoch and number."""
    found = np.zeros(len(places), np.uint64)
    for column in np.asarray(places, np.int64).reshape(-1, 3).astype(np.uint64).T:
        found = _mixed(found + GOLDEN + column)
    return found


def uniform(key: Bits, time: int, stream: int) -> npt.NDArray[np.float64]:
    """Numbers in [0, 1), one for each row and position; each stream has numbers of its own."""
    places = np.arange(1, time + 1, dtype=np.uint64) * GOLDEN
    bits = _mixed(_mixed(key + np.array([stream], np.uint64) * GOLDEN)[:, None] + places)
    return (bits >> np.uint64(11)).astype(np.float64) * 2.0**-53


def word_starts(tokens: Int[np.ndarray, "row time"], pieces: "Subwords") -> Bool[np.ndarray, "row time"]:
    """Where a word starts."""
    starts = np.ones(tokens.shape, bool)
    before, after = tokens[:, :-1], tokens[:, 1:]
    alike = pieces.first[after] == pieces.last[before]
    goes_on = pieces.joins[after] & (pieces.blank[before] | (~pieces.closes[before] & alike))
    starts[:, 1:] = ~goes_on
    return starts


class Subwords:
    """What is known of the pieces of a vocabulary: whether a piece can go on the word of the piece before it."""

    def __init__(self, seen: Sequence[str], words: Sequence[bool]) -> None:
        def letter(character: str) -> bool:
            return character.isalnum() or character == "_"

        some = [piece or " " for piece in seen]
        self.joins = np.array([piece[0] != " " and not whole for piece, whole in zip(some, words, strict=True)])
        self.joins[:SPECIAL] = False
        self.blank = np.array([not piece.strip(" ") for piece in some])  # the space before a word may stand alone
        self.blank[:SPECIAL] = False
        self.closes = np.array([piece[-1] == " " for piece in some])
        self.closes[:SPECIAL] = True
        self.first, self.last = (np.array([letter(piece[at]) for piece in some]) for at in (0, -1))


def mask(
    tokens: Int[np.ndarray, "row time"],
    lengths: Int[np.ndarray, " row"],
    key: Bits,
    *,
    share: float,
    mask_id: int,
    vocab: int,
    pieces: Subwords | None = None,
) -> tuple[Int[np.ndarray, "row time"], Bool[np.ndarray, "row time"]]:
    """What is read, and which tokens are to be predicted. With `pieces`, words are chosen whole."""
    time = tokens.shape[1]
    there = np.arange(time) < lengths[:, None]
    draw = uniform(key, time, 0)
    if pieces is not None:  # every piece has the number of the first piece of its word
        first = np.maximum.accumulate(np.where(word_starts(tokens, pieces), np.arange(time), 0), axis=1)
        draw = np.take_along_axis(draw, first, axis=1)
    draw = np.where(there, draw, 2.0)
    chosen = there & ((draw < share) | (draw == draw.min(axis=1, keepdims=True, initial=2.0)))
    how = uniform(key, time, 1)
    other = SPECIAL + (uniform(key, time, 2) * (vocab - SPECIAL - 1)).astype(np.int64)
    other += other >= mask_id  # never the mask itself
    read = np.where(chosen & (how < MASKED), mask_id, tokens)
    return np.where(chosen & (how >= MASKED) & (how < MASKED + RANDOM), np.minimum(other, vocab - 1), read), chosen
