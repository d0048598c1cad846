"""What the import hook in conftest.py puts around every function of regard: types and shapes are checked at each call.

jaxtyping's own decorator binds the arguments of every call to the signature, and checks them once before the call and
once after it. Most functions take no array, so beartype alone checks them; the others are checked once, in a scope of
their own for the names of the axes. The checks are the same, and cost a fraction.
"""

import dataclasses
import inspect
from collections.abc import Callable
from functools import wraps
from typing import Any, TypeVar, get_args, get_type_hints

import jaxtyping
from beartype import BeartypeConf, beartype

Made = TypeVar("Made")
with_shapes = jaxtyping.jaxtyped
of_types = beartype(conf=BeartypeConf(violation_type=jaxtyping.TypeCheckError))


def has_shape(hint: object) -> bool:
    """Whether a hint is an array of jaxtyping's, or has one inside it."""
    return (isinstance(hint, type) and issubclass(hint, jaxtyping.AbstractArray)) or any(map(has_shape, get_args(hint)))


def check_of(function: Callable[..., Any]) -> Callable[..., Any]:
    try:
        hints = get_type_hints(function, include_extras=True)
    except NameError:  # a local class, which jaxtyping takes for anything
        return with_shapes(typechecker=of_types)(function)
    check = of_types(function)
    if not any(map(has_shape, hints.values())):
        return check

    def call(*args: Any, **kwargs: Any) -> Any:
        with with_shapes("context"):
            return check(*args, **kwargs)

    return call


def checked_function(function: Callable[..., Any]) -> Callable[..., Any]:
    """The check is made at the first call: many functions are never called, and many are made again and again."""
    check = None

    @wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        nonlocal check
        if jaxtyping.config.jaxtyping_disable:
            return function(*args, **kwargs)
        if check is None:
            check = check_of(function)
        return check(*args, **kwargs)

    return call


def checked(*, typechecker: object) -> Callable[[Made], Made]:
    """In the place of `jaxtyping.jaxtyped`, which the hook looks up for every function and class."""

    def decorate(made: Any) -> Any:
        if inspect.isfunction(made):
            return checked_function(made)
        if dataclasses.is_dataclass(made) and "__init__" in vars(made):
            made.__init__ = checked_function(made.__init__)  # type: ignore[misc]
        return made

    return decorate
