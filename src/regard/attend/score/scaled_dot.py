"""Scaled dot: `e_i = q · k_i / √d`, so that the spread of the scores does not grow with the width.

Vaswani et al. 2017, "Attention Is All You Need", section 3.2.1.

    Attention(ScaledDot(query=64, key=64))
"""

from regard.attend.score import Score, same_size

__all__ = ["ScaledDot"]


class ScaledDot(Score):
    """`e = q·k / √d`"""

    kernel = "dot"

    def __init__(self, query: int, key: int) -> None:
        super().__init__()
        self.hidden = same_size("scaled_dot", query, key)
        self.scale = self.hidden**-0.5
