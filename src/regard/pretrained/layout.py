"""Layout: the names that Transformers gives to the weights of an encoder, and their place in ours.

Our self-attention holds queries, keys and values in one matrix, so that three of theirs make one of ours. Positions
before the first that is used (RoBERTa's) are left out, and written as zeros.

    ours = to_ours(tensors, architecture);  theirs = to_theirs(ours, architecture)
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import torch
from torch import Tensor

from regard.errors import RegardError
from regard.pretrained.architecture import Architecture

__all__ = ["Names", "bare", "names", "shapes", "to_ours", "to_theirs"]


@dataclass(frozen=True)
class Names:
    """Our name of a tensor, theirs (three for queries, keys and values), and its shape in their file."""

    ours: str
    theirs: tuple[str, ...]
    shape: tuple[int, ...]


# Of one layer: our name → theirs. "*" stands for weight or bias.
LAYER = {
    "attending.W_qkv": ("attention.self.query", "attention.self.key", "attention.self.value"),
    "attending.attention.heads.W_o": ("attention.output.dense",),
    "norm_attend": ("attention.output.LayerNorm",),
    "W_1": ("intermediate.dense",),
    "W_2": ("output.dense",),
    "norm_think": ("output.LayerNorm",),
}
DISTIL = {
    "attending.W_qkv": ("attention.q_lin", "attention.k_lin", "attention.v_lin"),
    "attending.attention.heads.W_o": ("attention.out_lin",),
    "norm_attend": ("sa_layer_norm",),
    "W_1": ("ffn.lin1",),
    "W_2": ("ffn.lin2",),
    "norm_think": ("output_layer_norm",),
}


def names(of: Architecture) -> Iterator[Names]:
    """Every tensor of an encoder with this architecture. `words` is the table, the rest is the encoder's."""
    yield Names("words", ("embeddings.word_embeddings.weight",), (of.vocab, of.embed))
    yield Names("positions.places.weight", ("embeddings.position_embeddings.weight",), (of.positions, of.embed))
    if of.segments:
        yield Names("segments.weight", ("embeddings.token_type_embeddings.weight",), (of.segments, of.embed))
    for part in ("weight", "bias"):
        yield Names(f"embed_norm.{part}", (f"embeddings.LayerNorm.{part}",), (of.embed,))
    if of.embed != of.size:
        yield Names("W_x.weight", ("embeddings_project.weight",), (of.size, of.embed))
        yield Names("W_x.bias", ("embeddings_project.bias",), (of.size,))
    distil = of.family == "distilbert"
    sizes = {"W_1": (of.ffn, of.size), "W_2": (of.size, of.ffn)}
    for layer in range(of.layers):
        before = f"transformer.layer.{layer}" if distil else f"encoder.layer.{layer}"
        for ours, theirs in (DISTIL if distil else LAYER).items():
            matrix = sizes.get(ours, (of.size,) if ours.startswith("norm") else (of.size, of.size))
            for part, shape in (("weight", matrix), ("bias", matrix[:1])):
                yield Names(f"blocks.{layer}.{ours}.{part}", tuple(f"{before}.{one}.{part}" for one in theirs), shape)


def shapes(of: Architecture) -> dict[str, tuple[int, ...]]:
    """Their name → the shape it must have."""
    return {name: one.shape for one in names(of) for name in one.theirs}


def bare(name: str, of: Architecture) -> str:
    """A name without the prefix of a model that has a head (`bert.`), and in today's words for a norm."""
    name = name.removeprefix(f"{of.family}.")
    for old, new in (("LayerNorm.gamma", "LayerNorm.weight"), ("LayerNorm.beta", "LayerNorm.bias")):
        name = name.removesuffix(old) + new if name.endswith(old) else name
    return name


def to_ours(found: Mapping[str, Tensor], of: Architecture) -> dict[str, Tensor]:
    """Their tensors, by bare names, under ours."""
    made = {}
    for one in names(of):
        parts = [found[name] for name in one.theirs]
        made[one.ours] = parts[0] if len(parts) == 1 else torch.cat(parts)
    made["positions.places.weight"] = made["positions.places.weight"][of.first :].clone()
    return made


def to_theirs(found: Mapping[str, Tensor], of: Architecture) -> dict[str, Tensor]:
    """Our tensors under their names."""
    made: dict[str, Tensor] = {}
    for one in names(of):
        if one.ours not in found:
            raise RegardError(f"no tensor {one.ours} to write", expected="a pre-trained encoder")
        value = found[one.ours].detach().cpu()
        if one.ours == "positions.places.weight":
            value = torch.cat([value.new_zeros(of.first, of.embed), value])
        made |= zip(one.theirs, value.chunk(len(one.theirs)), strict=True)
    return {name: value.clone().contiguous() for name, value in made.items()}
