"""The number in a run's config.toml that says by which names its options go.

check_format("runs/mine/config.toml", config)
"""

from typing import Any

from regard.errors import RegardError, brief

__all__ = ["FORMAT", "check_format"]

FORMAT = 2  # one more whenever an option gets another name


def check_format(path: str, config: dict[str, Any]) -> None:
    """Take the format out of the tables of a config.toml; an older or newer one is refused."""
    found = config.pop("format", 1)
    if found != FORMAT or isinstance(found, bool):
        newer = isinstance(found, int) and found > FORMAT
        do = "install a newer regard" if newer else "train it again: options have new names since"
        raise RegardError(f"{path}: format {brief(found, 20)}", expected=f"format {FORMAT}", do=do)
