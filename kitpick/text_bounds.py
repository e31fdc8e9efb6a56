"""How much of an API's text the models in use read: for `kitpick ingest` and `kitpick doctor`."""

from __future__ import annotations

from collections.abc import Iterator

from kitpick.model_set import ModelSet
from kitpick.settings import Settings
from kitpick_engines.text import rerank_text, retrieval_text
from kitpick_foundation.errors import KitpickError
from kitpick_ingest.cut_texts import TextBound
from kitpick_models.runtime import load_pair_tokens
from kitpick_rescorers.profiles import load_profile

_REQUEST = 16
"""Tokens of a request of one sentence."""


def text_bounds(settings: Settings, models: ModelSet) -> Iterator[TextBound]:
    """The bounds of the encoder, and of the cross-encoder if searches use one of this machine.

    A model that cannot be loaded has none: searches say what is wrong with it.
    """
    try:
        encoder = models.encoder
        yield TextBound("encoder", encoder.reads, "", retrieval_text, encoder.tokens.longer)
        if not settings.rescorer and "scorer" in load_profile(settings.profile).needs():
            tokens, room = load_pair_tokens(models.chosen.cross_encoder, encoder)
            beside = f"a request of {_REQUEST}"
            yield TextBound("cross-encoder", room - _REQUEST, beside, rerank_text, tokens.longer)
    except KitpickError:
        return
