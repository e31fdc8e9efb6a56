"""Settings of the service. The caller decides where their values come from."""

from __future__ import annotations

from typing import Annotated, Literal

import msgspec
from msgspec.structs import replace

from kitpick_models.locate import DEFAULT_SET, ROLES, ChosenModels, choose
from kitpick_models.settings import Provider
from kitpick_rescorers import DEFAULT_PROFILE

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
    """Profile of a request that names none."""
    models: str = DEFAULT_SET
    """Model set: `default`, `small`, or a folder with a `set.toml`."""
    encoder: str = ""
    """A model's name or folder in place of the set's; empty: the set's, as for the next three."""
    cross_encoder: str = ""
    query_kind: str = ""
    """`none`: no classifier."""
    list_ranker: str = ""
    """Learned fusion for the stage `learned`; `none`: no fusion."""
    former_models: str = ""
    """A second model set, for `/v1/search` over indexes that were built with its encoder, while catalogs move
    from it to the other. Empty: none."""
    intents: str = ""
    """File of sample requests, which vote in `/v1/search`; empty: none do."""
    enriched: str = ""
    """File of what `kitpick enrich` wrote about the APIs, likewise."""
    provider: Provider = "cpu"
    devices: Annotated[str, msgspec.Meta(pattern=r"^\d+(,\d+)*$")] = "0"
    """Numbers of the GPUs, with commas between: each has a session of every model. One twice has two."""
    threads: Annotated[int, msgspec.Meta(ge=0, le=1024)] = 0
    """Threads of a model; 0 takes the cores that the process may use."""
    keys: str = ""
    """File of API keys; empty asks for none."""
    open_metrics: bool = False
    """Whether `/metrics` is open to everybody where keys are asked for."""
    tls_certificate: str = ""
    tls_key: str = ""
    max_body_bytes: Positive = 16 * 2**20
    """Bytes of one request, decompressed."""
    max_values: Positive = 500_000
    """Strings, numbers, lists and objects in one request."""
    max_waiting_bytes: Positive = 128 * 2**20
    """Bytes of all bodies that are being worked on, as they came and as decoded, and of unsent answers."""
    max_requests: Positive = 128
    """Requests in progress; further ones are refused with 429."""
    max_connections: Positive = 1_024
    """Open at the same time, idle ones included."""
    max_documents: Positive = 2_000
    """Documents of one rerank or embedding request."""
    max_waiting_tokens: Positive = 600_000
    """Tokens of all texts that wait for one model; about 16 bytes each."""
    score_cache: Annotated[int, msgspec.Meta(ge=0)] = 65_536
    """Scores of pairs to remember, about 250 bytes each."""
    content_cache: Annotated[int, msgspec.Meta(ge=0)] = 64 * 2**20
    """Bytes of documents to remember for `/v1/search`, so that callers send them once; 0: none."""
    cached_tokens: Annotated[int, msgspec.Meta(ge=0)] = 4_000_000
    """Token ids of texts to remember, for each model: 8 bytes each, and about 250 a text."""
    warm_up_seconds: Annotated[float, msgspec.Meta(ge=0, le=86_400)] = 5.0
    """Most seconds of forward passes of all lengths before it listens; 0 runs none."""
    body_seconds: Seconds = 10.0
    """Seconds for the head of a request, then for its body, and for a caller to go on reading an answer."""
    deadline_seconds: Seconds = 30.0
    """Seconds for an answer, unless the request asks for less."""
    drain_seconds: Seconds = 30.0
    """Seconds for requests in progress after the process was asked to stop."""
    traces: Annotated[str, msgspec.Meta(pattern=r"^(https?://.*)?$")] = ""
    """URL of an OpenTelemetry collector that takes OTLP over HTTP; empty sends nothing anywhere."""
    log_level: Literal["debug", "info", "warning", "error"] = "info"
    log_queries: bool = False
    """Whether the log may hold what people ask."""

    def of_former_models(self) -> ServiceSettings:
        """The same settings with the former set in place of the models."""
        own = {"encoder": "", "cross_encoder": "", "query_kind": "", "list_ranker": ""}
        return replace(self, models=self.former_models, former_models="", **own)

    def chosen_models(self) -> ChosenModels:
        """The models of the set, and those in place of some of them; raises like `choose`."""
        return choose(self.models, **{role: getattr(self, role) for role in ROLES})
