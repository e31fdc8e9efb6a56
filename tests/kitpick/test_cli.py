"""The commands, as a person or a script runs them: some in processes of their own, the others in this one."""

from __future__ import annotations

import json
import os
import shlex
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from commands import Run

from kitpick.catalog import Catalog
from kitpick.errors import ExitCode
from kitpick.settings import Settings

pytestmark = pytest.mark.needs("weights", "onnxruntime")

COMMAND = [sys.executable, "-W", "error", "-c", "from kitpick.cli import main; main()"]
MCP_SERVER = Path(__file__).parents[1] / "ingest" / "sources" / "mcp_server.py"


def run(*arguments: str, stdin: str = "") -> subprocess.CompletedProcess[str]:
    """A real process: entry point, exit code and streams as a shell sees them."""
    return subprocess.run(
        [*COMMAND, *arguments], input=stdin, capture_output=True, text=True, timeout=600, check=False
    )


def test_ingest_search_and_doctor_as_tables(settings: Settings, functions_file: Path) -> None:
    taken = run("ingest", f"functions:{functions_file}")
    assert taken.returncode == ExitCode.OK, taken.stderr
    assert "8" in taken.stdout
    asked = run("search", "will it rain in Paris", "-k", "2")
    assert asked.returncode == ExitCode.OK, asked.stderr
    assert "get_weather" in asked.stdout
    assert "\x1b" not in asked.stdout, "no colour in a pipe"
    health = run("doctor")
    assert health.returncode == ExitCode.OK, health.stdout
    assert "8 documents" in health.stdout


def test_a_failure_is_told_to_a_shell_by_code_and_words(settings: Settings) -> None:
    failed = run("search", "x")
    assert (failed.returncode, failed.stdout) == (ExitCode.INPUT, "")
    assert "kitpick ingest" in failed.stderr
    assert "Traceback" not in failed.stderr


def test_doctor_names_damaged_vectors(catalog: Catalog, tmp_path: Path, kitpick: Run) -> None:
    catalog.close()
    (vectors,) = (tmp_path / "catalog.db.vectors").iterdir()
    vectors.write_bytes(b"\xff" * vectors.stat().st_size)
    health = kitpick("doctor")
    assert health.code == ExitCode.UNAVAILABLE
    assert "8 vectors are damaged or missing: ingest this source again" in health.out


def test_json_is_one_document_on_standard_output(catalog: Catalog, kitpick: Run) -> None:
    asked = kitpick("search", "-", "--json", stdin="convert euros to yen")
    assert json.loads(asked.out)["hits"][0]["document"]["api"] == "convert_currency"
    assert [row["value"] for row in json.loads(kitpick("doctor", "--json").out) if row["topic"] == "source"]
    assert {model["manifest"]["name"] for model in json.loads(kitpick("models", "list", "--json").out)}


def test_definitions_are_printed_for_a_model(catalog: Catalog, kitpick: Run) -> None:
    asked = kitpick("search", "email Bob", "-k", "1", "--definitions", "anthropic")
    assert "send_email" in json.loads(asked.out)[0]["name"]


def test_explain_tells_what_each_stage_did(catalog: Catalog, kitpick: Run) -> None:
    told = kitpick("search", "email Bob", "-k", "1", "--explain").out
    assert "fuse " in told
    assert "cross_encode " in told


def test_dead_letters_have_an_exit_code_of_their_own(
    settings: Settings, tmp_path: Path, kitpick: Run
) -> None:
    broken = tmp_path / "functions.jsonl"
    broken.write_text('{"name": "good", "description": "fine", "parameters": {}}\n{"name": \n')
    letters = tmp_path / "letters.jsonl"
    taken = kitpick("ingest", f"functions:{broken}", "--dead-letters", str(letters), "--json")
    assert taken.code == ExitCode.DEAD_LETTERS, taken.err
    assert json.loads(taken.out)[0]["dead_letters"] == 1
    assert "functions.jsonl:2" in letters.read_text()
    assert "functions.jsonl:2: Input data was truncated (column 9)" in taken.err


@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere names of files are always text")
def test_names_of_files_in_another_encoding_are_names_like_others(
    functions_file: Path, tmp_path: Path, kitpick: Run
) -> None:
    odd = os.fsdecode(b"caf\xe9")
    catalog = f"sqlite:{tmp_path / odd}.db"
    (tmp_path / f"{odd}.json").write_bytes(functions_file.read_bytes())
    (tmp_path / "specs").mkdir()
    operation = {"openapi": "3.0.0", "paths": {"/a": {"get": {"operationId": "getA"}}}}
    for name in (odd, "other"):
        (tmp_path / "specs" / f"{name}.json").write_text(json.dumps(operation))
    sources = [f"functions:{tmp_path / odd}.json", f"openapi:{tmp_path / 'specs'}"]
    taken = kitpick("ingest", *sources, "-c", catalog)
    assert taken.code == ExitCode.OK, taken.err
    ids = {row["id"] for row in json.loads(kitpick("list", "-c", catalog, "--json").out)}
    assert {r"caf\udce9/caf\udce9/get_weather", r"specs/caf\udce9.json/getA"} <= ids
    assert len(ids) == 10
    fitted = str(tmp_path / "fitted.toml")
    adapted = kitpick("adapt", "--refuse-at-most", "0.05", "-c", catalog, "-o", fitted, "--json")
    assert adapted.code == ExitCode.OK, adapted.err
    assert json.loads(adapted.out)["catalog"] == catalog
    assert kitpick("search", "weather", "-c", catalog, "-p", fitted).code == ExitCode.OK


@pytest.mark.parametrize("as_json", [False, True])
def test_a_source_that_fails_does_not_keep_the_others_out(
    settings: Settings, tmp_path: Path, kitpick: Run, as_json: bool
) -> None:
    for name in ("first", "last"):
        (tmp_path / f"{name}.json").write_text('[{"name": "do", "description": "x", "parameters": {}}]')
    (tmp_path / "broken.json").write_text("{")
    files = [f"functions:{tmp_path / name}.json" for name in ("first", "broken", "gone", "last")]
    taken = kitpick("ingest", *files, *(["--json"] if as_json else []))
    assert taken.code == ExitCode.INPUT
    if as_json:
        assert [report["source"] for report in json.loads(taken.out)] == ["first", "last"]
    else:
        assert "first" in taken.out
        assert "last" in taken.out
    assert f"error: {tmp_path}/broken.json: cannot be parsed as JSON" in taken.err
    assert f"error: {tmp_path}/gone.json: does not exist" in taken.err
    assert "not taken in: broken, gone" in taken.err


@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    [
        (["search", "x", "-c", "mongodb:x"], ExitCode.INPUT, "sqlite:PATH"),
        (["search", "x"], ExitCode.INPUT, "kitpick ingest"),
        (["search", "x", "-p", "nonsense"], ExitCode.INPUT, "hybrid"),
        (["ingest", "no/such/file.json"], ExitCode.INPUT, "no/such/file.json"),
        (["eval", "toolbench", "--data", "nowhere"], ExitCode.INPUT, "--data"),
        (["models", "verify", "nothing"], ExitCode.UNAVAILABLE, "nothing"),
        (["search"], ExitCode.USAGE, "REQUEST"),
        (["ingest", "functions:a/x.json", "functions:b/x.json"], ExitCode.USAGE, "--name"),
        (["ingest", "x.json", "y.json", "--watch"], ExitCode.USAGE, "one source"),
        (["ingest", "mcp:http://host/mcp", "--header", "Authorization"], ExitCode.USAGE, "NAME=VARIABLE"),
        (["ingest", "mcp:http://host/mcp", "--env", "NOT_SET"], ExitCode.USAGE, "NOT_SET"),
        (["eval"], ExitCode.USAGE, "--queries"),
        (["eval", "toolbench", "--min", "recall@5>80"], ExitCode.INPUT, "recall@5>=0.80"),
        (["eval", "toolbench", "--baseline", "no.json"], ExitCode.INPUT, "no.json"),
    ],
)
def test_failures_say_what_and_where_and_the_cure(
    settings: Settings, arguments: list[str], code: ExitCode, words: str, kitpick: Run
) -> None:
    failed = kitpick(*arguments)
    assert failed.code == code, failed.err
    assert words in failed.err
    assert "Traceback" not in failed.err


def test_an_invalid_setting_names_its_variable(
    settings: Settings, monkeypatch: pytest.MonkeyPatch, kitpick: Run
) -> None:
    monkeypatch.setenv("KITPICK_THREADS", "many")
    failed = kitpick("doctor")
    assert failed.code == ExitCode.USAGE
    assert "KITPICK_THREADS" in failed.err


def own_queries(catalog: Catalog, folder: Path) -> Path:
    index = catalog.stats().index
    weather = next(id_ for id_, _ in catalog.engine.hashes(index) if id_.endswith("get_weather"))
    queries = folder / "q.jsonl"
    queries.write_text(json.dumps({"query": "rain tomorrow?", "relevant": [weather]}) + "\n")
    return queries


@pytest.mark.needs("eval")
def test_own_queries_are_evaluated_over_the_own_catalog(
    catalog: Catalog, tmp_path: Path, kitpick: Run
) -> None:
    queries = own_queries(catalog, tmp_path)
    ran = kitpick("eval", "--queries", str(queries), "-p", "dense", "-k", "5", "--json")
    assert json.loads(ran.out)["rows"][0]["figures"]["recall@5"] == 1.0, ran.err


@pytest.mark.needs("eval")
def test_a_gate_has_an_exit_code_of_its_own_and_the_report_is_written(
    catalog: Catalog, tmp_path: Path, kitpick: Run
) -> None:
    asked = ["eval", "--queries", str(own_queries(catalog, tmp_path)), "-p", "dense", "-k", "5"]
    report = str(tmp_path / "report.json")
    passed = kitpick(*asked, "--output", report, "--min", "recall@5>=0.9")
    assert passed.code == ExitCode.OK, passed.err
    failed = kitpick(*asked, "--baseline", report, "--max-drop", "mrr:0.5", "--min", "precision@5>=0.9")
    assert failed.code == ExitCode.GATE, failed.err
    assert "precision@5 (all, 1 requests) is 0.2000, below 0.9" in failed.err


@pytest.mark.needs("mcp")
def test_a_watched_server_is_synced_at_every_change_until_the_user_ends_it(settings: Settings) -> None:
    spec = "mcp:stdio:" + shlex.join([sys.executable, str(MCP_SERVER), "stdio", "changing"])
    command = [*COMMAND, "ingest", spec, "--name", "notes", "--watch", "--json"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as watching:
        assert watching.stdout is not None
        added = 0
        for line in watching.stdout:
            added += json.loads(line)["added"]
            if added == 6:
                watching.send_signal(signal.SIGINT)
        assert watching.wait(300) == ExitCode.OK
    with Catalog.open(settings=settings) as opened:
        stats = opened.stats()
    assert stats is not None
    assert stats.documents == 6
