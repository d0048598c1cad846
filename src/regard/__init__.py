"""regard: sequence models built on attention, and a way to see where they looked."""
