"""What the beginning and the end of a session change in the state of a catalog."""

from __future__ import annotations

from msgspec.structs import replace

from toolrank_engines.remote.state import CatalogState, IndexState, PartHeld

_KEPT_ABORTED = 200


def begin(state: CatalogState, index: str, token: str) -> CatalogState:
    """Gives the right to write to a new session; those that had it and did not end count as aborted."""
    state.index(index)
    indexes = {name: _without(each, each.open) for name, each in state.indexes.items()}
    indexes[index] = _with_next(indexes[index])
    return replace(state, indexes=indexes, writer=token, beat=state.beat + 1, parts={})


def join(state: CatalogState, index: str, job: str, held: PartHeld) -> CatalogState:
    """Begins a session that writes a part of a job, beside those that write the others."""
    if state.writer == job:
        begun = state.with_index(index, _with_next(state.index(index)), beat=state.beat + 1)
    else:
        begun = begin(state, index, job)
    return replace(begun, writer=job, parts={**begun.parts, str(begun.index(index).begun): held})


def beaten(state: CatalogState, session: int) -> CatalogState:
    """A sign of life of a session."""
    parts = dict(state.parts)
    if (held := parts.get(str(session))) is not None:
        parts[str(session)] = replace(held, beat=held.beat + 1)
    return replace(state, beat=state.beat + 1, parts=parts)


def end(state: CatalogState, index: str, session: int, commit: bool) -> CatalogState:
    """Makes a session count or never count, and takes the right to write back from the last one."""
    chosen = state.index(index)
    if commit:
        still_open = tuple(number for number in chosen.open if number != session)
        ended = replace(chosen, generation=max(chosen.generation, session), open=still_open)
    else:
        ended = _without(chosen, (session,))
    parts = {number: held for number, held in state.parts.items() if number != str(session)}
    return state.with_index(index, ended, writer=state.writer if parts else "", parts=parts)


def _with_next(index: IndexState) -> IndexState:
    return replace(index, begun=index.begun + 1, open=(*index.open, index.begun + 1))


def _without(index: IndexState, sessions: tuple[int, ...]) -> IndexState:
    aborted = (*index.aborted, *(each for each in sessions if each in index.open))[-_KEPT_ABORTED:]
    return replace(index, aborted=aborted, open=tuple(each for each in index.open if each not in sessions))
