"""EfficientNet-Lite0: sizes, names of the weights, and padding at the end."""

import torch

from regard.fields._efficientnet import EfficientnetLite0, Same


def test_sizes_and_names() -> None:
    network = EfficientnetLite0().eval()
    weights = network.state_dict()
    assert sum(one.numel() for name, one in weights.items() if "num_batches" not in name) == 3_413_024
    assert weights["_blocks.15._project_conv.weight"].shape == (320, 1152, 1, 1)
    assert "_blocks.0._expand_conv.weight" not in weights
    assert network(torch.zeros(1, 3, 64, 40)).shape == (1, 1280, 2, 2)
    network.load_state_dict({**weights, "_fc.weight": torch.zeros(1000, 1280)})


def test_same_padding_by_hand() -> None:
    """Of 4 pixels a kernel of 3 with stride 2 sees 1 2 3 and 3 4 and a zero."""
    part = Same(1, 1, 3, 2)
    with torch.no_grad():
        part.weight.zero_()
        part.weight[0, 0, 1] = 1.0  # the middle row
    row = torch.tensor([[1.0, 2.0, 3.0, 4.0]])
    rows = torch.cat([torch.zeros_like(row), row, torch.zeros(2, 4)])
    assert part(rows[None, None])[0, 0, 0].tolist() == [6.0, 7.0]
