"""Multi-window encoder: each window around each token, zeros beyond the ends, the published size."""

import pytest
import torch
from torch import Tensor

from regard import find
from regard.encode.multi_window import MultiWindow
from regard.errors import RegardError
from regard.predict.classify import ClassifyHead
from regard.predict.match.difference import Difference
from regard.types import Sequences

lengths = [4, 1, 6]


def sequences(values: Tensor, lengths: list[int]) -> Sequences:
    counts = torch.tensor(lengths)
    return Sequences(values, torch.arange(values.shape[1])[None, :] < counts[:, None], counts)


def by_hand(part: MultiWindow, words: Tensor) -> Tensor:
    """The states of one sentence, window by window and word by word."""
    states = []
    for i in range(len(words)):
        found = []
        for W in part.W:
            width = W.weight.shape[-1]
            window = [
                words[j] if 0 <= j < len(words) else torch.zeros_like(words[0])
                for j in range(i - (width - 1) // 2, i + width // 2 + 1)
            ]
            score = sum(W.weight[:, :, k] @ word for k, word in enumerate(window)) + W.bias
            found.append(score.clamp(min=0))
        states.append(torch.cat(found))
    return torch.stack(states)


def test_worked_by_hand() -> None:
    part = MultiWindow(1, windows=(2, 3), filters=1).double()
    with torch.no_grad():
        part.W[0].weight[:] = torch.tensor([[[1.0, 10.0]]])  # this one and the next
        part.W[1].weight[:] = torch.tensor([[[1.0, 10.0, 100.0]]])  # the one before, this one, the next
        part.W[0].bias.fill_(0.5)
        part.W[1].bias.fill_(0.0)
    memory = part(sequences(torch.tensor([[[1.0], [2.0], [-3.0]]]).double(), [3]))
    # 1 + 20 + ½, 2 − 30 + ½ < 0, −3 + ½ < 0;   10 + 200, 1 + 20 − 300 < 0, 2 − 30 < 0
    assert memory.keys[0].tolist() == [[21.5, 210.0], [0.0, 0.0], [0.0, 0.0]]
    assert memory.summary[0].tolist() == [21.5, 210.0]


@pytest.mark.parametrize("windows", [(3, 4, 5), (1,), (2, 7)])
def test_it_is_the_windows_one_by_one(windows: tuple[int, ...]) -> None:
    part, values = MultiWindow(3, windows, filters=2).double(), torch.randn(3, 7, 3).double()
    memory = part(sequences(values, lengths))
    assert memory.keys is memory.values
    assert memory.keys.shape == (3, 7, part.size)
    assert part.size == part.summary == 2 * len(windows)
    for row, length in enumerate(lengths):
        states = by_hand(part, values[row, :length])
        torch.testing.assert_close(memory.keys[row, :length], states)
        torch.testing.assert_close(memory.summary[row], states.amax(0))
        assert not memory.keys[row, length:].any()


def test_the_summary_is_what_its_pooling_gives() -> None:
    part = MultiWindow(3, filters=2).double()
    memory = part(sequences(torch.randn(3, 7, 3).double(), lengths))
    pooled = find.build("pool", part.pool, inputs=part.size, summary=part.summary)(memory)
    torch.testing.assert_close(pooled.vector, memory.summary)


def test_a_state_sees_its_windows_and_no_further() -> None:
    part, values = MultiWindow(3, windows=(4,), filters=50), torch.randn(1, 9, 3).requires_grad_()
    states = part(sequences(values, [9])).keys[0]
    for i in range(9):
        (gradient,) = torch.autograd.grad(states[i].sum(), values, retain_graph=True)
        assert gradient[0].any(-1).tolist() == [i - 1 <= j <= i + 2 for j in range(9)]


@pytest.mark.parametrize(("counts", "width"), [([3, 0], 3), ([0, 0], 2), ([0, 0], 0)])
def test_an_empty_sequence_is_zeros(counts: list[int], width: int) -> None:
    part, values = MultiWindow(3, filters=2).double(), torch.randn(2, width, 3).double().requires_grad_()
    memory = part(sequences(values, counts))
    assert memory.keys.shape == (2, width, 6)
    assert not memory.keys[1].any()
    assert not memory.summary[1].any()
    gradients = torch.autograd.grad(memory.keys.sum() + memory.summary.sum(), [values, *part.parameters()])
    assert all(gradient.isfinite().all() for gradient in gradients)
    assert not gradients[0][1].any()


def test_padding_may_hold_anything() -> None:
    part, given = MultiWindow(3, filters=2), sequences(torch.randn(3, 7, 3), lengths)
    filled = given.values.masked_fill(~given.mask.unsqueeze(-1), float("nan"))
    assert torch.equal(part(Sequences(filled, given.mask, given.lengths)).keys, part(given).keys)


def test_it_is_as_large_as_published() -> None:
    """1.4m on SNLI: 3 windows, no parameters in the pooling, `[u; v; u − v; u ⊙ v]` → 300 → 3."""
    part = MultiWindow(300)
    assert part.pool == "max"
    assert part.size == 600
    pool = find.build("pool", part.pool, inputs=part.size, summary=part.summary)
    whole = [part, pool, ClassifyHead(Difference(pool.size).size, 3)]
    count = sum(p.numel() for module in whole for p in module.parameters())
    assert count == 720_600 + 0 + 721_203
    assert count == pytest.approx(1.4e6, rel=0.15)


def test_dropout_is_for_the_words_in_training_only() -> None:
    part, given = MultiWindow(3, filters=2, dropout=1.0), sequences(torch.randn(3, 7, 3), lengths)
    other = sequences(torch.randn(3, 7, 3), lengths)
    assert torch.equal(part(given).keys, part(other).keys)
    part.eval()
    assert not torch.equal(part(given).keys, part(other).keys)
    assert torch.equal(part(given).keys, part(given).keys)


def test_found_by_name_with_its_options() -> None:
    part = find.build("encode", {"name": "multi_window", "windows": [2, 3], "filters": 5}, inputs=4)
    assert isinstance(part, MultiWindow)
    assert [W.kernel_size for W in part.W] == [(2,), (3,)]
    assert part.size == 10


@pytest.mark.parametrize(
    ("option", "said"),
    [
        ({"windows": []}, r"encoder.windows=\[\]; expected one width or more, each at least 1"),
        ({"windows": [3, 0]}, "windows: got 0"),
        ({"windows": 3}, "windows: got 3; expected a list"),
        ({"filter": 3}, "did you mean 'filters'"),
    ],
)
def test_a_wrong_option_is_explained(option: dict[str, object], said: str) -> None:
    with pytest.raises(RegardError, match=said):
        find.build("encode", {"name": "multi_window", **option}, inputs=4)
