"""Exercises that check themselves: a check runs where it stands and says whether the answer above it is right.

    @exercise(1)
    def check():
        assert double(2) == 4, f"double(2) is 4, not {double(2)}"

An answer that still raises NotImplementedError counts as not solved yet, so that the notebook runs to its end.
"""

from collections.abc import Callable

__all__ = ["checks", "exercise"]

checks: dict[int, Callable[[], None]] = {}


def exercise(number: int) -> Callable[[Callable[[], None]], Callable[[], None]]:
    """Run the check of this exercise at once; a wrong answer raises its AssertionError."""

    def run(check: Callable[[], None]) -> Callable[[], None]:
        checks[number] = check
        try:
            check()
        except NotImplementedError:
            print(f"Exercise {number}: not solved yet")
        else:
            print(f"Exercise {number}: solved")
        return check

    return run
