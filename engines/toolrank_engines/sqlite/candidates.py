"""From positions in a view to what the caller gets: candidates and whole documents."""

from __future__ import annotations

import sqlite3
from collections.abc import Mapping, Sequence

import msgspec

from toolrank_engines.contract import Candidate, Place
from toolrank_engines.document import ApiDocument, Effect, decode_document
from toolrank_engines.lexical.bm25 import Mask
from toolrank_engines.sqlite.statements import select_in
from toolrank_engines.sqlite.view import View

_JOINED = "FROM docs_# JOIN bodies_# USING (row)"
_CANDIDATES = f"SELECT row, id, category, tool, api, text, deprecated, effect {_JOINED} WHERE row IN"
_DOCUMENTS = f"SELECT id, row, document {_JOINED} WHERE id IN"


def found_together(
    connection: sqlite3.Connection, view: View, lexical: Mapping[int, Place], dense: Mapping[int, Place]
) -> list[Candidate]:
    """Candidates of both rankings (places by position), best rank of either first, ties by id."""

    def best_rank(position: int) -> tuple[int, int]:
        places = (ranking[position].rank for ranking in (lexical, dense) if position in ranking)
        return min(places), position

    order = sorted({*lexical, *dense}, key=best_rank)
    plain = read_candidates(connection, view, order)
    return [
        msgspec.structs.replace(candidate, lexical=lexical.get(position), dense=dense.get(position))
        for position, candidate in zip(order, plain, strict=True)
    ]


def read_candidates(connection: sqlite3.Connection, view: View, positions: Sequence[int]) -> list[Candidate]:
    """Candidates without places, in the order of `positions`."""
    rows = view.rows[positions].tolist()
    slots = dict(zip(rows, view.slots[positions].tolist(), strict=True))
    found = {}
    for row, *fields, deprecated, effect in select_in(connection, view.index.sql(_CANDIDATES), rows):
        document_id, category, tool, api, text = fields
        vector = view.matrix[slots[row]].copy()
        flags = bool(deprecated), Effect(effect)
        found[row] = Candidate(document_id, category, tool, api, text, vector, None, None, *flags)
    return [found[row] for row in rows]


def read_documents(
    connection: sqlite3.Connection, view: View, ids: Sequence[str], mask: Mask
) -> list[ApiDocument]:
    """Whole documents that the mask (bool (n,) by position) shows, in the order of `ids`."""
    statement = view.index.sql(_DOCUMENTS)
    visible = {
        document_id: document
        for document_id, row, document in select_in(connection, statement, dict.fromkeys(ids))
        if mask[view.positions([row])[0]]
    }
    return [decode_document(visible[document_id]) for document_id in ids if document_id in visible]
