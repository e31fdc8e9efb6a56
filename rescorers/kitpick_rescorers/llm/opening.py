"""Opens the language model that the settings name: an endpoint, or a folder of this machine."""

from __future__ import annotations

from pathlib import Path

from kitpick_rescorers.llm.endpoint import ChatEndpoint, LlmSettings
from kitpick_rescorers.llm.local import LocalModel
from kitpick_rescorers.llm.model import LanguageModel

LOCAL = "hf:"


def open_model(settings: LlmSettings) -> LanguageModel:
    """The model at `settings.url`: `hf:FOLDER` is loaded into this process, anything else is an endpoint.

    Raises:
        LlmUnavailable: what it needs is not installed, or the folder holds no model.
    """
    if settings.url.startswith(LOCAL):
        return LocalModel(Path(settings.url.removeprefix(LOCAL)))
    return ChatEndpoint(settings)
