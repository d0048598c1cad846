"""ReSAN: DiSAN over tokens that two policies select, one for heads (queries) and one for dependents (keys).

Two selectors (attend/selector.py) select tokens before any attention. A selected head attends to the selected
dependents before (after) it; other heads get the mean of the tokens there; both pass DiSAN's gate. With
`unchosen="none"` an unselected head has no state. The cost falls with the number of selected tokens (but see
`at_once`). Shen et al. 2018, "Reinforced Self-Attention Network: a Hybrid of Hard and Soft Attention for Sequence
Modeling" (IJCAI), section 3.

Training has three phases: all tokens are selected and the network trains like DiSAN (for the share `soft`); then only
the policies are trained (`policy`); then both. In the end (`settle`) the policies rest and the network learns with the
most likely tokens, which are those selected at inference. (With `sample` inference samples them.)

With `imitate` the policies know already at the end of the first phase which tokens the pooling weighs most, and their
reward need only correct that.

A token is worth a few thousandths of a nat on average, while sentences differ by most of one. So two samples of each
sentence are compared with each other, with an entropy bonus (`reinforce`, see attend/reinforce.py); with a moving
average alone the policies tend to select every token, or none. Other estimators are in attend/estimator; what tokens
cost, or which share of them is wished, is said in attend/sparsity.py.

Differs from the paper: phases are shares of the training (there the second has 5,000 steps, and the first ends when
the network converges); the penalty λ is on the mean share over both sentences and over heads and dependents, where the
paper has one sentence and one `Σ z_i / len(x)`, and on the expected share in place of the sampled one; and weight decay
replaces γ‖θ_s‖².

    Resan(inputs=300)(sequences).choices                 # heads and dependents: chosen, log_prob, entropy
"""

from collections.abc import Sequence
from dataclasses import replace
from functools import lru_cache
from typing import Annotated, Any, ClassVar, Literal

import torch
from jaxtyping import Bool, Float
from torch import Tensor
from torch.nn.functional import binary_cross_entropy_with_logits

from regard.attend.bernoulli import heaviest
from regard.attend.estimator import Draw
from regard.attend.selector import Selector
from regard.encode import Phase
from regard.encode.disan import Disan, places
from regard.errors import RegardError
from regard.kernels.feature import feature_weights
from regard.kernels.selected import selected_attention
from regard.ranges import Dropout, Positive, Probability, Range, Width, ranged
from regard.types import Gated, Memory, Selection, Sequences, wide

__all__ = ["Resan", "at_once", "narrowed", "others", "weights_of_others"]

SHORT = 128  # tokens up to which a GPU is done with a whole sentence before it has been told which of it to leave out


def at_once(chosen: Sequence[Bool[Tensor, "batch time"]], mask: Bool[Tensor, "batch time"]) -> bool:
    """Whether to compare all tokens and hide what was not chosen, rather than gather what was: on a CPU where nothing
    is left out, on a GPU where sentences are short. Nobody waits for a GPU to find out."""
    return mask.shape[1] <= SHORT if mask.is_cuda else all(torch.equal(one, mask) for one in chosen)


@lru_cache(maxsize=2)
def _earlier_later(most: int, device: torch.device) -> Bool[Tensor, "2 1 most most"]:
    """Which tokens stand before each, and which after; made once for all shorter sentences too."""
    earlier = torch.ones(most, most, dtype=torch.bool, device=device).tril(-1)
    return torch.stack([earlier, earlier.T])[:, None]


def weights_of_others(
    pairs: Bool[Tensor, "2 batch head dependent"], chosen: Bool[Tensor, "batch head"], dtype: torch.dtype
) -> Float[Tensor, "2 batch head dependent"]:
    """`A`, so that `A h` is the mean of the tokens in a head's direction, for those that were not chosen."""
    # Counted in float32 at least, where every count is exact, and divided there.
    count = pairs.sum(-1, keepdim=True, dtype=torch.promote_types(dtype, torch.float32)).clamp(min=1)
    return pairs * (~chosen.unsqueeze(-1) / count).to(dtype)


def others(
    h: Float[Tensor, "2 batch time hidden"], mask: Bool[Tensor, "batch time"]
) -> Float[Tensor, "2 batch time hidden"]:
    """The mean of all earlier tokens, and of all later ones; zeros where there are none. h is 0 at padding."""
    there = wide(h)  # a long sum in half precision runs out of room
    both = torch.stack([there[0], there[1].flip(1)])
    sums = both.cumsum(2) - both
    index = torch.arange(mask.shape[1], device=h.device)
    count = torch.stack([index.expand(mask.shape), mask.sum(-1, keepdim=True) - 1 - index])
    return (torch.stack([sums[0], sums[1].flip(1)]) / count.clamp(min=1).unsqueeze(-1)).to(h.dtype)


def narrowed(inputs: Sequences, choices: tuple[Selection, ...]) -> tuple[Sequences, tuple[Selection, ...]]:
    """The tokens that any policy chose, side by side in their order, and the choices among them."""
    seen = torch.stack([choice.chosen for choice in choices]).any(0)
    lengths = seen.sum(-1)
    room = max(1, int(lengths.max()))  # a GPU is waited for
    index = (~seen).int().argsort(dim=-1, stable=True)[:, :room]
    mask = seen.gather(1, index)
    values = inputs.values.gather(1, index.unsqueeze(-1).expand(-1, -1, inputs.values.shape[-1]))

    def fewer(choice: Selection) -> Selection:
        gates = None if choice.gates is None else choice.gates.gather(1, index)
        return replace(choice, chosen=choice.chosen.gather(1, index) & mask, gates=gates)

    return Sequences(values, mask, lengths.cpu()), tuple(map(fewer, choices))


class Resan(Disan):
    """DiSAN over selected tokens; the selection is learned with REINFORCE"""

    selects = True
    policy_names: ClassVar[tuple[str, ...]] = ("heads", "dependents")
    reinforce: ClassVar[dict[str, Any]] = {"baseline": "others", "bonus": 0.003}  # where nothing else is asked for

    @ranged
    def __init__(
        self,
        inputs: int,
        hidden: Annotated[Width, "features of each direction"] = 300,
        c: Annotated[Positive, "attention scores are bounded to ±c"] = 5.0,
        dropout: Annotated[Dropout, "dropout before each linear layer"] = 0.0,
        soft: Annotated[Probability, "share of training, at the start, that uses all tokens"] = 0.5,
        policy: Annotated[Probability, "share of training, after that, in which only the selection is trained"] = 0.1,
        settle: Annotated[
            Probability,
            "share of training, at its end, with the tokens that inference selects, while the policies rest",
        ] = 0.0,
        imitate: Annotated[
            bool,
            "while all tokens are used, teach the selection to take what the pooling weighs most; needs "
            "sparsity.target",
        ] = False,
        start: Annotated[float, Range(-1000, 1000), "initial log-odds of selecting a token"] = 1.0,
        unchosen: Annotated[
            Literal["mean", "none"],
            "what replaces a token that was not selected: the mean of those before or after it, or nothing",
        ] = "mean",
        sample: Annotated[bool, "sample tokens at inference too, instead of taking the most likely selection"] = False,
    ) -> None:
        super().__init__(inputs, hidden, c, dropout)
        if not soft + policy <= 1 + 1e-9:
            raise RegardError(
                f"encoder.soft={soft}, encoder.policy={policy}", expected="shares of training that sum to at most 1"
            )
        self.policies = Selector(inputs, hidden, start, self.policy_names)
        self.soft, self.policy, self.settle, self.imitate = soft, policy, settle, imitate
        self.unchosen, self.sample = unchosen, sample

    def phase(self, progress: float) -> Phase:
        if progress < self.soft:
            return "supervised"
        if progress < self.soft + self.policy:
            return "policy"
        return "settled" if self.settle and progress >= 1 - self.settle else "both"

    def imitated(self, inputs: Sequences, weights: Float[Tensor, "row time"], share: float) -> Float[Tensor, " row"]:
        """The cross entropy of both policies, the mean over the tokens."""
        mask = inputs.mask
        logits = self.policies.logits(inputs.values, mask)
        wanted = heaviest(weights, mask, share).expand_as(logits).to(logits.dtype)
        each = binary_cross_entropy_with_logits(logits, wanted, reduction="none").masked_fill(~mask, 0.0)
        return each.mean(0).sum(-1) / mask.sum(-1).clamp(min=1)

    def forward(
        self, inputs: Sequences, phase: Phase = "both", draw: Draw | None = None, narrow: bool = False
    ) -> Memory:
        """`draw` chooses the tokens by the logits of the policies; without one they are sampled in training, and the
        most likely ones are taken else.

        With `narrow` and `unchosen="none"`, tokens chosen as neither head nor dependent are left out before anything
        but the policies has read them, so that all work falls with the choice. The memory then has the chosen tokens
        side by side, and what is predicted from it is the same.
        """
        if self.training and phase == "supervised":
            return super().forward(inputs)
        mask = inputs.mask
        sample = (self.training and phase != "settled") or self.sample
        with torch.set_grad_enabled(torch.is_grad_enabled() and phase != "settled"):
            if draw is None or (self.sample and not self.training):
                heads, dependents = self.policies(inputs.values, mask, sample)
            else:
                heads, dependents = self.policies(inputs.values, mask, True, draw)
        choices = heads, dependents
        if narrow and self.unchosen == "none":
            inputs, (heads, dependents) = narrowed(inputs, choices)
            mask = inputs.mask
        h = self.tokens(inputs)
        q, k = self.asked(h)
        asks, answers = heads.chosen, dependents.chosen
        if heads.gates is not None and dependents.gates is not None:
            s = self._by_gates(q, k, h, mask, heads.gates, dependents.gates)
        else:
            s = (self._hidden if at_once((asks, answers), mask) else self._gathered)(q, k, h, mask, asks, answers)

        def weights() -> Tensor:
            chosen = asks[:, :, None] & answers[:, None, :]
            found = feature_weights(
                q, k, chosen.expand(2, *chosen.shape), scale=self.c, pattern="forward", positions=places(mask)
            )
            return found.transpose(0, 1)

        u = self.fused(h, s)
        if self.unchosen == "mean":
            return replace(self.memory(u, mask, weights), choices=choices)
        if heads.gates is None:
            return replace(self.memory(u, asks, weights), choices=choices)
        gated = Gated(u, mask, heads.gates)
        u = u * heads.gates.to(u.dtype).unsqueeze(-1)
        return replace(self.memory(u, asks, weights), choices=choices, gated=gated)

    def _by_gates(
        self, q: Tensor, k: Tensor, h: Tensor, mask: Tensor, asks: Tensor, answers: Tensor
    ) -> Float[Tensor, "2 batch time hidden"]:
        """`s` with gates from 0 to 1 that a gradient passes through: `Σ_i g_i e^{e_ij} h_i / Σ_i g_i e^{e_ij}`, and of
        a head with gate g the part g of it. Both sums are attention over all tokens, of the gated tokens and of the
        gates alone. Where no gate is open the second is taken as 1, so that the gradient of a gate stays finite."""
        time = mask.shape[1]
        pairs = _earlier_later(1 << time.bit_length(), mask.device)[..., :time, :time] & mask[:, None, :]
        q, k, h = wide(q), wide(k), wide(h)  # a quotient of two numbers in half precision would be off by a percent
        open_ = answers.to(h.dtype).unsqueeze(-1).expand_as(h)
        total = self.seen(q, k, open_, pairs)
        s = self.seen(q, k, open_ * h, pairs) / torch.where(total > 0, total, 1.0)
        s = s * asks.to(h.dtype).unsqueeze(-1)
        if self.unchosen == "none":
            return s
        there = h.masked_fill(~mask.unsqueeze(-1), 0.0)
        return s + (1 - asks.to(h.dtype)).unsqueeze(-1) * others(there, mask)

    def _hidden(
        self, q: Tensor, k: Tensor, h: Tensor, mask: Tensor, asks: Tensor, answers: Tensor
    ) -> Float[Tensor, "2 batch time hidden"]:
        """`s` by masks over all pairs: few operations, and nothing that depends on how many were chosen."""
        time = mask.shape[1]
        pairs = _earlier_later(1 << time.bit_length(), mask.device)[..., :time, :time] & mask[:, None, :]
        s = self.seen(q, k, h, pairs & asks[:, :, None] & answers[:, None, :]).to(h.dtype)
        if self.unchosen == "none":
            return s
        A = weights_of_others(pairs, asks, h.dtype)
        return torch.baddbmm(*(t.flatten(0, 1) for t in (s, A, h))).view(h.shape)

    def _gathered(
        self, q: Tensor, k: Tensor, h: Tensor, mask: Tensor, asks: Tensor, answers: Tensor
    ) -> Float[Tensor, "2 batch time hidden"]:
        """`s` among the chosen alone: the work falls with them."""
        asks, answers = (chosen.expand(2, *mask.shape) for chosen in (asks, answers))
        s = selected_attention(
            "feature", *(t.flatten(0, 1) for t in (q, k, h, asks, answers)), scale=self.c, pattern="forward",
            positions=places(mask).flatten(0, 1),
        ).view(h.shape)  # fmt: skip
        if self.unchosen == "none":
            return s.to(h.dtype)
        there = h.masked_fill(~mask.unsqueeze(-1), 0.0)
        return torch.where(asks.unsqueeze(-1), s.to(h.dtype), others(there, mask))
