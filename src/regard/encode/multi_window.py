"""Multi-window CNN: convolutions of several widths.

    h_i = [h_i^3; h_i^4; h_i^5],   h_i^w = relu(W^w [x_{i−(w−1)/2}; …; x_{i+w/2}] + b^w)

Kim 2014, "Convolutional Neural Networks for Sentence Classification", section 2. There a window is inside the sentence
and only the largest value is kept; here the sentence is padded with zeros, so that every token has a state (a window of
even width reaches one further to the right). Kim's sentence vector is `pool=max`. 3, 4, 5 × 200 filters are the sizes
of the sentence tables (1.4m parameters on SNLI).

    MultiWindow(inputs=300)(sequences).values            # [batch, time, 600]
"""

from typing import Annotated, ClassVar

import torch
from jaxtyping import Float
from torch import Tensor, nn
from torch.nn.functional import dropout, pad, relu

from regard.encode import Encoder
from regard.errors import RegardError
from regard.find import Spec
from regard.ranges import Dropout, Few, Width
from regard.types import Memory, Sequences

__all__ = ["MultiWindow", "everywhere"]


def everywhere(conv: nn.Conv1d, x: Float[Tensor, "batch inputs time"]) -> Float[Tensor, "batch channels time"]:
    """The convolution with its window around each place, zeros beyond both ends."""
    width, time = conv.kernel_size[0], x.shape[-1]
    # One zero more than needed at the end, and its result cut off: then a window fits even where there is nothing.
    return conv(pad(x, ((width - 1) // 2, width // 2 + 1)))[..., :time]  # type: ignore[no-any-return]


class MultiWindow(Encoder):
    """Convolutions of several widths, side by side"""

    pool: ClassVar[Spec] = "max"

    def __init__(
        self,
        inputs: int,
        windows: Annotated[tuple[Few, ...], "widths of the convolutions, in tokens"] = (3, 4, 5),
        filters: Annotated[Width, "filters of each width"] = 200,
        dropout: Annotated[Dropout, "dropout on the input vectors"] = 0.0,
    ) -> None:
        super().__init__()
        if not windows or min(windows) < 1:
            raise RegardError(f"encoder.windows={list(windows)}", expected="one width or more, each at least 1")
        self.W = nn.ModuleList(nn.Conv1d(inputs, filters, width) for width in windows)  # each carries its b
        self.dropout = dropout
        self.size = self.summary = filters * len(windows)

    def forward(self, inputs: Sequences) -> Memory:
        hidden = ~inputs.mask.unsqueeze(-1)
        # What stands after a sentence is made zeros, as beyond its ends: read alone it gives the same.
        x = dropout(inputs.values.masked_fill(hidden, 0.0), self.dropout, self.training).transpose(1, 2)
        h = torch.cat([relu(everywhere(W, x)) for W in self.W if isinstance(W, nn.Conv1d)], 1).transpose(1, 2)
        h = h.masked_fill(hidden, 0.0)
        # No state is below 0, so the zeros of the padding never are the largest; zeros for a sentence of nothing.
        summary = h.amax(1) if h.shape[1] else h.sum(1)
        return Memory(h, h, inputs.mask, summary)
