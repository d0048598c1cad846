"""Last: the encoder's summary as it is."""

import pytest
import torch

from regard.encode.recurrent import Recurrent
from regard.errors import RegardError
from regard.pool.last import Last
from regard.types import Memory, Sequences


def test_by_hand() -> None:
    """The summary, and zeros for the second sequence, which has no token."""
    values, mask = torch.randn(2, 3, 5), torch.tensor([[True, True, False], [False] * 3])
    memory = Memory(values, values, mask, torch.tensor([[1.0, -2.0], [3.0, 4.0]]))
    assert Last(summary=2)(memory).vector.tolist() == [[1.0, -2.0], [0.0, 0.0]]
    assert Last(summary=2).size == 2


def test_of_a_recurrent_encoder_it_is_the_last_state() -> None:
    encoder, counts = Recurrent(3, hidden=2, bidirectional=False), torch.tensor([4, 2])
    memory = encoder(Sequences(torch.randn(2, 4, 3), torch.arange(4)[None] < counts[:, None], counts))
    vector = Last(summary=encoder.summary)(memory).vector
    torch.testing.assert_close(vector, torch.stack([memory.values[0, 3], memory.values[1, 1]]))


def test_an_encoder_without_a_summary_is_explained() -> None:
    with pytest.raises(RegardError, match="pool=last with an encoder that has no summary; use pool=mean"):
        Last(summary=2)(Memory(torch.randn(1, 2, 3), torch.randn(1, 2, 3)))
