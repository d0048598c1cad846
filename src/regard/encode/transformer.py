"""Transformer encoder.

    x = √d · words + positions,   x ← x + attend(norm x),   x ← x + W_2 relu(W_1 norm x),   h = norm x

Vaswani et al. 2017, "Attention Is All You Need", sections 3.1 and 3.4, with the norm before each part (see
`regard.attend.block`). Sizes are those that serve small corpora (JoeyNMT's for Multi30k); the paper's base model has
size 512, 6 layers, 8 heads and inner 2048. `positions` are sinusoids, learned or rotary; learned ones end after
`max_length` tokens. `score` and `normalizer` are those of the self-attention. With `causal` a position attends to
itself and to earlier ones, so that its state knows nothing of what follows.

The options below `normalizer` make the layout of BERT (Devlin et al. 2019, "BERT: Pre-training of Deep Bidirectional
Transformers for Language Understanding", section 3): norms after each sum and none at the end, GELU, biases
everywhere, learned positions, and the sum of words, positions and segments normalised before the first layer,

    x = W_x norm(words + positions + segments)          W_x only where words have another width, as in ELECTRA

    Transformer(inputs=256)(sequences).values            # [batch, time, 256]
"""

from typing import Annotated, Any, ClassVar

from torch import Tensor, nn
from torch.nn.functional import dropout

from regard.attend.block import Activation, Block, Norm, xavier
from regard.attend.mask import causal
from regard.attend.positions import Kind, Positions
from regard.encode import Encoder
from regard.find import In, Spec
from regard.kernels.dot import hidden
from regard.pool.mean import mean
from regard.ranges import Depth, Dropout, Few, FewOrNone, Length, Range, Width
from regard.types import Memory, Sequences, Subwords

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
        norm: Annotated[Norm, "layer norm before each sublayer (pre) or after its sum (post, as in BERT)"] = "pre",
        activation: Annotated[Activation, "activation of the feed-forward layer"] = "relu",
        bias: Annotated[bool, "biases of queries, keys and values"] = False,
        segments: Annotated[
            FewOrNone, "number of segment embeddings, which tell two texts read together apart; 0: none"
        ] = 0,
        embed_norm: Annotated[bool, "layer norm on the sum of embeddings, before the first layer"] = False,
        scale_embedding: Annotated[bool, "multiply word vectors by the square root of their width"] = True,
        norm_eps: Annotated[float, Range(0, 1, above=True), "epsilon of the layer norms"] = 1e-5,
        causal: Annotated[bool, "let each position attend only to itself and to earlier ones"] = False,
    ) -> None:
        super().__init__()
        self.dropout, self.causal = dropout, causal
        # Words are made with a variance of 1/inputs (Vaswani, section 3.4).
        self.scale = inputs**0.5 if scale_embedding else None
        self.W_x = nn.Linear(inputs, size) if inputs != size else None
        width = inputs if embed_norm else size  # of what is added to the words
        self.positions = Positions(positions, size if positions == "rotary" else width, heads, max_length)
        self.blocks: Any = nn.ModuleList(
            Block(
                size,
                heads,
                ffn,
                dropout,
                score=score,
                normalizer=normalizer,
                norm=norm,
                activation=activation,
                bias=bias,
                eps=norm_eps,
            )
            for _ in range(layers)
        )
        self.norm = nn.LayerNorm(size, norm_eps) if norm == "pre" else None
        self.size = self.summary = size
        if self.W_x is not None:
            xavier(self.W_x)
        self.segments = nn.Embedding(segments, width) if segments else None
        if self.segments is not None:
            nn.init.normal_(self.segments.weight, std=width**-0.5)
        self.embed_norm = nn.LayerNorm(width, norm_eps) if embed_norm else None

    def forward(self, inputs: Sequences) -> Memory:
        # What fills the padding may be anything; once it is 0, nothing in the padding is ever NaN or infinite.
        mask = None if inputs.full else inputs.mask
        x = inputs.values if mask is None else inputs.values.masked_fill(~mask.unsqueeze(-1), 0.0)
        x = x if self.scale is None else x * self.scale
        places = self.positions(0, x.shape[1], x.device)
        if self.embed_norm is None:
            x = x if self.W_x is None else self.W_x(x)
            x = dropout(self._added(places.added(x), inputs), self.dropout, self.training)
        else:
            x = dropout(self.embed_norm(self._added(places.added(x), inputs)), self.dropout, self.training)
            x = x if self.W_x is None else self.W_x(x)
        seen = causal(x.shape[1], x.shape[1], x.device).unsqueeze(0) if self.causal else None
        hiding = None
        if mask is not None:
            visible = mask.unsqueeze(1) if seen is None else mask.unsqueeze(1) & seen
            hiding = hidden(visible.unsqueeze(1), like=x)
        looks = []
        for number, block in enumerate(self.blocks, 1):
            x, look, _ = block.attend(x, places, mask, seen, hiding=hiding)
            x = block.think(x)
            looks.append((f"layer {number}", look))
        h = x if self.norm is None else self.norm(x)
        h = h if mask is None else h.masked_fill(~mask.unsqueeze(-1), 0.0)
        return Memory(h, h, inputs.mask, mean(h, mask), looks=tuple(looks))

    def _added(self, x: Tensor, inputs: Sequences) -> Tensor:
        """With the vector of each token's segment; all of a text read alone is segment 0."""
        if self.segments is None:
            return x
        given = inputs.segments if isinstance(inputs, Subwords) else None
        if given is None:
            return x + self.segments.weight[0].to(x.dtype)
        each: Tensor = self.segments(given.clamp(max=self.segments.num_embeddings - 1))
        return x + each.to(x.dtype)
