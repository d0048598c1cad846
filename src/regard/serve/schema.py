"""What a request may say and what an answer holds: the schema of the API, as it stands in /openapi.json.

A body is read strictly, straight from its bytes: unknown fields, wrong types, NaN and halves of characters are errors,
told in one line with the place.

    read_ask(b'{"inputs": [["5 May 2024"]]}').look  →  True
"""

from collections.abc import Sequence
from typing import Annotated, Any, get_args

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from regard.ranges import Hypotheses
from regard.serve.limits import RefusedError

__all__ = ["Answer", "Ask", "Problem", "RunList", "read_ask", "told"]

[_, hypotheses] = get_args(Hypotheses)  # the range that the searches themselves take
TrainState = Annotated[int, Field(ge=0, le=1 << 31)]
Number = Annotated[int, Field(ge=1, le=1 << 31)]
example: dict[str, Any] = {"inputs": [["Dienstag, 5. März 2024"]], "look": True}


class Ask(BaseModel):
    """Texts to predict from, and options."""

    model_config = ConfigDict(extra="forbid", strict=True, json_schema_extra={"example": example})

    inputs: list[list[str]] = Field(description="One list per prediction, with one text for each role of the run.")
    look: bool = Field(True, description="Return the attention weights.")
    trace: bool = Field(False, description="Return every step of the search, for runs that search.")
    beam: Annotated[int, Field(ge=hypotheses.low, le=hypotheses.high)] | None = Field(
        None, description="Beam size, and number of predictions to return (default: the run's own search)."
    )
    without: list[list[list[TrainState]]] | None = Field(
        None, description="For each prediction and each of its texts, the indices of tokens to drop, from 0."
    )
    layers: Number | Annotated[str, Field(min_length=1, max_length=20)] | None = Field(
        None, description="Layer of a Transformer decoder to show: a number from 1, or last, mean or all."
    )
    features: Number | list[Number] | None = Field(
        None,
        description="Also show single features of feature-wise attention: a count (those that vary most) or a list of "
        "feature numbers from 1.",
    )


class Answer(BaseModel):
    """One item for each list of inputs, in order."""

    items: list[dict[str, Any]] = Field(
        description="Each has answer, log_prob (of the whole answer: the sum over its tokens), log_prob_per_token ("
        "their mean; null if the answer is one label), others, and the attention maps."
    )


class RunList(BaseModel):
    """The served runs."""

    runs: list[dict[str, Any]]


class Problem(BaseModel):
    """Why a request failed, in one line."""

    detail: str


def read_ask(body: bytes) -> Ask:
    """What the body says; 422 where it cannot be read."""
    try:
        return Ask.model_validate_json(body)
    except ValidationError as error:
        raise RefusedError(
            422, told(error.errors(include_url=False, include_context=False, include_input=False))
        ) from None


def told(errors: Sequence[Any]) -> str:
    """The first of pydantic's errors in one line, without what was sent: NaN, for one, could not be sent back."""
    where = ".".join(str(part) for part in errors[0]["loc"])
    return f"{where[:100] or 'body'}: {' '.join(str(errors[0]['msg']).split())}"
