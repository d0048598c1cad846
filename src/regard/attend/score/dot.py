"""Dot: `e_i = q · k_i`, queries and keys of one size.

Luong, Pham & Manning 2015, "Effective Approaches to Attention-based Neural Machine Translation", section 3.1.

    Attention(Dot(query=512, key=512))
"""

from regard.attend.score import Score, same_size

__all__ = ["Dot"]


class Dot(Score):
    """`e = q·k`"""

    kernel = "dot"

    def __init__(self, query: int, key: int) -> None:
        super().__init__()
        self.hidden = same_size("dot", query, key)
