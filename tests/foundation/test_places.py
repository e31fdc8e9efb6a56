"""Callers of a service are told what is wrong, and not where its files and servers are."""

from __future__ import annotations

from pathlib import Path

import pytest

from kitpick_foundation.disk import full_disk
from kitpick_foundation.places import HiddenPlaces


@pytest.mark.parametrize("folder", ["/srv/kitpick", "/home/ann/My Documents"])
def test_files_are_called_by_their_names(folder: str) -> None:
    places = HiddenPlaces([f"{folder}/c.db", Path(folder) / "c.db.intents", None])
    assert places.hidden(f"{folder}/c.db: disk I/O error") == "c.db: disk I/O error"
    assert places.hidden(f"{folder}/c.db.intents: sample requests: locked") == (
        "c.db.intents: sample requests: locked"
    )
    assert places.hidden(f"{folder}/.c.db.lock: held") == ".c.db.lock: held", "what lies beside it as well"
    assert places.hidden(f"sqlite:{folder}/c.db: is empty") == "sqlite:c.db: is empty"
    assert places.hidden(f"file://{folder}/c.db?mode=ro") == "file://c.db?mode=ro"


def test_a_full_disk_is_told_without_its_folder(tmp_path: Path) -> None:
    told = HiddenPlaces([tmp_path / "c.db"]).hidden(full_disk(tmp_path / "c.db"))
    assert told.startswith("the disk of its folder is full (")
    assert str(tmp_path) not in told


def test_a_file_of_the_working_folder_hides_that_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    places = HiddenPlaces(["c.db"])
    assert places.hidden(f"c.db: {tmp_path}/c.db: locked") == "c.db: c.db: locked"


def test_a_search_server_has_no_address() -> None:
    places = HiddenPlaces([], ["http://search-1.internal:9200", "search-1.internal:9200"])
    assert places.hidden("http://search-1.internal:9200: 503: busy") == "the search server: 503: busy"


@pytest.mark.parametrize(
    "file", ["/srv/c.db", "c.db", "/data/c.db", "data/c.db", "/tools/c.db", "tools/search"]
)
@pytest.mark.parametrize(
    "text",
    [
        "no API 'aws/s3/GetObject' for GET /v1/tools/search",
        "no API of the catalog has the id 'hr/data/list': did you mean 'hr/data/tools/list'?",
        "the stored data of /database and of data/list are damaged: ingest the tools again",
        "read /srv2/c.db and /other/data/c.db",
        "",
    ],
)
def test_ids_words_and_other_paths_stay(file: str, text: str) -> None:
    assert HiddenPlaces([file]).hidden(text) == text


def test_without_places_nothing_is_hidden() -> None:
    assert HiddenPlaces([None, ""]).hidden("/srv/c.db: locked") == "/srv/c.db: locked"


def test_a_relative_file_is_called_by_its_name() -> None:
    assert HiddenPlaces(["data/c.db"]).hidden("data/c.db: locked, data/list is not") == (
        "c.db: locked, data/list is not"
    )
