"""Converts between messages of the native protocol and values of the pipeline."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from kitpick_engines.contract import Candidate, Place, Vector
from kitpick_engines.document import ApiDocument
from kitpick_engines.text import rerank_text
from kitpick_rescorers.request import RescoreRequest
from kitpick_service.errors import Invalid
from kitpick_service.protocol import (
    RescoreCall,
    WireCandidate,
    WirePlace,
)

NO_VECTOR: Vector = np.empty(0, np.float32)


def request_of(call: RescoreCall) -> RescoreRequest:
    """The request that a call describes.

    Raises:
        Invalid: a vector that is not finite or of another length than the first, or a candidate without text.
    """
    vector = None if call.vector is None else _vector(call.vector, "vector")
    candidates = tuple(_candidate(item, f"candidates[{n}]") for n, item in enumerate(call.candidates))
    fetched = tuple(_candidate(item, f"fetched[{n}]") for n, item in enumerate(call.fetched))
    _one_length(vector, (*candidates, *fetched))
    return RescoreRequest(
        query=call.query,
        candidates=candidates,
        vector=vector,
        k=call.k,
        fetched=fetched,
        complete_tools=frozenset(call.complete_tools),
        intent_trust=call.intent_trust,
        vector_model=call.vector_model,
        held=call.held,
        placed_first=call.placed_first,
        used=call.used,
        read_as=call.read_as,
    )


def call_of(request: RescoreRequest, **settings: object) -> RescoreCall:
    """The call that describes a request; `settings` are further fields of it."""
    return RescoreCall(
        query=request.query,
        candidates=tuple(map(_wire_candidate, request.candidates)),
        vector=None if request.vector is None else packed(request.vector),
        k=request.k,
        fetched=tuple(map(_wire_candidate, request.fetched)),
        complete_tools=tuple(sorted(request.complete_tools)),
        intent_trust=request.intent_trust,
        vector_model=request.vector_model,
        held=request.held,
        placed_first=dict(request.placed_first),
        used=request.used,
        read_as=request.read_as,
        **settings,  # type: ignore[arg-type]
    )


def packed(vector: Vector) -> bytes:
    """A vector (d,) in wire format: float32, little-endian."""
    return np.asarray(vector, "<f4").tobytes()


def _vector(data: bytes, where: str) -> Vector:
    if len(data) % 4:
        raise Invalid(f"{where}: {len(data)} bytes are no whole number of float32 values")
    vector = np.frombuffer(data, "<f4").astype(np.float32)
    if not np.isfinite(vector).all():
        raise Invalid(f"{where}: holds NaN or infinity")
    return vector


def _candidate(item: WireCandidate, where: str) -> Candidate:
    return Candidate(
        id=item.id,
        category=item.category,
        tool=item.tool,
        api=item.api or item.id,
        text=_text(item, where),
        vector=NO_VECTOR if item.vector is None else _vector(item.vector, f"{where}.vector"),
        lexical=_place(item.lexical or item.first),
        dense=_place(item.dense or item.first),
        sentence=_place(item.sentence),
        intent=_place(item.intent),
        deprecated=item.deprecated,
        effect=item.effect,
        needs=item.needs,
        gives=item.gives,
    )


def _text(item: WireCandidate, where: str) -> str:
    if item.text is not None:
        return item.text
    if item.fields is None:
        raise Invalid(f"{where}: one of `text` and `fields` is required")
    document = ApiDocument(
        id=item.id,
        source="",
        category=item.category,
        tool=item.tool,
        api=item.api or item.id,
        description=item.fields.description,
        parameters=item.fields.parameters,
    )
    return rerank_text(document)


def _place(place: WirePlace | None) -> Place | None:
    return None if place is None else Place(place.rank, place.score)


def _one_length(vector: Vector | None, candidates: Iterable[Candidate]) -> None:
    lengths = {len(item.vector) for item in candidates} - {0}
    lengths |= set() if vector is None else {len(vector)}
    if len(lengths) > 1:
        raise Invalid(f"vectors of {' and '.join(map(str, sorted(lengths)))} values in one request")


def _wire_place(place: Place | None) -> WirePlace | None:
    return None if place is None else WirePlace(place.rank, place.score)


def _wire_candidate(item: Candidate) -> WireCandidate:
    return WireCandidate(
        id=item.id,
        tool=item.tool,
        category=item.category,
        api=item.api,
        text=item.text,
        vector=packed(item.vector) if len(item.vector) else None,
        lexical=_wire_place(item.lexical),
        dense=_wire_place(item.dense),
        sentence=_wire_place(item.sentence),
        intent=_wire_place(item.intent),
        deprecated=item.deprecated,
        effect=item.effect,
        needs=item.needs,
        gives=item.gives,
    )
