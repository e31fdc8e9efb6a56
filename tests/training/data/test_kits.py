"""Requests for kits: one catalog of all, each held out as a whole."""

from __future__ import annotations

import gzip
import json
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import pytest

from kitpick_engines.document import ApiDocument, document_id, encode_document
from kitpick_evaluation.datasets.records import BrokenRecord, MissingData, UnknownDocument
from kitpick_training.data.kits import group_of, read_kits
from kitpick_training.data.readers import KITS
from kitpick_training.data.split import HOLDOUT, split_of, take_split


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


def test_the_real_ones_are_whole_and_catalogs_are_held_out() -> None:
    catalog = read_kits(KITS)
    sources = {document.source for document in catalog.documents.values()}
    assert (len(sources), len(catalog.documents), len(catalog.requests)) == (105, 5303, 1960)
    assert len({request.text.lower() for request in catalog.requests}) == 1960, "no request twice"
    held = take_split(catalog, "validation", HOLDOUT)
    assert {document.source for document in held.documents.values()} == {
        source for source in sources if split_of(group_of(source)) == "validation"
    }
    assert len(held.requests) == 143
    assert Counter(len(request.relevant) > 1 for request in catalog.requests) == {True: 1366, False: 594}
