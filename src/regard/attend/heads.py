"""Multi-head attention with any score and normalizer.

`head_h = attend(W_q^h q, W_k^h k, W_v^h v)`, `answer = W_o [head_1; …; head_H]`. Vaswani et al. 2017,
section 3.2.2. Each head has its own projections of query, keys and values; parameters of the score
itself (an additive w, say) are shared by the heads. The head axis stands after the batch.

    Attention(ScaledDot(query=64, key=64), heads=Heads(query=512, key=512, value=512, heads=8))
"""

from jaxtyping import Float
from torch import Tensor, nn

from regard.errors import RegardError

__all__ = ["Heads"]


class Heads(nn.Module):
    """The projections around H heads, `size // heads` wide each; the answer is as wide as the values were. `bare`: no
    biases, and the heads' answers joined as they are, `size` wide."""

    def __init__(
        self, query: int, key: int, value: int, heads: int = 8, size: int | None = None, bare: bool = False
    ) -> None:
        super().__init__()
        size = key if size is None else size
        if heads < 1 or size % heads:
            raise RegardError(f"{heads} heads with size {size}", expected="a size divisible by the number of heads")
        self.heads, self.size = heads, size
        self.W_q = nn.Linear(query, size, bias=not bare)
        self.W_k = nn.Linear(key, size, bias=not bare)
        self.W_v = nn.Linear(value, size, bias=not bare)
        self.W_o = None if bare else nn.Linear(size, value)

    def _split(self, x: Float[Tensor, "batch time size"]) -> Float[Tensor, "batch head time width"]:
        # Spelt out, for a width of -1 cannot be told where there is no token at all.
        return x.reshape(*x.shape[:-1], self.heads, self.size // self.heads).transpose(1, 2)

    def query(self, query: Float[Tensor, "batch query dim"]) -> Float[Tensor, "batch head query width"]:
        return self._split(self.W_q(query))

    def keys(self, keys: Float[Tensor, "batch key dim"]) -> Float[Tensor, "batch head key width"]:
        return self._split(self.W_k(keys))

    def values(self, values: Float[Tensor, "batch key dim"]) -> Float[Tensor, "batch head key width"]:
        return self._split(self.W_v(values))

    def merge(self, answer: Float[Tensor, "batch head query width"]) -> Float[Tensor, "batch query value"]:
        joined = answer.transpose(1, 2).flatten(-2)
        return joined if self.W_o is None else self.W_o(joined)
