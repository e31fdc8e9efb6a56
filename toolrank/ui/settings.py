"""What an operator says about the explain page."""

from __future__ import annotations

from pathlib import Path

import msgspec

from toolrank_engines.contract import Filter

LOOPBACK = ("127.0.0.1", "localhost", "::1")


class UiSettings(msgspec.Struct, frozen=True, kw_only=True):
    """Settings of the page."""

    catalog: str | None = None
    """URL; by default the one in the settings of catalogs."""
    marks: Path | None = None
    """File that marks go to; none are taken without one."""
    permitted: Filter = Filter()
    """Who asks where the service asks for no keys; with keys, each says so of its bearer."""
