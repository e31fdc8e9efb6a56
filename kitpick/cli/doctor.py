"""`kitpick doctor`: settings and where they come from, extras, models and the catalog."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Sequence
from http.client import HTTPException
from importlib.metadata import version
from importlib.util import find_spec
from itertools import islice
from pathlib import Path
from typing import NamedTuple
from urllib.request import urlopen

import msgspec
import typer
from rich.table import Table
from rich.text import Text

from kitpick.adaptation.held_out import held_out_requests
from kitpick.catalog import Catalog
from kitpick.cli.catalogs import absence_of
from kitpick.cli.console import print_json, print_table
from kitpick.cli.options import CatalogOption, JsonOption
from kitpick.errors import ExitCode
from kitpick.model_set import ModelSet
from kitpick.settings import Settings, read_service_settings
from kitpick.text_bounds import text_bounds
from kitpick_engines.contract import CheckedEngine, Engine, IndexStats
from kitpick_engines.errors import ForeignState
from kitpick_engines.opening import without_secrets
from kitpick_engines.remote.engine import RemoteEngine
from kitpick_engines.remote.setup import compare, deadline, detect, endpoints, followed
from kitpick_evaluation.abstention import judge_of
from kitpick_foundation.errors import InvalidSetting, KitpickError
from kitpick_foundation.text_files import read_text
from kitpick_ingest.cut_texts import CutTextCounts, CutTexts
from kitpick_models.errors import ModelError
from kitpick_rescorers.profiles import load_profile
from kitpick_service.keys import KeyRing

EXTRAS = {
    "cpu": "onnxruntime",
    "gpu": "onnxruntime",
    "aws": "botocore",
    "mcp": "mcp",
    "grpc": "google.protobuf",
    "serve": "prometheus_client",
    "traces": "opentelemetry.sdk",
    "client": "httpx2",
    "llm": "httpx2",
    "opensearch": "opensearchpy",
    "elasticsearch": "elasticsearch",
    "fast": "numba",
    "eval": "ir_measures",
    "train": "torch",
    "anthropic": "anthropic",
    "google-adk": "google.adk",
    "haystack": "haystack",
    "langchain": "langchain_core",
    "langchain-agents": "langchain",
    "litellm": "litellm",
    "llama-index": "llama_index",
    "openai-agents": "agents",
    "pydantic-ai": "pydantic_ai",
    "strands": "strands",
}
"""Extra → a module that only it brings; `cpu` and `gpu` bring the same one."""


_PATIENCE = 5.0
_MOST_READ = 100_000
_MOST_COUNTED = 5_000
"""Documents whose texts are counted."""
_TOGETHER = 256
_SLOWER = 1.5
"""A deadline should be met by a search that is slower by this factor: the node needs time, too."""


class CheckLine(msgspec.Struct, frozen=True):
    """One line of the report. `ok` is None where nothing can be broken."""

    topic: str
    name: str
    value: str
    ok: bool | None = None


def doctor(catalog: CatalogOption = None, as_json: JsonOption = False) -> None:
    """Shows settings, installed extras, models and the catalog, and what is broken."""
    settings = Settings()
    findings = [
        *_versions(),
        *_settings(settings),
        *_service(),
        *_models(settings),
        *_catalog(catalog, settings),
    ]
    if as_json:
        print_json(findings)
    else:
        table = Table("", "", "value", "")
        for finding in findings:
            table.add_row(finding.topic, finding.name, finding.value, _mark(finding.ok))
        print_table(table)
    if any(finding.ok is False for finding in findings):
        raise typer.Exit(ExitCode.UNAVAILABLE)


def _mark(ok: bool | None) -> Text:
    return {True: Text("ok", "green"), False: Text("broken", "red"), None: Text()}[ok]


def _versions() -> Iterator[CheckLine]:
    yield CheckLine("version", "kitpick", version("kitpick"))
    yield CheckLine("version", "python", sys.version.split()[0])
    for extra, module in EXTRAS.items():
        yield CheckLine("extra", extra, "installed" if _is_there(module) else "absent")


def _is_there(module: str) -> bool:
    try:
        return find_spec(module) is not None
    except ModuleNotFoundError:  # the package above it is absent
        return False


def _settings(settings: Settings) -> Iterator[CheckLine]:
    for name, value in msgspec.structs.asdict(settings).items():
        variable = f"KITPICK_{name.upper()}"
        origin = "" if variable in os.environ else " (default)"
        shown = without_secrets(value) if name == "catalog" else value
        yield CheckLine("setting", variable, f"{shown}{origin}")


def _service() -> Iterator[CheckLine]:
    """Settings that `kitpick serve` would use here; of the key file only the path is shown."""
    try:
        explained = read_service_settings({})
    except InvalidSetting as error:
        yield CheckLine("service", "settings", str(error), ok=False)
        return
    for name, value in msgspec.structs.asdict(explained.settings).items():
        shown = f"{value} ({explained.origins.get(name, 'default')})"
        fault = _fault(name, value)
        yield CheckLine("service", name, f"{shown}: {fault}" if fault else shown, False if fault else None)


def _fault(name: str, value: object) -> str:
    """Why the file of a setting of the service cannot be used; empty if it can."""
    if name not in {"keys", "tls_certificate", "tls_key"} or not value:
        return ""
    try:
        read_text(Path(str(value)))
        if name == "keys":
            KeyRing(Path(str(value)))
    except (OSError, UnicodeDecodeError, InvalidSetting) as error:
        return str(error)
    return ""


def _models(settings: Settings) -> Iterator[CheckLine]:
    try:
        models = ModelSet(settings)
    except ModelError as error:
        yield CheckLine("model", "set", str(error), ok=False)
        return
    replaced = f", but for {', '.join(models.chosen.replaced)}" if models.chosen.replaced else ""
    yield CheckLine("model", "set", f"{models.chosen.set_name}{replaced}")
    identities = models.identities()
    for role, identity in identities.items():
        yield CheckLine("model", role, identity, not identity.startswith("unavailable"))
    if not any(identity.startswith("unavailable") for identity in identities.values()):
        _, missing = models.for_needs(frozenset({"scorer", "ranker"}))
        yield from (CheckLine("model", each.stage, each.reason, ok=False) for each in missing)


def _catalog(url: str | None, settings: Settings) -> Iterator[CheckLine]:
    name = without_secrets(url or settings.catalog)
    try:
        with Catalog.open(url, settings=settings) as opened:
            if isinstance(opened.engine, RemoteEngine):
                yield from _server(opened.engine, ModelSet(settings).identities()["encoder"])
            stats, absent = opened.stats(), absence_of(opened)
            contents = [] if stats is None else [*_contents(opened, name, stats), *_damage(opened.engine)]
    except KitpickError as error:
        yield CheckLine("catalog", name, str(error), ok=False)
        return
    if absent is not None and url is not None:
        yield CheckLine("catalog", name, str(absent), ok=False)
    elif stats is None:
        yield CheckLine("catalog", name, "empty: take something in with `kitpick ingest`")
    else:
        yield from contents


def _contents(opened: Catalog, name: str, stats: IndexStats) -> Iterator[CheckLine]:
    """The documents of a catalog: how many, from where, and what the models make of them."""
    size = f"{stats.documents:,} documents, {stats.bytes / 1e6:.1f} MB, {stats.schema.model}"
    yield CheckLine("catalog", name, size, ok=True)
    for source, count in stats.by_source.items():
        yield CheckLine("source", source, f"{count:,} documents")
    yield from (CheckLine("texts", each.model, each.told()) for each in _cut_texts(opened))
    yield from _refusals(opened.settings, stats.documents)


def _damage(engine: Engine) -> Iterator[CheckLine]:
    """Documents that lack what searches need, by source."""
    damaged = engine.damaged() if isinstance(engine, CheckedEngine) else {}
    for source, count in damaged.items():
        fault = f"{count:,} vectors are damaged or missing: ingest this source again"
        yield CheckLine("vectors", source, fault, ok=False)
    lost = engine.lost() if isinstance(engine, RemoteEngine) else {}
    for source, fields in lost.items():
        named = ", ".join(f"{count:,} lack {field}" for field, count in fields.items() if count)
        fault = f"{named}, and are not found by it: somebody wrote them again. Ingest this source again"
        yield CheckLine("fields", source, fault, ok=False)


def _cut_texts(opened: Catalog) -> tuple[CutTexts, ...]:
    """Those of the first documents that the models do not read to their end."""
    live = opened.engine.live()
    counts = CutTextCounts(text_bounds(opened.settings, opened.models))
    if live is not None:
        stored = islice(opened.engine.documents(live[0]), _MOST_COUNTED)
        while documents := [each.document for each in islice(stored, _TOGETHER)]:
            counts.add(documents)
    return counts.found()


def _refusals(settings: Settings, apis: int) -> Iterator[CheckLine]:
    """What the profile in use refuses of answerable requests that took part in nothing."""
    try:
        profile = load_profile(settings.profile)
        judge = judge_of(profile)
        ranker = ModelSet(settings).for_needs(frozenset({"scorer", "ranker"}))[0].ranker
        if judge is None or ranker is None:
            return
        held_out = held_out_requests(ranker.identity, apis)
    except KitpickError:  # a line above names it
        return
    threshold = ranker.threshold if judge.threshold is None else judge.threshold
    refused = None if held_out is None else held_out.refused(profile, threshold)
    if held_out is not None and refused is not None:
        says = f"threshold {threshold:.4f}; {held_out.of}: {held_out.told(refused)}"
        yield CheckLine("abstention", profile.name, says)


def _server(engine: RemoteEngine, encoder: str) -> Iterator[CheckLine]:
    features = detect(engine.server)
    for name, value, ok in features.lines():
        yield CheckLine("cluster", name, value, ok)
    live = engine.live()
    if live is None:
        return
    index, schema = live
    yield from _ownership(engine, index)
    same = schema.model == encoder
    yield CheckLine("agreement", "encoder", f"index {schema.model}, here {encoder}", same)
    if features.distribution == "opensearch":
        for part in compare(engine.server, engine.address.name, index, schema.model):
            yield CheckLine("agreement", part.name, part.says, part.ok)
        yield from _rescorers(engine, schema.model)


def _ownership(engine: RemoteEngine, index: str) -> Iterator[CheckLine]:
    """Whether the state is about the indexes that are there, and the alias shows the live one alone."""
    try:
        engine.verify()
    except ForeignState as error:
        yield CheckLine("agreement", "state", str(error), ok=False)
    alone = not engine.is_shown(index)
    again = ", and ingest any source again" if alone else ""
    for other in engine.strangers():
        cure = f"this catalog did not make it: remove the alias from {other} (POST /_aliases){again}"
        shows = f"the alias {engine.address.name} shows {other} {f'in place of {index}' if alone else 'too'}"
        yield CheckLine("agreement", "alias", f"{shows}, and {cure}", ok=False)


def _rescorers(engine: RemoteEngine, model: str) -> Iterator[CheckLine]:
    """The services that the nodes ask, as far as they can be reached from here."""
    try:
        places = sorted({place for place in endpoints(engine.server).values() if place})
    except KitpickError:
        return
    allowed = deadline(engine.server) if places else None
    for place in places:
        said = _said_by(place)
        if not said.encoders:
            yield CheckLine("agreement", "rescorer", f"{place} is not ready, or cannot be reached from here")
            continue
        says = f"{place}: {' and '.join(said.encoders)}, index {model}"
        yield CheckLine("agreement", "rescorer", says, model in said.encoders)
        if allowed is not None and said.search_ms:
            yield _in_time(place, said.search_ms, allowed)


def _in_time(place: str, search_ms: float, allowed: float) -> CheckLine:
    """Whether a search with scores has the time that the service measured; 0: the deadline follows that."""
    allowed = allowed or followed(search_ms / 1e3)
    says = f"{place}: a search takes about {search_ms:.0f} ms, kitpick.deadline is {1e3 * allowed:.0f} ms"
    enough = _SLOWER * search_ms <= 1e3 * allowed
    cure = f": too short, set at least {_SLOWER * search_ms:.0f}ms, or give the rescorer more cores"
    return CheckLine("agreement", "deadline", says if enough else says + cure, enough)


class _Service(NamedTuple):
    """What a service says of itself."""

    encoders: Sequence[str] = ()
    """Identities; none where it does not answer."""
    search_ms: float = 0.0


def _said_by(place: str) -> _Service:
    """What a service says within a few seconds."""
    try:
        with urlopen(f"{place.rstrip('/')}/health/ready", timeout=_PATIENCE) as answer:  # noqa: S310 - http(s)
            said = msgspec.json.decode(answer.read(_MOST_READ))
            roles = ("encoder", "former_encoder")
            encoders = [str(said["models"][role]["identity"]) for role in roles if role in said["models"]]
            return _Service(encoders, float(said.get("search_ms", 0.0)))
    except (OSError, ValueError, HTTPException, KeyError, TypeError, AttributeError, msgspec.DecodeError):
        return _Service()
