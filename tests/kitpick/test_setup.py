"""A setup changes of a cluster what it has to, asks before, and makes nothing twice.

ml-commons cannot run here: a stand-in keeps settings, connectors and models as it does. How settings are
added to is tried on a real node as well.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import Any

import msgspec
import pytest
from servers import catalogs_on

from kitpick.cli.setup import template_steps, template_values
from kitpick_engines.remote.engine import RemoteEngine
from kitpick_engines.remote.server import SearchServer
from kitpick_engines.remote.setup import SetupStep, SetupStopped, send_steps

TRUSTED = "plugins.ml_commons.trusted_connector_endpoints_regex"
PRIVATE = "plugins.ml_commons.connector.private_ip_enabled"
MCP = "plugins.ml_commons.mcp_connector_enabled"
DEFAULTS = ["^https://runtime\\.sagemaker\\..*$", "^https://api\\.openai\\.com/.*$"]
OURS = "^https://rank\\.internal:8443/.*$"


class MlCommons:
    """A cluster with ml-commons, as far as a setup sees it."""

    def __init__(self) -> None:
        self.settings: dict[str, dict[str, Any]] = {
            "transient": {},
            "persistent": {},
            "defaults": {TRUSTED: DEFAULTS, PRIVATE: "false", MCP: "false"},
        }
        self.objects: dict[str, dict[str, Any]] = {"connectors": {}, "models": {}}
        self.written: list[str] = []
        self._numbers = itertools.count(1)

    def send(
        self, method: str, path: str, body: bytes | None, content_type: str, timeout: float
    ) -> tuple[int, Any]:
        sent = msgspec.json.decode(body) if body else {}
        if path.startswith("/_cluster/settings") and method == "GET":
            return 200, self.settings
        kind = next((kind for kind in self.objects if f"/{kind}/" in path), "")
        if path.endswith("/_search") and kind:
            hits = [{"_id": key, "_source": value} for key, value in self.objects[kind].items()]
            return (200, {"hits": {"hits": hits}}) if hits else (404, {"status": 404, "error": {}})
        self.written.append(path)
        if path == "/_cluster/settings":
            for level, values in sent.items():
                self.settings[level] |= values
            return 200, {"acknowledged": True}
        if kind:
            key = f"{kind}-{next(self._numbers)}"
            self.objects[kind][key] = sent
            return 200, {"connector_id": key, "model_id": key}
        return 200, {"acknowledged": True}

    def close(self) -> None: ...


@pytest.fixture
def cluster() -> MlCommons:
    return MlCommons()


def set_up(cluster: MlCommons, rescorer: str = "https://rank.internal:8443", **how: Any) -> list[SetupStep]:
    server = SearchServer(cluster, "here", 5, 0)
    values = template_values("tools", rescorer, "secret", "m@1")
    return send_steps(server, template_steps("opensearch-ml-commons"), values, **how)


def test_the_endpoint_is_added_to_what_the_cluster_trusts(cluster: MlCommons) -> None:
    set_up(cluster)
    assert cluster.settings["persistent"] == {TRUSTED: [*DEFAULTS, OURS], PRIVATE: True}


def test_what_an_operator_trusts_stays_whichever_level_it_was_set_at(cluster: MlCommons) -> None:
    cluster.settings["persistent"] = {TRUSTED: ["^https://a/$"], PRIVATE: "true"}
    set_up(cluster)
    assert cluster.settings["persistent"][TRUSTED] == ["^https://a/$", OURS]
    cluster.settings["transient"] = {TRUSTED: ["^https://b/$"]}
    set_up(cluster)
    assert cluster.settings["transient"] == {TRUSTED: ["^https://b/$", OURS]}, "else it would not be trusted"
    assert cluster.settings["persistent"][TRUSTED] == ["^https://a/$", OURS]


def test_a_second_setup_makes_nothing_twice(cluster: MlCommons) -> None:
    set_up(cluster)
    connectors, models = cluster.objects["connectors"].copy(), cluster.objects["models"].copy()
    settings = msgspec.json.encode(cluster.settings)
    cluster.written.clear()
    sent = set_up(cluster, agree=never)
    assert cluster.written == ["/_search/pipeline/tools"]
    assert [step.path for step in sent] == ["/_search/pipeline/{{pipeline}}"]
    assert cluster.objects == {"connectors": connectors, "models": models}
    assert msgspec.json.encode(cluster.settings) == settings


def never(step: SetupStep) -> None:
    raise AssertionError(step)


def test_another_rescorer_gets_a_connector_and_a_model_of_its_own(cluster: MlCommons) -> None:
    set_up(cluster)
    set_up(cluster, "https://other.internal")
    endpoints = [each["parameters"]["endpoint"] for each in cluster.objects["connectors"].values()]
    assert endpoints == ["rank.internal:8443", "other.internal"]
    assert len({each["connector_id"] for each in cluster.objects["models"].values()}) == 2


def test_agents_get_one_connector_however_often_it_is_set_up(cluster: MlCommons) -> None:
    values = template_values("tools", "https://tools.internal:8081", "secret", "m@1")
    for _ in range(2):
        sent = send_steps(SearchServer(cluster, "here", 5, 0), template_steps("opensearch-agents"), values)
    expression = r"^https://tools\.internal:8081(/.*)?$"
    assert cluster.settings["persistent"] == {TRUSTED: [*DEFAULTS, expression], MCP: True}
    (connector,) = cluster.objects["connectors"].values()
    assert (connector["url"], connector["credential"]) == ("https://tools.internal:8081", {"key": "secret"})
    assert [step.example for step in sent] == [True], "an agent is shown, and none is made"
    assert cluster.objects["models"] == {}


def test_nothing_happens_before_somebody_agrees(cluster: MlCommons) -> None:
    shown = []

    def disagree(step: SetupStep) -> None:
        shown.append(step.body)
        raise InterruptedError

    with pytest.raises(InterruptedError):
        set_up(cluster, agree=disagree)
    assert shown == [{"persistent": {TRUSTED: [*DEFAULTS, OURS], PRIVATE: True}}]
    assert cluster.written == []


class Refusing(MlCommons):
    """Keeps what is put into it by its path, and refuses paths that hold a word."""

    def __init__(self, word: str, kept: dict[str, Any]) -> None:
        super().__init__()
        self.word, self.kept = word, kept

    def send(
        self, method: str, path: str, body: bytes | None, content_type: str, timeout: float
    ) -> tuple[int, Any]:
        if method == "GET":
            return (200, {"tools": self.kept[path]}) if path in self.kept else (404, {"status": 404})
        if self.word in path:
            return 400, {"error": {"type": "parse_exception", "reason": "no such script"}, "status": 400}
        if method == "DELETE":
            del self.kept[path]
        else:
            self.kept[path] = msgspec.json.decode(body or b"{}")
        return 200, {"acknowledged": True}


@pytest.mark.parametrize("before", [{}, {"/_search/pipeline/tools": {"description": "an earlier one"}}])
def test_nothing_is_made_when_a_part_is_refused(before: dict[str, Any]) -> None:
    cluster = Refusing("/_scripts/", dict(before))
    values = template_values("tools", "https://rank.internal:8443", "secret", "m@1")
    with pytest.raises(SetupStopped, match=r"PUT /_scripts/tools-search: .*nothing was set up"):
        send_steps(SearchServer(cluster, "here", 5, 0), template_steps("opensearch-plugin"), values)
    assert cluster.kept == before


def test_what_a_stopped_setup_cannot_take_back_is_named() -> None:
    steps = [SetupStep("", "POST", "/_plugins/_ml/connectors/_create", {}), SetupStep("", "PUT", "/gone", {})]
    refusing = Refusing("/gone", {})
    with pytest.raises(SetupStopped, match="still there: /_plugins/_ml/connectors/_create"):
        send_steps(SearchServer(refusing, "here", 5, 0), steps, {})


def test_what_is_returned_for_printing_holds_no_key(cluster: MlCommons) -> None:
    assert "secret" not in msgspec.json.encode(set_up(cluster)).decode()


@pytest.mark.slow
@pytest.mark.needs("opensearch")
class TestOnANode:
    SETTING = "cluster.routing.allocation.awareness.attributes"
    STEP = SetupStep("", "PUT", "/_cluster/settings", {"persistent": {SETTING: ["rack"]}}, adds=True)

    @pytest.fixture
    def engine(self, opensearch_url: str) -> Iterator[RemoteEngine]:
        with catalogs_on(opensearch_url, "opensearch") as make:
            engine = make()
            yield engine
            engine.server.call("PUT", "/_cluster/settings", {"persistent": {self.SETTING: None}})

    def test_a_list_is_added_to_once(self, engine: RemoteEngine) -> None:
        engine.server.call("PUT", "/_cluster/settings", {"persistent": {self.SETTING: ["zone"]}})
        assert len(send_steps(engine.server, [self.STEP], {})) == 1
        now = engine.server.call("GET", "/_cluster/settings?flat_settings=true")
        assert now["persistent"][self.SETTING] == ["zone", "rack"]
        assert send_steps(engine.server, [self.STEP], {}) == []
