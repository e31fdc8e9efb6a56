"""Text Embeddings Inference: `/rerank` and `/embed`."""

from __future__ import annotations

from typing import Annotated, Any, Literal

import msgspec

from toolrank_rescorers.service.core import Service
from toolrank_rescorers.service.dialect import Endpoint
from toolrank_rescorers.service.embedding import Input, embed, require_dimensions
from toolrank_rescorers.service.errors import Empty, Failure, Invalid
from toolrank_rescorers.service.numbers import PlainNumber, plain_number
from toolrank_rescorers.service.reranking import PLAIN, rank_documents, read_documents
from toolrank_rescorers.service.ticket import Ticket

ErrorType = Literal["Unhealthy", "Backend", "Overloaded", "Validation", "Tokenizer", "Empty"]
_TYPES: dict[str, ErrorType] = {
    "empty": "Empty",
    "overloaded": "Overloaded",
    "unavailable": "Unhealthy",
    "model_failed": "Backend",
    "deadline": "Backend",
    "internal": "Backend",
}


class TeiError(msgspec.Struct, frozen=True):
    """TEI's errors."""

    error: str
    error_type: ErrorType


class TeiDialect:
    """`{"error", "error_type"}`; a model that fails is 424."""

    name = "tei"
    error_type: Any = TeiError

    def status(self, failure: Failure) -> int:
        """What TEI calls it."""
        return 424 if failure.code in {"model_failed", "internal"} else failure.status

    def error(self, failure: Failure, request_id: str) -> object:
        """The failure in words, and its kind."""
        return TeiError(failure.message, _TYPES.get(failure.code, "Validation"))


class RerankCall(msgspec.Struct, frozen=True, kw_only=True):
    """Body of `POST /rerank`."""

    query: str
    texts: list[str]
    """YAML may say `tool` and `category`."""
    truncate: bool = True
    """Texts that are too long are always cut."""
    truncation_direction: Literal["left", "right", "Left", "Right"] = "right"
    raw_scores: bool = False
    return_text: bool = False


class Rank(msgspec.Struct, frozen=True, omit_defaults=True):
    """One text: calibrated relevance in [0, 1], or the logit where raw scores were asked for."""

    index: int
    score: PlainNumber
    text: str | None = None


class EmbedCall(msgspec.Struct, frozen=True, kw_only=True):
    """Body of `POST /embed`."""

    inputs: Input
    truncate: bool = True
    normalize: bool = True
    dimensions: Annotated[int, msgspec.Meta(ge=1)] | None = None


def answer_rerank(service: Service, call: RerankCall, ticket: Ticket) -> list[Rank]:
    """Every text, best first; raises like `rank_documents`, and `Empty` where there is none."""
    if not call.texts:
        raise Empty("`texts` cannot be empty")
    documents = read_documents(service, call.texts)
    return [
        Rank(
            item.index,
            plain_number(item.logit if call.raw_scores else item.score),
            call.texts[item.index] if call.return_text else None,
        )
        for item in rank_documents(service, ticket, PLAIN, call.query, documents)
    ]


def answer_embed(service: Service, call: EmbedCall, ticket: Ticket) -> list[list[float]]:
    """Unit vectors of the inputs.

    Raises:
        Empty: there is none.
        Invalid: vectors of another length were asked for.
    """
    if not call.inputs:
        raise Empty("`inputs` cannot be empty")
    if not call.normalize:
        raise Invalid("the vectors of this model have length 1: `normalize` cannot be false")
    require_dimensions(service, call.dimensions)
    vectors: list[list[float]] = embed(service, call.inputs, ticket).tolist()
    return vectors


_DIALECT = TeiDialect()
ENDPOINTS = (
    Endpoint(
        path="/rerank",
        summary="TEI: ranks texts",
        dialect=_DIALECT,
        request=RerankCall,
        reply=list[Rank],
        answer=answer_rerank,
    ),
    Endpoint(
        path="/embed",
        summary="TEI: vectors of texts",
        dialect=_DIALECT,
        request=EmbedCall,
        reply=list[list[float]],
        answer=answer_embed,
    ),
)
