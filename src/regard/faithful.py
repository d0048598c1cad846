"""Is attention an explanation? Three tests of a trained model's weights over examples.

    1. Kendall's τ of the weights with gradient and with leave-one-out importance
    2. how far the answer moves when the weights are shuffled
    3. the most different weights under which the answer stays within ε

Jain & Wallace 2019, "Attention is not Explanation". See docs/faithful.md for how to read it, `regard.look.faithful`
for the measures and the rules of the verdict.

    report = faithful(regard.load("runs/classify"), examples)
    report["summary"]["verdict"]
"""

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict
from hashlib import blake2b
from typing import Any

import numpy as np
import torch
from torch import nn

from regard.api import Model
from regard.errors import RegardError
from regard.files import finite
from regard.look.faithful import Case, kendall, summary
from regard.tasks._adversary import adversarial, shuffled
from regard.tasks._asked import Asked
from regard.tasks._encoder_decoder import EncoderDecoder
from regard.tasks._generation import Generation
from regard.tasks._probe_sentences import probe_sentences
from regard.tasks._probe_words import probe_words
from regard.tasks._reader import Reader
from regard.tasks._sentences import Sentences
from regard.types import Example

__all__ = ["asked", "faithful"]

EPSILON = {"sentences": 0.01, "words": 0.05}  # as in the paper: classification, and answers out of many words

NOISE = 1e-6  # a total variation below is float32's rounding, and no importance at all

Told = Callable[[int, int, float], None]
"""Examples done, examples in all, seconds left."""


def faithful(
    model: Model,
    examples: Sequence[Example],
    shuffles: int = 100,
    words: int = 10,
    seed: int = 0,
    epsilon: float | None = None,
    told: Told | None = None,
) -> dict[str, Any]:
    """All that `faithful.json` holds: a summary with its verdict, and a row for each answer and input."""
    if shuffles < 1:
        raise RegardError(f"{shuffles} shuffles", expected="1 or more")
    if not examples:
        raise RegardError("no examples", expected="one or more")
    kind = "sentences" if isinstance(model.network, Reader) else "words"
    epsilon = EPSILON[kind] if epsilon is None else epsilon
    cases, begun, done = list[Case](), time.monotonic(), 0.0
    with _still(model.network, seed):
        for one in asked(model, examples, words, seed):
            cases += _cases(one, examples, shuffles, epsilon, seed)
            done += one.worth
            if told is not None:
                told(round(done), len(examples), (time.monotonic() - begun) * (len(examples) - done) / done)
    if not cases:
        raise RegardError("no input has two tokens or more", expected="something to choose between")
    cases.sort(key=lambda case: (case.example, case.input, case.word or 0))
    weights = model.run.folder / "model.safetensors"
    return finite(  # type: ignore[no-any-return]
        {
            "version": 1,
            "summary": summary(cases, len(examples), epsilon, shuffles),
            "task": model.config["task"],
            "seed": seed,
            "words": words if kind == "words" else None,
            "model": blake2b(weights.read_bytes(), digest_size=16).hexdigest() if weights.is_file() else None,
            "rows": [asdict(case) for case in cases],
        }
    )


def asked(model: Model, examples: Sequence[Example], words: int = 0, seed: int = 0) -> Iterator[Asked]:
    """All answers of a model to examples, as they can be asked again."""
    task, network = model.task, model.network
    if isinstance(task, Sentences) and isinstance(network, Reader):
        return probe_sentences(task, network, examples)
    if isinstance(task, Generation) and isinstance(network, EncoderDecoder):
        return probe_words(task, getattr(network, "there", network), examples, words, seed)
    raise RegardError(
        f"{model.run.folder} is a run of {model.config['task']}",
        expected="one of classify, entail, relate, translate, summarise or describe",
    )


@contextmanager
def _still(network: nn.Module, seed: int) -> Iterator[None]:
    """A model that only answers: no dropout, no gradients of its own, the same random numbers each time."""
    learning = [one for one in network.parameters() if one.requires_grad]
    training, device = network.training, next(network.parameters()).device
    network.eval()
    for one in learning:
        one.requires_grad_(False)
    try:
        # cuDNN goes back through a recurrent network only where it is training.
        with (
            torch.random.fork_rng([device] if device.type == "cuda" else []),
            torch.backends.cudnn.flags(enabled=False),
        ):
            torch.manual_seed(seed)
            yield
    finally:
        for one in learning:
            one.requires_grad_(True)
        network.train(training)


def _cases(one: Asked, examples: Sequence[Example], shuffles: int, epsilon: float, seed: int) -> list[Case]:
    """The figures of a batch; inputs of a single token, which leave no choice, are left out."""
    place = (one.word or 0, sum(map(ord, one.input)))
    seeds = [[seed, example, *place] for example in one.examples]
    tv = shuffled(one, shuffles, seeds).median(1).values.tolist()
    js, kept = (each.tolist() for each in adversarial(one, epsilon, seeds))
    weights, gradient, leave = (each.cpu().double().numpy() for each in (one.weights.mean(1), one.gradient, one.leave))
    leave = np.where(leave < NOISE, 0.0, leave)
    found = []
    for case, example in enumerate(one.examples):
        length = int(one.mask[case].sum())
        if length < 2:
            continue
        a = weights[case, :length]
        of_gradient, of_leave = (kendall(a, each[case, :length]) for each in (gradient, leave))
        whose = (example, examples[example].where, one.input, one.word, one.said[case], length, float(np.max(a)))
        found.append(Case(*whose, *of_gradient, *of_leave, tv[case], js[case], kept[case]))
    return found
