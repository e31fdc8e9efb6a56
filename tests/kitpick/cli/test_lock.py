"""`kitpick lock`, against a real MCP server whose descriptions change after they were approved."""

from __future__ import annotations

import json
import shlex
import sys
from pathlib import Path

import pytest

from kitpick.catalog import Catalog
from kitpick.errors import ExitCode
from kitpick.settings import Settings

pytestmark = pytest.mark.needs("weights", "onnxruntime", "mcp")

SERVER = Path(__file__).parents[2] / "ingest" / "sources" / "handshake_server.py"
DOCS = Path(__file__).parents[3] / "docs" / "catalogs.md"


def server(behaviour: str) -> str:
    return f"mcp:stdio:{shlex.join([sys.executable, str(SERVER), behaviour])}"


def test_a_description_that_changed_since_its_approval_is_named_and_held_back(
    settings: Settings, tmp_path: Path, kitpick
) -> None:
    lock = str(tmp_path / "tools.lock")
    taken = kitpick("ingest", server("notes"), "--name", "notes")
    approved = kitpick("lock", lock, "--json")
    assert (taken.code, json.loads(approved.out)["approved"]) == (ExitCode.OK, 5)

    held = kitpick("ingest", server("poisoned"), "--name", "notes", "--lock", lock, "--hold-back")

    assert held.code == ExitCode.UNAPPROVED
    text = DOCS.read_text("utf-8")
    for line in held.err.splitlines():
        if line.startswith("note: notes/"):
            assert f"    {line}\n" in text, "the documentation shows what is printed"
    assert "note: notes/notes/search: its description is not the approved one, held back" in held.err
    assert "note: notes/notes/added_later: new since the approval, held back" in held.err
    with Catalog.open(settings=settings) as catalog:
        kept = {document.api: document.description for document in catalog.documents()}
    assert kept["search"] == "Does search."
    assert "added_later" not in kept

    named = kitpick("ingest", server("poisoned"), "--name", "notes", "--lock", lock, "--json")
    assert named.code == ExitCode.UNAPPROVED
    assert json.loads(named.out)[0]["unapproved"] == [
        {"id": "notes/notes/search", "difference": "description", "held_back": False},
        {"id": "notes/notes/added_later", "difference": "new", "held_back": False},
    ]

    again = kitpick("lock", lock)
    assert "note: changed: notes/notes/search" in again.err
    assert "note: new: notes/notes/added_later" in again.err
    quiet = kitpick("ingest", server("poisoned"), "--name", "notes", "--lock", lock, "--hold-back")
    assert quiet.code == ExitCode.OK


def test_a_source_can_be_approved_before_it_is_in_any_catalog(
    settings: Settings, functions_file: Path, tmp_path: Path, kitpick
) -> None:
    lock = str(tmp_path / "tools.lock")
    approved = kitpick("lock", lock, f"functions:{functions_file}", "--json")
    assert json.loads(approved.out)["approved"] == 8

    taken = kitpick("ingest", f"functions:{functions_file}", "--lock", lock, "--hold-back", "--json")

    assert (taken.code, json.loads(taken.out)[0]["added"]) == (ExitCode.OK, 8)


def test_an_entry_that_cannot_be_used_is_named_and_the_others_are_approved(
    settings: Settings, tmp_path: Path, kitpick
) -> None:
    tools = tmp_path / "tools.json"
    tools.write_text(json.dumps([{"name": "send", "description": "Sends."}, {"description": "No name."}]))

    approved = kitpick("lock", str(tmp_path / "tools.lock"), f"functions:{tools}", "--json")

    assert approved.code == ExitCode.DEAD_LETTERS
    assert json.loads(approved.out)["approved"] == 1
    assert "1 entr" in approved.err
    assert str(tools) in approved.err


def test_what_cannot_be_meant_is_refused(
    settings: Settings, functions_file: Path, tmp_path: Path, kitpick
) -> None:
    broken = tmp_path / "tools.lock"
    broken.write_text("{}")
    for arguments in (
        ("ingest", f"functions:{functions_file}", "--lock", str(broken)),
        ("lock", str(broken)),
    ):
        refused = kitpick(*arguments)
        assert refused.code == ExitCode.INPUT
        assert f"kitpick lock {broken}" in refused.err
    assert kitpick("ingest", f"functions:{functions_file}", "--hold-back").code == ExitCode.USAGE
    assert kitpick("lock", str(tmp_path / "new.lock"), "--name", "x").code == ExitCode.USAGE
