"""`python -m kitpick_training.own.train_demorank`: trains the choice of demonstrations for DemoRank.

A demonstration is good if the language model in use answers better with it. Answers are stored as they
arrive: a run that was stopped continues where it was. Needs the extras `train` and `llm`.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from kitpick.catalog import Catalog
from kitpick.cli.catalogs import existing_catalog
from kitpick.cli.console import complain, print_json
from kitpick.cli.progress import progress
from kitpick.errors import exit_code
from kitpick.evaluation.measuring import Plan, judged_queries
from kitpick_foundation.errors import KitpickError
from kitpick_rescorers.llm.meter import Caps
from kitpick_training.errors import require_torch
from kitpick_training.own.demonstrations import DemoTraining, pool_of_requests, train_demonstrations
from kitpick_training.own.demorank import Demonstration, read_pool
from kitpick_training.own.distillation import teacher_of
from kitpick_training.own.requests import FIRST_STAGE
from kitpick_training.recipe import recipe_path


def main() -> None:
    """Trains, prints a report as JSON, and ends with the exit codes of `kitpick`."""
    asked = _parser().parse_args()
    try:
        _train(asked)
    except KitpickError as error:
        complain(error)
        sys.exit(exit_code(error))


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--catalog", help="URL of the catalog")
    parser.add_argument("--out", type=Path, required=True, help="folder for the demonstrations")
    parser.add_argument("--run", type=Path, help="folder for answers and checkpoints; OUT.run unless named")
    source = parser.add_mutually_exclusive_group(required=True)
    source.add_argument("--pool", type=Path, help='JSON lines: {"query": …, "api": id, "useful": true}')
    source.add_argument("--queries", type=Path, help="judged requests to make the pool from")
    parser.add_argument("--retriever-recipe", default="demo-retriever")
    parser.add_argument("--reranker-recipe", default="demo-reranker")
    parser.add_argument("--questions", type=int, default=200, help="most entries of the pool to ask about")
    parser.add_argument("--shots", type=int, default=3, help="demonstrations in one prompt")
    parser.add_argument("--holdout", type=float, default=0.2, help="share of the questions kept aside")
    parser.add_argument("--max-calls", type=int, default=20_000)
    parser.add_argument("--max-tokens", type=int, default=50_000_000)
    parser.add_argument("--max-cost", type=float, default=10.0, help="by the prices in the settings")
    parser.add_argument("--hours", type=float, default=8.0)
    parser.add_argument("--retries", type=int, default=20, help="over all calls together")
    return parser


def _train(asked: argparse.Namespace) -> None:
    require_torch()
    caps = Caps(asked.hours * 3600, asked.max_calls, asked.max_tokens, asked.max_cost, asked.retries)
    training = DemoTraining(
        out=asked.out,
        run=asked.run or asked.out.with_name(f"{asked.out.name}.run"),
        retriever=recipe_path(asked.retriever_recipe),
        reranker=recipe_path(asked.reranker_recipe),
        caps=caps,
        questions=asked.questions,
        shots=asked.shots,
        holdout=asked.holdout,
    )
    with existing_catalog(asked.catalog) as catalog:
        teacher = teacher_of("llm:", catalog.settings)
        pool = _pool(catalog, asked)
        print_json(train_demonstrations(catalog, teacher, pool, training, progress()))


def _pool(catalog: Catalog, asked: argparse.Namespace) -> list[Demonstration]:
    """The demonstrations of a file, or those that are made of judged requests."""
    if asked.pool is not None:
        return read_pool(asked.pool)
    return pool_of_requests(judged_queries(catalog, asked.queries, Plan(profiles=(FIRST_STAGE,))), progress())


if __name__ == "__main__":
    main()
