"""Requests for kits: one catalog of all, each held out as a whole."""

from __future__ import annotations

import gzip
import json
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import pytest

from kitpick_engines.document import ApiDocument, document_id, encode_document
from kitpick_training.data.kits import group_of, read_kits
from kitpick_training.data.readers import KITS
from kitpick_training.data.records import BrokenRecord, MissingData, UnknownDocument
from kitpick_training.data.split import Split, take_split


def lines(path: Path, rows: Sequence[bytes]) -> None:
    path.write_bytes(gzip.compress(b"".join(row + b"\n" for row in rows)))


def written(folder: Path, wanted: Sequence[str], **changes: object) -> Path:
    apis = [("mail", "find"), ("mail", "send"), ("mail", "delete"), ("maps", "route")]
    documents = [
        ApiDocument(
            id=document_id(catalog, api), source=catalog, category="", tool=catalog, api=api, description=api
        )
        for catalog, api in apis
    ]
    record = {"request": "answer Ann", "catalog": "mail", "wanted": wanted, "steps": ["mail/find"], **changes}
    lines(folder / "apis.jsonl.gz", [encode_document(each) for each in documents])
    lines(folder / "requests.jsonl.gz", [json.dumps(record).encode()])
    return folder


def test_a_request_is_offered_the_rest_of_its_catalog(tmp_path: Path) -> None:
    (asked,) = read_kits(written(tmp_path, ["mail/find", "mail/send"])).requests
    assert asked.relevant == ("mail/find", "mail/send")
    assert asked.offered == ("mail/delete",), "nothing of another catalog"


def test_what_is_not_in_the_catalog_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UnknownDocument, match="mail/call"):
        read_kits(written(tmp_path, ["mail/call"]))


def test_a_line_with_another_field_is_refused_with_its_place(tmp_path: Path) -> None:
    with pytest.raises(BrokenRecord, match="line 1"):
        read_kits(written(tmp_path, ["mail/find"], also=[]))


def test_no_folder_is_said(tmp_path: Path) -> None:
    with pytest.raises(MissingData):
        read_kits(tmp_path)


def test_catalogs_that_share_a_tool_are_held_out_together(tmp_path: Path) -> None:
    written(tmp_path, ["mail/find"])
    apis = [
        ("desk", "mail", "find"),
        ("trip", "maps", "route"),
        ("trip", "mail", "send"),
        ("alone", "own", "do"),
    ]
    documents = [
        ApiDocument(id=document_id(*names), source=names[0], category="", tool=names[1], api=names[2])
        for names in apis
    ]
    rows = gzip.decompress((tmp_path / "apis.jsonl.gz").read_bytes()).splitlines()
    lines(tmp_path / "apis.jsonl.gz", [*rows, *map(encode_document, documents)])
    catalog = read_kits(tmp_path)
    groups = {catalog.documents[id_].source: group for id_, group in catalog.groups.items()}
    assert groups == {
        **dict.fromkeys(("mail", "maps", "desk", "trip"), group_of("mail")),
        "alone": group_of("alone"),
    }


def test_the_real_ones_are_whole_and_catalogs_are_held_out() -> None:
    catalog = read_kits(KITS)
    sources = {document.source for document in catalog.documents.values()}
    assert (len(sources), len(catalog.documents), len(catalog.requests)) == (217, 10166, 4386)
    assert len({request.text.lower() for request in catalog.requests}) == 4386, "no request twice"
    assert Counter(len(request.relevant) > 1 for request in catalog.requests) == {True: 2835, False: 1551}
    splits: tuple[Split, ...] = ("train", "validation", "test")
    found = {split: take_split(catalog, split) for split in splits}
    assert {split: len(part.requests) for split, part in found.items()} == {
        "train": 3537,
        "validation": 435,
        "test": 414,
    }
    tools = [{document.tool for document in part.documents.values()} for part in found.values()]
    assert not tools[0] & (tools[1] | tools[2])
    assert not tools[1] & tools[2]
