"""The dynamic pointing decoder: a maxout by hand, every turn by loops, and it stops where nothing changes."""

import torch
from torch import Tensor

from regard.predict.point.dynamic import Dynamic, HighwayMaxout


def test_a_highway_maxout_by_hand() -> None:
    """r = tanh(0) = 0; m₁ = max(u, −u) = |u|; m₂ = max(2 |u|, 1); score = max(m₁ + m₂, 0)."""
    one = HighwayMaxout(inputs=1, size=1, pool=2, share=0.0)
    with torch.no_grad():
        for parameter in one.parameters():
            parameter.zero_()
        one.W_1u.weight.copy_(torch.tensor([[1.0], [-1.0]]))
        one.W_2.weight.copy_(torch.tensor([[2.0], [0.0]]))
        one.W_2.bias.copy_(torch.tensor([0.0, 1.0]))
        one.W_3.weight.copy_(torch.tensor([[1.0, 1.0], [0.0, 0.0]]))
        u = torch.tensor([[[1.0], [-3.0], [0.2]]])
        nothing = torch.zeros(1, 1)
        found = one(one.W_1u(u), nothing, nothing, nothing)
    torch.testing.assert_close(found, torch.tensor([[3.0, 9.0, 1.2]]))


def score(one: HighwayMaxout, u: Tensor, h: Tensor, u_s: Tensor, u_e: Tensor) -> Tensor:
    """The equations of one position."""

    def most(x: Tensor) -> Tensor:
        size = len(x) // one.pool
        return torch.stack([max(x[k * size + i] for k in range(one.pool)) for i in range(size)])

    r = torch.tanh(one.W_r.weight @ torch.cat([h, u_s, u_e]))
    m_1 = most(torch.cat([one.W_1u.weight, one.W_1r.weight], 1) @ torch.cat([u, r]) + one.W_1u.bias)
    m_2 = most(one.W_2.weight @ m_1 + one.W_2.bias)
    return most(one.W_3.weight @ torch.cat([m_1, m_2]) + one.W_3.bias)[0]


@torch.no_grad()
def test_every_turn_by_loops() -> None:
    """And a row that has stopped keeps its scores, while the others go on."""
    stops = set()
    for seed in (3, 4, 8, 12):  # they stop at different turns, or never
        torch.manual_seed(seed)
        one = Dynamic(inputs=3, hidden=2, pool=2, turns=4).double().eval()
        for parameter in one.parameters():
            parameter *= 3
        values = torch.randn(2, 5, 3, dtype=torch.float64)
        lengths = (5, 3)
        found = one(values, torch.arange(5) < torch.tensor(lengths)[:, None])
        for row, length in enumerate(lengths):
            u, s, e = values[row], 0, length - 1
            h = c = torch.zeros(1, 2, dtype=torch.float64)
            for turn in range(4):
                h, c = one.lstm(torch.cat([u[s], u[e]])[None], (h, c))
                start, end = (
                    torch.stack([score(part, u[t], h[0], u[s], u[e]) for t in range(length)])
                    for part in (one.start, one.end)
                )
                torch.testing.assert_close(found.start[row, turn, :length], start)
                torch.testing.assert_close(found.end[row, turn, :length], end)
                before, (s, e) = (s, e), (int(start.argmax()), int(end.argmax()))
                assert found.path[row, turn].tolist() == [s, e]
                if before == (s, e):
                    stops.add(turn)
                    for later in range(turn + 1, 4):
                        assert torch.equal(found.start[row, later], found.start[row, turn])
                        assert torch.equal(found.path[row, later], found.path[row, turn])
                    break
    assert len(stops) > 1  # some stopped earlier than others


def test_in_training_every_turn_is_made() -> None:
    torch.manual_seed(0)
    one = Dynamic(inputs=3, hidden=2, pool=2, turns=3)
    values, mask = torch.randn(1, 4, 3), torch.ones(1, 4, dtype=torch.bool)
    moving = one.train()(values, mask).start
    assert not torch.equal(moving[0, 1], moving[0, 2])
