"""A missing extra is cured by the program that installed this kitpick: pip, pipx or uv."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from kitpick_foundation import installation
from kitpick_foundation.errors import MissingExtra
from kitpick_foundation.installation import install_line, is_temporary

WHEEL = "file:///home/ada/kitpick-0.1.0-py3-none-any.whl"


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An environment as `python -m venv` makes it, with a kitpick from an index."""
    folder = tmp_path / "cache" / "environment"
    folder.mkdir(parents=True)
    (folder / "pyvenv.cfg").write_text("home = /usr/bin\nversion = 3.11.7\n")
    monkeypatch.setattr(sys, "prefix", str(folder))
    monkeypatch.setattr(installation, "_origin", lambda: "")
    return folder


def make_by(program: str, place: Path) -> None:
    """What pipx and uv leave in an environment of theirs, and in their caches."""
    if program.startswith("uv"):
        (place / "pyvenv.cfg").write_text("home = /usr/bin\nuv = 0.13.9\nversion_info = 3.11.7\n")
    if program.startswith("pipx"):
        (place / "pipx_metadata.json").write_text("{}")
    if program == "uv tool":
        (place / "uv-receipt.toml").write_text("[tool]\n")
    (place / "CACHEDIR.TAG").touch()  # both mark each environment so, which says nothing of where it stands
    if program in {"uvx", "pipx run"}:
        (place.parent / "CACHEDIR.TAG").touch()


@pytest.mark.parametrize(
    ("program", "line"),
    [
        ("venv", "pip install 'kitpick[mcp]'"),
        ("uv venv", "uv pip install 'kitpick[mcp]'"),
        ("uv tool", "uv tool install 'kitpick[cpu,mcp]'"),
        ("uvx", "uvx --from 'kitpick[cpu,mcp]' kitpick"),
        ("pipx", "pipx inject kitpick 'kitpick[mcp]'"),
        ("pipx run", "pipx run --spec 'kitpick[cpu,mcp]' kitpick"),
    ],
)
def test_the_line_is_one_for_the_program_that_installed_it(program: str, line: str, place: Path) -> None:
    make_by(program, place)
    assert str(MissingExtra("mcp", "kitpick mcp")) == f"kitpick mcp needs the extra 'mcp': {line}"
    assert is_temporary() is (program in {"uvx", "pipx run"})


def test_what_came_from_a_wheel_is_not_looked_for_in_an_index(
    place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    make_by("uvx", place)
    monkeypatch.setattr(installation, "_origin", lambda: WHEEL)
    assert install_line("cpu") == f"uvx --from 'kitpick[cpu] @ {WHEEL}' kitpick"


def test_an_environment_of_another_program_in_its_cache_is_pips(place: Path) -> None:
    (place.parent / "CACHEDIR.TAG").touch()
    assert install_line("aws", upgrade=True) == "pip install --upgrade 'kitpick[aws]'"


def test_where_this_kitpick_came_from_is_what_its_installer_noted(monkeypatch: pytest.MonkeyPatch) -> None:
    class Noted:
        def read_text(self, name: str) -> str:
            return {"direct_url.json": f'{{"url": "{WHEEL}", "archive_info": {{}}}}'}[name]

    monkeypatch.setattr(installation, "distribution", lambda name: Noted())
    assert installation.requirement("cpu,mcp") == f"'kitpick[cpu,mcp] @ {WHEEL}'"
