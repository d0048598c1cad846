"""Image captioning: a picture → a sentence about it.

Without `--data` it learns to describe drawn scenes. The default is "Show, Attend and Tell" (Xu et al. 2015) with soft
attention: an LSTM that attends to a grid of vectors before each word, with a gate on the context, a deep output, first
states from the mean of the grid, and the doubly stochastic penalty. The same options give the models beside it:

    regard train caption                                                      # soft attention
    regard train caption attention.normalizer=sample                          # hard attention, by REINFORCE
    regard train caption decoder=plain decoder.context=first                  # Show and Tell (Vinyals et al. 2015)
    regard train caption decoder=transformer attention.score=scaled_dot       # a Transformer over the same grid
"""

from typing import Annotated, Any, ClassVar

from regard.fields import input_field
from regard.find import PLAIN, In, Of, Spec
from regard.networks.encoder_decoder import EncoderDecoder
from regard.networks.hard_attention import REINFORCE, samples
from regard.predict.generate.recurrent import Recurrent
from regard.ranges import NonNegative, ranged
from regard.tasks._generation import Generation
from regard.tasks._options import BestMetric, LabelSmoothing, Metrics, SampledAttention, Searching, Teaching
from regard.train.start import Starts
from regard.train.suggest import Recipe, captions

__all__ = ["Caption"]

IMAGE: Spec = {"name": "image", "size": 64}
TARGET: Spec = {"tokenizer": {"name": "word", "split": "punctuation"}, "max_length": 60}
DECODER: Spec = {
    "name": "recurrent", "cell": "lstm", "embed": 256, "hidden": 512,
    "gate": True, "output": "deep", "init_cell": True, "dropout": 0.4,
}  # fmt: skip
# As METEOR 1.5 is set for English, which captions are published with; it matches synonyms and paraphrases besides.
METEOR: Spec = {"name": "meteor", "alpha": 0.85, "beta": 0.2, "gamma": 0.6, "stem": 0.6}
ATTENTION: Spec = {"score": "additive", "normalizer": "softmax"}


class Caption(Generation):
    """Image captioning: a picture in, a sentence about it out (Vinyals 2015, Xu 2015)."""

    name: ClassVar[str] = "caption"
    role: ClassVar[str] = "image"
    starts: ClassVar[Starts | None] = Starts("image")
    known: ClassVar[tuple[tuple[str, ...], ...]] = tuple(
        (image, caption) for image in ("image", "file_name") for caption in ("caption", "captions")
    )
    default_data: ClassVar[str] = "builtin:scenes"
    recipe: ClassVar[Recipe] = staticmethod(captions)
    preset: ClassVar[dict[str, Any]] = {
        "image": {"name": "image", "size": 40, "embed": {"dim": 48, "blocks": 2}},
        "target": {"tokenizer": {"name": "word", "split": "punctuation"}},
        "best_metric": "exact_match",
        "decoder": {"name": "recurrent", "cell": "lstm", "embed": 64, "hidden": 128, "dropout": 0.0},
        "attention": {"score": {"name": "additive", "hidden": 64}},
        "label_smoothing": 0.0,
        "doubly_stochastic": 0.0,
        "train": {"epochs": 8, "time": "170s", "batch_tokens": 0, "batch_size": 64, "lr": 3e-3, "warmup": 100,
                  "ema": 0.99},
    }  # fmt: skip

    @ranged
    def __init__(
        self,
        image: Annotated[Spec, In("fields"), "the picture: image, with its size and convolutional network"] = IMAGE,
        target: Annotated[Spec, Of("fields.tokens.Tokens"), "the caption: its tokenizer and longest length"] = TARGET,
        encoder: Annotated[Spec, In("encode"), "the encoder over the grid of vectors"] = "identity",
        attention: Annotated[Spec, Of("attend.attention.make"), "how the decoder attends to the picture"] = ATTENTION,
        decoder: Annotated[Spec, In("predict.generate"), "the decoder that writes the caption"] = DECODER,
        search: Searching = "beam",
        metrics: Metrics = ("exact_match", "perplexity", "bleu4", "cider_d", METEOR, "rouge", "pointing"),
        best_metric: BestMetric = "cider_d",
        label_smoothing: LabelSmoothing = 0.0,
        teach: Teaching = PLAIN,
        doubly_stochastic: Annotated[
            NonNegative | None,
            "weight of the penalty on uneven attention to the picture; none: 1 for soft attention with "
            "decoder=recurrent, otherwise 0",
        ] = None,
        reinforce: SampledAttention = REINFORCE,
    ) -> None:
        parts = (input_field(image, end=True), target, encoder, attention, decoder, search, metrics, best_metric)
        super().__init__(
            *parts, label_smoothing, teach, reinforce=reinforce, doubly_stochastic=doubly_stochastic or 0.0
        )
        self.chosen = doubly_stochastic is None

    def room(self, source: int) -> int:
        """As long as any caption may be, however large the picture."""
        return self.target.max_length

    def network(self) -> EncoderDecoder:
        network = super().network()
        if self.chosen and isinstance(network.decoder, Recurrent) and not samples(network.decoder):
            network.doubly_stochastic = 1.0
        return network
