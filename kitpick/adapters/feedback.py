"""Feedback from calls: an API that an agent calls counts as chosen, or as failed if the call fails."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable
from functools import wraps
from typing import Any

from kitpick.adapters.tools import Run, is_async
from kitpick.catalog import Catalog
from kitpick.result import SearchResult
from kitpick_engines.contract import Filter
from kitpick_engines.document import ApiDocument
from kitpick_foundation.errors import KitpickError

_log = logging.getLogger(__name__)
_NOBODY = Filter()


def reporting(
    run: Run,
    catalog: Catalog,
    result: SearchResult | str,
    *,
    client: str = "",
    filter: Filter = _NOBODY,  # noqa: A002
) -> Run:
    """Wraps `run` for the tools of a result, so that the catalog learns what became of each call.

    The id of a result can stand for the result. Every adapter takes the wrapped function in place of `run`;
    it is async where `run` is. Feedback that cannot be stored is logged, and no call fails for it.
    """
    answer_id = result if isinstance(result, str) else result.id

    def tell(document: ApiDocument, failed: bool) -> None:
        chosen, others = ((), (document.id,)) if failed else ((document.id,), ())
        try:
            if answer_id:
                catalog.feedback(answer_id, chosen, failed=others, client=client, filter=filter)
        except KitpickError as error:
            _log.warning("feedback on %s was lost: %s", document.id, error)

    return _async_reported(run, tell) if is_async(run) else _reported(run, tell)


_Tell = Callable[[ApiDocument, bool], None]
"""Reports to the catalog how a call ended: whether it failed."""


def _reported(run: Run, tell: _Tell) -> Run:
    @wraps(run)
    def reported(document: ApiDocument, arguments: dict[str, Any]) -> Any:  # noqa: ANN401 - as the API gives
        try:
            answer = run(document, arguments)
        except Exception:
            tell(document, True)
            raise
        if isinstance(answer, Awaitable):
            return _told(answer, document, tell)
        tell(document, False)
        return answer

    return reported


def _async_reported(run: Run, tell: _Tell) -> Run:
    @wraps(run)
    async def reported(document: ApiDocument, arguments: dict[str, Any]) -> Any:  # noqa: ANN401 - as the API gives
        return await _told(run(document, arguments), document, tell)

    return reported


async def _told(answer: Awaitable[Any], document: ApiDocument, tell: _Tell) -> Any:  # noqa: ANN401 - as above
    """The answer of a call, once its end was told."""
    try:
        given = await answer
    except Exception:
        await asyncio.to_thread(tell, document, True)
        raise
    await asyncio.to_thread(tell, document, False)
    return given
