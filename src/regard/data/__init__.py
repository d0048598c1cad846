"""Data: read it, split it, see what is wrong with it, put it in batches; `made/` builds the built-in sets."""
