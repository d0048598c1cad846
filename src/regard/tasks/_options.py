"""Options that several tasks have, each with its sentence."""

from typing import Annotated

from regard.find import In, Of, Spec
from regard.ranges import BelowOne

__all__ = [
    *(
        "BestMetric",
        "Estimator",
        "LabelSmoothing",
        "Metrics",
        "Pooling",
        "Reading",
        "SampledAttention",
        "SampledTokens",
    ),
    *("Searching", "Sparsity", "Teaching"),
]

BestMetric = Annotated[str, "metric of the validation set that decides which weights are kept; one of metrics"]
Metrics = Annotated[tuple[Spec, ...], In("measure"), "metrics to report, separated by commas"]
LabelSmoothing = Annotated[BelowOne, "label smoothing of the cross entropy in training"]

# Tasks that decide.
Reading = Annotated[Spec, In("fields"), "the input: a field (text, image, items, …) with its options"]
Pooling = Annotated[
    Spec | None, In("pool"), "how the encoder's states become one vector; none takes the encoder's default"
]
SampledTokens = Annotated[
    Spec, Of("attend.reinforce.Reinforce"), "how an encoder or pooling that samples tokens is trained"
]
Sparsity = Annotated[
    Spec | float,
    Of("attend.sparsity.Sparsity", short="price"),
    "what selected tokens cost (encoder=resan): a number is the weight of the penalty on their share",
]
Estimator = Annotated[Spec, In("attend.estimator"), "how the policies of an encoder that selects tokens are trained"]

# Tasks that write.
Searching = Annotated[Spec, In("search"), "how predictions are searched for"]
Teaching = Annotated[
    Spec, Of("networks.teach.Teach"), "how the decoder is trained: scheduled sampling, word dropout, a noisy source"
]
SampledAttention = Annotated[
    Spec, Of("attend.reinforce.Reinforce"), "how attention that samples is trained (attention.normalizer=sample)"
]
