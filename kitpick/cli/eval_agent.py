"""`kitpick eval-agent`: recorded tasks, played by a language model over all tools and over searched ones."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer
from rich.table import Table

from kitpick.cli.catalogs import existing_catalog
from kitpick.cli.console import note, print_json, print_table
from kitpick.cli.options import CatalogOption, JsonOption, PrincipalOption, TenantOption, filter_of
from kitpick.cli.progress import progress
from kitpick.evaluation.agents import (
    AgentEvaluation,
    Played,
    SilentModel,
    ToolsShown,
    WayReport,
    read_tasks,
    summed,
)
from kitpick.model_set import llm_settings
from kitpick_foundation.errors import InvalidSetting
from kitpick_rescorers.llm.endpoint import ChatEndpoint


def eval_agent(
    tasks: Annotated[
        Path, typer.Argument(help="JSON lines: prompt, needs (tool, arguments), answers.", metavar="TASKS")
    ],
    catalog: CatalogOption = None,
    way: Annotated[
        list[ToolsShown] | None,
        typer.Option("--way", help="What the model is shown. Repeatable. Default: every way."),
    ] = None,
    limit: Annotated[int | None, typer.Option("--limit", min=1, help="The first so many tasks.")] = None,
    k: Annotated[int, typer.Option("-k", min=1, help="Tools that a search finds.")] = 5,
    timeout: Annotated[
        float, typer.Option("--timeout", min=0.1, help="Seconds that one turn of the model may take.")
    ] = 120.0,
    tenant: TenantOption = "",
    principal: PrincipalOption = None,
    as_json: JsonOption = False,
) -> None:
    """Plays recorded tasks with the model of KITPICK_LLM_URL over all tools, and over searched ones.

    Tools are not called: their answers are recorded in the tasks.
    """
    asked = read_tasks(tasks)[:limit]
    permitted = filter_of(tenant, principal)
    with existing_catalog(catalog) as opened:
        if not opened.settings.llm_url:
            raise InvalidSetting("no language model is named: set KITPICK_LLM_URL and KITPICK_LLM_MODEL")
        endpoint = ChatEndpoint(llm_settings(opened.settings))
        evaluation = AgentEvaluation(opened, endpoint, permitted, k, timeout)
        evaluation.check(asked)
        played: list[Played] = []
        pairs = [(task, each) for each in way or ToolsShown for task in asked]
        with progress().phase("play", len(pairs)) as advance:
            for task, each in pairs:
                played.append(evaluation.play(task, each))
                if played[0].problem and not played[0].turns:
                    raise SilentModel(opened.settings.llm_url, played[0].problem)
                advance(1)
    reports = summed(played)
    print_json({"ways": reports, "tasks": played}) if as_json else _print(reports, played)


def _print(reports: list[WayReport], played: list[Played]) -> None:
    table = Table(
        "tools", "tasks", "solved", "prompt tokens", "cached", "answer tokens", "wrong calls", "destructive"
    )
    for report in reports:
        counts = (
            report.prompt_tokens, report.cached_tokens, report.completion_tokens,
            report.wrong_calls, report.destructive_calls,
        )  # fmt: skip
        table.add_row(
            report.way.value, f"{report.tasks:,}", f"{report.solved:,}", *(f"{count:,}" for count in counts)
        )
    print_table(table)
    for one in played:
        if one.problem:
            note(f"{one.task}, {one.way.value}: {one.problem}")
