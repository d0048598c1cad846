"""The heart: score the keys, weigh them, take the weighted sum of the values."""
