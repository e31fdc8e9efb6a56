"""OpenAI's embeddings, as numbers or as base64."""

from __future__ import annotations

import base64
from collections.abc import Mapping
from typing import Annotated, Any, Literal

import msgspec

from kitpick_engines.contract import Vector
from kitpick_service.core import Service
from kitpick_service.dialect import Dialect, Endpoint
from kitpick_service.errors import Empty, Failure, Invalid, NotFound
from kitpick_service.exchange import packed
from kitpick_service.models import Vectors
from kitpick_service.reranking import MODELS, UNNAMED, require_count
from kitpick_service.ticket import Ticket

TokenId = Annotated[int, msgspec.Meta(ge=0, lt=2**31)]
_TEXT_BYTES, _BASE64_BYTES = 24, 8
"""Bytes of one number of a vector in an answer, as text and as base64."""
Input = str | list[str | TokenId | list[TokenId]]
"""One text, several, the token ids of one (in this model's vocabulary), or of several."""


def _embedded(service: Service, given: Input, ticket: Ticket, number_bytes: int) -> Vectors:
    """Unit vectors, float32 (n, dimensions); the bytes of each number in the answer are reserved before."""
    inputs = _inputs(given)
    require_count(service, len(inputs), "inputs")
    numbers = len(inputs) * service.models.encoder.dimensions
    ticket.reserve(number_bytes * numbers, f"{len(inputs):,} vectors: send fewer")
    return service.models.encode(inputs, ticket)


def _inputs(given: Input) -> list[str | list[int]]:
    if isinstance(given, str):
        return [given]
    numbers = [item for item in given if isinstance(item, int)]
    if not numbers:
        return [item for item in given if not isinstance(item, int)]
    if len(numbers) < len(given):
        raise Invalid("token ids and texts in one list")
    return [numbers]


_TYPES = {
    "unauthorized": "authentication_error",
    "overloaded": "rate_limit_error",
    "internal": "server_error",
    "model_failed": "server_error",
    "unavailable": "server_error",
    "deadline": "server_error",
}
_CODES = {
    "unauthorized": "invalid_api_key",
    "overloaded": "rate_limit_exceeded",
    "not_found": "model_not_found",
}


class OpenAiProblem(msgspec.Struct, frozen=True):
    """Inside of an OpenAI error."""

    message: str
    type: str
    param: str | None
    code: str | None


class OpenAiError(msgspec.Struct, frozen=True):
    """OpenAI's errors."""

    error: OpenAiProblem


def _error(failure: Failure, request_id: str) -> OpenAiError:
    kind = _TYPES.get(failure.code, "invalid_request_error")
    return OpenAiError(OpenAiProblem(failure.message, kind, None, _CODES.get(failure.code)))


class EmbeddingsCall(msgspec.Struct, frozen=True, kw_only=True):
    """Body of `POST /v1/embeddings`. Unknown fields are ignored, as there."""

    input: Input
    model: str = UNNAMED
    """OpenAI's clients name one always, those of TEI and Infinity need not."""
    encoding_format: Literal["float", "base64"] = "float"
    dimensions: Annotated[int, msgspec.Meta(ge=1)] | None = None
    user: str = ""


class Embedding(msgspec.Struct, frozen=True):
    """One vector: numbers, or float32 little-endian as base64."""

    index: int
    embedding: list[float] | str
    object: Literal["embedding"] = "embedding"


class EmbeddingsUsage(msgspec.Struct, frozen=True):
    """Tokens that were read."""

    prompt_tokens: int
    total_tokens: int


class EmbeddingsAnswer(msgspec.Struct, frozen=True):
    """Answer of `POST /v1/embeddings`."""

    data: list[Embedding]
    model: str
    usage: EmbeddingsUsage
    object: Literal["list"] = "list"


class ModelEntry(msgspec.Struct, frozen=True):
    """One model that can be named in a request."""

    id: str
    object: Literal["model"] = "model"
    created: int = 0
    owned_by: str = "kitpick"


class ModelList(msgspec.Struct, frozen=True):
    """Answer of `GET /v1/models`."""

    data: list[ModelEntry]
    object: Literal["list"] = "list"


def answer_embeddings(service: Service, call: EmbeddingsCall, ticket: Ticket) -> EmbeddingsAnswer:
    """Unit vectors of the inputs.

    Raises:
        NotFound: another model than the encoder.
        Empty, Invalid: no input, texts and token ids in one list, or vectors of another length.
        TooLarge, Overloaded, DeadlinePassed, Cancelled: as `ServiceModels.encode`.
    """
    name = service.models.encoder.manifest.name
    if call.model not in {name, service.models.encoder.identity, UNNAMED}:
        raise NotFound(f"no model {call.model[:100]!r} for embeddings; known is {name}")
    if not call.input:
        raise Empty("`input` cannot be empty")
    if call.dimensions not in {None, own := service.models.encoder.dimensions}:
        raise Invalid(f"dimensions: this model has {own}, and its vectors cannot be cut")
    code, size = (_base64, _BASE64_BYTES) if call.encoding_format == "base64" else (_numbers, _TEXT_BYTES)
    vectors = _embedded(service, call.input, ticket, size)
    data = [Embedding(index, code(row)) for index, row in enumerate(vectors)]
    used = name if call.model == UNNAMED else call.model
    return EmbeddingsAnswer(data, used, EmbeddingsUsage(ticket.tokens, ticket.tokens))


def _base64(vector: Vector) -> str:
    return base64.b64encode(packed(vector)).decode("ascii")


def _numbers(vector: Vector) -> Any:  # noqa: ANN401 - a list of numbers, encoded
    """As JSON at once: all vectors as Python's numbers would take twice the room."""
    return msgspec.Raw(msgspec.json.encode(vector.tolist()))


def answer_models(service: Service, call: None, ticket: Ticket) -> ModelList:
    """The names that requests may use."""
    return ModelList([ModelEntry(name) for name in (*MODELS, service.models.encoder.manifest.name)])


def answer_model(service: Service, call: Mapping[str, str], ticket: Ticket) -> ModelEntry:
    """One of these names.

    Raises:
        NotFound: it is none.
    """
    found = {entry.id: entry for entry in answer_models(service, None, ticket).data}
    if call["model"] not in found:
        raise NotFound(f"no model {call['model'][:100]!r}; known are {', '.join(found)}")
    return found[call["model"]]


DIALECT = Dialect("openai", OpenAiError, _error, {"invalid": 400})
_VECTORS = "OpenAI: vectors of texts"
ENDPOINTS = (
    Endpoint("/v1/embeddings", _VECTORS, DIALECT, EmbeddingsCall, EmbeddingsAnswer, answer_embeddings),
    Endpoint("/v1/models", "OpenAI: names of models", DIALECT, None, ModelList, answer_models),
    Endpoint("/v1/models/{model}", "OpenAI: one model", DIALECT, None, ModelEntry, answer_model),
)
