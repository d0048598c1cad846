"""The hook of conftest.py checks types and shapes of every call, once, and nothing it need not."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import jaxtyping
import pytest
import torch
from jaxtyping import Float, TypeCheckError
from torch import Tensor

from checked import checked
from regard.errors import counted

check = checked(typechecker=None)


@check
def with_itself(vectors: Float[Tensor, "rows size"]) -> Float[Tensor, "rows rows"]:
    return vectors @ vectors.T


@check
def first(vectors: Float[Tensor, "rows size"]) -> Float[Tensor, " rows"]:
    return vectors[0]


@check
def added(one: Float[Tensor, " size"], other: list[Float[Tensor, " size"]]) -> Float[Tensor, " size"]:
    return one + sum(other)


@check
@dataclass(frozen=True)
class Pair:
    keys: Float[Tensor, "key size"]
    name: str | None = None


def test_functions_of_regard_are_checked() -> None:
    assert counted(2, "line") == "2 lines"
    with pytest.raises(TypeCheckError, match="violates type hint"):
        counted("two", "line")  # type: ignore[arg-type]


def test_shapes_are_checked_among_arguments_and_with_the_answer() -> None:
    assert with_itself(torch.ones(2, 3)).shape == (2, 2)
    assert with_itself(torch.ones(4, 5)).shape == (4, 4)  # names of axes hold for one call
    with pytest.raises(TypeCheckError):
        with_itself(torch.ones(3))
    assert first(torch.ones(3, 3)).shape == (3,)
    with pytest.raises(TypeCheckError):
        first(torch.ones(2, 3))
    with pytest.raises(TypeCheckError):
        added(torch.ones(2), [torch.ones(3)])


def test_a_function_within_has_axes_of_its_own() -> None:
    @check
    def outer(vectors: Float[Tensor, "rows size"]) -> Float[Tensor, "rows rows"]:
        assert with_itself(torch.ones(7, 1)).shape == (7, 7)
        return with_itself(vectors)

    assert outer(torch.ones(2, 3)).shape == (2, 2)


def test_what_a_dataclass_is_made_of_is_checked() -> None:
    assert Pair(torch.ones(2, 3), "a").name == "a"
    for given in ((torch.ones(2),), (torch.ones(2, 3), 1)):
        with pytest.raises(TypeCheckError):
            Pair(*given)


def test_a_class_named_before_it_is_made() -> None:
    @check
    def made(again: "type[Late]") -> "Late":
        return again()

    @check
    def other(vectors: Float[Tensor, "rows size"], again: "Inner") -> Float[Tensor, " rows"]:
        return vectors[:, 0]

    class Inner: ...

    assert isinstance(made(Late), Late)
    with pytest.raises(TypeCheckError):
        made(str)  # type: ignore[arg-type]
    with pytest.raises(TypeCheckError):
        other(torch.ones(3), Inner())  # what cannot be looked up is not checked, and all else is


class Late: ...


def test_none_is_checked_where_that_is_asked_for() -> None:
    jaxtyping.config.update("jaxtyping_disable", True)
    try:
        assert first(torch.ones(2, 3)).shape == (3,)
    finally:
        jaxtyping.config.update("jaxtyping_disable", False)
    with pytest.raises(TypeCheckError):
        first(torch.ones(2, 3))


def test_a_mistake_in_the_call_is_what_it_is_anywhere() -> None:
    function: Callable[..., Any] = with_itself
    with pytest.raises(TypeError, match="missing"):
        function()
