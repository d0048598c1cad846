"""Does the attention of a Hugging Face classifier agree with the importance of its tokens?

The first of the three tests (Jain & Wallace 2019, "Attention is not Explanation", section 4.1): the others exchange
weights, which somebody else's model does not allow. The weights are those of the position that the classifier reads,
the first token of an encoder and the last one of a decoder: of every head, the mean of the last layer, and the rollout
through all layers. Special tokens are left out. Importance of a token is `gradient`, `|x_t · ∂p(ŷ)/∂x_t|` of its
embedding x_t, and `leave_one_out`, the total variation between the predictions with and without it.

    found = agreement(model, tokenizer, ["a fine film", "what a waste of time"])
    found["rollout"]["leave_one_out"]["mean"]           # mean of Kendall's τ
"""

import math
import warnings
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor

from regard.errors import RegardError, brief
from regard.faithful.measures import kendall, total_variation
from regard.files import finite
from regard.look.models import AttentionPart, eager, encoded, of, rollout

__all__ = ["MEASURES", "agreement"]

TOGETHER = 64  # texts that each lack one token
MEASURES = ("gradient", "leave_one_out")


def agreement(model: Any, tokenizer: Any, texts: Sequence[str | tuple[str, str]]) -> dict[str, Any]:
    """Mean τ of each kind of weights with each measure of importance; `heads` has one for each layer and head."""
    if not texts:
        raise RegardError("no texts", expected="one or more")
    if model.config.is_encoder_decoder:
        raise RegardError("an encoder–decoder model", expected="a classifier that is an encoder or a decoder")
    kinds = dict[str, dict[str, list[float]]]()
    heads, read = list[Float[np.ndarray, "measure layer head"]](), 0
    for text in texts:
        first, second = (text, "") if isinstance(text, str) else text
        part = of(model, tokenizer, first, second).parts[0]
        kept = [place for place, special in enumerate(part.special) if not special]
        if len(kept) < 2:
            continue
        read += 1
        with eager(model):
            important = _importance(model, encoded(tokenizer, first, second), kept)
        row = -1 if part.name == "decoder" else 0
        for name, weights in _kinds(part, row, kept):
            for measure, values in zip(MEASURES, important, strict=True):
                kinds.setdefault(name, {one: [] for one in MEASURES})[measure].append(kendall(weights, values)[0])
        own = part.weights[:, :, row][..., kept]
        heads.append(np.array([[[kendall(one, values)[0] for one in layer] for layer in own] for values in important]))
    if not read:
        raise RegardError("no text has more than one token", expected="at least one text with two")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)  # a head whose τ is undefined for every text has no mean
        grid = np.nanmean(np.stack(heads), 0).round(4).tolist()
    found = {name: {measure: _mean(values) for measure, values in each.items()} for name, each in kinds.items()}
    return finite({"texts": read, **found, "heads": dict(zip(MEASURES, grid, strict=True))})  # type: ignore[no-any-return]


def _mean(taus: Sequence[float]) -> dict[str, Any]:
    there = [one for one in taus if not math.isnan(one)]
    return {
        "mean": float(np.mean(there)) if there else None,
        "std": float(np.std(there)) if there else None,
        "undefined": len(taus) - len(there),
    }


def _kinds(part: AttentionPart, row: int, kept: list[int]) -> Iterator[tuple[str, Float[np.ndarray, " token"]]]:
    yield "last_layer", part.weights[-1].mean(0)[row, kept]
    yield "rollout", rollout(part.weights)[row, kept]


def _importance(
    model: Any, inputs: Any, kept: list[int]
) -> tuple[Float[np.ndarray, " token"], Float[np.ndarray, " token"]]:
    """Of each token that is kept: its gradient, and what changes without it."""
    given = {name: inputs[name].to(model.device) for name in ("input_ids", "token_type_ids") if name in inputs}
    ids = given.pop("input_ids")
    vectors = model.get_input_embeddings()(ids).detach().requires_grad_()
    p = _chances(model(inputs_embeds=vectors, **given))
    [slope] = torch.autograd.grad(p.max(), vectors)
    gradient = (vectors * slope).sum(-1).abs()[0, kept].detach()
    without = []
    with torch.inference_mode():
        for first in range(0, len(kept), TOGETHER):
            rows = [[at for at in range(ids.shape[1]) if at != place] for place in kept[first : first + TOGETHER]]
            places = torch.tensor(rows, device=ids.device)
            fewer = {name: value[0][places] for name, value in given.items()}
            without.append(total_variation(_chances(model(input_ids=ids[0][places], **fewer)), p.detach()))
    return gradient.float().cpu().numpy(), torch.cat(without).float().cpu().numpy()


def _chances(hf_output: Any) -> Float[Tensor, "row label"]:
    logits = getattr(hf_output, "logits", None)
    if logits is None or logits.ndim != 2 or logits.shape[1] < 2:
        shape = "no logits" if logits is None else f"logits of shape {brief(tuple(logits.shape))}"
        raise RegardError(
            f"a model with {shape}",
            expected="a classifier of two or more classes, such as AutoModelForSequenceClassification loads",
        )
    return torch.softmax(logits.float(), -1)
