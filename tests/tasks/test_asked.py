"""Total variation on tensors, as the one on arrays."""

import torch

from regard.look.faithful import total_variation
from regard.tasks._asked import variation


def test_variation_by_hand() -> None:
    p, q = torch.tensor([[0.7, 0.2, 0.1], [1.0, 0.0, 0.0]]), torch.tensor([[0.5, 0.2, 0.3], [0.0, 0.5, 0.5]])
    torch.testing.assert_close(variation(p, q), torch.tensor([0.2, 1.0]))
    torch.testing.assert_close(variation(p, q), torch.from_numpy(total_variation(p.numpy(), q.numpy())))
