"""Settings of the service: who beats whom, and what is said about a slip."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from kitpick.cli import app
from kitpick.settings import read_service_settings
from kitpick_foundation.errors import InvalidSetting

COLD = ("--set", "warm_up_seconds=0")


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "serve.toml"
    path.write_text('port = 1000\nhost = "10.0.0.1"\nmax_requests = 7\n')
    return path


def test_flags_beat_the_environment_which_beats_the_file_which_beats_defaults(file: Path) -> None:
    environment = {"KITPICK_SERVE_PORT": "2000", "KITPICK_SERVE_HOST": "10.0.0.2"}
    explained = read_service_settings({"port": 3000, "host": None}, file, environment)
    assert (explained.settings.port, explained.settings.host) == (3000, "10.0.0.2")
    assert explained.settings.max_requests == 7
    assert explained.settings.max_documents == 2_000
    assert explained.origins == {
        "port": "--port",
        "host": "KITPICK_SERVE_HOST",
        "max_requests": f"{file}: max_requests",
    }


def test_models_are_those_of_a_catalog_unless_the_service_has_its_own(file: Path) -> None:
    shared = {"KITPICK_CROSS_ENCODER": "one", "KITPICK_ENCODER": "two"}
    settings = read_service_settings({}, None, {**shared, "KITPICK_SERVE_ENCODER": "three"}).settings
    assert (settings.cross_encoder, settings.encoder) == ("one", "three")


def test_the_file_can_be_named_by_the_environment(file: Path) -> None:
    assert read_service_settings({}, None, {"KITPICK_SERVE_CONFIG": str(file)}).settings.port == 1000


@pytest.mark.parametrize(
    ("flags", "environment", "said"),
    [
        ({"prot": "1"}, {}, "--prot: no setting 'prot'; known are host, port"),
        ({"port": "70000"}, {}, "--port: Expected `int` <= 65535"),
        ({}, {"KITPICK_SERVE_MAX_REQUESTS": "many"}, "KITPICK_SERVE_MAX_REQUESTS: Expected `int`"),
        ({"provider": "tpu"}, {}, "--provider: Invalid enum value 'tpu'"),
        ({"devices": "a"}, {}, "--devices: "),
    ],
)
def test_a_slip_is_named_with_its_place(
    flags: dict[str, str], environment: dict[str, str], said: str
) -> None:
    with pytest.raises(InvalidSetting) as error:
        read_service_settings(flags, None, environment)
    assert str(error.value).startswith(said)


def test_doctor_tells_what_the_service_would_run_with(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("KITPICK_CATALOG", f"sqlite:{tmp_path / 'c.db'}")
    monkeypatch.setenv("KITPICK_SERVE_PORT", "1234")
    told = CliRunner().invoke(app, ["doctor", "--json"]).stdout
    assert '"name":"port","value":"1234 (KITPICK_SERVE_PORT)"' in told
    assert '"name":"host","value":"127.0.0.1 (default)"' in told


def test_doctor_finds_files_of_the_service_that_cannot_be_used(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("KITPICK_CATALOG", f"sqlite:{tmp_path / 'c.db'}")
    monkeypatch.setenv("KITPICK_SERVE_TLS_KEY", str(tmp_path / "nowhere.pem"))
    keys = tmp_path / "keys.toml"
    keys.write_text("keys = 1")
    monkeypatch.setenv("KITPICK_SERVE_KEYS", str(keys))
    told = CliRunner().invoke(app, ["doctor", "--json"])
    assert told.exit_code != 0
    broken = {item["name"]: item["value"] for item in json.loads(told.stdout) if item["ok"] is False}
    assert "Expected `array`" in broken["keys"]
    assert "No such file" in broken["tls_key"]


@pytest.mark.parametrize("name", ["keys", "tls_certificate", "profile"])
def test_what_is_set_by_name_counts_like_its_own_option(name: str, tmp_path: Path) -> None:
    """A service that dropped `--set keys=FILE` would be open to everybody, without a word."""
    missing = str(tmp_path / "nowhere")
    option = f"--{name.replace('_', '-')}"
    for given in (["--set", f"{name}={missing}"], [option, missing]):
        told = CliRunner().invoke(app, ["serve", "--port", "0", *COLD, *given])
        assert told.exit_code != 0
        assert "nowhere" in str(told.exception), given


def test_an_option_of_its_own_beats_what_is_set_by_name(tmp_path: Path) -> None:
    given = ["--set", f"keys={tmp_path / 'one'}", "--keys", str(tmp_path / "other")]
    assert "other" in str(CliRunner().invoke(app, ["serve", *COLD, *given]).exception)


@pytest.mark.parametrize(
    ("given", "cure"),
    [
        (["--catalog", "sqlite:tools.db"], "add --ui or --tools"),
        (["--principal", "boss"], "add --ui or --tools"),
        (["--marks", "marks.jsonl", "--tools"], "add --ui"),
        (["--adapted", "mine.toml"], "add --ui"),
    ],
)
def test_options_that_would_mean_nothing_are_refused(given: list[str], cure: str) -> None:
    told = CliRunner().invoke(app, ["serve", *COLD, *given])
    assert cure in str(told.exception)


def test_a_new_key_is_printed_with_its_entry() -> None:
    from kitpick_service.keys import digest, parse_keys

    for name in ("plugin", 'Anna\'s "own"', "a\\new", "名"):
        told = CliRunner().invoke(app, ["serve", "--new-key", name]).stdout
        key, _, entry = told.partition("\n\n")
        ((held, read),) = parse_keys(entry, "file").items()
        assert (held, read.name) == (digest(key.removeprefix("key: ")), name)
