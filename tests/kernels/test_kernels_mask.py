"""A MaskSpec says the same as regard.attend.mask, and its three numbers say the same as its patterns."""

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from regard.attend.mask import band, causal, direction, padding
from regard.errors import RegardError
from regard.kernels.mask import PATTERNS, MaskSpec


def test_it_is_the_readable_mask() -> None:
    lengths = torch.tensor([5, 2])
    everything = torch.ones(2, 5, 5, dtype=torch.bool)
    for name in ("forward", "backward", "not_self"):
        assert torch.equal(MaskSpec(pattern=name).dense(2, 5, 5), everything & direction(5, name))
    assert torch.equal(MaskSpec(pattern="causal").dense(2, 3, 5), causal(3, 5).expand(2, 3, 5))
    assert torch.equal(MaskSpec(band=1).dense(2, 3, 5), band(3, 5, 1).expand(2, 3, 5))
    assert torch.equal(MaskSpec(lengths).dense(2, 3, 5), padding(lengths, 5)[:, None].expand(2, 3, 5))
    assert MaskSpec().dense(2, 3, 5).all()
    assert MaskSpec().everything
    assert not MaskSpec(lengths).everything
    assert not MaskSpec(band=0).everything  # each sees its own place alone


@given(
    pattern=st.sampled_from(sorted(PATTERNS)),
    width=st.integers(-1, 4),
    queries=st.integers(1, 6),
    keys=st.integers(1, 6),
    placed=st.booleans(),
    seed=st.integers(0, 1000),
)
def test_pair_by_pair(pattern: str, width: int, queries: int, keys: int, placed: bool, seed: int) -> None:
    torch.manual_seed(seed)
    lengths, query_lengths = torch.randint(0, keys + 1, (2,)), torch.randint(0, queries + 1, (2,))
    allowed = torch.rand(2, queries, keys) < 0.7
    places = (torch.randint(0, 8, (2, queries)), torch.randint(0, 8, (2, keys))) if placed else None
    spec = MaskSpec.of(
        (2,), queries, keys, allowed, lengths=lengths, query_lengths=query_lengths, pattern=pattern, band=width,
        positions=places,
    )  # fmt: skip
    found = spec.dense(2, queries, keys)
    for b in range(2):
        for q in range(queries):
            for k in range(keys):
                ahead = k - q - (keys - queries)
                near = abs(k - q)
                if places is not None:
                    ahead = int(places[1][b, k] - places[0][b, q])
                    near = abs(ahead)
                fits = {
                    "none": True,
                    "causal": ahead <= 0,
                    "forward": ahead < 0,
                    "backward": ahead > 0,
                    "not_self": ahead != 0,
                }
                fine = fits[pattern] and (width < 0 or near <= width) and bool(allowed[b, q, k])
                fine = fine and k < lengths[b] and q < query_lengths[b]
                assert bool(found[b, q, k]) == fine
    rows = torch.randint(0, queries, (3,))
    assert torch.equal(spec.dense(2, queries, keys, rows=rows), found[:, rows])


def test_leading_axes_become_one() -> None:
    lengths = torch.tensor([5, 2])
    for mask in (
        torch.rand(2, 1, 1, 5) < 0.5,
        torch.rand(2, 3, 4, 5) < 0.5,
        torch.rand(5) < 0.5,
        torch.rand(4, 1) < 0.5,
    ):
        spec = MaskSpec.of((2, 3), 4, 5, mask, lengths=lengths)
        expected = mask.expand(2, 3, 4, 5) & padding(lengths, 5)[:, None, None]
        assert torch.equal(spec.dense(6, 4, 5), expected.reshape(6, 4, 5))
    shared = MaskSpec.of((2, 3), 4, 5, torch.ones(4, 5, dtype=torch.bool))
    assert shared.allowed is not None
    assert shared.allowed.shape == (1, 4, 5)  # not copied for every row
    one = torch.arange(4).expand(2, 4)
    both = MaskSpec.of((2, 3), 4, 4, positions=one, pattern="forward")
    assert torch.equal(both.dense(6, 4, 4), direction(4, "forward").expand(6, 4, 4))


def test_what_cannot_be_used_is_said() -> None:
    with pytest.raises(RegardError, match="did you mean 'forward'"):
        MaskSpec(pattern="foward")
    with pytest.raises(RegardError, match="band: got -3"):
        MaskSpec(band=-3)
    with pytest.raises(RegardError, match="positions of queries or keys only"):
        MaskSpec(query_positions=torch.zeros(1, 2, dtype=torch.long))
    with pytest.raises(RegardError, match="a mask of shape"):
        MaskSpec.of((2,), 4, 5, torch.ones(3, 5, dtype=torch.bool))
    with pytest.raises(RegardError, match="query lengths of shape"):
        MaskSpec.of((2,), 4, 5, query_lengths=torch.ones(3, dtype=torch.long))


def test_from_its_parts_it_is_the_same() -> None:
    lengths, query_lengths = torch.tensor([5, 2]), torch.tensor([1, 3])
    whole = MaskSpec(lengths, query_lengths, pattern="causal", band=2)
    again = MaskSpec.again(lengths, query_lengths, "causal", 2, None, None, None)
    assert torch.equal(again.dense(2, 3, 5), whole.dense(2, 3, 5))
