"""The command line, one file a verb. torch is imported when a verb needs it: `regard --help` answers at once."""
