"""Requests of operators on the explain page to adapt the service's profile to the catalog."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from kitpick.settings import PREFIX
from kitpick.ui.adapt_runs import AdaptRuns
from kitpick.ui.errors import NoAdapted, NoMarks, NoPlace, NotOperator
from kitpick.ui.protocol import AdaptCall, AdaptState, AdaptStop
from kitpick_engines.contract import Filter
from kitpick_evaluation.errors import InvalidReport
from kitpick_evaluation.report import check_writable
from kitpick_foundation.places import HiddenPlaces
from kitpick_service.core import Service
from kitpick_service.ticket import Ticket

_MODELS = ("models", "encoder", "cross_encoder", "query_kind", "list_ranker", "provider", "threads")


PageCaller = tuple[Filter, Path | None]
"""What somebody may see, and the file of their marks; None where none are taken."""


class AdaptDesk:
    """Answers operators. Safe to use from several threads.

    Others are told `NotOperator`, and all `NoAdapted` where nobody said where a profile goes.
    """

    def __init__(
        self,
        service: Service,
        catalog: str,
        file: Path | None,
        places: HiddenPlaces,
        caller: Callable[[Ticket], PageCaller],
    ) -> None:
        """`file` takes the adapted profile; without one nobody adapts anything."""
        self._file = file
        self._profile = service.settings.profile
        self._caller = caller
        self._runs = AdaptRuns(_environment(service, catalog), places)

    def offered_to(self, ticket: Ticket) -> bool:
        """Whether this caller may adapt the profile here."""
        return self._file is not None and ticket.bearer.operator

    def adapting(self, call: None, ticket: Ticket) -> AdaptState:
        """How the run that adapts the profile stands."""
        self._file_for(ticket)
        return self._runs.state()

    def adapt(self, call: AdaptCall, ticket: Ticket) -> AdaptState:
        """Begins to adapt the service's profile to what this caller may see, by descriptions or their marks.

        Raises:
            NoMarks: it is to be by marks, and none are taken.
            AdaptUnderWay, NoAdapt: another run is under way, or its process cannot be started.
        """
        file, (permitted, marks) = self._file_for(ticket), self._caller(ticket)
        options = [f"--output={file}", f"--profile={self._profile}", *_options_of(permitted)]
        if call.by == "marks":
            if marks is None:
                raise NoMarks
            options.append(f"--queries={marks}")
        return self._runs.start(call.by, options, _audit(ticket))

    def stop(self, call: AdaptStop, ticket: Ticket) -> AdaptState:
        """Ends the run that adapts the profile."""
        self._file_for(ticket)
        return self._runs.stop(_audit(ticket))

    def close(self) -> None:
        """Ends what adapts a profile, and waits for its end."""
        self._runs.close()

    def _file_for(self, ticket: Ticket) -> Path:
        if self._file is None:
            raise NoAdapted
        if not ticket.bearer.operator:
            raise NotOperator
        return self._file


def check_adapted_file(file: Path) -> None:
    """Finds out at the start whether an adapted profile can be written, and read again.

    Raises:
        NoPlace: it cannot.
    """
    if file.suffix != ".toml":
        raise NoPlace("--adapted", file, "a profile's file ends in .toml")
    if not file.parent.is_dir():
        raise NoPlace("--adapted", file, f"there is no folder {file.parent}")
    try:
        check_writable(file)
    except InvalidReport as error:
        raise NoPlace("--adapted", file, "it cannot be written") from error


def _environment(service: Service, catalog: str) -> dict[str, str]:
    """The catalog and the models of this process, as `kitpick adapt` reads them."""
    chosen = {name: str(getattr(service.settings, name)) for name in _MODELS}
    chosen |= {"catalog": catalog, "rescorer": ""}
    return {f"{PREFIX}{name.upper()}": value for name, value in chosen.items()}


def _options_of(permitted: Filter) -> list[str]:
    principals = [f"--principal={name}" for name in sorted(permitted.principals)]
    return [*([f"--tenant={permitted.tenant}"] if permitted.tenant else []), *principals]


def _audit(ticket: Ticket) -> dict[str, object]:
    named = {"key": ticket.bearer.name} if ticket.bearer.name else {}
    return {"request_id": ticket.request_id, **named}
