"""Transformer encoder.

    x = √d · words + positions,   x ← x + attend(norm x),   x ← x + W_2 relu(W_1 norm x),   h = norm x

Vaswani et al. 2017, "Attention Is All You Need", sections 3.1 and 3.4, with the norm before each part (see
`regard.attend.block`). Sizes are those that serve small corpora (JoeyNMT's for Multi30k); the paper's base model has
size 512, 6 layers, 8 heads and inner 2048. `positions` are sinusoids, learned or rotary; learned ones end after
`max_length` tokens. `score` and `normalizer` are those of the self-attention. With `causal` a position attends to
itself and to earlier ones, so that its state knows nothing of what follows.

    Transformer(inputs=256)(sequences).values            # [batch, time, 256]
"""

from typing import Annotated, Any, ClassVar

from torch import nn
from torch.nn.functional import dropout

from regard.attend.block import Block, xavier
from regard.attend.mask import causal
from regard.attend.positions import Kind, Positions
from regard.encode import Encoder
from regard.find import In, Spec
from regard.pool.mean import mean
from regard.ranges import Depth, Dropout, Few, Length, Width
from regard.types import Memory, Sequences

__all__ = ["Transformer"]


class Transformer(Encoder):
    """Transformer encoder: layers of self-attention and feed-forward networks"""

    pool: ClassVar[Spec] = "mean"

    def __init__(
        self,
        inputs: int,
        size: Annotated[Width, "width of the model (d_model)"] = 256,
        layers: Annotated[Depth, "number of layers"] = 4,
        heads: Annotated[Few, "attention heads in each layer; they must divide size"] = 4,
        ffn: Annotated[Width, "units of the feed-forward layer"] = 1024,
        dropout: Annotated[
            Dropout, "dropout on the embeddings, in the feed-forward layer and on each sublayer's output"
        ] = 0.1,
        positions: Annotated[Kind, "kind of position encoding"] = "sinusoid",
        max_length: Annotated[Length, "longest text, in tokens (positions=learned)"] = 1024,
        score: Annotated[Spec, In("attend.score"), "how self-attention compares a query and a key"] = "scaled_dot",
        normalizer: Annotated[
            Spec, In("attend.normalizer"), "how self-attention turns scores into weights"
        ] = "softmax",
        causal: Annotated[bool, "let each position attend only to itself and to earlier ones"] = False,
    ) -> None:
        super().__init__()
        self.dropout, self.causal = dropout, causal
        self.scale = inputs**0.5  # words are made with a variance of 1/inputs (Vaswani, section 3.4)
        self.W_x = nn.Linear(inputs, size) if inputs != size else None
        self.positions = Positions(positions, size, heads, max_length)
        self.blocks: Any = nn.ModuleList(
            Block(size, heads, ffn, dropout, score=score, normalizer=normalizer) for _ in range(layers)
        )
        self.norm = nn.LayerNorm(size)
        self.size = self.summary = size
        if self.W_x is not None:
            xavier(self.W_x)

    def forward(self, inputs: Sequences) -> Memory:
        x = inputs.values * self.scale
        x = x if self.W_x is None else self.W_x(x)
        places = self.positions(0, x.shape[1], x.device)
        x = dropout(places.added(x), self.dropout, self.training)
        seen = causal(x.shape[1], x.shape[1], x.device).unsqueeze(0) if self.causal else None
        looks = []
        for number, block in enumerate(self.blocks, 1):
            x, look, _ = block.attend(x, places, inputs.mask, seen)
            x = block.think(x)
            looks.append((f"layer {number}", look))
        h = self.norm(x).masked_fill(~inputs.mask.unsqueeze(-1), 0.0)
        return Memory(h, h, inputs.mask, mean(h, inputs.mask), looks=tuple(looks))
