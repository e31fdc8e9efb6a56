"""Folders with a `SKILL.md`: what is found of them, and what is not read."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from kitpick_engines.document import ApiDocument
from kitpick_ingest.errors import SourceError, UnknownSource
from kitpick_ingest.kinds import published
from kitpick_ingest.opening import open_source
from kitpick_ingest.source import DeadLetter

PDF = """---
name: pdf
description: Fills in and merges PDF forms. Use when a PDF has to be changed.
license: Apache-2.0
allowed-tools: [Bash, Read]
metadata:
  version: "1.2"
---

# PDF

Run `scripts/fill.py`.
"""


def put(folder: Path, text: str, *beside: str) -> None:
    folder.mkdir(parents=True)
    (folder / "SKILL.md").write_text(text, encoding="utf-8")
    for name in beside:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text("content that is not read", encoding="utf-8")


def read(folder: Path) -> tuple[list[ApiDocument], list[DeadLetter]]:
    found = list(open_source(f"skills:{folder}", name="s").read())
    documents = [item for item in found if isinstance(item, ApiDocument)]
    return documents, [item for item in found if isinstance(item, DeadLetter)]


def test_a_skill_is_found_by_its_front_matter_and_defined_by_its_text(tmp_path: Path) -> None:
    put(tmp_path / "office" / "skills" / "pdf", PDF, "scripts/fill.py", "forms.md")
    (document,), letters = read(tmp_path)
    assert not letters
    assert (document.id, document.category) == ("s/office/skills/pdf", "skill")
    assert (document.tool, document.api, document.version) == ("office", "pdf", "1.2")
    assert document.description == "Fills in and merges PDF forms. Use when a PDF has to be changed."
    assert json.loads(document.definition) == {
        "name": "pdf",
        "description": document.description,
        "license": "Apache-2.0",
        "allowed-tools": ["Bash", "Read"],
        "skill_md": PDF,
        "resources": ["forms.md", "scripts/fill.py"],
    }
    assert "not read" not in document.definition
    known = published(document)
    assert known is not None
    assert known[0] == "skill"


@pytest.mark.parametrize(
    ("text", "api", "description", "note"),
    [
        ("# Title\n\nSorts\nfiles.\n\nMore.\n", "sorter", "Sorts files.", "no front matter"),
        ("---\ndescription: Sorts.\n---\nBody.", "sorter", "Sorts.", "without name"),
        ("---\nname: n\n---\n# H\n\nBody.", "n", "Body.", "without description"),
        ("---\nname: n\ndescription: Use when: sorting\n---\n", "n", "Use when: sorting", "line by line"),
        ("---\nname: m\nname: n\ndescription: Sorts.\n---\n", "n", "Sorts.", "'name' more than once"),
        ("---\n- a list\n---\nBody.", "sorter", "Body.", "without keys"),
        (
            "---\nname: {a: 1}\ndescription: [x]\n---\nBody.",
            "sorter",
            "Body.",
            "without name and description",
        ),
        ("", "sorter", "", "no front matter"),
    ],
)
def test_a_front_matter_that_lacks_something_is_noted(
    tmp_path: Path, text: str, api: str, description: str, note: str
) -> None:
    put(tmp_path / "sorter", text)
    (document,), (letter,) = read(tmp_path)
    assert (document.api, document.description) == (api, description)
    assert note in letter.reason
    assert letter.position.endswith("SKILL.md")


def test_links_out_of_the_folder_are_refused_and_named(tmp_path: Path) -> None:
    outside, inside = tmp_path / "outside", tmp_path / "inside"
    put(outside / "theirs", PDF)
    put(inside / "mine", PDF)
    (inside / "linked").symlink_to(outside / "theirs")
    (inside / "file").mkdir()
    (inside / "file" / "SKILL.md").symlink_to(outside / "theirs" / "SKILL.md")
    (inside / "mine" / "secret").symlink_to("/etc/passwd")
    (inside / "mine" / "loop").symlink_to(inside)
    (document,), letters = read(inside)
    assert document.id == "s/mine"
    assert json.loads(document.definition)["resources"] == []
    assert [Path(letter.position).relative_to(inside).parts[0] for letter in letters] == ["linked", "file"]
    assert all("leads out of the folder" in letter.reason for letter in letters)


def test_what_cannot_be_a_skill_is_a_dead_letter(tmp_path: Path) -> None:
    put(tmp_path / "good", PDF)
    for name, data in {"large": b"x" * 1_100_000, "binary": b"---\xff\xfe", "nul": b"a\0b"}.items():
        (tmp_path / name).mkdir()
        (tmp_path / name / "SKILL.md").write_bytes(data)
    (document,), letters = read(tmp_path)
    assert document.api == "pdf"
    assert {Path(letter.position).parent.name for letter in letters} == {"large", "binary", "nul"}


def test_a_skill_within_another_has_its_own_files(tmp_path: Path) -> None:
    put(tmp_path / "outer", PDF, "a.txt")
    put(tmp_path / "outer" / "inner", PDF, "b.txt")
    documents, _ = read(tmp_path)
    resources = {document.id: json.loads(document.definition)["resources"] for document in documents}
    assert resources == {"s/outer": ["a.txt"], "s/outer/inner": ["b.txt"]}


def test_a_folder_without_skills_and_a_url_are_refused(tmp_path: Path) -> None:
    for spec in (tmp_path, tmp_path / "nowhere"):
        with pytest.raises(SourceError):
            read(spec)
    with pytest.raises(UnknownSource, match="from a folder"):
        open_source("skills:https://example.com/skills")


@pytest.mark.whole
def test_10_000_skills_are_read_and_those_without_front_matter_named(tmp_path: Path) -> None:
    for number in range(10_000):
        put(tmp_path / str(number), "Sorts files.\n" if number % 10 == 0 else PDF)
    documents, letters = read(tmp_path)
    assert (len(documents), len(letters)) == (10_000, 1_000)
    assert len({document.id for document in documents}) == 10_000


def test_a_pipe_in_place_of_a_skill_is_not_waited_for(tmp_path: Path) -> None:
    (tmp_path / "endless").mkdir()
    os.mkfifo(tmp_path / "endless" / "SKILL.md")
    put(tmp_path / "good", PDF)
    (document,), (letter,) = read(tmp_path)
    assert document.api == "pdf"
    assert letter.reason == "no regular file: not read"
