"""Built-in data sets, generated on the fly: each task has one to start with. One module per data set."""
