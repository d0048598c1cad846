"""Masking: shares, what is read in place of a chosen token, whole words; the same for the same key, whatever else."""

import numpy as np
import pytest

from regard.data.masking import Subwords, keys, mask, uniform, word_starts

VOCAB, MASK = 50, 49


def tokens(rows: int, time: int, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).integers(4, VOCAB - 1, (rows, time))


def masked(
    rows: np.ndarray, epoch: int = 1, share: float = 0.15, lengths: object = None, pieces: Subwords | None = None
):  # type: ignore[no-untyped-def]
    key = keys([(7, epoch, number) for number in range(len(rows))])
    lengths = np.full(len(rows), rows.shape[1]) if lengths is None else np.asarray(lengths)
    return mask(rows, lengths, key, share=share, mask_id=MASK, vocab=VOCAB, pieces=pieces)


def test_splitmix_by_hand() -> None:
    """The first two outputs of SplitMix64 from seed 0, as its authors' code gives them."""
    bits = [int(number * 2**53) for number in uniform(np.zeros(1, np.uint64), 2, 0)[0]]
    assert bits == [0xE220A8397B1DCDAF >> 11, 0x6E789E6AA1B965F4 >> 11]


def test_shares() -> None:
    """Of 100,000 tokens 15 % are chosen; of these 80 % are masks, 10 % are random and 10 % are kept. The bounds are
    five standard deviations of each share."""
    rows = tokens(1000, 100)
    read, chosen = masked(rows)
    count = chosen.sum()
    assert abs(chosen.mean() - 0.15) < 5 * (0.15 * 0.85 / rows.size) ** 0.5
    assert (read == rows)[~chosen].all()
    hidden, kept = (read == MASK)[chosen].mean(), (read == rows)[chosen].mean()
    assert abs(hidden - 0.8) < 5 * (0.8 * 0.2 / count) ** 0.5
    same = 0.1 + 0.1 / (VOCAB - 5)  # a random token may be the true one
    assert abs(kept - same) < 5 * (same * (1 - same) / count) ** 0.5
    random = read[chosen & (read != MASK) & (read != rows)]
    assert set(random.tolist()) == set(range(4, MASK))


def test_one_token_at_least() -> None:
    _, chosen = masked(tokens(200, 3), share=0.0)
    assert (chosen.sum(1) == 1).all()
    assert len(set(chosen.argmax(1).tolist())) == 3
    assert masked(tokens(2, 0))[1].shape == (2, 0)


def test_padding_is_never_chosen() -> None:
    rows, lengths = tokens(300, 9), np.arange(300) % 9 + 1
    _, chosen = masked(rows, share=0.9, lengths=lengths)
    assert not chosen[np.arange(9) >= lengths[:, None]].any()


def test_new_in_each_epoch_and_the_same_again() -> None:
    rows = tokens(50, 20)
    first, again, other = masked(rows), masked(rows), masked(rows, epoch=2)
    assert np.array_equal(first[0], again[0])
    assert not np.array_equal(first[1], other[1])


def test_a_row_is_masked_alike_in_any_company() -> None:
    rows = tokens(6, 20)
    key = keys([(7, 1, number) for number in range(6)])
    whole = mask(rows, np.full(6, 20), key, share=0.15, mask_id=MASK, vocab=VOCAB)
    part = mask(rows[[4, 1]], np.full(2, 20), key[[4, 1]], share=0.15, mask_id=MASK, vocab=VOCAB)
    assert all(np.array_equal(one, some[[4, 1]]) for one, some in zip(part, whole, strict=True))


SEEN = ["<pad>", "<unk>", "<s>", "</s>", " un", "like", "ly", " dog", ".", "..", " (", " "]


@pytest.mark.parametrize(
    ("row", "starts"),
    [
        ([4, 5, 6, 7], [True, False, False, True]),  # un·like·ly dog
        ([7, 8, 9, 7], [True, True, False, True]),  # dog . ·.. dog
        ([10, 5, 6, 8], [True, True, False, True]),  # ( like·ly .
        ([11, 5, 6, 7], [True, False, False, True]),  # a space, and the word after it
        ([5, 1, 6, 3], [True, True, True, True]),  # a special token joins nothing
    ],
)
def test_word_starts(row: list[int], starts: list[bool]) -> None:
    pieces = Subwords(SEEN, [False] * len(SEEN))
    assert word_starts(np.array([row]), pieces).tolist() == [starts]
    assert word_starts(np.array([row]), Subwords(SEEN, [True] * len(SEEN))).all()


def test_whole_words_are_chosen_whole() -> None:
    pieces = Subwords([*SEEN[:4], *([" a", "b"] * 22), " x", "[MASK]"], [False] * VOCAB)
    rows = np.where(np.arange(30) % 3 == 0, 4, 5)[None].repeat(400, 0)  # words of three pieces
    _, chosen = masked(rows, pieces=pieces)
    words = chosen.reshape(400, 10, 3)
    assert (words.all(-1) == words.any(-1)).all()
    assert abs(words.all(-1).mean() - (0.15 + 0.85**10 / 10)) < 5 * (0.15 * 0.85 / 4000) ** 0.5
