"""Both: one network per direction of translation, trained jointly so that their attention agrees.

    L = −log p(y|x) − log p(x|y) + γ B,     B = −tr(A_{x→y}ᵀ A_{y→x}) = −Σ_ji α_ji^{x→y} α_ij^{y→x}

Cohn et al. 2016, "Incorporating Structural Alignment Biases into an Attentional Neural Translation Model", section 3.5,
after Liang, Taskar & Klein 2006, "Alignment by Agreement". A holds the weight between every two true tokens, the ends
included (the mean over heads). Each row sums to 1, so −B is at most min(I, J), the tokens of the shorter side. As in
the paper B is not divided by anything: like the likelihoods it grows with the length. The share −B / min(I, J), a mean
over pairs, is noted as `agreement`. `after` is the share of the training in which each direction learns by itself.

    Both(there, back, gamma=1.0)(batch, progress).total
"""

import torch
from jaxtyping import Float
from torch import Tensor, nn

from regard.errors import RegardError
from regard.networks.encoder_decoder import EncoderDecoder
from regard.networks.global_fertility import pairs
from regard.networks.teach import CHANCES
from regard.predict.generate import Decoder
from regard.types import Batch, Look, Memory, Output, Progress, Sequences

__all__ = ["Both", "agreement"]


def agreement(there: Look, back: Look, x: Sequences, y: Sequences) -> Float[Tensor, " batch"]:
    """−B of each pair: how much weight both directions give to the same two tokens."""
    a, b = pairs(there), pairs(back).transpose(1, 2)  # both [batch, y, x]
    if not a.shape == b.shape == (*y.mask.shape, x.mask.shape[1]):
        raise RegardError("an encoder that merges tokens", expected="an encoder with one state per token")
    true = y.mask.unsqueeze(2) & x.mask.unsqueeze(1)
    return (a * b).masked_fill(~true, 0.0).sum((1, 2))


class Both(EncoderDecoder):
    """Whoever takes it for one of the two has the forward one, which answers and looks."""

    def __init__(self, there: EncoderDecoder, back: EncoderDecoder, gamma: float = 1.0, after: float = 0.0) -> None:
        nn.Module.__init__(self)  # of its own it has nothing
        self.there, self.back, self.reinforce = there, back, None
        self.gamma, self.after = gamma, after

    @property
    def decoder(self) -> Decoder:  # type: ignore[override]
        return self.there.decoder

    def encode(self, source: Sequences) -> Memory:
        return self.there.encode(source)

    def steady(self, progress: float) -> bool:
        return False

    def forward(self, batch: Batch, progress: Progress = 1.0) -> Output:
        """Both likelihoods, counted over the tokens of both sides, and the agreement of their looks."""
        x, y = batch.source, batch.target
        assert isinstance(y, Sequences)
        there, looked = self.there.looked(batch, progress)
        back, looked_back = self.back.looked(Batch((y,), x), progress)
        total = there.total + back.total
        said = ("label_smoothing", *CHANCES)  # of both alike
        notes = {**there.notes, **{f"back_{name}": note for name, note in back.notes.items() if name not in said}}
        if self.gamma:  # else no weights are asked for
            agreed = agreement(looked, looked_back, x, y)
            if not self.training or float(progress) >= self.after:
                total = total - self.gamma * agreed.sum()
            shorter = torch.minimum(x.mask.sum(1), y.mask.sum(1))
            notes["agreement"] = (agreed / shorter).mean().detach()
        shown = None if there.shown is None or back.shown is None else there.shown + back.shown
        return Output(total, there.count + back.count, notes, shown)
