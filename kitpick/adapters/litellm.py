"""LiteLLM: a hook of its proxy that forwards only the tools that a request needs."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Iterable
from typing import Any

from kitpick.adapters.errors import needing
from kitpick.adapters.offered_tools import OfferedTools, forced_names, function_name
from kitpick.conversation import NothingAsked, called_names, messages_of, request_of, until_request
from kitpick.settings import Settings
from kitpick_foundation.errors import KitpickError

with needing("litellm"):
    from litellm.integrations.custom_logger import CustomLogger

_log = logging.getLogger(__name__)


class NarrowTools(CustomLogger):
    """Keeps the k tools that suit a request best, in the order in which they came.

    Never removed are tools that `tool_choice` names, those that the conversation has called already, hosted
    ones, which are no functions, and those that `always` names. They count among the k. Chat completions,
    Responses and Anthropic's messages are understood; a follow-up is read with what it refers to. Where
    nothing can be ranked in time, all tools stay.
    What was done is noted in the request's metadata under `kitpick`, for whatever logs it.
    """

    def __init__(
        self,
        k: int = 10,
        deadline: float = 5.0,
        settings: Settings | None = None,
        always: Iterable[str] = (),
    ) -> None:
        """Models, profile and rescorer are those of the settings; `deadline` is in seconds."""
        super().__init__()
        self._k = k
        self._deadline = deadline
        self._always = frozenset(always)
        self._offered = OfferedTools(settings)

    async def async_pre_call_hook(
        self,
        user_api_key_dict: Any,  # noqa: ANN401 - the proxy's own
        cache: Any,  # noqa: ANN401 - the proxy's own
        data: dict[str, Any],
        call_type: str,
    ) -> dict[str, Any]:
        """The request with fewer tools, or as it was."""
        tools = data.get("tools")
        if not isinstance(tools, list) or len(tools) <= self._k:
            return data
        try:
            request = request_of(until_request(messages_of(data)))
        except NothingAsked:
            return data
        kept, note = await self._narrowed(data, tools, request)
        data["tools"] = kept
        _noted(data, note | {"offered": len(tools), "kept": len(kept)})
        return data

    def close(self) -> None:
        """Removes what was kept of tool lists."""
        self._offered.close()

    async def _narrowed(
        self, data: dict[str, Any], tools: list[Any], request: str
    ) -> tuple[list[Any], dict[str, Any]]:
        names = [function_name(tool) for tool in tools]
        needed = self._always | called_names(messages_of(data)) | forced_names(data)
        functions = [tool for tool, name in zip(tools, names, strict=True) if name]
        try:
            search = asyncio.to_thread(self._offered.search, request, functions, len(functions))
            result = await asyncio.wait_for(search, self._deadline)
        except asyncio.TimeoutError:
            return tools, _left(f"no answer within {self._deadline:g} s")
        except KitpickError as error:
            return tools, _left(str(error))
        free = max(0, self._k - sum(not name or name in needed for name in names))
        # What could not be ranked comes last, so that never fewer than k tools are left.
        ranked = dict.fromkeys([*(hit.document.api for hit in result.hits), *names])
        stay = needed.union([name for name in ranked if name and name not in needed][:free], {""})
        kept = [tool for tool, name in zip(tools, names, strict=True) if name in stay]
        return kept, {"degraded": [f"{item.stage}: {item.reason}" for item in result.degraded]}


def _left(reason: str) -> dict[str, Any]:
    _log.warning("degraded: all tools are passed on: %s", reason)
    return {"degraded": [f"narrow: {reason}"]}


def _noted(data: dict[str, Any], note: dict[str, Any]) -> None:
    """Where LiteLLM keeps its own metadata: beside that of a provider which has some too."""
    key = "litellm_metadata" if isinstance(data.get("litellm_metadata"), dict) else "metadata"
    if not isinstance(data.get(key), dict):
        data[key] = {}
    data[key]["kitpick"] = note
