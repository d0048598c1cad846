"""Data that regard makes itself, so that every task runs with nothing given. One file a set."""
