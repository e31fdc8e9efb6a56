"""Catalogs on search servers through the commands: copied into, searched, looked at, set up."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from catalogs import fill, item
from commands import Run
from msgspec.structs import replace
from remote.front import front
from remote.restores import renamed, restore, take_snapshot
from servers import catalogs_on

from kitpick.catalog import Catalog
from kitpick.errors import ExitCode
from kitpick_engines.remote.engine import RemoteEngine
from kitpick_rescorers.llm.meter import CallMeter, Caps

pytestmark = [pytest.mark.needs("weights", "onnxruntime"), pytest.mark.slow]

COMMAND = [sys.executable, "-W", "error", "-c", "from kitpick.cli import main; main()"]
SERVERS = [
    pytest.param("opensearch", marks=pytest.mark.needs("opensearch")),
    pytest.param("elasticsearch", marks=pytest.mark.needs("elasticsearch")),
]


def run(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([*COMMAND, *arguments], capture_output=True, text=True, timeout=240, check=False)


@pytest.fixture(params=SERVERS)
def remote(request: pytest.FixtureRequest) -> Iterator[RemoteEngine]:
    """An empty catalog on a real node."""
    kind = request.param
    with catalogs_on(request.getfixturevalue(f"{kind}_url"), kind) as make:
        yield make()


def written(body: dict[str, Any]) -> str:
    """What a language model might say of the functions."""
    shown = json.JSONDecoder().raw_decode(body["messages"][1]["content"])[0]["tool"]
    name = shown.partition(": ")[2].partition(".")[0]
    gang = ["mail the gang about tonight", "message the gang about dinner", "write the gang a mail"]
    others = [f"help me to {name}", f"can you {name} for us", f"I want to {name} today"]
    return json.dumps(
        {"sentence": f"For people who {name}.", "requests": gang if "email" in name else others}
    )


def test_what_was_written_votes_on_a_server_as_well(
    catalog: Catalog, remote: RemoteEngine, fake, tmp_path: Path
) -> None:
    slang = "ping the gang about tonight"
    assert run("copy", catalog.engine.url, remote.url).returncode == ExitCode.OK
    settings = replace(catalog.settings, llm_url=fake(answer=written).url, enriched=tmp_path / "written")
    with Catalog.open(remote.url, settings=settings) as opened:
        before = opened.search(slang, 8, profile="hybrid").hits
        place = [hit.document.api for hit in before].index("send_email")
        model = opened.models.language_model()
        caps = Caps(seconds=60.0, calls=100, tokens=100_000, cost=1.0, retries=0)
        assert opened.enricher().run(CallMeter(model, caps), model.identity).asked == 8
        after = [hit.document.api for hit in opened.search(slang, 8, profile="hybrid")]
        assert after.index("send_email") < place
        opened.enricher().store.undo()
        assert opened.search(slang, 8, profile="hybrid").hits == before


def test_a_copy_answers_as_the_original_does(catalog: Catalog, remote: RemoteEngine) -> None:
    copied = run("copy", catalog.engine.url, remote.url, "--json")
    assert copied.returncode == ExitCode.OK, copied.stderr
    assert json.loads(copied.stdout)["written"] == 8
    for request in ("will it rain in Paris", "send a mail about the meeting", "convert euros to yen"):
        here, there = (
            json.loads(run("search", request, "--json", "-c", url).stdout)
            for url in (catalog.engine.url, remote.url)
        )
        assert [hit["document"]["id"] for hit in there["hits"]] == [
            hit["document"]["id"] for hit in here["hits"]
        ]
        assert [hit["score"] for hit in there["hits"]] == pytest.approx(
            [hit["score"] for hit in here["hits"]]
        )
    again = run("copy", catalog.engine.url, remote.url)
    assert again.returncode == ExitCode.OK, again.stderr
    assert json.loads(run("copy", catalog.engine.url, remote.url, "--json").stdout)["unchanged"] == 8


@pytest.mark.parametrize("kind", SERVERS)
@pytest.mark.parametrize("profile", ["hybrid", "rerank", "bm25"])
def test_a_search_takes_two_round_trips(
    settings, functions_file: Path, request: pytest.FixtureRequest, kind: str, profile: str
) -> None:
    """One for the candidates, with the schema of their index, and one for the documents of the hits."""
    with (
        front(request.getfixturevalue(f"{kind}_url")) as counting,
        catalogs_on(f"http://{counting.host}", kind) as make,
    ):
        catalog = Catalog(make(), settings)
        catalog.ingest(f"functions:{functions_file}")
        asked = "will it rain in Paris? Then mail the forecast to Marie."
        catalog.search(asked, profile=profile)
        before = counting.passed
        result = catalog.search(asked, profile=profile)
        assert counting.passed - before == 2
        assert result.hits
        assert result.degraded == ()


def test_sources_are_synced_into_a_server(settings, functions_file: Path, remote: RemoteEngine) -> None:
    taken = run("ingest", f"functions:{functions_file}", "-c", remote.url)
    assert taken.returncode == ExitCode.OK, taken.stderr
    again = json.loads(run("ingest", f"functions:{functions_file}", "-c", remote.url, "--json").stdout)
    assert [report["unchanged"] for report in again] == [8]
    findings = json.loads(run("doctor", "--json", "-c", remote.url).stdout)
    agreement = {each["name"]: each for each in findings if each["topic"] == "agreement"}
    assert agreement["encoder"]["ok"] is True


def test_the_doctor_tells_what_the_cluster_can_do(settings, remote: RemoteEngine) -> None:
    findings = json.loads(run("doctor", "--json", "-c", remote.url).stdout)
    cluster = {each["name"]: each for each in findings if each["topic"] == "cluster"}
    assert remote.address.kind in cluster["server"]["value"]
    assert cluster["health"]["ok"]
    if remote.address.kind == "opensearch":
        assert cluster["opensearch-knn"]["ok"]
        assert cluster["opensearch-neural-search"]["value"].startswith("not found")


def test_the_doctor_says_what_is_wrong_and_no_password(settings, kitpick: Run) -> None:
    asked = kitpick("doctor", "-c", "opensearch://me:hunter2@127.0.0.1:9/x?timeout=2&patience=0")
    assert asked.code == ExitCode.UNAVAILABLE
    assert "opensearch://127.0.0.1:9/x" in asked.out
    assert "hunter2" not in asked.out + asked.err


def test_setup_prints_before_it_makes(settings, functions_file: Path, remote: RemoteEngine) -> None:
    template = f"/_index_template/{remote.address.name}"
    shown = run("setup", "-c", remote.url, "--dry-run", "--json")
    assert shown.returncode == ExitCode.OK, shown.stderr
    (step,) = json.loads(shown.stdout)
    assert (step["method"], step["path"]) == ("PUT", template)
    assert step["body"]["template"]["mappings"]["dynamic"] == "strict"
    assert remote.server.find("GET", template) is None

    made = run("setup", "-c", remote.url)
    assert made.returncode == ExitCode.OK, made.stderr
    assert remote.server.find("GET", template)["index_templates"]
    try:
        taken = run("ingest", f"functions:{functions_file}", "-c", remote.url)
        assert taken.returncode == ExitCode.OK, taken.stderr
        assert remote.stats().documents == 8
    finally:
        remote.server.call("DELETE", template)


@pytest.mark.parametrize(
    "way",
    [
        "opensearch-plugin",
        "opensearch-ml-commons",
        "opensearch-agents",
        "elasticsearch-basic",
        "elasticsearch-inference",
    ],
)
def test_ways_to_use_kitpick_are_shown_without_the_key(settings, monkeypatch, way: str, kitpick: Run) -> None:
    monkeypatch.setenv("KITPICK_RESCORER_KEY", "hunter2")
    kind = way.partition("-")[0]
    url = f"{kind}://127.0.0.1:9/tools"
    shown = kitpick(
        "setup", "-c", url, "--with", way, "--rescorer", "https://rank.internal:8443", "--dry-run", "--json"
    )
    assert shown.code == ExitCode.OK, shown.err
    assert len(json.loads(shown.out)) > 1
    assert "hunter2" not in shown.out
    assert "rank.internal" in shown.out or way in ("opensearch-plugin", "elasticsearch-basic")


def test_a_catalog_without_a_server_needs_no_setup(settings, kitpick: Run) -> None:
    asked = kitpick("setup", "--dry-run")
    assert asked.code == ExitCode.INPUT
    assert "nothing to set up" in asked.err


@pytest.mark.needs("botocore", "eval")
def test_a_profile_is_adapted_to_a_catalog_on_a_server(remote: RemoteEngine, tmp_path: Path) -> None:
    adapted = tmp_path / "adapted.toml"
    assert run("ingest", "botocore:sqs,sts", "-c", remote.url).returncode == ExitCode.OK
    ran = run("adapt", "-c", remote.url, "-o", str(adapted), "--json")
    assert ran.returncode == ExitCode.OK, ran.stderr
    report = json.loads(ran.stdout)
    assert (report["basis"], report["asked"]) == ("descriptions", 34)
    assert 0 < report["threshold"] < 1
    asked = run("search", "send a message to a queue", "-c", remote.url, "-p", str(adapted), "--json")
    assert asked.returncode == ExitCode.OK, asked.stderr
    assert json.loads(asked.stdout)["hits"][0]["id"].endswith("SendMessage")


@pytest.mark.needs("opensearch")
def test_a_restored_copy_is_refused_until_it_is_adopted(opensearch_url: str) -> None:
    with catalogs_on(opensearch_url, "opensearch") as make:
        original = make()
        fill(original, [item("s/t/a")])
        name = original.address.name
        copy = make(original.url.replace(name, f"{name}copy"))
        restore(original, take_snapshot(original), renamed(name, copy.address.name))
        refused = run("adopt", "-c", copy.url)
        assert refused.returncode == ExitCode.REFUSED, refused.stderr
        assert "becomes its live index, with 1 documents (s 1)" in refused.stderr
        assert copy.planned_adoption() is not None, "nobody agreed"
        done = run("adopt", "-c", copy.url, "--yes", "--json")
        assert json.loads(done.stdout)["adopted"] is True, done.stderr
        again = run("adopt", "-c", copy.url)
        assert (again.returncode, "nothing to adopt" in again.stderr) == (ExitCode.OK, True)
