"""Do attention weights explain predictions? Three tests on a trained model.

    1. Kendall's τ between the weights and gradient or leave-one-out importance
    2. how much the prediction changes when the weights are shuffled
    3. the most different weights that keep the prediction within ε

and, of decisions, whether the heaviest tokens, or those that an encoder chose, are sufficient and necessary
(`rationale`), and which words it chooses (`chosen_words`).

Jain & Wallace 2019, "Attention is not Explanation". docs/faithful.md says how to read the figures. `measures` has the
measures and the rules of the verdict, `probe` what is asked of a network, `adversary` the other weights, `report` the
table, the page and the picture.

    report = faithful(regard.load("runs/classify"), examples)
    report["summary"]["verdict"]
"""

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict
from hashlib import blake2b
from typing import Any, Protocol, cast, runtime_checkable

import numpy as np
import torch

from regard.errors import RegardError
from regard.faithful.adversary import adversarial, shuffled
from regard.faithful.chosen_words import chosen_words
from regard.faithful.decoder import Writes, probe_decoder
from regard.faithful.histories import probe_histories
from regard.faithful.measures import Case, kendall, summary
from regard.faithful.pooling import probe_pooling
from regard.faithful.probe import Probe, frozen
from regard.faithful.rationale import rationales
from regard.files import finite
from regard.networks.both import Both
from regard.networks.encoder_decoder import EncoderDecoder
from regard.networks.reader import Reader
from regard.networks.recommend import Recommender
from regard.train.run import Run
from regard.train.task import Task
from regard.types import Example, Network

__all__ = ["Probed", "faithful", "probes"]

EPSILON, EPSILON_WORDS = 0.01, 0.05  # as in the paper: classification, and predictions out of many words (or items)

NOISE = 1e-6  # a smaller total variation is float32's rounding and counts as no importance

Told = Callable[[int, int, float], None]
"""Examples done, examples in all, seconds left."""


@runtime_checkable
class Probed(Protocol):
    """What is probed: a trained run, as `regard.load` gives it."""

    run: Run
    task: Task
    network: Network


def faithful(
    model: Probed,
    examples: Sequence[Example],
    shuffles: int = 100,
    words: int = 10,
    seed: int = 0,
    epsilon: float | None = None,
    told: Told | None = None,
    share: float = 0.2,
) -> dict[str, Any]:
    """The content of `faithful.json`: a summary with a verdict, and a row for each prediction and input. `share` of the
    tokens is asked whether it is sufficient, where the model does not choose by itself."""
    if shuffles < 1:
        raise RegardError(f"{shuffles} shuffles", expected="1 or more")
    if not examples:
        raise RegardError("no examples", expected="one or more")
    writes = isinstance(model.network, EncoderDecoder)
    several = writes or isinstance(model.network, Recommender)
    epsilon = epsilon if epsilon is not None else EPSILON_WORDS if several else EPSILON
    cases, begun, done = list[Case](), time.monotonic(), 0.0
    device = next(model.network.parameters()).device
    with torch.random.fork_rng([device] if device.type == "cuda" else []):  # a search or a normalizer may sample
        torch.manual_seed(seed)
        for probe in probes(model, examples, words, seed):
            cases += _cases(probe, examples, shuffles, epsilon, seed)
            done += probe.worth
            if told is not None:
                told(round(done), len(examples), (time.monotonic() - begun) * (len(examples) - done) / done)
    if not cases:
        raise RegardError("no input has more than one position", expected="at least one input with two")
    found = summary(cases, len(examples), epsilon, shuffles)
    if isinstance(model.network, Reader):
        network = frozen(model.network)
        found["rationales"] = rationales(model.task, network, examples, share, seed)
        found["chosen_words"] = chosen_words(model.task, network, examples)
    cases.sort(key=lambda case: (case.example, case.input, case.word or 0))
    weights = model.run.folder / "model.safetensors"
    return finite(  # type: ignore[no-any-return]
        {
            "version": 1,
            "summary": found,
            "task": model.run.config["task"],
            "seed": seed,
            "words": words if writes else None,
            "model": blake2b(weights.read_bytes(), digest_size=16).hexdigest() if weights.is_file() else None,
            "rows": [asdict(case) for case in cases],
        }
    )


def probes(model: Probed, examples: Sequence[Example], words: int = 0, seed: int = 0) -> Iterator[Probe]:
    """A model's predictions on examples, in a form that can be recomputed with other weights."""
    network, task = frozen(model.network), model.task
    if isinstance(network, Both):
        network = network.there  # the direction that predicts
    if isinstance(network, EncoderDecoder):
        return probe_decoder(cast("Writes", task), network, examples, words, seed)
    if isinstance(network, Reader):
        return probe_pooling(task, network, examples)
    if isinstance(network, Recommender):
        return probe_histories(task, network, examples)
    raise RegardError(
        f"{model.run.folder} is a run of {model.run.config['task']}",
        expected="a task that pools, writes or recommends, such as classify or translate",
    )


def _cases(probe: Probe, examples: Sequence[Example], shuffles: int, epsilon: float, seed: int) -> list[Case]:
    """The figures of a probe; inputs with a single position are skipped."""
    place = (probe.word or 0, sum(map(ord, probe.input)))
    seeds = [[seed, example, *place] for example in probe.examples]
    tv = shuffled(probe, shuffles, seeds).median(1).values.tolist()
    js, kept = (each.tolist() for each in adversarial(probe, epsilon, seeds))
    measured = probe.weights.mean(1), probe.gradient, probe.leave_one_out
    weights, gradient, leave = (each.cpu().double().numpy() for each in measured)
    leave = np.where(leave < NOISE, 0.0, leave)
    found = []
    for case, example in enumerate(probe.examples):
        length = int(probe.mask[case].sum())
        if length < 2:
            continue
        a = weights[case, :length]
        taus = (*kendall(a, gradient[case, :length]), *kendall(a, leave[case, :length]))
        whose = (example, examples[example].where, probe.input, probe.word, probe.said[case], length)
        found.append(Case(*whose, float(np.max(a)), *taus, tv[case], js[case], kept[case]))
    return found
