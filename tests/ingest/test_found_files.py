"""A source is what is in its folder: links do not lead out of it, and pipes are not waited for."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from kitpick_engines.document import ApiDocument
from kitpick_foundation.errors import KitpickError
from kitpick_ingest.fingerprints import fingerprint_of
from kitpick_ingest.found_files import LEADS_OUT, NO_FILE, find_files
from kitpick_ingest.opening import open_source
from kitpick_ingest.source import DeadLetter

OPENAPI = {"openapi": "3.1.0", "info": {"title": "T"}, "paths": {"/secret": {"get": {}}}}
SHAPES: dict[str, object] = {
    "openapi": OPENAPI,
    "google": {"kind": "discovery#restDescription", "name": "n", "methods": {"m": {"id": "n.m"}}},
    "toolbench": {"tool_name": "t", "api_list": [{"name": "secret"}]},
    "mcp": {"tools": [{"name": "secret", "inputSchema": {}}]},
    "functions": [{"name": "secret", "input_schema": {}}],
    "graphql": {
        "__schema": {"queryType": {"name": "Q"}, "types": [{"name": "Q", "fields": [{"name": "secret"}]}]}
    },
    "a2a": {"name": "n", "capabilities": {}, "skills": [{"id": "secret", "name": "secret"}]},
    "beir": {"_id": "1", "text": "secret"},
}
NAMES = {"beir": "corpus.jsonl"}


def write(file: Path, value: object = OPENAPI) -> Path:
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(json.dumps(value) + "\n", encoding="utf-8")
    return file


@pytest.fixture
def inside(tmp_path: Path) -> Path:
    (tmp_path / "inside").mkdir()
    return tmp_path / "inside"


def told(spec: str) -> Iterator[tuple[str, str]]:
    """Path and reason of what is not read; ids of documents are an error here."""
    try:
        for item in open_source(spec).read():
            assert isinstance(item, DeadLetter), item
            yield item.position, item.reason
    except KitpickError as error:
        yield str(error).partition(": ")[0], str(error).partition(": ")[2]


@pytest.mark.parametrize("kind", SHAPES)
def test_a_link_out_of_the_folder_is_not_read(inside: Path, tmp_path: Path, kind: str) -> None:
    name = NAMES.get(kind, "spec.json")
    outside = write(tmp_path / "outside" / name, SHAPES[kind])
    assert any(isinstance(item, ApiDocument) for item in open_source(f"{kind}:{outside}").read())
    (inside / name).symlink_to(outside)
    assert list(told(f"{kind}:{inside}")) == [(str(inside / name), LEADS_OUT)]


@pytest.mark.parametrize("kind", SHAPES)
def test_a_pipe_in_the_folder_is_not_waited_for(inside: Path, kind: str) -> None:
    name = NAMES.get(kind, "spec.json")
    os.mkfifo(inside / name)
    assert list(told(f"{kind}:{inside}")) == [(str(inside / name), NO_FILE)]


def test_a_link_costs_no_other_file(inside: Path, tmp_path: Path) -> None:
    write(inside / "good.json")
    (inside / "bad.json").symlink_to(write(tmp_path / "secret.json"))
    letter, document = open_source(f"openapi:{inside}", name="s").read()
    assert letter == DeadLetter("s", str(inside / "bad.json"), LEADS_OUT)
    assert isinstance(document, ApiDocument)


def test_a_linked_folder_is_named(inside: Path, tmp_path: Path) -> None:
    write(tmp_path / "vendor" / "spec.json")
    write(inside / "good.json")
    (inside / "vendor").symlink_to(tmp_path / "vendor")
    (inside / "again").symlink_to(inside)
    found = {file.path.name: file.problem for file in find_files(inside, frozenset({".json"}))}
    assert found == {"good.json": "", "vendor": LEADS_OUT}


def test_a_pattern_is_bounded_by_its_folder(inside: Path, tmp_path: Path) -> None:
    write(tmp_path / "vendor" / "spec.json")
    (inside / "vendor").symlink_to(tmp_path / "vendor")
    assert list(told(f"openapi:{inside}/*/spec.json")) == [(f"{inside}/vendor/spec.json", LEADS_OUT)]


def test_links_to_nothing_and_in_circles_are_named(inside: Path) -> None:
    write(inside / "good.json")
    (inside / "gone.json").symlink_to(inside / "nowhere.json")
    (inside / "loop.json").symlink_to(inside / "loop.json")
    found = {file.path.name: file.problem for file in find_files(inside, frozenset({".json"}))}
    assert found == {"good.json": "", "gone.json": NO_FILE, "loop.json": NO_FILE}


def test_what_is_named_by_itself_is_read_wherever_it_leads(inside: Path, tmp_path: Path) -> None:
    (inside / "spec.json").symlink_to(write(tmp_path / "spec.json"))
    (tmp_path / "linked").symlink_to(write(tmp_path / "folder" / "spec.json").parent)
    for spec in (inside / "spec.json", tmp_path / "linked"):
        assert [type(item) for item in open_source(f"openapi:{spec}").read()] == [ApiDocument]


def test_files_as_kubernetes_mounts_them_are_read_once_and_keep_their_names(inside: Path) -> None:
    """A mounted ConfigMap: each file is a link into `..data`, which links to a folder with a date."""
    write(inside / "..2026_11_29" / "spec.json")
    (inside / "..data").symlink_to("..2026_11_29")
    (inside / "spec.json").symlink_to("..data/spec.json")
    (document,) = open_source(f"openapi:{inside}", name="s").read()
    assert isinstance(document, ApiDocument)
    assert document.id == "s/spec.json/GET %2Fsecret"


def mounted(place: Path, date: str, files: dict[str, str]) -> None:
    """Files as Kubernetes mounts them, or as it changes them: their folder with the date is another one."""
    place.mkdir(parents=True, exist_ok=True)
    for file, text in files.items():
        (place / f"..{date}" / file).parent.mkdir(parents=True, exist_ok=True)
        (place / f"..{date}" / file).write_text(text)
    (place / "..data_tmp").symlink_to(f"..{date}")
    (place / "..data_tmp").replace(place / "..data")
    for name in {Path(file).parts[0] for file in files}:
        if not (place / name).is_symlink():
            (place / name).symlink_to(f"..data/{name}")
    for old in place.glob("..2*"):
        if old.name != f"..{date}":
            shutil.rmtree(old)


MOUNTED = {
    "openapi": dict.fromkeys(("spec.json", "folder/spec.json", "folder/more/b.json"), json.dumps(OPENAPI)),
    "skills": {
        "SKILL.md": "---\nname: one\ndescription: d\n---\n",
        "run.sh": "",
        "two/SKILL.md": "---\nname: two\ndescription: d\n---\n",
        "two/more/run.sh": "",
    },
}


@pytest.mark.parametrize("below", [".", "sub", "sub/sub"])
@pytest.mark.parametrize(("kind", "pattern"), [("openapi", ""), ("openapi", "/**/*.json"), ("skills", "")])
def test_files_that_kubernetes_mounts_are_the_same_when_it_changes_them(
    inside: Path, below: str, kind: str, pattern: str
) -> None:
    def read() -> list[ApiDocument]:
        found = list(open_source(f"{kind}:{inside}{pattern}", name="s").read())
        assert not [item for item in found if isinstance(item, DeadLetter)]
        return [item for item in found if isinstance(item, ApiDocument)]

    mounted(inside / below, "2026_11_29", MOUNTED[kind])
    before = read()
    mounted(inside / below, "2027_01_01", MOUNTED[kind])
    assert before == read()
    assert len(before) == len([file for file in MOUNTED[kind] if file.endswith(("json", "md"))])
    assert not [each for each in before if "..2" in each.id + each.tool + each.definition]
    assert kind == "openapi" or "more/run.sh" in "".join(each.definition for each in before)


def test_the_kind_of_a_folder_is_not_told_by_what_is_elsewhere(inside: Path, tmp_path: Path) -> None:
    (inside / "a.json").symlink_to(write(tmp_path / "secret.json", SHAPES["mcp"]))
    os.mkfifo(inside / "b.json")
    write(inside / "c.json")
    assert type(open_source(str(inside))).__name__ == "OpenApiSource"


def test_the_fingerprint_reads_nothing_elsewhere_and_shows_new_links(inside: Path, tmp_path: Path) -> None:
    source = open_source(f"openapi:{write(inside / 'good.json').parent}")
    before = fingerprint_of(source)
    (inside / "bad.json").symlink_to(secret := write(tmp_path / "secret.json"))
    linked = fingerprint_of(source)
    secret.write_text("changed", encoding="utf-8")
    assert None not in (before, linked)
    assert before != linked == fingerprint_of(source)
