"""Attention shown to people: in the terminal, as a picture, as a page, as JSON."""
