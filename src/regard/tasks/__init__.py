"""Tasks: each defines its inputs, model, loss, metrics and default data. One module per task."""
