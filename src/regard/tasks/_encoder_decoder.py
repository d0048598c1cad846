"""The network of all tasks that answer a text with a text: words → encode → attend → predict, token by token.

look, logits = model.decoder.unroll(model.encode(source), before)
"""

from typing import Any

from torch import nn
from torch.nn.functional import dropout

from regard.attend.reinforce import Reinforce
from regard.encode import Encoder
from regard.predict.generate import Decoder
from regard.tasks._fertility import Fertility
from regard.types import Memory, Sequences

__all__ = ["EncoderDecoder"]


class EncoderDecoder(nn.Module):
    """Source tokens → vectors → memory, and a decoder that looks at it."""

    def __init__(
        self,
        vocab: int,
        embed: int,
        dropout: float,
        encoder: Encoder,
        decoder: Decoder,
        fertility: bool = False,
        reinforce: Reinforce | None = None,
    ) -> None:
        super().__init__()
        self.embedding = nn.Embedding(vocab, embed)
        nn.init.normal_(self.embedding.weight, std=embed**-0.5)
        self.dropout, self.encoder, self.decoder = dropout, encoder, decoder
        self.fertility = Fertility(encoder.size) if fertility else None
        self.reinforce = reinforce  # where the decoder samples
        self.progress = 1.0  # how much of the training is done, for what changes on the way

    @property
    def wide(self) -> bool:
        """Whether half precision pays: not in a loop of small steps (docs/LOG.md)."""
        return self.decoder.parallel

    def encode(self, source: Sequences) -> Memory:
        vectors = dropout(self.embedding(source.values), self.dropout, self.training)
        memory: Memory = self.encoder(Sequences(vectors, source.mask, source.lengths))
        return memory

    def _load_from_state_dict(self, state: dict[str, Any], prefix: str, *rest: Any) -> None:
        """A run that sampled before samples were taught has no baseline: it begins as it is."""
        if self.reinforce is not None:
            for name, value in self.reinforce.state_dict(prefix=f"{prefix}reinforce.").items():
                state.setdefault(name, value)
        super()._load_from_state_dict(state, prefix, *rest)
