"""LSTMN encoder: the paper's equations step by step, its tape of earlier states, where it looked."""

from math import exp, tanh

import pytest
import torch
from torch import Tensor

from regard import find
from regard.encode.lstmn import Lstmn
from regard.errors import RegardError
from regard.types import Sequences

lengths = [5, 1, 7]


def sequences(values: Tensor, lengths: list[int]) -> Sequences:
    counts = torch.tensor(lengths)
    return Sequences(values, torch.arange(values.shape[1])[None, :] < counts[:, None], counts)


def by_hand(part: Lstmn, words: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """States h, summaries h̃ and weights s of one sentence, equation by equation."""
    hidden = part.size
    W, b = torch.cat([part.gates_h.weight, part.gates_x.weight], 1), part.gates_x.bias
    hs, cs, answers = [], [], []
    square = torch.zeros(len(words), len(words), dtype=words.dtype)
    before = torch.zeros(hidden, dtype=words.dtype)  # h̃ of the step before
    for t, x in enumerate(words):
        attended_h = attended_c = torch.zeros(hidden, dtype=words.dtype)
        if t > 0:
            a = [
                part.v @ torch.tanh(part.W_h.weight @ h + part.W_x.weight @ x + part.W_h_tilde.weight @ before)
                for h in hs
            ]
            total = sum(one.exp() for one in a)
            s = [one.exp() / total for one in a]
            square[t, :t] = torch.stack(s).detach()
            attended_h = sum(one * h for one, h in zip(s, hs, strict=True))
            attended_c = sum(one * c for one, c in zip(s, cs, strict=True))
        z = W @ torch.cat([attended_h, x]) + b
        i, f, o = (torch.sigmoid(z[n * hidden : (n + 1) * hidden]) for n in range(3))
        c = f * attended_c + i * torch.tanh(z[3 * hidden :])
        hs.append(o * torch.tanh(c))
        cs.append(c)
        answers.append(attended_h)
        before = attended_h
    return torch.stack(hs), torch.stack(answers), square


def test_worked_by_hand() -> None:
    """One number a state, three steps."""
    part = Lstmn(1, hidden=1).double()
    with torch.no_grad():
        for name, numbers in {
            "W_h.weight": [2.0],
            "W_x.weight": [0.5],
            "W_h_tilde.weight": [-3.0],
            "v": [4.0],
            "gates_x.weight": [1.0, 0.5, -1.0, 2.0],  # i, f, o, ĉ
            "gates_x.bias": [0.1, 0.2, 0.3, 0.0],
            "gates_h.weight": [0.4, -0.4, 0.2, 1.5],
        }.items():
            parameter = part.get_parameter(name)
            parameter[:] = torch.tensor(numbers, dtype=torch.float64).reshape(parameter.shape)

    def sigmoid(z: float) -> float:
        return 1 / (1 + exp(-z))

    def step(x: float, h: float, c: float) -> tuple[float, float]:
        i, f, o = sigmoid(x + 0.1 + 0.4 * h), sigmoid(0.5 * x + 0.2 - 0.4 * h), sigmoid(-x + 0.3 + 0.2 * h)
        c = f * c + i * tanh(2 * x + 1.5 * h)
        return o * tanh(c), c

    x = [1.0, -0.5, 0.25]
    h_1, c_1 = step(x[0], 0, 0)
    h_2, c_2 = step(x[1], h_1, c_1)  # one state to look at, so all the weight is its
    e_1, e_2 = (4 * tanh(2 * h + 0.5 * x[2] - 3 * h_1) for h in (h_1, h_2))  # h̃ of the step before is h_1
    s = exp(e_1) / (exp(e_1) + exp(e_2))
    h_3, _ = step(x[2], s * h_1 + (1 - s) * h_2, s * c_1 + (1 - s) * c_2)

    memory = part(sequences(torch.tensor(x).double().reshape(1, 3, 1), [3]))
    assert memory.keys.flatten().tolist() == pytest.approx([h_1, h_2, h_3], abs=1e-12)
    assert memory.looks[0][1].weights.flatten().tolist() == pytest.approx([0, 0, 0, 1, 0, 0, s, 1 - s, 0], abs=1e-12)
    assert [h_1, s] == pytest.approx([0.20537, 0.75072], abs=1e-5)  # e = −0.3208 and −1.4234
    assert memory.summary.item() == pytest.approx(h_3, abs=1e-12)


def test_it_is_the_published_equations() -> None:
    part, values = Lstmn(3, hidden=4).double(), torch.randn(3, 8, 3).double()
    memory = part(sequences(values, lengths))
    assert memory.keys is memory.values
    assert memory.keys.shape == (3, 8, 4)
    assert part.size == part.summary == 4
    ((name, look),) = memory.looks
    assert name == "intra-attention"
    assert look.weights.shape == (3, 8, 8)
    for row, length in enumerate(lengths):
        states, answers, weights = by_hand(part, values[row, :length])
        torch.testing.assert_close(memory.keys[row, :length], states)
        torch.testing.assert_close(memory.summary[row], states[-1])
        torch.testing.assert_close(look.context[row, :length], answers)
        torch.testing.assert_close(look.weights[row, :length, :length], weights)
        assert not memory.keys[row, length:].any()
        assert not look.weights[row, length:].any()
        assert not look.weights[row, :, length:].any()


def test_gradients_are_those_of_the_equations() -> None:
    part, values = Lstmn(3, hidden=4).double(), torch.randn(3, 8, 3).double().requires_grad_()
    of = [values, *part.parameters()]
    fast = torch.autograd.grad(part(sequences(values, lengths)).keys.square().sum(), of)
    states = [by_hand(part, values[row, :length])[0] for row, length in enumerate(lengths)]
    slow = torch.autograd.grad(sum(one.square().sum() for one in states), of)
    for one, other in zip(fast, slow, strict=True):
        torch.testing.assert_close(one, other)


def test_the_weights_look_back_only() -> None:
    memory = Lstmn(3, hidden=4)(sequences(torch.randn(3, 8, 3), lengths))
    weights = memory.looks[0][1].weights
    assert not weights.triu().any()
    for row, length in enumerate(lengths):
        torch.testing.assert_close(weights[row].sum(-1), torch.tensor([float(0 < t < length) for t in range(8)]))
    torch.testing.assert_close(weights @ memory.values, memory.looks[0][1].context)


def test_a_state_knows_only_what_came_before() -> None:
    part, values = Lstmn(3, hidden=4).double(), torch.randn(1, 5, 3).double().requires_grad_()
    states = part(sequences(values, [5])).keys[0]
    for t in range(5):
        (gradient,) = torch.autograd.grad(states[t].sum(), values, retain_graph=True)
        assert gradient[0].any(-1).tolist() == [other <= t for other in range(5)]


def test_only_h_enters_the_scores() -> None:
    """With the output gate shut every h is 0: whatever the cells hold, all earlier ones look alike."""
    part = Lstmn(3, hidden=4).double()
    with torch.no_grad():
        part.gates_x.bias[8:12] = -1e4
    weights = part(sequences(torch.randn(1, 4, 3).double(), [4])).looks[0][1].weights
    assert weights[0, 3].tolist() == pytest.approx([1 / 3, 1 / 3, 1 / 3, 0], abs=1e-12)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize(("counts", "width"), [([3, 0], 3), ([1, 0], 1), ([0, 0], 2), ([0, 0], 0)])
def test_an_empty_sequence_is_zeros(counts: list[int], width: int, dtype: torch.dtype) -> None:
    part, values = Lstmn(3, hidden=4).to(dtype), torch.randn(2, width, 3, dtype=dtype, requires_grad=True)
    memory = part(sequences(values, counts))
    assert memory.keys.shape == memory.looks[0][1].context.shape == (2, width, 4)
    assert not memory.keys[1].any()
    assert not memory.summary[1].any()
    assert memory.summary[0].any() == bool(counts[0])
    assert memory.looks[0][1].weights.shape == (2, width, width)
    assert not memory.looks[0][1].weights[1].any()
    (memory.keys.sum() + memory.summary.sum()).backward()
    assert all(p.grad.isfinite().all() for p in part.parameters() if p.grad is not None)
    assert values.grad is not None
    assert not values.grad[1].any()


def test_padding_may_hold_anything() -> None:
    part, given = Lstmn(3, hidden=4), sequences(torch.randn(3, 8, 3), lengths)
    filled = given.values.masked_fill(~given.mask.unsqueeze(-1), float("nan"))
    memory = part(Sequences(filled, given.mask, given.lengths))
    assert torch.equal(memory.keys, part(given).keys)
    memory.keys.sum().backward()
    assert all(p.grad is not None and p.grad.isfinite().all() for p in part.parameters())


def test_its_pooling_is_the_mean_of_the_tape() -> None:
    part = Lstmn(3, hidden=4)
    assert part.pool == "mean"
    memory = part(sequences(torch.randn(3, 8, 3), lengths))
    pooled = find.build("pool", part.pool, inputs=part.size, summary=part.summary)(memory)
    for row, length in enumerate(lengths):
        torch.testing.assert_close(pooled.vector[row], memory.keys[row, :length].mean(0))


def test_in_half_precision_it_is_nearly_the_same() -> None:
    part, given = Lstmn(3, hidden=4), sequences(torch.randn(3, 8, 3), lengths)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        memory = part(given)
    torch.testing.assert_close(memory.keys.float(), part(given).keys, rtol=0.05, atol=0.02)
    weights = memory.looks[0][1].weights
    torch.testing.assert_close(weights.float(), part(given).looks[0][1].weights, rtol=0.05, atol=0.02)


def test_dropout_is_for_the_words_in_training_only() -> None:
    part, given = Lstmn(3, hidden=4, dropout=1.0), sequences(torch.randn(3, 8, 3), lengths)
    other = sequences(torch.randn(3, 8, 3), lengths)
    assert torch.equal(part(given).keys, part(other).keys)
    part.eval()
    assert not torch.equal(part(given).keys, part(other).keys)
    assert torch.equal(part(given).keys, part(given).keys)


def test_found_by_name_with_its_options() -> None:
    part = find.build("encode", {"name": "lstmn", "hidden": 5}, inputs=4)
    assert isinstance(part, Lstmn)
    assert part.size == part.summary == 5
    assert Lstmn(300).size == 300
    with pytest.raises(RegardError, match="did you mean 'hidden'"):
        find.build("encode", {"name": "lstmn", "hiden": 5}, inputs=4)
