"""Hard attention in a decoder, trained with REINFORCE; the reward is the log-likelihood of the text that follows.

A decoder whose attention samples (`attention.normalizer=sample`) draws a key s_j at each target step j. The draw passes
no gradient, so it is reinforced (`regard.attend.reinforce`) with the log-likelihood of the text y of source x:

    −(λ_r (R_j − b) ∂log p(s_j) + λ_e ∂H[s_j]),     R_j = Σ_{k ≥ j} log p(y_k | y_{<k}, s_{≤k}, x)

Xu et al. 2015, "Show, Attend and Tell", section 4.1, with one change. There every step is given the sentence's
log p(y|s, x); here only what comes from step j on, for what was said before s_j was drawn cannot depend on it and would
add nothing but noise. Where a look has no part in later steps (`Decoder.carries`), R_j is log p(y_j) alone. Neither
moves the mean of the estimate. Likelihoods are the loss's own: smoothed where that is.

R_j grows with the n_j tokens it is of, so what is followed by the baseline is R_j / n_j, a mean a token, and b is n_j
times its expectation: step j is handed over with the reward R_j / n_j and the log-probability n_j log p(s_j). Heads and
layers that drew something at a step answer for it together, and steps that are not there have no part.

With the chance `reinforce.expected` a sentence reads the expected value at all its steps in place of samples; it then
teaches the scores by the loss itself. By default that is every second one (`REINFORCE`).

    with drawing(reinforce, memory) as kept: look, logits = decoder.unroll(memory, before)
    policy, notes = taught(reinforce, look, nats, target.mask, decoder.carries, memory, kept)
"""

from collections.abc import Iterator
from contextlib import contextmanager

import torch
from jaxtyping import Bool, Float
from torch import Tensor, nn

from regard.attend.attention import Attention
from regard.attend.normalizer.sample import Sample, keeping
from regard.attend.reinforce import Reinforce, mix
from regard.errors import RegardError
from regard.find import Spec
from regard.types import Look, Memory, Progress

__all__ = ["REINFORCE", "drawing", "must_learn", "must_pass", "rewards", "samples", "taught"]

REINFORCE: Spec = {"expected": 0.5}  # what tasks begin from; the paper's


def _sampling(network: nn.Module) -> list[Attention]:
    return [part for part in network.modules() if isinstance(part, Attention) and isinstance(part.normalizer, Sample)]


def samples(network: nn.Module) -> bool:
    """Whether any attention in it samples where it looks."""
    return bool(_sampling(network))


def must_learn(part: nn.Module, option: str, reinforced: bool = False, inner: str = "") -> None:
    """Raise where gradients do not pass through a normalizer and nothing else teaches the scores before it.

    `option` names the normalizer to the user, `inner` that of a block's self-attention where it is another one.
    With `reinforced` the part's own samples are taught by reinforcement.
    """
    for name, module in part.named_modules():
        if not isinstance(module, Attention) or module.normalizer.passes:
            continue
        if not (reinforced and isinstance(module.normalizer, Sample)):
            asked = inner if inner and ".attending." in f".{name}." else option
            kind = type(module.normalizer).__module__.rpartition(".")[2]
            raise RegardError(
                f"{asked}={kind} is not differentiable, so it cannot be trained here",
                expected="softmax, sparsemax, entmax, gumbel or straight_through",
            )


def must_pass(network: nn.Module, asked: str) -> None:
    """Raise where a loss of weights was asked for and they are drawn, so that it could teach nothing."""
    if samples(network):
        raise RegardError(
            f"{asked} and a normalizer that samples",
            expected="a differentiable normalizer",
            do="leave one of them out",
        )


@contextmanager
def drawing(
    reinforce: Reinforce | None, memory: Memory, progress: Progress = 1.0, copies: int = 1
) -> Iterator[Bool[Tensor, " batch"] | None]:
    """While a decoder reads, some sentences may read expected values in place of samples. Gives those that keep their
    samples, or None where all do. Of several `copies` of a batch those of a sentence keep theirs together, so that each
    is measured by the others."""
    chance = 0.0 if reinforce is None or not reinforce.training else reinforce.chance(progress)
    if not isinstance(chance, Tensor) and not chance:
        yield None
        return
    none = memory.values.new_zeros(len(memory.values) // copies)
    _, kept = mix(none, none, chance)  # once for all steps: a sentence is sampled throughout or not at all
    kept = kept.repeat(copies)
    with keeping(kept):
        yield kept


def rewards(
    log_p: Float[Tensor, "batch time"], there: Bool[Tensor, "batch time"], carries: bool
) -> tuple[Float[Tensor, "batch time"], Float[Tensor, "batch time"]]:
    """`R_j / n_j` and n_j: the mean log-likelihood of the tokens that a step answers for, and how many they are."""
    n = there.to(log_p.dtype)
    R = log_p.detach() * n
    if carries:
        R, n = (one.flip(1).cumsum(1).flip(1) for one in (R, n))
    return R / n.clamp(min=1), n


def taught(
    reinforce: Reinforce,
    look: Look,
    nats: Float[Tensor, "batch time"],
    there: Bool[Tensor, "batch time"],
    carries: bool,
    memory: Memory,
    kept: Bool[Tensor, " batch"] | None = None,
    copies: int = 1,
) -> tuple[Float[Tensor, ""], dict[str, Tensor]]:
    """What teaches the choices, summed as the nats are; and for the log the mean reward a token of those sentences that
    kept their samples, and the mean entropy of what was drawn at a step. The batch may be several copies of one."""
    if look.log_prob is None or look.entropy is None:
        raise RegardError("a decoder that samples without reporting it", expected="the log-probability in its look")
    log_prob, entropy = (one.sum(1) if one.dim() == 3 else one for one in (look.log_prob, look.entropy))  # of all heads
    R, n = rewards(-nats, there, carries)
    # All steps side by side, without a question for a GPU to answer: those that are not there have no part.
    sampled = there if kept is None else there & kept.unsqueeze(1)
    drawn, open_ = (log_prob * n).flatten(), torch.where(there, entropy, 0.0).flatten()
    summary = None if reinforce.value is None else _mean(memory).repeat_interleave(there.shape[1], 0)
    # Where b is the others of the first batch of all, those include this sentence's own steps; later ones never do.
    policy = reinforce(drawn, R.flatten(), summary, entropy=open_, kept=sampled.flatten(), copies=copies).sum()
    earned = -(nats.detach() * sampled).sum() / sampled.sum().clamp(min=1)
    return policy, {"reward": earned, "entropy": open_.detach().sum() / there.sum().clamp(min=1)}


def _mean(memory: Memory) -> Float[Tensor, "batch size"]:
    """The mean of what can be looked at, which is known before anything is drawn."""
    if memory.mask is None:
        return memory.values.mean(1)
    there = memory.mask.unsqueeze(-1)
    return memory.values.masked_fill(~there, 0.0).sum(1) / there.sum(1).clamp(min=1)
