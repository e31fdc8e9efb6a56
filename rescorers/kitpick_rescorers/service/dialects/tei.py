"""Text Embeddings Inference, by its published description (`docs/openapi.json` there).

Its `/rerank` is also where vLLM's clients, LiteLLM among them, send `documents` instead of `texts`: they get
the answer of `/v1/rerank`.
"""

from __future__ import annotations

from functools import partial
from importlib.metadata import version
from typing import Annotated, Any, Literal

import msgspec
import numpy as np
from msgspec.structs import replace

from kitpick_rescorers.scoring import score_pairs
from kitpick_rescorers.service.core import Service
from kitpick_rescorers.service.dialect import Endpoint, PlainNumber, plain_number
from kitpick_rescorers.service.dialects.cohere import SharedAnswer, SharedCall, answer_shared
from kitpick_rescorers.service.documents import Given, read_documents
from kitpick_rescorers.service.embedding import (
    TEXT_BYTES,
    Input,
    TokenId,
    as_numbers,
    embed,
    require_dimensions,
)
from kitpick_rescorers.service.errors import Empty, Failure, Invalid
from kitpick_rescorers.service.health import answer_ready
from kitpick_rescorers.service.reranking import PLAIN, rank_documents, require_count
from kitpick_rescorers.service.ticket import Ticket

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
        """The HTTP status that TEI uses."""
        return 424 if failure.code in {"model_failed", "internal"} else failure.status

    def error(self, failure: Failure, request_id: str) -> object:
        """The failure in words, and its kind."""
        return TeiError(failure.message, _TYPES.get(failure.code, "Validation"))


Direction = Literal["left", "right", "Left", "Right"]
_LABEL = "LABEL_0"
_BYTES_A_TOKEN = 96
"""Of one in an answer, as JSON."""


class Truncated(msgspec.Struct, frozen=True, kw_only=True):
    """The handling of inputs that are too long for a model."""

    truncate: bool | None = None
    """They are cut; where this is false, they are refused."""
    truncation_direction: Direction = "right"
    """From the left they are not cut, but refused."""
    prompt_name: str | None = None
    """The models here have no prompts."""

    def require_allowed(self, fits: bool) -> None:
        """Refuses options that these models do not support.

        Raises:
            Invalid: a prompt, or an input that does not fit and may not be cut, or only from the left.
        """
        if self.prompt_name is not None:
            raise Invalid(f"no prompt {self.prompt_name[:100]!r}: this model has none")
        if fits:
            return
        if self.truncate is False:
            raise Invalid("an input has more tokens than the model reads, and `truncate` is false")
        if self.truncation_direction.lower() == "left":
            raise Invalid("an input has more tokens than the model reads, and it cannot be cut from the left")

    @property
    def asks(self) -> bool:
        """Whether lengths have to be checked; by default they do not."""
        return self.truncate is False or self.truncation_direction.lower() == "left" or bool(self.prompt_name)


class RerankCall(Truncated, frozen=True, kw_only=True):
    """Body of `POST /rerank`: TEI's with `texts`, or vLLM's with `documents`."""

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


class Rank(msgspec.Struct, frozen=True, omit_defaults=True):
    """One text: calibrated relevance in [0, 1], or the logit where raw scores were asked for."""

    index: int
    score: PlainNumber
    text: str | None = None


class PredictCall(Truncated, frozen=True, kw_only=True):
    """Body of `POST /predict`: a pair of texts, or a list of pairs."""

    inputs: str | list[str | list[str]]
    raw_scores: bool = False


class Prediction(msgspec.Struct, frozen=True):
    """How well the second text of a pair answers the first."""

    score: PlainNumber
    label: str = _LABEL


class EmbedCall(Truncated, frozen=True, kw_only=True):
    """Body of `POST /embed`."""

    inputs: Input
    normalize: bool = True
    dimensions: Annotated[int, msgspec.Meta(ge=1)] | None = None


class SimilarityInput(msgspec.Struct, frozen=True):
    """A text and others to compare it with."""

    source_sentence: str
    sentences: list[str]


class SimilarityCall(msgspec.Struct, frozen=True, kw_only=True):
    """Body of `POST /similarity`."""

    inputs: SimilarityInput
    parameters: Truncated = Truncated()


class RootCall(Truncated, frozen=True, kw_only=True):
    """Body of `POST /`, where clients of TEI send to whatever model is there: its fields say to which."""

    inputs: Input | SimilarityInput | None = None
    normalize: bool = True
    dimensions: Annotated[int, msgspec.Meta(ge=1)] | None = None
    parameters: Truncated = Truncated()
    query: str | None = None
    texts: list[str] | None = None
    raw_scores: bool = False
    return_text: bool = False


class TokenizeCall(msgspec.Struct, frozen=True, kw_only=True):
    """Body of `POST /tokenize`."""

    inputs: str | list[str]
    add_special_tokens: bool = True
    prompt_name: str | None = None


class DecodeCall(msgspec.Struct, frozen=True, kw_only=True):
    """Body of `POST /decode`: the token ids of one text, or of several."""

    ids: list[TokenId | list[TokenId]]
    skip_special_tokens: bool = True


class Token(msgspec.Struct, frozen=True):
    """A token, and where in the text it stands (characters); special ones stand nowhere."""

    id: int
    text: str
    special: bool
    start: int | None
    stop: int | None


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
    if call.documents is not None:
        return _documents_ranked(service, call, ticket)
    if call.texts is None:
        raise Invalid("one of `texts` and `documents` is required")
    if not call.texts:
        raise Empty("`texts` cannot be empty")
    require_count(service, len(call.texts), "texts")
    if call.asks:
        call.require_allowed(_all_fit(service, ticket, [(call.query, text) for text in call.texts]))
    documents = read_documents(call.texts, ticket).items
    return [
        Rank(
            item.index,
            plain_number(item.logit if call.raw_scores else item.score),
            call.texts[item.index] if call.return_text else None,
        )
        for item in rank_documents(service, ticket, PLAIN, call.query, documents)
    ]


def answer_predict(
    service: Service, call: PredictCall, ticket: Ticket
) -> list[Prediction] | list[list[Prediction]]:
    """How well the second text of each pair answers its first; raises like `answer_rerank`."""
    one = isinstance(call.inputs, list) and len(call.inputs) == 2 and isinstance(call.inputs[0], str)
    pairs = [_pair(item) for item in ([call.inputs] if one or isinstance(call.inputs, str) else call.inputs)]
    if not pairs:
        raise Empty("`inputs` cannot be empty")
    require_count(service, len(pairs), "inputs")
    if call.asks:
        call.require_allowed(_all_fit(service, ticket, pairs))
    scorer, known = service.models.scorer(ticket), service.models.scores_of(ticket)
    logits = np.empty(len(pairs), np.float32)
    for query in dict.fromkeys(query for query, _ in pairs):
        rows = [row for row, pair in enumerate(pairs) if pair[0] == query]
        logits[rows] = score_pairs(scorer, known, query, [pairs[row][1] for row in rows])[0]
    numbers = logits if call.raw_scores else scorer.probability(logits)
    predictions = [[Prediction(plain_number(float(number)))] for number in numbers]
    return predictions[0] if one else predictions


def answer_embed(service: Service, call: EmbedCall, ticket: Ticket) -> list[msgspec.Raw]:
    """Unit vectors of the inputs, each as a JSON list.

    Raises:
        Empty: there is none.
        Invalid: vectors of another length were asked for, or inputs are too long and may not be cut.
    """
    if not call.inputs:
        raise Empty("`inputs` cannot be empty")
    if not call.normalize:
        raise Invalid("the vectors of this model have length 1: `normalize` cannot be false")
    require_dimensions(service, call.dimensions)
    if call.asks:
        call.require_allowed(_embeds_whole(service, ticket, call.inputs))
    return as_numbers(embed(service, call.inputs, ticket, TEXT_BYTES))


def answer_similarity(service: Service, call: SimilarityCall, ticket: Ticket) -> list[float]:
    """Cosines of the sentences with the source sentence; raises like `answer_embed`."""
    texts: list[Any] = [call.inputs.source_sentence, *call.inputs.sentences]
    if not call.inputs.sentences:
        raise Empty("`inputs` cannot be empty")
    if call.parameters.asks:
        call.parameters.require_allowed(_embeds_whole(service, ticket, texts))
    vectors = embed(service, texts, ticket)
    cosines: list[float] = (vectors[1:] @ vectors[0]).tolist()
    return cosines


def answer_root(service: Service, call: RootCall, ticket: Ticket) -> object:
    """As the path for these fields answers.

    Raises:
        Invalid: neither `inputs` nor `query` and `texts`; and whatever that path raises.
    """
    shared = {name: getattr(call, name) for name in ("truncate", "truncation_direction", "prompt_name")}
    if call.query is not None and call.texts is not None:
        ranking = RerankCall(query=call.query, texts=call.texts, **shared)
        return answer_rerank(
            service, replace(ranking, raw_scores=call.raw_scores, return_text=call.return_text), ticket
        )
    if isinstance(call.inputs, SimilarityInput):
        similarity = SimilarityCall(inputs=call.inputs, parameters=call.parameters)
        return answer_similarity(service, similarity, ticket)
    if call.inputs is None:
        raise Invalid("`inputs`, or `query` and `texts`, are required")
    embedding = EmbedCall(inputs=call.inputs, **shared)
    return answer_embed(
        service, replace(embedding, normalize=call.normalize, dimensions=call.dimensions), ticket
    )


def answer_tokenize(service: Service, call: TokenizeCall, ticket: Ticket) -> list[msgspec.Raw]:
    """Tokens of each text as the cross-encoder has them, as many as it reads; each list as JSON.

    Raises:
        Empty: there is no text.
        Invalid: a prompt was asked for.
    """
    texts = [call.inputs] if isinstance(call.inputs, str) else call.inputs
    if not texts:
        raise Empty("`inputs` cannot be empty")
    require_count(service, len(texts), "inputs")
    Truncated(prompt_name=call.prompt_name).require_allowed(fits=True)
    most = service.models.cross_encoder.manifest.max_tokens
    tokens = sum(min(len(text) + 2, most) for text in texts)
    ticket.reserve(_BYTES_A_TOKEN * tokens, f"tokens of {len(texts):,} texts: send fewer")
    found = []
    for text in texts:
        ticket.check()
        found.append(msgspec.Raw(msgspec.json.encode(_tokens(service, text, call.add_special_tokens))))
    return found


def answer_decode(service: Service, call: DecodeCall, ticket: Ticket) -> list[str]:
    """The texts of token ids.

    Raises:
        Empty: there are none.
        Invalid: one text and several in one list.
        UnknownToken: an id that the vocabulary does not have.
    """
    if not call.ids:
        raise Empty("`ids` cannot be empty")
    single = [item for item in call.ids if isinstance(item, int)]
    several = [item for item in call.ids if not isinstance(item, int)]
    if single and several:
        raise Invalid("`ids` must be token ids, or lists of them")
    require_count(service, len(several), "ids")
    found = []
    for ids in several or [single]:
        ticket.check()
        found.append(service.models.cross_encoder.tokens.text(ids, call.skip_special_tokens))
    return found


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
    refused = ("instruction", "truncate_prompt_tokens", "truncation_side", "max_tokens_per_query")
    for name in refused:
        if getattr(call, name) is not None:
            raise Invalid(f"`{name}` is not taken here")
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


def _pair(given: str | list[str] | list[str | list[str]]) -> tuple[str, str]:
    if isinstance(given, list) and len(given) == 2:
        first, second = given
        if isinstance(first, str) and isinstance(second, str):
            return first, second
    raise Invalid("`inputs` must be pairs of texts: this model compares two")


def _all_fit(service: Service, ticket: Ticket, pairs: list[tuple[str, str]]) -> bool:
    model = service.models.cross_encoder
    for query, text in pairs:
        ticket.check()
        if not model.fits(query, text):
            return False
    return True


def _embeds_whole(service: Service, ticket: Ticket, inputs: Input) -> bool:
    model = service.models.encoder
    room = model.manifest.max_tokens - 2
    items = [inputs] if isinstance(inputs, str) else inputs
    require_count(service, len(items), "inputs")
    if items and isinstance(items[0], int):
        return len(items) <= room + 2
    for item in items:
        ticket.check()
        fits = model.fits(item) if isinstance(item, str) else isinstance(item, int) or len(item) <= room + 2
        if not fits:
            return False
    return True


def _tokens(service: Service, text: str, special: bool) -> list[Token]:
    tokens, most = service.models.cross_encoder.tokens, service.models.cross_encoder.manifest.max_tokens
    inner = [
        Token(token, tokens.word(token), False, start, stop)
        for token, start, stop in tokens.spans(text, most - 2 if special else most)
    ]
    if not special:
        return inner
    ends = [Token(token, tokens.word(token), True, None, None) for token in (tokens.start, tokens.separator)]
    return [ends[0], *inner, ends[1]]


_endpoint = partial(Endpoint, dialect=TeiDialect())
ENDPOINTS = (
    _endpoint(
        path="/rerank",
        summary="TEI, vLLM: ranks texts",
        request=RerankCall,
        reply=list[Rank] | SharedAnswer,
        answer=answer_rerank,
    ),
    _endpoint(
        path="/predict",
        summary="TEI: scores pairs",
        request=PredictCall,
        reply=list[Prediction | list[Prediction]],
        answer=answer_predict,
    ),
    _endpoint(
        path="/embed",
        summary="TEI: vectors of texts",
        request=EmbedCall,
        reply=list[list[float]],
        answer=answer_embed,
    ),
    _endpoint(
        path="/similarity",
        summary="TEI: cosines with a text",
        request=SimilarityCall,
        reply=list[float],
        answer=answer_similarity,
    ),
    _endpoint(
        path="/tokenize",
        summary="TEI: tokens of texts",
        request=TokenizeCall,
        reply=list[list[Token]],
        answer=answer_tokenize,
    ),
    _endpoint(
        path="/decode",
        summary="TEI: texts of tokens",
        request=DecodeCall,
        reply=list[str],
        answer=answer_decode,
    ),
    _endpoint(
        path="/",
        summary="TEI: as its fields ask",
        request=RootCall,
        reply=Any,
        answer=answer_root,
    ),
    _endpoint(
        path="/info",
        summary="TEI: what is served",
        request=None,
        reply=Info,
        answer=answer_info,
    ),
    _endpoint(
        path="/health",
        summary="TEI: would a request be answered?",
        request=None,
        reply=Healthy,
        answer=answer_health,
        keyed=False,
    ),
)
