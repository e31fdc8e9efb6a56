"""Feedback from calls: an API that an agent calls counts as chosen, or as failed if the call fails."""

from __future__ import annotations

import asyncio
import inspect
import logging
from functools import wraps
from typing import Any

from kitpick.adapters.tools import Run
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
    """The same `run`, for the tools of a result, which tells the catalog what became of each call.

    In place of the result, its id does. Every adapter takes what is returned in place of `run`; it is async
    where `run` is. Feedback that cannot be stored is logged, and no call fails for it.
    """
    answer_id = result if isinstance(result, str) else result.id

    def tell(document: ApiDocument, *, failed: bool) -> None:
        chosen, others = ((), (document.id,)) if failed else ((document.id,), ())
        try:
            if answer_id:
                catalog.feedback(answer_id, chosen, failed=others, client=client, filter=filter)
        except KitpickError as error:
            _log.warning("feedback on %s was lost: %s", document.id, error)

    if inspect.iscoroutinefunction(run):

        @wraps(run)
        async def areported(document: ApiDocument, arguments: dict[str, Any]) -> Any:  # noqa: ANN401 - as the API gives
            try:
                answer = await run(document, arguments)
            except Exception:
                await asyncio.to_thread(tell, document, failed=True)
                raise
            await asyncio.to_thread(tell, document, failed=False)
            return answer

        return areported

    @wraps(run)
    def reported(document: ApiDocument, arguments: dict[str, Any]) -> Any:  # noqa: ANN401 - as the API gives
        try:
            answer = run(document, arguments)
        except Exception:
            tell(document, failed=True)
            raise
        tell(document, failed=False)
        return answer

    return reported
