"""Removes what no search can need any more, at the beginning of a session, when nobody else writes."""

from __future__ import annotations

from toolrank_engines.remote.bulk import Action, send
from toolrank_engines.remote.queries import BY_ID
from toolrank_engines.remote.server import Json, Server
from toolrank_engines.remote.sources import restored
from toolrank_engines.remote.state import IndexState

_PAGE = 1_000
_MARKS_A_PAGE = 200


def clean(server: Server, index: str, state: IndexState) -> None:
    """Deletes versions that ended before the last commit, and undoes what aborted sessions did.

    What the last commit itself ended stays until the next one: a search may still read the state before.
    """
    if state.aborted:
        server.call("POST", f"/{index}/_refresh")
        _unmark(server, index, list(state.aborted))
        _delete(server, index, {"terms": {"born": list(state.aborted)}})
    long_gone: Json = {"range": {"died": {"lt": state.generation}}}
    unless = [{"terms": {"died": list(state.aborted)}}] if state.aborted else []
    _delete(server, index, {"bool": {"filter": [long_gone], "must_not": unless}})


def _delete(server: Server, index: str, query: Json) -> None:
    while True:
        body = {"size": _PAGE, "query": query, "_source": False, "sort": BY_ID}
        hits = server.call("POST", f"/{index}/_search", body)["hits"]["hits"]
        if hits:
            send(server, index, [Action({"delete": {"_id": hit["_id"]}}) for hit in hits])
            server.call("POST", f"/{index}/_refresh")
        if len(hits) < _PAGE:
            return


def _unmark(server: Server, index: str, sessions: list[int]) -> None:
    """Takes the marks of aborted sessions away, before their numbers are forgotten."""
    query: Json = {"terms": {"died": sessions}}
    while True:
        body = {"size": _MARKS_A_PAGE, "query": query, "sort": BY_ID, "seq_no_primary_term": True}
        hits = server.call("POST", f"/{index}/_search", body)["hits"]["hits"]
        if hits:
            send(server, index, [_unmarked(hit) for hit in hits])
            server.call("POST", f"/{index}/_refresh")
        if len(hits) < _MARKS_A_PAGE:
            return


def _unmarked(hit: Json) -> Action:
    condition = {"if_seq_no": hit["_seq_no"], "if_primary_term": hit["_primary_term"]}
    source = {name: value for name, value in hit["_source"].items() if name != "died"}
    return Action({"index": {"_id": hit["_id"], **condition}}, restored(source))
