"""The command line, one file per command. torch is imported only where it is needed, so `regard --help` is fast."""
