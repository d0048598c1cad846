"""Data: read it, split it, see what is wrong with it, put it in batches; `builtin/` builds the built-in sets."""
