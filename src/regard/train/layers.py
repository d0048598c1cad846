"""Learning rates that fall from the top of a network to its input: `train.layer_decay=0.9`.

What was taken from another run changes least near the input. The head learns at the full rate, the last layer of the
encoder at `decay` times that, the layer before at `decay²`, …, the embedding slowest. Howard & Ruder 2018, "Universal
Language Model Fine-tuning for Text Classification", section 3.2; as in ELECTRA (Clark et al. 2020).

    rates(["embed.learned", "encoder.blocks.0.W", "encoder.blocks.1.W", "head.W"], 0.5)   # [0.125, 0.25, 0.5, 1.0]
"""

import re
from collections.abc import Sequence

__all__ = ["rates"]

# A layer in a list of modules, or in PyTorch's recurrent networks.
LAYER = re.compile(r"\.(\d+)\.|_l(\d+)(?:_reverse)?$")


def rates(names: Sequence[str], decay: float) -> list[float]:
    """For each parameter, in the order of the network, the share of the learning rate that it gets. A parameter of the
    encoder without a layer's number belongs to the layer before it."""
    has_encoder = any(name.startswith("encoder.") for name in names)
    depths: list[int | None] = []
    layer = 1
    for name in names:
        if name.startswith("embed"):
            depths.append(0)
        elif has_encoder and not name.startswith("encoder."):
            depths.append(None)
        else:
            if match := LAYER.search(name):
                layer = 1 + int(match[1] or match[2])
            depths.append(layer)
    top = 1 + max((depth for depth in depths if depth is not None), default=0)
    return [decay ** (top - (top if depth is None else depth)) for depth in depths]
