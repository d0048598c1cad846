"""Figures of predicted tokens are sums over all batches, worked out by hand."""

from math import log

import pytest
import torch
from torch import Tensor, nn

from regard.tasks import _token_results
from regard.tasks._token_results import token_results
from regard.train.task import Encoded
from regard.types import Batch, Example, Sequences


@pytest.mark.parametrize("tokens", [16_384, 2])
def test_all_tokens_count_alike_in_batches_of_any_size(tokens: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_token_results, "TOKENS", tokens)
    items = [Encoded((row,), row, (len(row), len(row))) for row in ([0, 1], [2], [0])]

    def collate(some: object) -> Batch:
        rows = Sequences.pad([item.target for item in some])  # type: ignore[attr-defined]
        return Batch((rows,), rows)

    def predicted(batch: Batch) -> tuple[Tensor, Tensor]:
        """Token 0 has a probability of 1/2, the two others 1/4 each, whatever was read."""
        said = batch.source.values[batch.source.mask]
        return torch.tensor([2.0, 1.0, 1.0]).log().expand(len(said), 3), said

    examples = [Example(("a",), "")] * 3
    found = token_results(nn.Linear(1, 1), predicted, examples, items, collate)
    assert (found.tokens, found.right) == (4, 2)
    assert found.nats == pytest.approx(2 * log(2) + 2 * log(4))
