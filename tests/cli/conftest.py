"""The small run and the way to call, for all tests of this folder."""

from command_line import pairs, regard, run

__all__ = ["pairs", "regard", "run"]
