"""Fused forms of the readable functions; `choose` is the only switch between the two."""
