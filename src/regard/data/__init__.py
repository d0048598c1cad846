"""Data: reading, splitting, checking and batching; `builtin/` has the built-in sets."""
