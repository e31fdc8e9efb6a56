"""`kitpick init` and `kitpick mcp --config-for`: a beginner's first minutes, with and without questions."""

from __future__ import annotations

import contextlib
import json
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from kitpick.catalog import Catalog
from kitpick.errors import ExitCode
from kitpick.mcp.clients import McpClient, absolute_catalog, client_config
from kitpick.mcp.config import read_config
from kitpick.settings import Settings

pytestmark = pytest.mark.needs("weights", "onnxruntime")


@pytest.fixture
def folder(settings: Settings, functions_file: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(functions_file.parent)
    return functions_file.parent


def test_three_answers_fill_a_catalog_and_print_the_clients_entry(folder: Path, kitpick) -> None:
    ran = kitpick("init", "--tools", "functions.json", "--client", "cursor", "--store", "sqlite:mine.db")
    assert ran.code == ExitCode.OK, ran.err
    first, rest = ran.out.split("\n", 1)
    assert first == f"8 tools are in sqlite:{folder / 'mine.db'}; wrote kitpick.toml."
    entry, end = json.JSONDecoder().raw_decode(rest)
    started = entry["mcpServers"]["kitpick"]
    assert Path(started["command"]).is_absolute()
    assert started["args"][-2:] == ["--config", str(folder / "kitpick.toml")]
    assert "--catalog" not in started["args"], "one file says it"
    assert rest[end:].strip().startswith("1. ")
    written = read_config(folder / "kitpick.toml")
    assert (written.upstreams, written.catalog) == ((), f"sqlite:{folder / 'mine.db'}")
    assert f"kitpick ingest functions.json -c sqlite:{folder / 'mine.db'}" in Path("kitpick.toml").read_text()
    with Catalog.open("mine.db") as catalog:
        assert len(list(catalog.documents())) == 8


def test_an_entry_whose_server_cannot_start_here_says_what_to_install(capsys, monkeypatch) -> None:
    from kitpick.cli.mcp import print_client

    monkeypatch.setattr("kitpick.cli.mcp.find_spec", lambda name: None)
    print_client(client_config(McpClient.CURSOR, []))
    assert "pip install 'kitpick[mcp]'" in capsys.readouterr().err


def test_an_entry_in_a_cache_of_uvx_says_how_to_get_one_that_stays(capsys, monkeypatch) -> None:
    from kitpick.cli.mcp import print_client

    print_client(client_config(McpClient.CURSOR, []))
    assert "cache" not in capsys.readouterr().err
    monkeypatch.setattr("kitpick.cli.mcp.is_temporary", lambda: True)
    print_client(client_config(McpClient.CURSOR, []))
    said = capsys.readouterr()
    assert "`uv tool install 'kitpick[cpu,mcp]" in said.err
    assert "mcpServers" in said.out


def test_nobody_who_can_be_asked_needs_only_the_tools(folder: Path, kitpick) -> None:
    refused = kitpick("init")
    assert (refused.code, "--tools" in refused.err) == (ExitCode.USAGE, True)
    assert kitpick("init", "--tools", "functions.json").code == ExitCode.OK
    assert (folder / "tools.db").is_file()


def test_questions_are_asked_where_somebody_sits(folder: Path, kitpick, monkeypatch) -> None:
    asked: list[str] = []
    answers = iter(["functions.json", "zed", "sqlite:asked.db"])
    monkeypatch.setattr("typer.prompt", lambda question, **_: asked.append(question) or next(answers))
    monkeypatch.setattr("kitpick.cli.init._can_ask", lambda: True)
    ran = kitpick("init")
    assert len(asked) == 3
    assert '"context_servers"' in ran.out


def test_whoever_types_no_client_is_asked_again(monkeypatch, capsys) -> None:
    from kitpick.cli.init import _client

    answers = iter(["emacs", "", "none"])
    monkeypatch.setattr("typer.prompt", lambda question, **_: next(answers))
    monkeypatch.setattr("kitpick.cli.init._can_ask", lambda: True)
    assert _client(None) == "none"
    assert "'emacs' is none of" in capsys.readouterr().err


def test_what_is_there_is_not_overwritten_unless_asked(folder: Path, kitpick) -> None:
    (folder / "kitpick.toml").write_text("# mine")
    assert kitpick("init").code == ExitCode.INPUT, "before anything is asked"
    refused = kitpick("init", "--tools", "functions.json")
    assert refused.code == ExitCode.INPUT
    assert (folder / "kitpick.toml").read_text() == "# mine"
    assert not (folder / "tools.db").exists(), "nothing was begun"
    assert kitpick("init", "--tools", "functions.json", "--force").code == ExitCode.OK


@pytest.mark.parametrize("wrong", [["--client", "emacs"], ["--tools", "absent.json"]])
def test_a_wrong_answer_is_named(folder: Path, kitpick, wrong: list[str]) -> None:
    refused = kitpick("init", "--tools", "functions.json", *wrong)
    assert refused.code in (ExitCode.USAGE, ExitCode.INPUT)
    assert wrong[1] in refused.err
    assert not (folder / "kitpick.toml").exists(), "the next try is the first one"


def test_a_live_server_becomes_an_upstream_of_which_nothing_may_be_called(tmp_path: Path) -> None:
    from kitpick.cli.init import Beginning, write_config

    target = 'stdio:server --name "odd\\name"'
    file = write_config(tmp_path, Beginning(f"mcp:{target}", "none", "sqlite:x.db"))
    (upstream,) = read_config(file).upstreams
    assert (upstream.target, upstream.allow) == (target, ())


def test_a_configuration_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    from kitpick.cli.init import Beginning, Unwritable, write_config

    (tmp_path / "kitpick.toml").mkdir()
    with pytest.raises(Unwritable, match=r"kitpick\.toml: cannot be written: "):
        write_config(tmp_path, Beginning("tools.json", "none", "sqlite:x.db"), force=True)


def test_the_tools_of_a_live_server_are_taken_in_under_the_name_of_its_upstream(
    folder: Path, kitpick, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Else `kitpick mcp` would take them in a second time, and every search would find each of them twice."""
    server = Path(__file__).parents[2] / "ingest" / "sources" / "handshake_server.py"
    tools = f"mcp:stdio:{shlex.join([sys.executable, str(server), 'notes'])}"
    ran = kitpick("init", "--tools", tools, "--store", "sqlite:live.db")
    assert ran.code == ExitCode.OK, ran.err
    (upstream,) = read_config(folder / "kitpick.toml").upstreams
    with Catalog.open("live.db") as catalog:
        assert {document.source for document in catalog.documents()} == {upstream.name}


def test_a_password_in_the_catalogs_url_is_shown_to_nobody(
    catalog: Catalog, functions_file: Path, kitpick, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(functions_file.parent)
    monkeypatch.setattr("kitpick.cli.init.Catalog.open", lambda url: contextlib.nullcontext(catalog))
    secret = "opensearch://ann:s3cret@search.internal/tools"
    ran = kitpick("init", "--tools", "functions.json", "--store", secret)
    assert ran.code == ExitCode.OK, ran.err
    assert "s3cret" not in ran.out + ran.err
    assert "opensearch://search.internal/tools" in ran.out
    comments = [line for line in Path("kitpick.toml").read_text().splitlines() if line.startswith("#")]
    assert "s3cret" not in "".join(comments)


@pytest.mark.parametrize("client", list(McpClient))
def test_every_clients_entry_names_an_absolute_command_and_catalog(client: McpClient, kitpick) -> None:
    printed = kitpick("mcp", "--config-for", client.value, "-c", "tools.db", "--principal", "ann")
    assert printed.code == ExitCode.OK
    (servers,) = json.loads(printed.out).values()
    started = servers["kitpick"]
    assert Path(started["command"]).is_absolute()
    assert f"sqlite:{Path('tools.db').absolute()}" in started["args"]
    assert started["args"][-2:] == ["--principal", "ann"]


@pytest.mark.parametrize("profile", ["ours.toml", "chains"])
def test_a_profiles_file_is_found_from_another_folder(profile: str, kitpick) -> None:
    printed = kitpick("mcp", "--config-for", "cursor", "-c", "tools.db", "--profile", profile)
    args = json.loads(printed.out)["mcpServers"]["kitpick"]["args"]
    found = Path(args[args.index("--profile") + 1])
    assert found.name == profile
    assert found.is_absolute() is profile.endswith(".toml")


def test_a_configuration_that_names_the_catalog_is_not_overruled(tmp_path: Path, kitpick) -> None:
    (tmp_path / "mine.toml").write_text('catalog = "sqlite:mine.db"\n')

    def args(*more: str) -> list[str]:
        printed = kitpick("mcp", "--config-for", "cursor", "--config", str(tmp_path / "mine.toml"), *more)
        return list(json.loads(printed.out)["mcpServers"]["kitpick"]["args"])

    assert "--catalog" not in args()
    assert args("-c", "sqlite:/srv/other.db")[-4:-2] == ["--catalog", "sqlite:/srv/other.db"]


def test_a_catalog_named_for_every_folder_is_the_one_that_the_commands_open(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    for given, meant in (
        ("sqlite:///srv/my%20tools.db", "sqlite:/srv/my tools.db"),
        ("SQLite:tools.db", f"sqlite:{tmp_path}/tools.db"),
        ("tools.db", f"sqlite:{tmp_path}/tools.db"),
        ("opensearch://host/tools", "opensearch://host/tools"),
    ):
        assert absolute_catalog(given) == meant


@pytest.mark.needs("mcp")
def test_the_printed_command_starts_the_server_in_another_folder(
    catalog: Catalog, settings: Settings, tmp_path: Path
) -> None:
    config = client_config(McpClient.CLAUDE_CODE, ["--catalog", absolute_catalog(settings.catalog)])
    started = config.content["mcpServers"]["kitpick"]
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    client = {"name": "t", "version": "1"}
    asked = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": client}
    hello = {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": asked}
    ran = subprocess.run(
        [started["command"], *started["args"]],
        cwd=elsewhere,
        input=json.dumps(hello) + "\n",
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert json.loads(ran.stdout.splitlines()[0])["result"]["serverInfo"]["name"] == "kitpick", ran.stderr
    assert "empty" not in ran.stderr


def test_this_python_has_a_command_beside_it() -> None:
    assert (
        client_config(McpClient.ZED, [])
        .content["context_servers"]["kitpick"]["command"]
        .startswith(str(Path(sys.executable).parent))
    )


@pytest.mark.parametrize(
    ("options", "cure"),
    [
        (("--port", "9000"), "add --http"),
        (("--host", "0.0.0.0"), "add --http"),
        (("--http", "--config-for", "cursor"), "leave --http out"),
    ],
)
def test_options_that_would_mean_nothing_are_refused(options: tuple[str, ...], cure: str, kitpick) -> None:
    refused = kitpick("mcp", *options)
    assert refused.code == ExitCode.USAGE
    assert cure in refused.err
