"""Settings of the service. The caller decides where their values come from."""

from __future__ import annotations

from typing import Annotated, Literal

import msgspec

from kitpick_models.settings import (
    DEFAULT_CROSS_ENCODER,
    DEFAULT_ENCODER,
    DEFAULT_LIST_RANKER,
    DEFAULT_QUERY_KIND,
    Provider,
)
from kitpick_rescorers.profiles import DEFAULT_PROFILE

Port = Annotated[int, msgspec.Meta(ge=0, le=65_535)]
Positive = Annotated[int, msgspec.Meta(ge=1)]
Seconds = Annotated[float, msgspec.Meta(gt=0, le=86_400)]


class ServiceSettings(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """Settings of one service process."""

    host: str = "127.0.0.1"
    """Address to listen on; `0.0.0.0` is every one."""
    port: Port = 8080
    """0 takes a free one, and says which."""
    profile: str = DEFAULT_PROFILE
    """Of a request that names none."""
    encoder: str = DEFAULT_ENCODER
    """A model's name or folder."""
    cross_encoder: str = DEFAULT_CROSS_ENCODER
    query_kind: str = DEFAULT_QUERY_KIND
    intents: str = ""
    """File of sample requests, which vote in `/v1/search`; empty: none do."""
    enriched: str = ""
    """File of what `kitpick enrich` wrote about the APIs, likewise."""
    list_ranker: str = DEFAULT_LIST_RANKER
    """Learned fusion for the stage `learned`; empty loads none."""
    provider: Provider = "cpu"
    devices: Annotated[str, msgspec.Meta(pattern=r"^\d+(,\d+)*$")] = "0"
    """Numbers of the GPUs, with commas between: each has a session of every model. One twice has two."""
    half: bool = False
    """Whether TensorRT may compute in 16 bits: faster, and scores change in their third digit."""
    engine_cache: str = ""
    """Folder for TensorRT's engines."""
    threads: Annotated[int, msgspec.Meta(ge=0, le=1024)] = 0
    """Threads of a model; 0 takes the cores that the process may use."""
    keys: str = ""
    """File of API keys; empty asks for none."""
    open_metrics: bool = False
    """Whether `/metrics` is open to everybody where keys are asked for."""
    tls_certificate: str = ""
    tls_key: str = ""
    max_body_bytes: Positive = 16 * 2**20
    """Of one request, decompressed."""
    max_values: Positive = 500_000
    """Strings, numbers, lists and objects in one request."""
    max_waiting_bytes: Positive = 128 * 2**20
    """Of all bodies that are being worked on, as they are and as they are decoded, and of unsent answers."""
    max_requests: Positive = 128
    """Requests in progress; further ones are refused with 429."""
    max_connections: Positive = 1_024
    """Open at the same time, idle ones included."""
    max_documents: Positive = 2_000
    """Of one rerank or embedding request."""
    max_waiting_tokens: Positive = 600_000
    """Of all texts that wait for one model; about 16 bytes each."""
    score_cache: Annotated[int, msgspec.Meta(ge=0)] = 65_536
    """Scores of pairs to remember, about 250 bytes each."""
    cached_tokens: Annotated[int, msgspec.Meta(ge=0)] = 4_000_000
    """Token ids of texts to remember, for each model: 8 bytes each, and about 250 a text."""
    warm_up_seconds: Annotated[float, msgspec.Meta(ge=0, le=86_400)] = 5.0
    """At most, for forward passes of all lengths before it listens; 0 runs none."""
    body_seconds: Seconds = 10.0
    """For the head of a request to arrive, then for its body, and for a caller to go on reading an answer."""
    deadline_seconds: Seconds = 30.0
    """For an answer, where the request asks for no less."""
    drain_seconds: Seconds = 30.0
    """For requests in progress, after the process was asked to stop."""
    traces: Annotated[str, msgspec.Meta(pattern=r"^(https?://.*)?$")] = ""
    """URL of an OpenTelemetry collector that takes OTLP over HTTP; empty sends nothing anywhere."""
    log_level: Literal["debug", "info", "warning", "error"] = "info"
    log_queries: bool = False
    """Whether the log may hold what people ask."""
