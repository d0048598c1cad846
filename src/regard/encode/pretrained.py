"""Pretrained: a pre-trained encoder, fine-tuned or frozen.

BERT, MiniLM, RoBERTa, XLM-R, DistilBERT or ELECTRA, from a folder with config.json, tokenizer.json and
model.safetensors, or `hf:NAME`. It is our Transformer with BERT's options; what it computes equals Hugging Face
Transformers in evaluation. Two texts are read as one (`pair=joint`), `[CLS] a [SEP] b [SEP]` with a segment for each,
or one by one (`separate`; Reimers & Gurevych 2019, "Sentence-BERT", section 3).

`freeze` keeps every weight as it is. `lora` trains a product of two thin matrices beside each matrix of the layers, and
nothing else (Hu et al. 2022, "LoRA: Low-Rank Adaptation of Large Language Models", section 4.1):

    W x + (α / r) B A x                  A: r × inputs, normally distributed; B: outputs × r, zeros

`merged` adds these products to the weights, for `Model.save_pretrained`. Attention weights have no dropout of their
own here, unlike in BERT's training.

    Pretrained(384, architecture)(pieces).values         # [batch, time, 384]
"""

from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from typing import Annotated, ClassVar, Literal

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn
from torch.nn.functional import embedding, linear

from regard.encode.transformer import Transformer
from regard.errors import RegardError
from regard.fields.embed import Embedding
from regard.find import Spec
from regard.pretrained.architecture import Architecture
from regard.ranges import Dropout, FewOrNone, Positive
from regard.types import Look, Memory, Sequences, Subwords

__all__ = ["Lora", "Pretrained", "Table"]


class Table(Embedding):
    """Ids → their vectors; that of padding has no gradient."""

    def __init__(self, vocab: int, size: int, pad: int) -> None:
        super().__init__()
        self.vocab, self.size, self.pad = vocab, size, pad
        self.weight = nn.Parameter(torch.empty(vocab, size).normal_(std=size**-0.5))

    def forward(self, inputs: Sequences) -> Sequences:
        vectors = embedding(inputs.values, self.weight, padding_idx=self.pad)
        if isinstance(inputs, Subwords):
            return Subwords(vectors, inputs.mask, inputs.lengths, inputs.segments, inputs.words)
        return Sequences(vectors, inputs.mask, inputs.lengths)


class Lora(nn.Linear):
    """A linear layer that stays as it is, and beside it a product of low rank that is trained."""

    def __init__(self, inputs: int, outputs: int, bias: bool, rank: int, alpha: float) -> None:
        super().__init__(inputs, outputs, bias)
        self.A = nn.Parameter(torch.empty(rank, inputs).normal_(std=inputs**-0.5))
        self.B = nn.Parameter(torch.zeros(outputs, rank))
        self.factor = alpha / rank

    def forward(self, x: Float[Tensor, "*row inputs"]) -> Float[Tensor, "*row outputs"]:
        return super().forward(x) + linear(linear(x, self.A), self.B) * self.factor

    def merged(self) -> Float[Tensor, "outputs inputs"]:
        """One matrix that does the same."""
        return self.weight + self.B @ self.A * self.factor


class Pretrained(Transformer):
    """Pre-trained encoder in the layout of BERT, RoBERTa, DistilBERT or ELECTRA"""

    pool: ClassVar[Spec] = "first"
    pretrained: ClassVar[bool] = True

    def __init__(
        self,
        inputs: int,
        architecture: Architecture,
        from_: Annotated[
            str, "the pre-trained model: a folder with config.json, tokenizer.json and model.safetensors, or hf:NAME"
        ] = "",
        freeze: Annotated[bool, "keep the encoder as it is and train only what comes after it"] = False,
        lora: Annotated[
            FewOrNone, "rank of the LoRA matrices, which are trained beside frozen weights; 0 turns LoRA off"
        ] = 0,
        lora_alpha: Annotated[
            Positive, "scale of the LoRA matrices: their product is multiplied by lora_alpha / lora"
        ] = 16.0,
        dropout: Annotated[Dropout | None, "dropout in the encoder; none takes what its config.json says"] = None,
        pair: Annotated[
            Literal["joint", "separate"],
            "read two texts as one sequence, so that they attend to each other (joint), or separately",
        ] = "joint",
    ) -> None:
        of = architecture
        if freeze and lora:
            raise RegardError(f"encoder.freeze=true and encoder.lora={lora}", expected="only one of them")
        super().__init__(
            of.embed,
            of.size,
            of.layers,
            of.heads,
            of.ffn,
            0.0 if freeze else of.dropout if dropout is None else dropout,
            "learned",
            of.longest,
            norm="post",
            activation=of.activation,
            bias=True,
            segments=of.segments,
            embed_norm=True,
            scale_embedding=False,
            norm_eps=of.norm_eps,
        )
        self.architecture, self.freeze, self.lora, self.pair = of, freeze, lora, pair
        if lora:
            for block in self.blocks:
                block.attending.W_qkv = self._beside(block.attending.W_qkv, lora, lora_alpha)
                block.attending.attention.heads.W_o = self._beside(
                    block.attending.attention.heads.W_o, lora, lora_alpha
                )
                block.W_1, block.W_2 = (self._beside(one, lora, lora_alpha) for one in (block.W_1, block.W_2))
        if freeze or lora:
            for name, parameter in self.named_parameters():
                parameter.requires_grad_(name.endswith((".A", ".B")))

    @staticmethod
    def _beside(matrix: nn.Linear, rank: int, alpha: float) -> Lora:
        return Lora(matrix.in_features, matrix.out_features, matrix.bias is not None, rank, alpha)

    def table(self) -> Table:
        """A new table of the vectors it reads, trained as the encoder is."""
        made = Table(self.architecture.vocab, self.architecture.embed, self.architecture.pad)
        made.weight.requires_grad_(not (self.freeze or self.lora))
        return made

    def fill(self, table: Table, tensors: Mapping[str, Tensor]) -> None:
        """Take the weights of a checkpoint, under our names."""
        own = dict(self.named_parameters())
        with torch.no_grad():
            for name, value in tensors.items():
                (table.weight if name == "words" else own[name]).copy_(value)

    def merged(self, table: Table) -> dict[str, Tensor]:
        """The weights under our names, with LoRA's products added to theirs."""
        found = {name: value for name, value in self.state_dict().items() if not name.endswith((".A", ".B"))}
        for name, module in self.named_modules():
            if isinstance(module, Lora):
                found[f"{name}.weight"] = module.merged()
        return {"words": table.weight, **found}

    def forward(self, inputs: Sequences) -> Memory:
        memory = super().forward(inputs)
        return memory if not isinstance(inputs, Subwords) or inputs.words is None else _by_word(memory, inputs.words)


def _by_word(memory: Memory, words: Sequences) -> Memory:
    """One state for each word, that of its first piece; among them looks lie between first pieces."""
    first: Int[Tensor, "batch word"] = words.values
    there = words.mask.unsqueeze(-1)
    h = memory.values.gather(1, first.unsqueeze(-1).expand(-1, -1, memory.values.shape[-1])).masked_fill(~there, 0.0)
    looks = tuple((name, replace(look, compute_weights=partial(_weights, look, first))) for name, look in memory.looks)
    return Memory(h, h, words.mask, memory.summary, looks=looks)


def _weights(look: Look, first: Int[Tensor, "batch word"]) -> Float[Tensor, "batch head word word"]:
    """Between the first pieces of words; what goes to other pieces is left out."""
    whole = look.weights
    rows = whole.gather(2, first[:, None, :, None].expand(-1, whole.shape[1], -1, whole.shape[-1]))
    return rows.gather(3, first[:, None, None, :].expand(-1, whole.shape[1], rows.shape[2], -1))
