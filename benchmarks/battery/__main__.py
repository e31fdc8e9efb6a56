"""The open battery: every profile on every set, answerable and not; its last line decides about ranking.

Sets and splits: `battery/sets.py`. Without more words it asks 150 requests a set of the split
`validation`, which tuning may look at; `--final` asks the tenth that is held out for good. What was computed
is remembered in `--cache` by the identity of the models: a second run with other profiles needs no model.

    scripts/bench battery --sets written,written-mcp --profiles dense,hybrid,kitpick --limit 50
    scripts/bench battery --time --profiles dense,hybrid,rerank,kitpick,benchmarks/profiles/before.toml
                                                               and what a search costs, beside `before`
    scripts/bench battery --models RUN/student                 shipped and new models in one table
    scripts/bench battery --sets written-requests,written-capabilities --profiles kitpick --final --limit 0
                                                               and the capabilities that an agent asks for
    scripts/bench battery --profiles dense,hybrid,kitpick --pool FOLDER
                                                               what they found, in batches to be graded
    scripts/bench battery --graded FOLDER                      the grades, into datasets/graded/pools.jsonl.gz
    scripts/bench battery --split train --profiles none --features fusion.npz --sets written --limit 4000

`KITPICK_MODELS`, and for single models `KITPICK_ENCODER`, `KITPICK_CROSS_ENCODER`, `KITPICK_QUERY_KIND` and
`KITPICK_LIST_RANKER`, choose what counts as shipped.
"""

from __future__ import annotations

import argparse
import json
import random
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import cast

import msgspec
import platformdirs
from rich.console import Console
from rich.table import Table
from shared_data import DATA, DATASETS, ROOT

from battery.facets import RequestFacets
from battery.feature_file import FeatureRows
from battery.figures import (
    RANKING,
    ProfileFigures,
    SetResult,
    difference,
    headline,
    probabilities,
)
from battery.judged import joined, read_batches_of, read_pools, with_grades, write_batches, write_pools
from battery.sets import (
    CAPABILITY_SETS,
    CHOOSING_SETS,
    SETS,
    BatterySet,
    DataFolders,
    kind_of,
    read_set,
    small_catalogs,
)
from battery.stores import LogitFile
from battery.systems import (
    TOP,
    LoadedModels,
    RequestOutcome,
    SetSystem,
    median_milliseconds,
    open_set,
)
from kitpick.settings import Settings
from kitpick_foundation.errors import KitpickError
from kitpick_ingest.embedder import EmbeddingCache
from kitpick_ingest.progress import LineProgress, NullProgress, Progress
from kitpick_models.locate import find_model
from kitpick_models.manifest import MANIFEST, read_manifest
from kitpick_models.runtime import load_cross_encoder, load_encoder, load_list_ranker, load_query_kind
from kitpick_models.settings import RuntimeSettings
from kitpick_rescorers.profiles import Profile, load_profile
from kitpick_training.calibration import reliability_bins
from kitpick_training.data.split import Split

LEARNED = ROOT / "benchmarks" / "profiles" / "learned.toml"
"""The profile whose stage `learned` features are written for."""
SMALL_SIZE = 200
"""Candidates of a small catalog: all of it."""
SMALL_STRANGERS = 2
CACHE = Path(platformdirs.user_cache_dir("kitpick")) / "battery"
PROFILES = ("bm25", "dense", "hybrid", "quick", "nnn", "rerank", "toolrerank", "kitpick")
DEFAULT = "kitpick"
ADAPTED = "kitpick adapted"
"""The default with the threshold that `kitpick adapt` gives it for the catalog of a set."""
FITTED = "{} fitted"
"""A profile as `kitpick adapt --queries` makes it of the first requests; judged on the others."""
FITTABLE = ("dense", "hybrid", DEFAULT)
"""Profiles that are fitted where they are asked for; the default tells by what."""
SAMPLES = 60
"""Requests that profiles are fitted to."""
LIMIT = 150
TIMED = 10
SHIPPED = "shipped"
_WIDTH = 150
Subsets = Mapping[str, Mapping[str, ProfileFigures]]
"""Facet → subset → figures."""


class Run(msgspec.Struct, frozen=True):
    """What was asked for."""

    sets: tuple[str, ...]
    profiles: dict[str, Profile]
    split: Split
    limit: int
    seed: int
    folders: DataFolders
    cache: Path
    models: tuple[Path, ...]
    timed: bool
    samples: int
    features: Path | None
    pool: Path | None
    """Folder for batches of what the profiles found, to be graded."""
    graded: Path | None
    """Folder of such batches with grades, which are taken in; nothing else is done then."""
    small: int
    """Requests of each set that small catalogs out of it are asked as well, for features."""

    @property
    def needs_scorer(self) -> bool:
        """Whether a profile reads pairs, or the features are to have logits."""
        asked = any("scorer" in profile.needs() for profile in self.profiles.values())
        return asked or self.features is not None


def main() -> int:
    """Prints tables and, last, one JSON object; 1 where it cannot run."""
    try:
        run = parsed(sys.argv[1:])
        if run.graded is not None:
            write_pools(joined(read_pools(), read_batches_of(run.graded)))
            return 0
        figures = battery(run, LineProgress())
    except KitpickError as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    print(json.dumps(rounded(figures)))
    return 0


def parsed(arguments: Sequence[str]) -> Run:
    """The run that the arguments ask for."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    names = ", ".join(SETS | CHOOSING_SETS | CAPABILITY_SETS)
    parser.add_argument("--sets", help=f"names with commas (default: all that the split has): {names}")
    parser.add_argument("--profiles", default=",".join(PROFILES), help="names or .toml files, or: none")
    parser.add_argument("--limit", type=int, default=LIMIT, help="requests a set, a seeded sample; 0: all")
    parser.add_argument("--seed", type=int, default=0, help="of the sample and of the intervals")
    parser.add_argument("--split", choices=("train", "validation"), default="validation")
    parser.add_argument("--final", action="store_true", help="the tenth held out for good; never to tune on")
    parser.add_argument("--models", type=Path, action="append", default=[], help=MODELS_HELP)
    parser.add_argument("--cache", type=Path, default=CACHE, help=f"what is remembered (default: {CACHE})")
    parser.add_argument("--data", type=Path, default=DATA)
    parser.add_argument(
        "--time", action="store_true", help=f"median processor time of {TIMED} whole searches a set"
    )
    parser.add_argument("--samples", type=int, default=SAMPLES, help="requests that profiles are fitted to")
    parser.add_argument(
        "--features", type=Path, metavar="FILE", help="write rows to learn a fusion from, .npz"
    )
    parser.add_argument(
        "--small", type=int, default=0, help="features: requests a set also asked of small catalogs out of it"
    )
    parser.add_argument(
        "--graded", type=Path, metavar="FOLDER", help="take in the grades of such batches, and end"
    )
    parser.add_argument(
        "--pool", type=Path, metavar="FOLDER", help="write what was found and nobody has graded, in batches"
    )
    given = parser.parse_args(arguments)
    split: Split = "test" if given.final else given.split
    sets = given.sets.split(",") if given.sets else [*SETS, *(CHOOSING_SETS if split == "validation" else ())]
    names = [] if given.profiles in ("", "none") else given.profiles.split(",")
    return Run(
        sets=tuple(sets),
        profiles={profile.name: profile for profile in map(load_profile, names)},
        split=split,
        limit=given.limit or sys.maxsize,
        seed=given.seed,
        folders=DataFolders(given.data, (given.data / "written", DATASETS / "written")),
        cache=given.cache,
        models=tuple(given.models),
        timed=given.time,
        samples=given.samples,
        features=given.features,
        pool=given.pool,
        graded=given.graded,
        small=given.small,
    )


MODELS_HELP = "a folder of models, or one model, beside the shipped ones in the same table; may be repeated"


def battery(run: Run, progress: Progress) -> dict[str, object]:
    """Runs everything; the figures of the shipped models, and under `variants` those of others."""
    pools = read_pools()
    sets = [
        with_grades(read_set(name, run.folders, run.split).sample(run.limit, run.seed), pools)
        for name in run.sets
    ]
    rows = FeatureRows(load_profile(str(LEARNED)), sets) if run.features else None
    results: dict[str, list[SetResult]] = {}
    with ExitStack() as stack:
        cache = EmbeddingCache(run.cache / "vectors.db")
        stack.callback(cache.close)
        logits = LogitFile(run.cache / "logits.db")
        stack.callback(logits.close)
        choices = list(chosen_models(run))
        for battery_set in sets:
            for models in choices:
                result = asked(run, battery_set, models, Stores(cache, logits), progress, rows)
                results.setdefault(models.label, []).append(result)
            if run.profiles:
                print_set({label: found[-1] for label, found in results.items()}, run)
    if rows is not None and run.features is not None:
        progress.note(f"{run.features}: {rows.write(run.features):,} rows of features")
    if run.pool is not None:
        progress.note(
            f"{run.pool}: {write_batches(run.pool, sets, results[SHIPPED], run.profiles):,} requests to grade"
        )
    return reported(results, run)


class Stores(msgspec.Struct, frozen=True):
    """What is remembered between runs."""

    vectors: EmbeddingCache
    logits: LogitFile


def chosen_models(run: Run) -> Iterator[LoadedModels]:
    """The models that the settings name, then those of each `--models`, where it has one of a kind."""
    settings = Settings()
    named: dict[str, str] = dict(settings.chosen_models().names().items())
    yield loaded(SHIPPED, named, run, settings)
    for folder in run.models:
        yield loaded(folder.name, named | models_in(folder), run, settings)


def models_in(folder: Path) -> dict[str, str]:
    """Kind → path of the models in a folder, the last by name where there are several of a kind.

    Raises:
        UnknownModel: there is none.
    """
    places = [path.parent for path in sorted(folder.glob(f"*/{MANIFEST}"))]
    if not places:
        places = [find_model(folder)]
    return {read_manifest(place).kind: str(place) for place in places}


def loaded(label: str, named: dict[str, str], run: Run, settings: Settings) -> LoadedModels:
    """Models by kind and name; a cross-encoder only where it is needed."""
    runtime = RuntimeSettings(provider=settings.provider, threads=settings.threads)
    needs_ranker = any("ranker" in profile.needs() for profile in run.profiles.values())
    needs_kind = any("query_kind" in profile.needs() for profile in run.profiles.values())
    return LoadedModels(
        label,
        load_encoder(named["encoder"], runtime),
        load_cross_encoder(named["cross_encoder"], runtime) if run.needs_scorer else None,
        load_query_kind(named["query_kind"]) if needs_kind and "query_kind" in named else None,
        load_list_ranker(named["list_ranker"], runtime) if needs_ranker and "list_ranker" in named else None,
    )


def asked(
    run: Run,
    battery_set: BatterySet,
    models: LoadedModels,
    stores: Stores,
    progress: Progress,
    rows: FeatureRows | None,
) -> SetResult:
    """Asks every request of a set of every profile."""
    scorer = models.scorer
    facets = RequestFacets(battery_set, None if scorer is None else scorer.manifest.is_seen)
    asking = run.profiles.values() or [load_profile(str(LEARNED))]
    size = max(p.first_stage.size_for(TOP) for p in asking)
    with open_set(battery_set, models, run.cache, stores.vectors, progress) as engine:
        system = SetSystem(battery_set, engine, models.remembering(stores.vectors, stores.logits))
        fitted = fitted_profiles(run, system, size)
        profiles = run.profiles | adapted_default(run, system, size) | fitted
        matrix = next((each.request_matrix() for each in fitted.values()), None)
        outcomes: dict[str, list[RequestOutcome]] = {name: [] for name in profiles}
        with progress.phase(f"{battery_set.name} {models.label}", len(battery_set.requests)) as advance:
            for number, request in enumerate(battery_set.requests):
                wanted = system.asked(request.text, size)
                turned = wanted if matrix is None else system.asked(request.text, size, matrix)
                for name, profile in profiles.items():
                    if name in fitted and number < run.samples:
                        continue
                    outcomes[name].append(
                        system.outcome_of_steps(request, profile, size)
                        if request.steps
                        else system.outcome(request, turned if name in fitted else wanted, profile)
                    )
                if rows is not None and models.label == SHIPPED:
                    rows.add(system, request, wanted)
                advance(1)
        if rows is not None and models.label == SHIPPED:
            for request in rows.strangers(battery_set):
                rows.add_stranger(system, request, system.asked(request.text, size))
            for request in system.cohort() if not battery_set.documents_of else ():
                rows.add_cohort(system, request, system.asked(request.text, size))
            for small in small_catalogs(battery_set, run.small, run.seed):
                add_small(run, small, models, stores, rows)
        taken = {}
        if run.timed and run.profiles:
            plain = SetSystem(battery_set, engine, models)
            taken = median_milliseconds(plain, run.profiles, battery_set.requests[:TIMED])
    return SetResult(
        battery_set.name,
        len(battery_set.documents),
        battery_set.has_hierarchy,
        outcomes,
        {request.id: facets.of(request) for request in battery_set.requests},
        taken,
        battery_set.split or "",
    )


def add_small(run: Run, small: BatterySet, models: LoadedModels, stores: Stores, rows: FeatureRows) -> None:
    """Adds what a small catalog is asked: its own requests, and strangers."""
    with (
        TemporaryDirectory() as folder,
        open_set(small, models, Path(folder), stores.vectors, NullProgress()) as engine,
    ):
        system = SetSystem(small, engine, models.remembering(stores.vectors, stores.logits))
        for request in small.requests:
            rows.add(system, request, system.asked(request.text, SMALL_SIZE))
        for request in random.Random(small.requests[0].id).sample(rows.strangers(small), SMALL_STRANGERS):
            rows.add_stranger(system, request, system.asked(request.text, SMALL_SIZE))


def adapted_default(run: Run, system: SetSystem, size: int) -> dict[str, Profile]:
    """The default with the threshold that a cohort gives, where it is asked."""
    found = system.adapted(run.profiles[DEFAULT], size) if DEFAULT in run.profiles else None
    return {} if found is None else {ADAPTED: found}


def fitted_profiles(run: Run, system: SetSystem, size: int) -> dict[str, Profile]:
    """Two plain rankings and the default, fitted to the first requests; none where too few are left."""
    requests = system.set.requests
    names = [name for name in FITTABLE if name in run.profiles]
    if DEFAULT not in names or len(requests) < 2 * run.samples or any(each.steps for each in requests):
        return {}
    folder = run.cache / "matrices"
    chosen = [run.profiles[name] for name in names]
    fitted = system.adapted_to(requests[: run.samples], chosen, size, folder)
    return {FITTED.format(name): profile for name, profile in zip(names, fitted, strict=True)}


def print_set(results: dict[str, SetResult], run: Run) -> None:
    """The tables of one set: a line for each profile with each choice of models, then its subsets."""
    result = next(iter(results.values()))
    requests = len(next(iter(result.outcomes.values())))
    of_split = f"split {result.split}" if result.split else "never trained on"
    kind = kind_of(result.name)
    title = f"{result.name} ({kind}, {of_split}): {requests} requests, {result.apis:,} APIs"
    table = Table("profile", *RANKING, *_SURENESS, title=title)
    columns: dict[str, Subsets] = {}
    for label, found in results.items():
        for profile in found.outcomes:
            name = profile if label == SHIPPED else f"{profile} {label}"
            table.add_row(name, *cells(found.figures(profile, run.seed)))
            columns[name] = found.subsets(profile, run.seed)
    console = Console(width=_WIDTH)
    console.print(table)
    console.print(divided(columns, f"{result.name}, divided: recall@5 / NDCG@5"))


def divided(columns: dict[str, Subsets], title: str) -> Table:
    """A line for each subset, a column for each profile."""
    table = Table("requests that are", "", *columns, title=title)
    rows: dict[tuple[str, str], dict[str, ProfileFigures]] = {}
    for name, facets in columns.items():
        for facet, subsets in facets.items():
            for subset, figures in subsets.items():
                rows.setdefault((facet, subset), {})[name] = figures
    for (facet, subset), found in sorted(rows.items()):
        requests = next(iter(found.values())).requests
        table.add_row(f"{facet}: {subset}", str(requests), *(short(found.get(name)) for name in columns))
    return table


def short(figures: ProfileFigures | None) -> str:
    """Two means."""
    if figures is None:
        return "–"
    return f"{figures.ranking['recall@5'].mean:.0f} / {figures.ranking['ndcg@5'].mean:.0f}"


_SURENESS = ("refused", "caught", "ECE first", "ECE five (floor)", "CPU ms")


def ranking_cells(figures: ProfileFigures) -> list[str]:
    """Means with their intervals."""
    return [f"{each.mean:.1f} [{each.low:.0f}–{each.high:.0f}]" for each in figures.ranking.values()]


def cells(figures: ProfileFigures) -> list[str]:
    """One line of a set's table."""
    five = "–" if figures.ece_five is None else f"{figures.ece_five:.3f} ({figures.ece_floor:.3f})"
    rates = [
        "–" if value is None else f"{value:.3f}"
        for value in (figures.false_alarms, figures.caught, figures.ece_first)
    ]
    taken = "–" if figures.milliseconds is None else f"{figures.milliseconds:.0f}"
    return [*ranking_cells(figures), *rates, five, taken]


def reported(results: dict[str, list[SetResult]], run: Run) -> dict[str, object]:
    """The last line: what decides, then every figure of every set and profile."""
    figures = {label: figures_of(found, run) for label, found in results.items()} if run.profiles else {}
    limit = None if run.limit == sys.maxsize else run.limit
    asked_for = {"split": run.split, "limit": limit, "seed": run.seed}
    shipped = figures.pop(SHIPPED, {})
    return asked_for | shipped | ({"variants": figures} if figures else {})


def figures_of(results: list[SetResult], run: Run) -> dict[str, object]:
    """The figures of one choice of models."""
    sets: dict[str, object] = {}
    sure: dict[str, object] = {}
    for result in results:
        sets[result.name] = {
            "apis": result.apis,
            "kind": kind_of(result.name),
            "split": result.split or None,
            "hierarchy": result.has_hierarchy,
            "profiles": {name: plain(result.figures(name, run.seed)) for name in result.outcomes},
            "gained_by_fitting": gained(result, run.seed),
            "divided": {
                name: {
                    facet: {subset: plain(each) for subset, each in found.items()}
                    for facet, found in result.subsets(name, run.seed).items()
                }
                for name in result.outcomes
            },
        }
        if DEFAULT in result.outcomes:
            pairs = probabilities(result.outcomes[DEFAULT], TOP)
            sure[result.name] = [msgspec.to_builtins(each) for each in reliability_bins(pairs)]
    return {
        **headline(results, DEFAULT, run.seed, {ADAPTED: "_adapted", FITTED.format(DEFAULT): "_fitted"}),
        "sets": sets,
        "reliability": sure,
    }


def gained(result: SetResult, seed: int) -> dict[str, float]:
    """Points of NDCG@5 that fitting gives each profile, on the requests that took no part in it."""
    fitted = {name: FITTED.format(name) for name in FITTABLE}
    compared = {
        name: difference([result], variant, (name,), seed)
        for name, variant in fitted.items()
        if {name, variant} <= result.outcomes.keys()
    }
    return {name: found.mean for name, found in compared.items() if found is not None}


def plain(figures: ProfileFigures) -> dict[str, object]:
    """Figures with the ranking's as [mean, low, high]."""
    values = cast("dict[str, object]", msgspec.to_builtins(figures))
    ranking = {name: [each.mean, each.low, each.high] for name, each in figures.ranking.items()}
    return {name: value for name, value in values.items() if name != "ranking"} | ranking


def rounded(value: object) -> object:
    """Numbers with four decimals, in whatever depth."""
    if isinstance(value, float):
        return round(value, 4)
    if isinstance(value, dict):
        return {name: rounded(each) for name, each in value.items()}
    return [rounded(each) for each in value] if isinstance(value, list) else value


if __name__ == "__main__":
    sys.exit(main())
