"""Finds out version and plugins of a cluster, and sends the requests that set it up for a catalog.

The command shows these requests before it sends them.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager

import msgspec

from kitpick_engines.errors import EngineError, EngineUnavailable
from kitpick_engines.remote.address import Address
from kitpick_engines.remote.mapping import index_settings, mapping
from kitpick_engines.remote.pipelines import rescoring
from kitpick_engines.remote.server import Json, RequestRefused, SearchServer, ServerDialect

_PLUGINS = {
    "opensearch-knn": "vector search",
    "opensearch-neural-search": "neural-search: hybrid queries and rerank pipelines for your own searches",
    "opensearch-ml": "ml-commons: connectors, where no plugin can be installed",
    "opensearch-security": "users, permissions and TLS",
    "kitpick": "reranking inside the search: the `kitpick` response processor",
}
_NEEDED = "opensearch-knn"


class Features(msgspec.Struct, frozen=True):
    """Version, health and plugins of a cluster."""

    distribution: str
    version: str
    nodes: int
    health: str
    """green, yellow or red; yellow where replicas have no node to lie on."""
    plugins: frozenset[str]

    def lines(self) -> Iterator[tuple[str, str, bool | None]]:
        """Lines of name, finding and whether it is in order; None for mere information."""
        yield "server", f"{self.distribution} {self.version}, {self.nodes} nodes", True
        yield "health", self.health, self.health != "red"
        if self.distribution != "opensearch":
            return
        for plugin, purpose in _PLUGINS.items():
            found = plugin in self.plugins
            missing = False if plugin == _NEEDED else None
            yield plugin, f"{'found' if found else 'not found'}: {purpose}", found or missing


def detect(server: SearchServer) -> Features:
    """Reads version, health and plugins of the cluster.

    Raises:
        EngineUnavailable: it cannot be reached, or refuses the user.
    """
    about = server.call("GET", "/", patience=0).get("version")
    if not isinstance(about, dict) or "number" not in about:
        raise EngineUnavailable("no OpenSearch or Elasticsearch answers there: is the port right?")
    health = server.call("GET", "/_cluster/health", patience=0)
    distribution = str(about.get("distribution", "elasticsearch"))
    return Features(
        distribution,
        str(about["number"]),
        int(health["number_of_nodes"]),
        str(health["status"]),
        _plugins(server),
    )


def _plugins(server: SearchServer) -> frozenset[str]:
    """Names of the plugins on any node; empty if the user may not ask or the service does not say."""
    try:
        nodes: Json = server.call("GET", "/_nodes/plugins", patience=0)["nodes"]
    except RequestRefused:
        return frozenset()
    return frozenset(plugin["name"] for node in nodes.values() for plugin in node["plugins"])


class Part(msgspec.Struct, frozen=True):
    """What was found of one part of the rescoring inside a cluster. `ok` is None for mere information."""

    name: str
    says: str
    ok: bool | None = None


def compare(server: SearchServer, name: str, index: str, model: str) -> Iterator[Part]:
    """Compares what must agree for searches with the plugin: index, pipelines, and the plugin on each node.

    Args:
        server: an OpenSearch cluster.
        name: of the catalog, and of the pipeline that `kitpick setup` makes.
        index: the live one.
        model: identity of the encoder that its vectors are from.
    """
    try:
        yield from _plugin_parts(_nodes(server))
        settings = _values(server.call("GET", f"/{index}/_settings?flat_settings=true", patience=0))
        mapped = _values(server.call("GET", f"/{index}/_mapping", patience=0))["mappings"]["properties"]
        default = settings["settings"].get("index.search.default_pipeline", "_none")
        for pipeline in dict.fromkeys((name, default)):
            if pipeline != "_none":
                yield from _pipeline(server, pipeline, pipeline == default, mapped, model)
    except EngineError as error:
        yield Part("plugin", f"cannot be read: {error}")


def endpoints(server: SearchServer) -> dict[str, str]:
    """`kitpick.endpoint` by node that has the plugin, empty where it is not set.

    Raises:
        EngineError: the user may not ask, or the server cannot be reached.
    """
    return _endpoints(_nodes(server))


def deadline(server: SearchServer) -> float | None:
    """Seconds of `kitpick.deadline` that hold in the cluster; None where the user may not ask.

    0 where nobody set any: then the plugin takes what `followed` says.
    """
    path = "/_cluster/settings?include_defaults=true&filter_path=*.kitpick.deadline"
    try:
        said: Json = server.call("GET", path, patience=0)
    except EngineError:
        return None
    for level in ("transient", "persistent", "defaults"):
        value = said.get(level, {}).get("kitpick", {}).get("deadline")
        if value is not None:
            return seconds_of(str(value))
    return None


_SEARCHES, _LEAST, _MOST = 8, 1.0, 5.0
"""How the plugin's deadline follows the rescorer: the same stands in `Rescorer.java`."""


def followed(search_seconds: float) -> float:
    """Seconds that the plugin gives a search where nobody set a deadline."""
    return max(_LEAST, min(_MOST, _SEARCHES * search_seconds))


_UNITS = {"nanos": 1e-9, "micros": 1e-6, "ms": 1e-3, "s": 1.0, "m": 60.0, "h": 3_600.0, "d": 86_400.0}
_SPAN = re.compile(r"(?P<count>\d+(\.\d+)?)(?P<unit>[a-z]+)")


def seconds_of(value: str) -> float | None:
    """Seconds of a span as settings of a search server have it: `1s`, `250ms`; None where it is none."""
    if value == "0":
        return 0.0
    span = _SPAN.fullmatch(value)
    if span is None or span["unit"] not in _UNITS:
        return None
    return float(span["count"]) * _UNITS[span["unit"]]


def _nodes(server: SearchServer) -> list[Json]:
    """Name, plugins and settings of every node."""
    nodes: Json = server.call("GET", "/_nodes/plugins,settings?flat_settings=true", patience=0)["nodes"]
    return list(nodes.values())


def _endpoints(nodes: Sequence[Json]) -> dict[str, str]:
    return {
        node["name"]: node.get("settings", {}).get("kitpick.endpoint", "")
        for node in nodes
        if _version(node) is not None
    }


def _plugin_parts(nodes: Sequence[Json]) -> Iterator[Part]:
    versions = {node["name"]: _version(node) for node in nodes}
    found = {version for version in versions.values() if version is not None}
    if not found:
        return
    lacking = sorted(node for node, version in versions.items() if version is None)
    if lacking:
        yield Part("plugin", f"not on {', '.join(lacking)}: searches there are refused (400)", ok=False)
    elif len(found) > 1:
        yield Part("plugin", f"of several versions: {', '.join(sorted(found))}", ok=False)
    else:
        yield Part("plugin", f"{min(found)} on every node", ok=True)
    places = _endpoints(nodes)
    for node in sorted(node for node, place in places.items() if not place):
        yield Part("plugin", f"kitpick.endpoint is not set on {node}: nothing is rescored there", ok=False)
    if len(said := sorted({place for place in places.values() if place})) > 1:
        yield Part("plugin", f"the nodes ask different rescorers: {', '.join(said)}", ok=False)


def _version(node: Json) -> str | None:
    return next((each["version"] for each in node["plugins"] if each["name"] == "kitpick"), None)


def _pipeline(server: SearchServer, name: str, is_default: bool, mapped: Json, model: str) -> Iterator[Part]:
    found = server.find("GET", f"/_search/pipeline/{name}", patience=0)
    if not found:
        if is_default:
            gone = f"{name} is the index's default and does not exist: searches are refused until it does"
            yield Part("pipeline", gone, ok=False)
        return
    processors = [*rescoring(found[name])]
    if not processors:
        yield Part("pipeline", f"{name} does not rescore: it has no kitpick processor")
        return
    faults = [fault for each in processors for fault in _faults(each, mapped, model)]
    for fault in faults:
        yield Part("pipeline", f"{name}: {fault}", ok=False)
    if not faults:
        yield Part("pipeline", f"{name} agrees with the index", ok=True)


def _faults(processor: Json, mapped: Json, model: str) -> Iterator[str]:
    said = processor.get("vector_model")
    if said is not None and said != model:
        yield f"vector_model is {said}, and the vectors of the index are from {model}"
    vector = processor.get("vector_field")
    named = [*processor.get("text_fields", ("text",)), vector, processor.get("stored_vector_field", vector)]
    for field in filter(None, named):
        if field.partition(".")[0] not in mapped:
            yield f"the index has no field {field}"


def _values(by_name: Json) -> Json:
    """The only value of an answer that is keyed by the index's name."""
    (value,) = by_name.values()
    return dict(value)


_LEVELS = ("transient", "persistent", "defaults")
"""The levels of a cluster's settings: the first that has a setting counts."""
_LOOKED_AT = 100
_PRIORITY = 200
_DEFAULT = 1


class Made(msgspec.Struct, frozen=True):
    """How to find what a former setup made: a search, and what a hit has to hold."""

    path: str
    like: Json
    """Parts of the hit's `_source`; more may be in it."""
    keeps: str
    """Under which name later requests need its id."""


class SetupStep(msgspec.Struct, frozen=True):
    """One request of a setup. `{{name}}` in path, body and lookup is filled in when it is sent."""

    does: str
    method: str
    path: str
    body: Json
    keeps: dict[str, str] = {}
    """Values of the answer that later requests need: field of the answer by name."""
    example: bool = False
    """Shown, never made."""
    adds: bool = False
    """Settings of the whole cluster: lists keep what they hold and get what they lack. Asked about."""
    made: Made | None = None
    """Not made again where this finds it."""

    def filled(self, values: Mapping[str, str]) -> SetupStep:
        """The step with these values filled in."""
        path, made = self.path, self.made
        for name, value in values.items():
            path = path.replace(f"{{{{{name}}}}}", value)
        if made is not None:
            made = msgspec.structs.replace(made, like=_filled(made.like, values))
        return msgspec.structs.replace(self, path=path, body=_filled(self.body, values), made=made)


def _filled(body: Json, values: Mapping[str, str]) -> Json:
    text = msgspec.json.encode(body).decode()
    for name, value in values.items():
        text = text.replace(f"{{{{{name}}}}}", msgspec.json.encode(value).decode()[1:-1])
    filled: Json = msgspec.json.decode(text)
    return filled


def send_steps(
    server: SearchServer,
    steps: Sequence[SetupStep],
    values: Mapping[str, str],
    agree: Callable[[SetupStep], None] = lambda step: None,
) -> list[SetupStep]:
    """Sends the requests in order, but those with nothing to do, and returns what was sent, not filled in.

    Most replace objects of a former setup. `agree` sees a change of the whole cluster's settings before it is
    made, and raises to stop everything that follows.

    Raises:
        SetupStopped: the server refused one, or was lost. Templates, pipelines and stored searches that were
            made before it are as they were; the message names what was made and stays.
        EngineUnavailable: it cannot be reached, or refuses the user.
    """
    known = dict(values)
    sent = []
    before = _Before(server)
    for step in steps:
        filled = step.filled(known)
        found = None if filled.made is None else _found(server, filled.made)
        if filled.made is not None and found is not None:
            known[filled.made.keeps] = found
            continue
        changes = _lacking(server, filled.body) if filled.adds else filled.body
        if filled.adds and not changes:
            continue
        if filled.adds:
            agree(msgspec.structs.replace(filled, body=changes))
        if not step.example:
            with before.kept(filled, last=step is steps[-1]):
                answer = server.call(filled.method, filled.path, changes)
            known |= {name: str(answer[field]) for name, field in step.keeps.items()}
        sent.append(msgspec.structs.replace(step, body=changes) if filled.adds else step)
    return sent


class SetupStopped(EngineError):
    """A request of a setup was refused, so the setup was taken back."""

    def __init__(self, step: SetupStep, error: EngineError, stays: Sequence[str]) -> None:
        """With the request that was refused, why, and what was made before and stays."""
        left = f"made before, and still there: {', '.join(stays)}" if stays else "nothing was set up"
        super().__init__(f"{step.method} {step.path}: {error}; {left}")
        self.failure = error.failure


class _Before:
    """What a setup replaces, to put it back."""

    def __init__(self, server: SearchServer) -> None:
        self._server = server
        self._replaced: list[tuple[str, Json | None]] = []
        self._stays: list[str] = []

    @contextmanager
    def kept(self, step: SetupStep, last: bool) -> Iterator[None]:
        """Remembers what one request replaces. If it fails, all that was replaced is put back.

        Raises:
            SetupStopped: it failed.
        """
        body_of = next((_BODY_OF[kind] for kind in _BODY_OF if step.path.startswith(kind)), None)
        try:
            there = None if last or body_of is None else self._server.find("GET", step.path)
            yield
        except EngineError as error:
            self._put_back()
            raise SetupStopped(step, error, self._stays) from error
        if body_of is None:
            self._stays.append(step.path)
        else:
            self._replaced.append((step.path, None if there is None else body_of(there)))

    def _put_back(self) -> None:
        self._stays += [path for path, body in reversed(self._replaced) if not self._is_as(path, body)]

    def _is_as(self, path: str, body: Json | None) -> bool:
        """Whether an object could be made what it was, or be taken away where it was not there."""
        try:
            self._server.call("DELETE" if body is None else "PUT", path, body, patience=0)
        except EngineError:
            return False
        return True


_BODY_OF: dict[str, Callable[[Json], Json]] = {
    "/_index_template/": lambda found: dict(found["index_templates"][0]["index_template"]),
    "/_search/pipeline/": lambda found: dict(next(iter(found.values()))),
    "/_scripts/": lambda found: {"script": found["script"]},
}
"""The body that makes an object of this kind, out of what the server answers for it."""


def _found(server: SearchServer, made: Made) -> str | None:
    """The id of the first object that holds what is looked for."""
    query = {"match_phrase": {"name": made.like["name"]}}
    answer = server.find("GET", made.path, {"query": query, "size": _LOOKED_AT}) or {}
    hits = answer.get("hits", {}).get("hits", ())
    return next((str(hit["_id"]) for hit in hits if _holds(hit["_source"], made.like)), None)


def _holds(source: object, like: object) -> bool:
    if isinstance(like, dict):
        return isinstance(source, dict) and all(_holds(source.get(key), like[key]) for key in like)
    return source == like


def _lacking(server: SearchServer, body: Json) -> Json:
    """What has to change so that the cluster's settings are, or hold, what is wanted; empty if they do."""
    now = server.call("GET", "/_cluster/settings?include_defaults=true&flat_settings=true", patience=0)
    changes: Json = {}
    for name, wanted in body["persistent"].items():
        level = "transient" if name in now["transient"] else "persistent"  # a transient one hides the other
        found = next((now[each][name] for each in _LEVELS if name in now[each]), None)
        if isinstance(wanted, list):
            there = list(found or ())
            value: object = there + [each for each in wanted if each not in there]
            differs = value != there
        else:
            value, differs = wanted, str(found).lower() != str(wanted).lower()
        if differs:
            changes.setdefault(level, {})[name] = value
    return changes


def index_template(address: Address, dialect: ServerDialect, dimensions: int) -> SetupStep:
    """Shards, replicas and fields of every index of a catalog, for vectors of this number of dimensions."""
    settings: Json = index_settings() | dialect.vector_settings()
    settings["number_of_shards"] = address.settings.shards or _DEFAULT
    chosen = address.settings.replicas
    settings["number_of_replicas"] = _DEFAULT if chosen < 0 else chosen
    body = {
        "index_patterns": [f"{address.name}-apis-*"],
        "priority": _PRIORITY,
        "template": {
            "settings": {"index": settings},
            "mappings": mapping(dialect.vector_field(dimensions)),
        },
        "_meta": {"made_by": "kitpick setup"},
    }
    does = "Decides shards, replicas and fields of every index of the catalog."
    return SetupStep(does, "PUT", f"/_index_template/{address.name}", body)
