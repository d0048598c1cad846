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
    """Texts to answer, and how."""

    model_config = ConfigDict(extra="forbid", strict=True, json_schema_extra={"example": example})

    inputs: list[list[str]] = Field(description="One list an answer; in it one text for each role of the run.")
    look: bool = Field(True, description="Tell where the model looked.")
    trace: bool = Field(False, description="Tell every step of the search, for runs that search.")
    beam: Annotated[int, Field(ge=hypotheses.low, le=hypotheses.high)] | None = Field(
        None, description="Search with a beam of this width, and give as many answers; else as the run does."
    )
    without: list[list[list[TrainState]]] | None = Field(
        None, description="For each answer and each of its texts, the places of tokens to leave out, from 0."
    )
    layers: Number | Annotated[str, Field(min_length=1, max_length=20)] | None = Field(
        None, description="Of a Transformer that writes: show a layer by its number from 1, or last, mean or all."
    )
    features: Number | list[Number] | None = Field(
        None,
        description="Of a feature-wise attention show single features too: so many, those that vary most, or these "
        "by their numbers from 1.",
    )


class Answer(BaseModel):
    """One item for each list of inputs, in order."""

    items: list[dict[str, Any]] = Field(
        description="Each has answer, log_prob (of the whole answer: the sum over its tokens), log_prob_per_token ("
        "their mean; null where the answer is one label), others, and what the model looked at."
    )


class RunList(BaseModel):
    """The runs that are served."""

    runs: list[dict[str, Any]]


class Problem(BaseModel):
    """Why a request was not answered, in one line."""

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
