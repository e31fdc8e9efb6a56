"""kitpick finds the right set of tools for a request, in a catalog of thousands.

    from kitpick import Catalog

    with Catalog.open("sqlite:tools.db") as catalog:
        catalog.ingest("openapi:weather.yaml")
        print(catalog.search("will it rain in Paris tomorrow?").definitions("openai"))

Everything listed here is loaded when it is first used: importing the package itself costs nothing.
"""

from __future__ import annotations

import os
from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from kitpick.catalog import Catalog
    from kitpick.result import SearchResult
    from kitpick.settings import Settings
    from kitpick_engines.contract import Filter
    from kitpick_foundation.errors import KitpickError
    from kitpick_ingest.sync import SyncOptions, SyncReport
    from kitpick_rescorers.intents.store import Intent
    from kitpick_rescorers.profiles import Profile
    from kitpick_rescorers.search import SearchHit
    from kitpick_rescorers.state import HeldIdentifier

# Threads of numpy's OpenBLAS wait for the next product by spinning, for a tenth of a second behind each, on
# processors that the models need. It reads this when numpy is first imported: 2^4 cycles, then they sleep.
os.environ.setdefault("OPENBLAS_THREAD_TIMEOUT", "4")

__all__ = [
    "Catalog",
    "Filter",
    "HeldIdentifier",
    "Intent",
    "KitpickError",
    "Profile",
    "SearchHit",
    "SearchResult",
    "Settings",
    "SyncOptions",
    "SyncReport",
]

_MODULES = {
    "Catalog": "kitpick.catalog",
    "Filter": "kitpick_engines.contract",
    "HeldIdentifier": "kitpick_rescorers.state",
    "Intent": "kitpick_rescorers.intents.store",
    "KitpickError": "kitpick_foundation.errors",
    "Profile": "kitpick_rescorers.profiles",
    "SearchHit": "kitpick_rescorers.search",
    "SearchResult": "kitpick.result",
    "Settings": "kitpick.settings",
    "SyncOptions": "kitpick_ingest.sync",
    "SyncReport": "kitpick_ingest.sync",
}
"""Name → module that defines it."""


def __getattr__(name: str) -> object:
    if name not in _MODULES:
        raise AttributeError(f"module 'kitpick' has no attribute {name!r}")
    found: object = getattr(import_module(_MODULES[name]), name)
    globals()[name] = found  # the next time it is simply there
    return found


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
