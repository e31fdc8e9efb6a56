"""Reranking by Text Embeddings Inference, by its published description (`docs/openapi.json` there).

Its path is also where vLLM's clients, LiteLLM among them, send `documents` instead of `texts`: they get
the answer of `/v1/rerank`.
"""

from __future__ import annotations

from collections.abc import Sequence
from importlib.metadata import version
from typing import Annotated, Literal

import msgspec

from kitpick_service.core import Service
from kitpick_service.dialect import Dialect, Endpoint, PlainNumber, plain_number
from kitpick_service.dialects.cohere import SharedAnswer, SharedCall, answer_shared
from kitpick_service.documents import Given, read_documents
from kitpick_service.errors import Empty, Failure, Invalid
from kitpick_service.health import answer_ready
from kitpick_service.reranking import PLAIN, rank_documents, require_count
from kitpick_service.ticket import Ticket

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


def _error(failure: Failure, request_id: str) -> TeiError:
    return TeiError(failure.message, _TYPES.get(failure.code, "Validation"))


_TEI = Dialect("tei", TeiError, _error, {"model_failed": 424, "internal": 424})


_LABEL = "LABEL_0"
_VLLMS = ("instruction", "truncate_prompt_tokens", "truncation_side", "max_tokens_per_query")
"""Fields of vLLM's clients for what these models cannot do."""


class RerankCall(msgspec.Struct, frozen=True, kw_only=True):
    """Body of `POST /rerank`: TEI's with `texts`, or vLLM's with `documents`."""

    truncate: bool | None = None
    """Inputs that are too long are cut; where this is false, they are refused."""
    truncation_direction: Literal["left", "right", "Left", "Right"] = "right"
    """From the left they are not cut, but refused."""
    prompt_name: str | None = None
    """The models here have no prompts."""
    query: str
    texts: list[str] | None = None
    """Plain text, whatever they look like."""
    raw_scores: bool = False
    return_text: bool = False
    documents: list[Given] | None = None
    model: str = PLAIN
    top_n: Annotated[int, msgspec.Meta(ge=1)] | None = None
    rank_fields: list[str] = []
    return_documents: bool = True
    """vLLM always returns them."""
    max_tokens_per_doc: Annotated[int, msgspec.Meta(ge=1)] | None = None
    instruction: str | None = None
    """vLLM's; refused, as are the three below."""
    truncate_prompt_tokens: int | None = None
    truncation_side: str | None = None
    max_tokens_per_query: int | None = None

    @property
    def asks(self) -> bool:
        """Whether lengths have to be checked; by default they do not."""
        return self.truncate is False or self.truncation_direction.lower() == "left" or bool(self.prompt_name)


class Rank(msgspec.Struct, frozen=True, omit_defaults=True):
    """One text: calibrated relevance in [0, 1], or the logit where raw scores were asked for."""

    index: int
    score: PlainNumber
    text: str | None = None


class RerankerLabels(msgspec.Struct, frozen=True):
    """The one label of a reranker."""

    id2label: dict[str, str]
    label2id: dict[str, int]


class ModelType(msgspec.Struct, frozen=True):
    """What the model does."""

    reranker: RerankerLabels


class Info(msgspec.Struct, frozen=True, kw_only=True):
    """Answer of `GET /info`: the cross-encoder, and the limits of this process."""

    model_id: str
    model_sha: str | None
    model_dtype: str
    served_model_name: str
    model_type: ModelType
    max_concurrent_requests: int
    max_input_length: int
    max_batch_tokens: int
    max_client_batch_size: int
    auto_truncate: bool
    tokenization_workers: int
    version: str
    max_batch_requests: int | None = None
    sha: str | None = None
    docker_label: str | None = None


class Healthy(msgspec.Struct, frozen=True):
    """Every model has just answered."""


def answer_rerank(service: Service, call: RerankCall, ticket: Ticket) -> list[Rank] | SharedAnswer:
    """Every text, best first; raises like `rank_documents`, and `Empty` where there is none."""
    _require_untaken(call, _VLLMS)
    if call.documents is not None:
        return _documents_ranked(service, call, ticket)
    if call.texts is None:
        raise Invalid("one of `texts` and `documents` is required")
    if not call.texts:
        raise Empty("`texts` cannot be empty")
    require_count(service, len(call.texts), "texts")
    if call.asks:
        _require_fitting(service, ticket, call, call.texts)
    documents = read_documents(call.texts, ticket).items
    return [
        Rank(
            item.index,
            plain_number(item.logit if call.raw_scores else item.score),
            call.texts[item.index] if call.return_text else None,
        )
        for item in rank_documents(service, ticket, PLAIN, call.query, documents)[: call.top_n]
    ]


def answer_info(service: Service, call: None, ticket: Ticket) -> Info:
    """What is served, and how much of it at once."""
    model, settings = service.models.cross_encoder, service.settings
    name, _, digest = model.identity.partition("@")
    return Info(
        model_id=name,
        model_sha=digest,
        model_dtype=model.manifest.storage,
        served_model_name=PLAIN,
        model_type=ModelType(RerankerLabels({"0": _LABEL}, {_LABEL: 0})),
        max_concurrent_requests=settings.max_requests,
        max_input_length=model.manifest.max_tokens,
        max_batch_tokens=model.settings.batch_tokens,
        max_client_batch_size=settings.max_documents,
        auto_truncate=True,
        tokenization_workers=model.workers.count,
        version=version("kitpick"),
    )


def answer_health(service: Service, call: None, ticket: Ticket) -> Healthy:
    """Raises `Unready` like `/health/ready`."""
    answer_ready(service, None, ticket)
    return Healthy()


def _documents_ranked(service: Service, call: RerankCall, ticket: Ticket) -> SharedAnswer:
    _require_untaken(call, ("texts", "raw_scores"))
    if call.asks:
        raise Invalid("`truncate`, `truncation_direction` and `prompt_name` are not taken beside `documents`")
    shared = SharedCall(
        query=call.query,
        documents=call.documents or [],
        model=call.model,
        top_n=call.top_n,
        rank_fields=call.rank_fields,
        return_documents=call.return_documents,
        max_tokens_per_doc=call.max_tokens_per_doc,
    )
    return answer_shared(service, shared, ticket)


def _require_untaken(call: RerankCall, names: Sequence[str]) -> None:
    """Refuses what would be ignored."""
    for name in names:
        if getattr(call, name) is not None and getattr(call, name) is not False:
            raise Invalid(f"`{name}` is not taken here")


def _require_fitting(service: Service, ticket: Ticket, call: RerankCall, texts: Sequence[str]) -> None:
    """Refuses a prompt, and a text that does not fit and may not be cut, or only from the left."""
    if call.prompt_name is not None:
        raise Invalid(f"no prompt {call.prompt_name[:100]!r}: this model has none")
    why = "`truncate` is false" if call.truncate is False else "it cannot be cut from the left"
    for text in texts:
        ticket.check()
        if not service.models.cross_encoder.fits(call.query, text):
            raise Invalid(f"an input has more tokens than the model reads, and {why}")


_SUMMARY = "TEI, vLLM: ranks texts"
_HEALTH = "TEI: would a request be answered?"
ENDPOINTS = (
    Endpoint("/rerank", _SUMMARY, _TEI, RerankCall, list[Rank] | SharedAnswer, answer_rerank),
    Endpoint("/info", "TEI: what is served", _TEI, None, Info, answer_info),
    Endpoint("/health", _HEALTH, _TEI, None, Healthy, answer_health, keyed=False),
)
