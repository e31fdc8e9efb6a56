"""The one place where failures become messages and exit codes."""

from __future__ import annotations

import enum

from pydantic import ValidationError

from toolrank_engines.errors import EngineError, EngineUnavailable, UnknownEngine
from toolrank_engines.errors import MissingExtra as MissingClient
from toolrank_evaluation.errors import EvaluationError
from toolrank_evaluation.errors import MissingExtra as MissingEvaluation
from toolrank_ingest.errors import IngestError, MissingExtra, SourceBusy, SuspiciousShrink
from toolrank_models.errors import ModelError, NotBetter
from toolrank_rescorers.errors import RescorerError
from toolrank_rescorers.service.errors import InvalidSetting, MissingServe


class ToolrankError(Exception):
    """Base of what the front door itself raises."""


class EmptyCatalog(ToolrankError):
    """A search in a catalog that nothing was ingested into."""

    def __init__(self, url: str) -> None:
        super().__init__(f"{url}: the catalog is empty: take something in with `toolrank ingest SOURCE`")


class NotAServer(ToolrankError):
    """A command for search servers, given a catalog of another kind."""

    def __init__(self, url: str) -> None:
        super().__init__(f"{url}: nothing to set up: only catalogs in OpenSearch and Elasticsearch need it")


class InvalidAddress(ToolrankError):
    """An address of a service that cannot be understood."""


class ExitCode(enum.IntEnum):
    """What the exit code of a command means."""

    OK = 0
    UNEXPECTED = 1
    """A defect of this software: the traceback is shown."""
    USAGE = 2
    """Unknown option or missing argument, or a setting that is not valid."""
    INPUT = 3
    """A source, catalog, profile, dataset or request that cannot be used as it is."""
    UNAVAILABLE = 4
    """An engine, model or optional package that is missing or broken."""
    REFUSED = 5
    """Stopped to protect what is stored: a source shrank suspiciously, or another sync is running, or a
    trained model is no better than the one it would replace."""
    DEAD_LETTERS = 6
    """Done, but some entries were left out; the report says how many and why."""
    GATE = 7
    """An evaluation is below what `--min` and `--max-drop` ask for; the report was written."""


_CODES: tuple[tuple[type[BaseException], ExitCode], ...] = (
    (SuspiciousShrink, ExitCode.REFUSED),
    (SourceBusy, ExitCode.REFUSED),
    (MissingExtra, ExitCode.UNAVAILABLE),
    (MissingEvaluation, ExitCode.UNAVAILABLE),
    (MissingClient, ExitCode.UNAVAILABLE),
    (MissingServe, ExitCode.UNAVAILABLE),
    (InvalidSetting, ExitCode.USAGE),
    (UnknownEngine, ExitCode.INPUT),
    (EngineUnavailable, ExitCode.UNAVAILABLE),
    (NotBetter, ExitCode.REFUSED),
    (ModelError, ExitCode.UNAVAILABLE),
    (ValidationError, ExitCode.USAGE),
    (EngineError, ExitCode.INPUT),
    (IngestError, ExitCode.INPUT),
    (RescorerError, ExitCode.INPUT),
    (EvaluationError, ExitCode.INPUT),
    (ToolrankError, ExitCode.INPUT),
)
"""The first match counts."""

KNOWN = tuple(kind for kind, _ in _CODES)
"""Everything that is answered with a message instead of a traceback."""


def exit_code(error: BaseException) -> ExitCode:
    """The exit code of a failure."""
    return next((code for kind, code in _CODES if isinstance(error, kind)), ExitCode.UNEXPECTED)
