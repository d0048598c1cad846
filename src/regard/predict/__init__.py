"""Predictions: classification, regression, tagging, generation and language models."""
