"""Morse code: the same seed gives the same sound, and what is said of it is true."""

from collections.abc import Sequence
from itertools import pairwise

import numpy as np

from regard.data.builtin.morse import CODE, RATE, Morse, keyed
from regard.fields.audio import samples
from regard.regions import Interval


def test_the_same_seed_gives_the_same_sound_and_texts_are_in_one_part() -> None:
    one, other = (Morse(train=20, valid=5, test=5).splits() for _ in range(2))
    assert one == other
    assert Morse(train=20, valid=5, test=5, seed=2).splits().train != one.train
    texts = [{example.target for example in part} for part in (one.train, one.valid, one.test)]
    assert not texts[0] & texts[1] | texts[0] & texts[2] | texts[1] & texts[2]


def test_each_letter_is_heard_where_it_is_said_to_be() -> None:
    for example in Morse(train=5, valid=0, test=0, snr=40.0).splits().train:
        sound = samples(example.source, "", RATE)
        heard = []
        for one in example.grounding:
            assert isinstance(one.region, Interval)
            heard.append((round(one.region.start * RATE), round(one.region.end * RATE)))
        assert len(heard) == len(example.target.replace(" ", ""))
        inside = np.concatenate([sound[a:b] for a, b in heard])
        gaps = [(0, heard[0][0]), *((a[1], b[0]) for a, b in pairwise(heard))]
        outside = np.concatenate([sound[a + 30 : b - 30] for a, b in gaps])
        assert (inside**2).mean() > 100 * (outside**2).mean()


def runs(on: Sequence[bool]) -> list[tuple[bool, int]]:
    edges = [0, *(np.flatnonzero(np.diff(np.array(on, dtype=int))) + 1).tolist(), len(on)]
    return [(bool(on[a]), b - a) for a, b in pairwise(edges)]


def test_dots_and_dashes_can_be_read_off_a_clear_sound() -> None:
    sound, _ = keyed("QRX", 60.0, np.random.default_rng(3))
    loud = np.convolve(np.abs(sound), np.ones(20) / 20, mode="same")
    lengths = [length for on, length in runs(loud > 0.3 * loud.max()) if on]
    middle = (min(lengths) + max(lengths)) / 2
    assert "".join("-" if length > middle else "." for length in lengths) == CODE["Q"] + CODE["R"] + CODE["X"]


def test_the_ratio_of_tone_to_noise_is_the_one_asked_for() -> None:
    sound, spans = keyed("TTTTTTTT", 10.0, np.random.default_rng(1))
    quiet = (sound[: spans[0][0] - 20] ** 2).mean()
    loud = np.mean([(sound[a + 20 : b - 20] ** 2).mean() for a, b in spans.values()])
    assert abs(10 * np.log10((loud - quiet) / quiet) - 10) < 1
