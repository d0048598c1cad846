"""Tasks: what is read, which parts, which loss, which measures, which data by default. One file a task."""
