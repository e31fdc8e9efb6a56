"""`kitpick enrich`: a language model writes what APIs are for, and sample requests."""

from __future__ import annotations

from typing import Annotated

import typer
from rich.table import Table

from kitpick.cli.catalogs import existing_catalog
from kitpick.cli.console import note, print_json, print_table
from kitpick.cli.options import (
    CatalogOption,
    HoursOption,
    JsonOption,
    MaxCallsOption,
    MaxCostOption,
    MaxTokensOption,
    RetriesOption,
)
from kitpick.enrichment import EnrichReport, Estimate
from kitpick.errors import ExitCode
from kitpick.known_ids import require_known
from kitpick.model_set import llm_settings
from kitpick_rescorers.llm.meter import CallMeter, Caps


def enrich(
    catalog: CatalogOption = None,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Only estimate tokens and cost. Nobody is asked.")
    ] = False,
    undo: Annotated[bool, typer.Option("--undo", help="Forget everything that was written.")] = False,
    show: Annotated[
        str | None, typer.Option("--show", metavar="API", help="Print what was written about an API, by id.")
    ] = None,
    max_calls: MaxCallsOption = 10_000,
    max_tokens: MaxTokensOption = 20_000_000,
    max_cost: MaxCostOption = 10.0,
    hours: HoursOption = 8.0,
    retries: RetriesOption = 20,
    as_json: JsonOption = False,
) -> None:
    """Has a language model write what APIs are for, so that they are found by other words.

    Asks KITPICK_LLM_URL about every document that is new or changed: one sentence and three to five requests.
    Only texts that make others find their API better are kept, in a file of their own. No agent sees them.
    """
    with existing_catalog(catalog) as opened:
        opened.live()
        enricher = opened.enricher()
        if undo:
            count = enricher.store.undo()
            print_json({"forgotten": count}) if as_json else note(
                f"forgotten: what was written of {count:,} APIs"
            )
            return
        if show is not None:
            require_known(opened.engine, [show])
            print_json(enricher.store.entries().get(show))
            return
        estimate = enricher.estimate(llm_settings(opened.settings))
        if dry_run:
            print_json(estimate) if as_json else _print_estimate(estimate)
            return
        note(_in_words(estimate))
        model = opened.models.language_model()
        meter = CallMeter(model, Caps(hours * 3600, max_calls, max_tokens, max_cost, retries))
        report = enricher.run(meter, model.identity)
    print_json(report) if as_json else _print(report)
    if report.silent:
        note(f"nobody answers at {opened.settings.llm_url}: is that the endpoint, and does it run?")
        raise typer.Exit(ExitCode.UNAVAILABLE)


def _in_words(estimate: Estimate) -> str:
    tokens = estimate.prompt_tokens + estimate.completion_tokens
    return (
        f"{estimate.asked:,} of {estimate.documents:,} APIs are new or changed: at most {tokens:,} tokens, "
        f"cost {estimate.cost:.2f}"
    )


def _print_estimate(estimate: Estimate) -> None:
    table = Table("APIs", "to ask about", "gone", "prompt tokens", "answer tokens, at most", "cost, at most")
    counts = (estimate.documents, estimate.asked, estimate.gone)
    tokens = (estimate.prompt_tokens, estimate.completion_tokens)
    table.add_row(*(f"{count:,}" for count in (*counts, *tokens)), f"{estimate.cost:.2f}")
    print_table(table)


def _print(report: EnrichReport) -> None:
    table = Table("answered", "with texts", "dropped", "unusable", "failed", "texts kept", "tokens", "cost")
    outcomes = (report.outcomes.get(name, 0) for name in ("kept", "dropped", "unusable"))
    counts = (report.asked, *outcomes, report.failed, report.kept, report.tokens)
    table.add_row(*(f"{count:,}" for count in counts), f"{report.cost:.2f}")
    print_table(table)
    if report.stopped:
        note(f"stopped: {report.stopped}; run it again to continue")
