"""The format number in a run's config.toml: it changes when options are renamed.

check_format("runs/mine/config.toml", config)
"""

from typing import Any

from regard.errors import RegardError, brief

__all__ = ["FORMAT", "check_format"]

FORMAT = 3  # one more whenever an option gets another name


def check_format(path: str, config: dict[str, Any]) -> None:
    """Removes the format from the tables of a config.toml; raises if it is older or newer."""
    found = config.pop("format", 1)
    if found != FORMAT or isinstance(found, bool):
        newer = isinstance(found, int) and found > FORMAT
        do = "install a newer regard" if newer else "train it again: options have new names since"
        raise RegardError(f"{path}: format {brief(found, 20)}", expected=f"format {FORMAT}", do=do)
