"""Attention: score the keys, normalise the scores, and sum the values with these weights."""
