"""Argmax: all weight on the best key. Nothing is learned through the choice itself.

Argmax()(energies, mask).choice
"""

from jaxtyping import Bool, Float
from torch import Tensor

from regard.attend.weigh import Weighed, Weighing, lowered, visible

__all__ = ["Argmax"]


class Argmax(Weighing):
    """`a = 1 at argmax e`"""

    def forward(self, energies: Float[Tensor, "*lead key"], mask: Bool[Tensor, "*some key"] | None = None) -> Weighed:
        choice = lowered(energies, mask).argmax(-1)
        return Weighed(choice=choice, visible=visible(mask, choice.shape), keys=energies.shape[-1])
