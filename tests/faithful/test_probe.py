"""What all probes share: a frozen copy of a network, and leaving one position out."""

from typing import Any

import pytest
import torch
from torch import Tensor, nn

from regard.errors import RegardError
from regard.faithful.probe import frozen, leave_one_out, must_keep_positions
from regard.fields.items import Items
from regard.types import Memory, Sequences


def test_a_frozen_copy_shares_tensors_and_leaves_the_network_alone() -> None:
    network = nn.Sequential(nn.GRU(3, 3, 2, dropout=0.5), nn.BatchNorm1d(3), nn.Dropout(0.5)).train()
    copied = frozen(network)
    assert network.training
    assert all(one.requires_grad for one in network.parameters())
    assert not any(one.requires_grad for one in copied.parameters())
    tensors = [[one.data_ptr() for one in (*each.parameters(), *each.buffers())] for each in (network, copied)]
    assert tensors[0] == tensors[1]
    assert [part.training for part in copied] == [True, False, False]  # cuDNN has gradients only in training mode
    x = torch.ones(4, 1, 3)
    torch.testing.assert_close(copied[0](x)[0], network.eval()[0](x)[0])


def test_leaving_out_by_hand() -> None:
    """The prediction is the sum of the ids and its opposite: without one of them, TV is that id."""
    field = Items()
    field.fit(["a b c"])
    rows = [(row,) for row in field.encode(["a b", "c", "b c a"], ["", "", ""])]

    def again(inputs: list[Any], cases: Tensor) -> Tensor:
        total = inputs[0].values.sum(1).float()
        return torch.stack([total, -total], -1)

    p = again([field.collate([one for (one,) in rows])], torch.arange(3))
    found = leave_one_out([field], rows, 0, p, 3, again, most=2)
    a, b, c = (float(field.numbers[one]) for one in "abc")
    assert found.tolist() == [[a, b, 0], [0, 0, 0], [b, c, a]]
    words = leave_one_out([field], rows, 0, torch.stack([p, p + 1], 1), 3, lambda *given: again(*given).unsqueeze(1))
    torch.testing.assert_close(words[:, 0], found)


def test_an_encoder_that_shortens_is_refused() -> None:
    memory, inputs = Memory(torch.zeros(1, 2, 1), torch.zeros(1, 2, 1)), Sequences.pad([[4, 5, 6]])
    with pytest.raises(RegardError, match="the encoder merges positions"):
        must_keep_positions(memory, inputs)
