"""Checkpoints in the layouts of Hugging Face Transformers: found, checked, read and written without that package.

- `source`: a folder, or a name on the hub, and the files in it
- `architecture`: config.json as a checked type
- `layout`: the names of the weights, theirs and ours
- `weights`: the tensors, read from safetensors and nothing else
"""
