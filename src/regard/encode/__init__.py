"""Encoders: turn input vectors into the memory that attention reads. One module per encoder.

Whatever the input (words, an image's feature map, audio frames), the output is a `Memory` with keys, values and a
summary; decoders, attention maps and searches do not depend on the kind of input.
"""

from abc import abstractmethod
from typing import Any, ClassVar, Literal

from jaxtyping import Float
from torch import Tensor, nn

from regard.find import Spec
from regard.types import Memory, Sequences

__all__ = ["Encoder", "Phase"]

Phase = Literal["supervised", "policy", "both", "settled"]


class Encoder(nn.Module):
    """The interface of an encoder; `inputs` is the width of its input vectors."""

    size: int  # width of the keys and values it gives
    summary: int  # width of the summary it gives
    pool: ClassVar[Spec] = "max"  # how its states become one vector where nothing else is asked for
    head_names: ClassVar[tuple[str, ...]] = ()  # of the several squares that one of its looks may have
    reinforce: ClassVar[dict[str, Any]] = {}  # the options that teach its choice best, where it selects
    features: ClassVar[bool] = False  # whether each feature has attention weights of its own
    pretrained: ClassVar[bool] = False  # whether it comes with a tokenizer and word vectors of its own
    steady: ClassVar[bool] = False  # whether it never waits for a GPU, whatever it reads (see `Network.steady`)
    policy_names: ClassVar[tuple[str, ...]] = ()  # what each of its policies selects tokens as, where it selects
    # Whether it selects tokens by policies that learn; it is then called with a phase, with who draws (or None), and
    # with whether to leave out tokens that were not chosen (see `resan`).
    selects: bool = False
    imitate: bool = False  # whether its policies first learn to select what the pooling weighs most (`imitated`)

    def phase(self, progress: float) -> Phase:
        """Which parts are trained at this share of the training (0 to 1)."""
        return "supervised"

    def imitated(self, inputs: Sequences, weights: Float[Tensor, "row time"], share: float) -> Float[Tensor, " row"]:
        """What it costs the policies not to select the share of the tokens with the largest weights."""
        raise NotImplementedError

    @abstractmethod
    def forward(self, inputs: Sequences) -> Memory:
        raise NotImplementedError
