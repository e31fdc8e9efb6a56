"""Systems to compare, as they are named on a command line: profiles, models, engines and run files."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import msgspec

from toolrank.errors import ToolrankError

_OPTIONS = ("encoder", "cross_encoder", "query_kind", "catalog")


class InvalidSystem(ToolrankError):
    """A system that is not named as it must be."""


class SystemSpec(msgspec.Struct, frozen=True, kw_only=True):
    """`PROFILE[,encoder=NAME][,cross_encoder=NAME][,query_kind=NAME][,catalog=URL]`, or `run:FILE`."""

    label: str
    """As it was written."""
    profile: str = ""
    run: Path | None = None
    catalog: str = ""
    """Empty: the catalog of the command."""
    models: Mapping[str, str] = {}
    """Setting → name, where it differs from the settings."""


def parse_system(text: str) -> SystemSpec:
    """The system that a text names.

    Raises:
        InvalidSystem: an unknown option, or no profile.
    """
    if text.startswith("run:"):
        return SystemSpec(label=text, run=Path(text.removeprefix("run:")))
    profile, *options = text.split(",")
    pairs = [option.partition("=") for option in options]
    for name, _, value in pairs:
        if name not in _OPTIONS or not value:
            raise InvalidSystem(
                f"{text!r}: {name!r} is not one of {', '.join(f'{option}=…' for option in _OPTIONS)}"
            )
    if not profile:
        raise InvalidSystem(f"{text!r}: a system begins with a profile, or is run:FILE")
    given = {name: value for name, _, value in pairs}
    return SystemSpec(label=text, profile=profile, catalog=given.pop("catalog", ""), models=given)
