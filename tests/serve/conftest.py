"""The small sheet, for all tests of this folder."""

from sheets import folder, sheet

__all__ = ["folder", "sheet"]
