"""Digits: pictures on a canvas, and no digit of the test in training."""

from regard.data.builtin.digits import CANVAS, Digits
from regard.fields.image import decode


def test_parts_labels_and_size() -> None:
    splits = Digits(train=30, valid=10, test=10).splits()
    assert [len(part) for part in (splits.train, splits.valid, splits.test)] == [30, 10, 10]
    assert {one.target for one in splits.train} <= set("0123456789")
    assert decode(splits.train[0].inputs[0], "").size == (CANVAS, CANVAS)


def test_the_same_seed_draws_the_same() -> None:
    first, second, other = (Digits(train=5, valid=1, test=1, seed=seed).splits().train for seed in (1, 1, 2))
    assert first == second != other


def test_a_digit_is_drawn_anew_each_time() -> None:
    train = Digits(train=2_000, valid=1, test=1).splits().train
    assert len({one.inputs for one in train}) == 2_000  # though there are 1,258 digits for training
