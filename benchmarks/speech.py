"""What people type: other languages, contrasts, names, deeds said by nouns, slips, confirmed requests, talks, stories.

| part | asks | figures |
|---|---|---|
| `foreign` | requests said in fourteen languages (`../shared/data/languages/test.jsonl`) and the same in English | `foreign_share` of R@5, refusals of both |
| `translated` | the foreign requests, put into English by a scripted endpoint that knows the English ones, and by one that fails | `translated_share` of R@5, `translation_calls` a request, characters sent and answered, `failed_share` |
| `contrasts` | `datasets/contrasts.jsonl`: "stop them, but do not terminate them" | first hit right, `contrast_wrong` (one that is ruled out), `destructive_first` (one that ends something unasked) |
| `ruled_out` | `datasets/contrasts_languages.jsonl`: such contrasts in fourteen languages, and statements that rule nothing out ("the server does not start, …") | `ruled_out_first`, `statement_first`, `ruled_out_ends` |
| `exact` | every name of the twelve services, of `../shared/data/openapi` and of `toucan` as it is, and a fifth of them in other styles and in a question | `exact_first`; `exact_front`: all that have the name come before all others |
| `light` | `datasets/light_verbs.jsonl`: "take a snapshot of the disk" | `light_first`, `light_recall` |
| `typos` | `datasets/typos.jsonl` and the same requests without slips | `typo_share` of R@5 |
| `confirmed` | requests of `contrasts`, after an operator's sample or two clients named an API for them | `confirmed_first`, `others_changed` |
| `conversations` | `datasets/followups.jsonl`, the held-out half, and of `datasets/conversations.jsonl` the half that chose nothing | `conversation_first`, `conversation_recall` of the former, `earlier_first`, `earlier_recall` of the latter |
| `large` | the held-out half of `datasets/followups.jsonl`, over all operations of `datasets/written` | `conversation_first_large`, `conversation_recall_large` |
| `narratives` | `datasets/narratives.jsonl` and the longest stories of `datasets/written` (style C) | `narrative_minus_dense`, `long_minus_dense` of the former alone |

The catalog of `contrasts`, `ruled_out`, `exact`, `light`, `typos` and `confirmed` are the twelve services of the quickstart. The others but
`large` are asked over the operations that their requests need and others up to `--documents`, drawn by a hash.

`--parts A,B` takes only some, `--limit N` so many requests of each, `--profile NAME` another profile than the default. What
`typos` are is written from the contrasts by slips of hand and ear. Part of `foreign` chose how the glossary is searched.
"""  # noqa: E501

from __future__ import annotations

import argparse
import hashlib
import json
import tempfile
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import msgspec
import numpy as np
from agents import Case, read_cases, reported
from msgspec.structs import replace
from numpy.typing import NDArray
from rich.console import Console
from rich.table import Table
from shared_data import DATA, DATASETS, Listed
from translations import scripted_translations

from kitpick.catalog import Catalog
from kitpick.cli.progress import progress
from kitpick.quickstart import SERVICES
from kitpick.result import SearchResult
from kitpick.settings import Settings
from kitpick_engines.contract import Filter
from kitpick_engines.document import ApiDocument
from kitpick_engines.text import split_identifier
from kitpick_ingest.source import Source
from kitpick_ingest.sync import sync
from kitpick_rescorers.intents.store import Intent
from kitpick_rescorers.profiles import Profile, load_profile
from kitpick_rescorers.reading.names import name_key
from kitpick_rescorers.reading.verbs import destroys
from kitpick_training.data.operations import read_toucan
from kitpick_training.data.readers import read_openapi
from kitpick_training.data.records import read_records
from kitpick_training.data.written import read_apis

DEPTH = 5
_EVERYBODY = Filter()
FIGURES = (
    "foreign_share",
    "destructive_first",
    "exact_first",
    "typo_share",
    "confirmed_first",
    "conversation_first",
    "narrative_minus_dense",
)
Figures = dict[str, float]


class Options(msgspec.Struct, frozen=True):
    """What the command line says."""

    profile: str
    limit: int
    documents: int
    data: Path
    folder: Path
    """For catalogs of this run."""


def main() -> None:
    """Prints a table a part and, last, one JSON object."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--parts", default=",".join(PARTS))
    parser.add_argument("--limit", type=int, default=1_000_000)
    parser.add_argument("--documents", type=int, default=2_500)
    parser.add_argument("--profile", default="kitpick")
    parser.add_argument("--data", type=Path, default=DATA)
    given = parser.parse_args()
    parts = given.parts.split(",")
    if unknown := set(parts) - PARTS.keys():
        parser.error(f"unknown parts {sorted(unknown)}; known are {', '.join(PARTS)}")
    figures: Figures = {}
    with tempfile.TemporaryDirectory() as folder:
        options = Options(given.profile, given.limit, given.documents, given.data, Path(folder))
        for part in parts:
            found = PARTS[part](options)
            _print(part, found)
            figures |= found
    print(json.dumps({name: round(figures[name], 4) for name in FIGURES if name in figures}))


def _print(part: str, figures: Figures) -> None:
    table = Table(part, "")
    for name, value in figures.items():
        table.add_row(name, f"{value:.4g}")
    Console().print(table)


def opened(options: Options, name: str, source: Source | str) -> Catalog:
    """A fresh catalog of this run; embeddings are remembered."""
    catalog = Catalog.open(
        f"sqlite:{options.folder / name}.db", settings=replace(Settings(), profile=options.profile)
    )
    catalog.ingest(source, progress=progress())
    return catalog


def sampled(documents: Mapping[str, ApiDocument], needed: Collection[str], most: int) -> list[ApiDocument]:
    """What is needed, and others up to `most` by a hash of their ids."""
    others = sorted(documents.keys() - set(needed), key=lambda key: hashlib.blake2b(key.encode()).digest())
    return [documents[key] for key in (*needed, *others[: max(0, most - len(needed))])]


def recall(result: SearchResult, right: Collection[str], also: Collection[str] = ()) -> float:
    """Share of what is right among the first five, without what would do as well."""
    counted = [hit.document.id for hit in result.hits if hit.document.id not in also][:DEPTH]
    return len(set(right) & set(counted)) / len(set(right))


def mean(values: Iterable[float]) -> float:
    """Their mean, 0 for none."""
    found = list(values)
    return sum(found) / len(found) if found else 0.0


def share(one: float, other: float) -> float:
    """One / other; 0 where that is undefined."""
    return one / other if other else 0.0


class ForeignRequest(NamedTuple):
    """A request said in another language, and what is right for it."""

    language: str
    text: str
    english: str
    right: frozenset[str]
    also: frozenset[str]
    """What would do as well."""


def _foreign_requests(options: Options) -> tuple[list[ForeignRequest], list[ApiDocument]]:
    """The requests, and the operations that they are asked of."""
    written = {api.id: api.document("written") for api in read_apis(options.data / "written")}
    asked = list(read_records(options.data / "written" / "requests.jsonl.gz"))
    requests = []
    for row in list(read_records(options.data / "languages" / "test.jsonl"))[: options.limit]:
        english = asked[row["n"]]
        right, also = (frozenset(written[api].id for api in english[key]) for key in ("relevant", "also"))
        requests.append(
            ForeignRequest(row["language"], row["request"], english["request"], right, also - right)
        )
    needed = dict.fromkeys(id_ for each in requests for id_ in sorted(each.right))
    return requests, sampled({each.id: each for each in written.values()}, needed, options.documents)


def foreign(options: Options) -> Figures:
    """Requests in fourteen languages, and the same in English; of each language its share, too."""
    requests, documents = _foreign_requests(options)
    found: dict[str, list[tuple[str, float, bool]]] = {"foreign": [], "english": []}
    with opened(options, "foreign", Listed("written", documents)) as catalog:
        for each in requests:
            for kind, text in (("foreign", each.text), ("english", each.english)):
                result = catalog.search(text, 2 * DEPTH)
                value = recall(result, each.right, each.also)
                found[kind].append((each.language, value, result.abstained))
    means = {kind: mean(value for _, value, _ in values) for kind, values in found.items()}
    return {
        **_by_language(found),
        "foreign_share": share(means["foreign"], means["english"]),
        "foreign_recall": means["foreign"],
        "english_recall": means["english"],
        "foreign_refused": mean(refused for _, _, refused in found["foreign"]),
        "english_refused": mean(refused for _, _, refused in found["english"]),
    }


def translated(options: Options) -> Figures:
    """Foreign requests by a scripted endpoint: what a translation can give at best, and one that fails."""
    requests, documents = _foreign_requests(options)
    opened(options, "translated", Listed("written", documents)).close()
    recalls, counts = scripted_translations(
        options.folder / "translated.db",
        options.profile,
        {each.text: each.english for each in requests},
        [each.right for each in requests],
    )
    return {
        "translated_share": share(recalls["translated"], recalls["english"]),
        "untranslated_share": share(recalls["foreign"], recalls["english"]),
        "failed_share": share(recalls["failed"], recalls["english"]),
        **counts,
    }


def _by_language(found: Mapping[str, Collection[tuple[str, float, bool]]]) -> Figures:
    """Recall of the requests of each language, as they are and in English."""
    return {
        f"{code} {kind}": mean(value for language, value, _ in values if language == code)
        for code in sorted({language for language, _, _ in found["foreign"]})
        for kind, values in found.items()
    }


def _cloud(options: Options) -> tuple[Catalog, dict[str, str]]:
    """The twelve services, and ids by `service/Operation`."""
    catalog = opened(options, "cloud", f"botocore:{','.join(SERVICES)}")
    return catalog, {key.partition("/")[2]: key for key in (each.id for each in catalog.documents())}


def contrasts(options: Options) -> Figures:
    """Requests that want one deed and rule its neighbour out."""
    right, wrong, ends = [], [], []
    catalog, ids = _cloud(options)
    with catalog:
        for row in list(read_records(DATASETS / "contrasts.jsonl"))[: options.limit]:
            first = next(iter(catalog.search(row["request"], DEPTH).hits), None)
            wanted = {ids[name] for name in row["right"]}
            right.append(first is not None and first.document.id in wanted)
            wrong.append(first is not None and first.document.id in {ids[name] for name in row["wrong"]})
            asked_to_end = any(_ends(catalog, key) for key in wanted)
            ends.append(first is not None and not asked_to_end and _ends(catalog, first.document.id))
    return {"contrast_first": mean(right), "contrast_wrong": mean(wrong), "destructive_first": mean(ends)}


def ruled_out(options: Options) -> Figures:
    """Contrasts in other languages, and requests that state something by the same words."""
    first: dict[str, list[bool]] = {"contrast": [], "statement": []}
    ends = []
    catalog, ids = _cloud(options)
    with catalog:
        for row in list(read_records(DATASETS / "contrasts_languages.jsonl"))[: options.limit]:
            wanted = {ids[name] for name in row["right"]}
            hits = [hit.document.id for hit in catalog.search(row["request"], 1).hits]
            first[row["kind"]].append(not wanted.isdisjoint(hits))
            asked_to_end = any(_ends(catalog, key) for key in wanted)
            ends.append(not asked_to_end and any(_ends(catalog, key) for key in hits))
    return {
        "ruled_out_first": mean(first["contrast"]),
        "statement_first": mean(first["statement"]),
        "ruled_out_ends": mean(ends),
    }


def _ends(catalog: Catalog, key: str) -> bool:
    return any(destroys(each.api, each.effect) for each in catalog.engine.fetch([key], _EVERYBODY))


STYLES: Mapping[str, Callable[[ApiDocument], str]] = {
    "as it is": lambda document: document.api,
    "snake_case": lambda document: "_".join(split_identifier(document.api).lower().split()),
    "spaces": lambda document: split_identifier(document.api).lower(),
    "tool.api": lambda document: f"{document.tool}.{document.api}",
    "question": lambda document: f"what are the inputs of `{document.api}`, please?",
}
STYLED = 5
"""One document of so many is asked for in all styles."""


class Named(NamedTuple):
    """What a request that is a name found."""

    first: bool
    """Whether the first hit has the name."""
    front: bool
    """Whether all that have it stand before all others."""


class NoVectors:
    """An encoder that says the same of every text, for catalogs in which only words are looked for."""

    identity = "no-vectors"
    dimensions = 1

    def encode(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """A 1 for every text, shape (n, 1)."""
        return np.ones((len(texts), 1), np.float32)


def exact(options: Options) -> Figures:
    """Names of three catalogs: those of the twelve services by the profile, the others by words alone.

    What a name finds is what words propose: models only order what stands behind it.
    """
    catalog, _ = _cloud(options)
    with catalog:
        found = {"cloud": _named(catalog, options, options.profile)}
    words = replace(load_profile("bm25"), first_stage=load_profile(options.profile).first_stage)
    others = {
        "openapi": read_openapi(options.data / "openapi" / "apis.jsonl.gz").documents.values(),
        "toucan": read_toucan(options.data / "toucan" / "servers.jsonl.gz"),
    }
    for name, documents in others.items():
        with Catalog.open(f"sqlite:{options.folder / name}.db") as catalog:
            sync(Listed(name, documents), catalog.engine, NoVectors())
            found[name] = _named(catalog, options, words)
    return _exact_figures(found)


def _exact_figures(found: Mapping[str, Sequence[Named]]) -> Figures:
    every = [each for values in found.values() for each in values]
    parts = {f"exact_first_{name}": mean(each.first for each in values) for name, values in found.items()}
    counts = {f"{name} requests": float(len(values)) for name, values in found.items()}
    front = mean(each.front for each in every)
    return {**parts, **counts, "exact_front": front, "exact_first": mean(each.first for each in every)}


def _named(catalog: Catalog, options: Options, profile: Profile | str) -> list[Named]:
    """What the names of a catalog find; with `--limit` those of documents drawn by a hash."""
    documents = {each.id: each for each in catalog.documents()}
    drawn = sampled(documents, (), min(options.limit, len(documents)))
    having = _by_name(documents.values(), STYLES["as it is"])
    of_tool = _by_name(documents.values(), STYLES["tool.api"])
    found = []
    for place, each in enumerate(drawn):
        for style, said in list(STYLES.items())[: len(STYLES) if place % STYLED == 0 else 1]:
            same = of_tool[name_key(said(each))] if style == "tool.api" else having[name_key(each.api)]
            result = catalog.search(said(each), len(same), profile=profile)
            hits = [hit.document.id in same for hit in result.hits]
            found.append(Named(hits[:1] == [True] and not result.abstained, hits == [True] * len(same)))
    return found


def _by_name(
    documents: Iterable[ApiDocument], said: Callable[[ApiDocument], str]
) -> Mapping[str, Collection[str]]:
    """Ids by the key of a name."""
    found: dict[str, set[str]] = {}
    for each in documents:
        found.setdefault(name_key(said(each)), set()).add(each.id)
    return found


def light(options: Options) -> Figures:
    """Requests that say their deed by a noun or an idiom."""
    first, found = [], []
    catalog, ids = _cloud(options)
    with catalog:
        for row in list(read_records(DATASETS / "light_verbs.jsonl"))[: options.limit]:
            right = {ids[name] for name in row["right"]}
            hits = [hit.document.id for hit in catalog.search(row["request"], DEPTH).hits]
            first.append(bool(hits) and hits[0] in right)
            found.append(not right.isdisjoint(hits))
    return {"light_first": mean(first), "light_recall": mean(found), "light_requests": float(len(first))}


def typos(options: Options) -> Figures:
    """Requests with slips of spelling, and without."""
    plain, typed = [], []
    catalog, ids = _cloud(options)
    with catalog:
        for row in list(read_records(DATASETS / "typos.jsonl"))[: options.limit]:
            right = {ids[name] for name in row["right"]}
            plain.append(recall(catalog.search(row["request"], DEPTH), right))
            typed.append(recall(catalog.search(row["typed"], DEPTH), right))
    return {
        "typo_share": share(mean(typed), mean(plain)),
        "typo_recall": mean(typed),
        "plain_recall": mean(plain),
    }


def confirmed(options: Options) -> Figures:
    """Requests for which an API was confirmed that the models would not find, and others."""
    rows = list(read_records(DATASETS / "contrasts.jsonl"))[: options.limit]
    asked, others = rows[::2], rows[1::2]
    first, changed = [], []
    catalog, ids = _cloud(options)
    with catalog:
        chosen = list(ids.values())[:: max(1, len(ids) // max(1, len(asked)))]
        before = [[hit.document.id for hit in catalog.search(row["request"], 1).hits] for row in others]
        for place, (row, api) in enumerate(zip(asked, chosen, strict=False)):
            if place % 2:
                catalog.add_intents([Intent(row["request"], api)])
            else:
                for client in ("ann", "bob"):
                    catalog.feedback(row["request"], [api], client=client)
        for row, api in zip(asked, chosen, strict=False):
            result = catalog.search(row["request"].capitalize() + "!", 1)
            first.append(not result.abstained and result.hits[0].document.id == api)
        for row, was in zip(others, before, strict=True):
            changed.append([hit.document.id for hit in catalog.search(row["request"], 1).hits] != was)
    return {"confirmed_first": mean(first), "others_changed": mean(changed)}


def conversations(options: Options) -> Figures:
    """Conversations whose last message needs one operation."""
    documents = {api.id: api.document("written") for api in read_apis(DATASETS / "written")}
    earlier = [case for case in read_cases(documents) if reported(case)][: options.limit]
    later = read_cases(documents, "followups.jsonl")[: options.limit]
    cases = [*later, *earlier]
    needed = dict.fromkeys(key for case in cases for key in (*case.relevant, *case.also))
    held = sampled({each.id: each for each in documents.values()}, needed, options.documents)
    first, found = _asked(options, "conversations", held, cases)
    cut = len(later)
    return {
        "conversation_first": mean(first[:cut]),
        "conversation_recall": mean(found[:cut]),
        "earlier_first": mean(first[cut:]),
        "earlier_recall": mean(found[cut:]),
    }


def large(options: Options) -> Figures:
    """The held-out conversations over every written operation."""
    documents = {api.id: api.document("written") for api in read_apis(DATASETS / "written")}
    cases = read_cases(documents, "followups.jsonl")[: options.limit]
    first, found = _asked(options, "large", list(documents.values()), cases)
    return {
        "conversation_first_large": mean(first),
        "conversation_recall_large": mean(found),
        "large_documents": float(len(documents)),
    }


def _asked(
    options: Options, name: str, documents: Iterable[ApiDocument], cases: Iterable[Case]
) -> tuple[list[bool], list[float]]:
    """Whether the first hit for each conversation is right, and its recall."""
    first, found = [], []
    with opened(options, name, Listed("written", documents)) as catalog:
        for case in cases:
            ranking = [hit.document.id for hit in catalog.search(case.messages, 2 * DEPTH).hits]
            counted = [key for key in ranking if key not in case.also]
            first.append(bool(counted) and counted[0] in case.relevant)
            found.append(case.recall(ranking))
    return first, found


def narratives(options: Options) -> Figures:
    """Stories, by the profile and by plain vectors."""
    documents = {
        api.document("written").id: api.document("written") for api in read_apis(DATASETS / "written")
    }
    by_number = {api.id: api.document("written").id for api in read_apis(DATASETS / "written")}
    rows = [row for row in read_records(DATASETS / "written" / "requests.jsonl.gz") if row["style"] == "C"]
    rows = sorted(rows, key=lambda row: -len(row["request"]))[: min(options.limit, 200)]
    long = list(read_records(DATASETS / "narratives.jsonl"))
    rows = [*long, *rows]
    needed = dict.fromkeys(by_number[api] for row in rows for api in row["relevant"])
    held = sampled(documents, needed, options.documents)
    own, dense = [], []
    with opened(options, "narratives", Listed("written", held)) as catalog:
        for row in rows:
            right, also = ({by_number[api] for api in row[key]} for key in ("relevant", "also"))
            own.append(recall(catalog.search(row["request"], 2 * DEPTH), right, also - right))
            plain = catalog.search(row["request"], 2 * DEPTH, profile="dense")
            dense.append(recall(plain, right, also - right))
    cut = len(long)
    return {
        "long_minus_dense": mean(own[:cut]) - mean(dense[:cut]),
        "long_recall": mean(own[:cut]),
        "narrative_minus_dense": mean(own) - mean(dense),
        "narrative_recall": mean(own),
        "dense_recall": mean(dense),
    }


PARTS: Mapping[str, Callable[[Options], Figures]] = {
    "foreign": foreign,
    "translated": translated,
    "contrasts": contrasts,
    "ruled_out": ruled_out,
    "exact": exact,
    "light": light,
    "typos": typos,
    "confirmed": confirmed,
    "conversations": conversations,
    "large": large,
    "narratives": narratives,
}


if __name__ == "__main__":
    main()
