"""Vectors for clients of embeddings."""

from __future__ import annotations

from typing import Annotated

import msgspec

from kitpick_rescorers.service.core import Service
from kitpick_rescorers.service.errors import Invalid
from kitpick_rescorers.service.models import Vectors
from kitpick_rescorers.service.reranking import require_count
from kitpick_rescorers.service.ticket import Ticket

TokenId = Annotated[int, msgspec.Meta(ge=0, lt=2**31)]
TEXT_BYTES, BASE64_BYTES = 24, 8
"""Bytes of one number of a vector in an answer, as text and as base64."""
Input = str | list[str | TokenId | list[TokenId]]
"""One text, several, the token ids of one (in this model's vocabulary), or of several."""


def embed(service: Service, given: Input, ticket: Ticket, number_bytes: int = 0) -> Vectors:
    """Unit vectors, float32 (n, dimensions).

    Args:
        service: has the encoder.
        given: what to encode.
        ticket: of the request.
        number_bytes: that the answer needs for each number of them, reserved before any work.

    Raises:
        TooLarge, Overloaded, DeadlinePassed, Cancelled: as `ServiceModels.encode`.
        Invalid: texts and token ids in one list, or an id that the vocabulary does not have.
    """
    inputs = _inputs(given)
    require_count(service, len(inputs), "inputs")
    numbers = len(inputs) * service.models.encoder.dimensions
    ticket.reserve(number_bytes * numbers, f"{len(inputs):,} vectors: send fewer")
    return service.models.encode(inputs, ticket)


def as_numbers(vectors: Vectors) -> list[msgspec.Raw]:
    """Each vector as a JSON list: all of them as Python's numbers would take twice the room."""
    return [msgspec.Raw(msgspec.json.encode(row.tolist())) for row in vectors]


def require_dimensions(service: Service, wanted: int | None) -> None:
    """Refuses other dimensions than the model's: cut vectors would be of no use.

    Raises:
        Invalid: another one was asked for.
    """
    own = service.models.encoder.dimensions
    if wanted not in {None, own}:
        raise Invalid(f"dimensions: this model has {own}, and its vectors cannot be cut")


def _inputs(given: Input) -> list[str | list[int]]:
    if isinstance(given, str):
        return [given]
    numbers = [item for item in given if isinstance(item, int)]
    if not numbers:
        return [item for item in given if not isinstance(item, int)]
    if len(numbers) < len(given):
        raise Invalid("token ids and texts in one list")
    return [numbers]
