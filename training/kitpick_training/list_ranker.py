"""The list ranker: boosted trees that tell from features of a candidate how likely it serves the request.

Trees are grown by LightGBM on rows of many catalogs, every catalog weighing the same. A logistic regression
by scikit-learn tells from a whole list whether anything in it serves the request. Whatever is reported was
learned from other catalogs than it is reported on.
"""

from __future__ import annotations

import io
import math
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
from numpy.typing import NDArray

from kitpick_evaluation.abstention import ALARMS, cohort_level
from kitpick_models.manifest import HEAD, MODEL, REFERENCE, Figure, Manifest, TrainingData, write_folder
from kitpick_models.runtime import load_list_ranker
from kitpick_models.verify import MOST_LOGIT_DIFFERENCE, ListReference
from kitpick_rescorers.features import FEATURES, LIST_EVIDENCE, OF_LIST, RISING, list_evidence
from kitpick_training.calibration import calibration_error
from kitpick_training.data.readers import LICENCES, TITLES
from kitpick_training.errors import EmptyTrainingSet, InvalidFeatures, UnfaithfulExport
from kitpick_training.recipe import RankerRecipe
from kitpick_training.tree_ensemble import tree_ensemble

Rows = NDArray[np.float32]
Labels = NDArray[np.bool_]


COHORT_STYLE = "cohort"
"""In a feature file the style of requests that belong to a cohort."""


class ListRows(msgspec.Struct, frozen=True):
    """Rows of many lists, as `scripts/bench battery --features` writes them."""

    features: Rows
    """Float32 (n, features), columns as in `FEATURES`."""
    labels: Labels
    """Bool (n,): whether the candidate serves the request."""
    lists: NDArray[np.int64]
    """Number of the row's list, int (n,)."""
    catalogs: NDArray[np.str_]
    """Name of the catalog, by list: (lists,)."""
    wanted: NDArray[np.int64]
    """How many APIs the request wants, by list; 0 where it was asked of a catalog that cannot serve it."""
    documents: NDArray[np.str_]
    """Name of the documents that the list is of: some catalogs are asked by several sets of requests."""
    models: tuple[str, str] = ("", "")
    """Identities of the encoder and of the cross-encoder that the features are of."""

    def of_lists(self, chosen: Labels) -> ListRows:
        """The rows of the lists that a mask (lists,) chooses; the lists keep their numbers."""
        mask = chosen[self.lists]
        return msgspec.structs.replace(
            self, features=self.features[mask], labels=self.labels[mask], lists=self.lists[mask]
        )

    def each(self) -> Iterator[tuple[int, slice]]:
        """Number and rows of every list that has any."""
        if len(self.lists):
            starts = np.flatnonzero(np.r_[True, np.diff(self.lists) != 0])
            for start, end in zip(starts, [*starts[1:], len(self.lists)], strict=True):
                yield int(self.lists[start]), slice(int(start), int(end))


def read_rows(files: Sequence[Path], *, cohorts: bool = False) -> ListRows:
    """The rows of feature files, one behind the other, without what is neither right nor wrong.

    Args:
        files: feature files.
        cohorts: read the lists of cohorts (see `kitpick_evaluation.abstention`) in place of all others.

    Raises:
        EmptyTrainingSet: no row, or a set that is never to be trained on.
        InvalidFeatures: a file of other features than `FEATURES`, or of other models than the first; or no
            such file.
    """
    parts = [_read(path, cohorts) for path in files]
    for path, part in zip(files, parts, strict=True):
        if part.models != parts[0].models:
            raise InvalidFeatures(path, f"made with other models than {files[0]}: make both with the same")
    offsets = np.cumsum([0, *(len(part.catalogs) for part in parts)])
    rows = ListRows(
        np.concatenate([part.features for part in parts]),
        np.concatenate([part.labels for part in parts]),
        np.concatenate([part.lists + offset for part, offset in zip(parts, offsets[:-1], strict=True)]),
        np.concatenate([part.catalogs for part in parts]),
        np.concatenate([part.wanted for part in parts]),
        np.concatenate([part.documents for part in parts]),
        parts[0].models,
    )
    if not cohorts and not rows.labels.any():
        raise EmptyTrainingSet("candidate that serves its request")
    return rows


def _read(path: Path, cohorts: bool) -> ListRows:
    try:
        with np.load(path, allow_pickle=False) as file:
            arrays = {name: file[name] for name in file.files}
        of_cohort = (arrays["style"] == COHORT_STYLE)[arrays["request"]]
        known = (arrays["label"] >= 0) & (of_cohort == cohorts)
        if tuple(arrays["names"].tolist()) != tuple(FEATURES):
            raise InvalidFeatures(path, "other features than this version has: write it again")
        if "none" in set(arrays["split"].tolist()):
            raise EmptyTrainingSet(f"rows of {path} that may be trained on: a set in it only measures")
        return ListRows(
            arrays["features"][known],
            arrays["label"][known] == 1,
            arrays["request"][known].astype(np.int64),
            arrays["set"],
            arrays["wanted"].astype(np.int64),
            arrays["documents"],
            (str(arrays["models"][0]), str(arrays["models"][1])),
        )
    except (OSError, ValueError, KeyError) as error:
        raise InvalidFeatures(path, f"no file of features: {error}") from error


def grow_trees(rows: ListRows, names: Sequence[str], rising: Sequence[str], recipe: RankerRecipe) -> Any:  # noqa: ANN401
    """A LightGBM booster of the binary loss; features in `rising` never lower a score."""
    import lightgbm

    data = lightgbm.Dataset(
        rows.features, rows.labels.astype(np.float32), weight=_weights(rows), feature_name=list(names)
    )
    settings = {
        "objective": "binary",
        "num_leaves": recipe.leaves,
        "learning_rate": recipe.learning_rate,
        "min_data_in_leaf": recipe.least_rows,
        "feature_fraction": recipe.columns,
        "bagging_fraction": recipe.rows,
        "bagging_freq": 1,
        "lambda_l2": recipe.ridge,
        "monotone_constraints": [int(name in rising) for name in names],
        "monotone_constraints_method": "intermediate",
        "seed": recipe.seed,
        "deterministic": True,
        "force_row_wise": True,
        "num_threads": 2,
        "verbosity": -1,
    }
    return lightgbm.train(settings, data, num_boost_round=recipe.trees)


UNANSWERABLE = 0.3
"""Weight of a list without an answer: there is one for each with one, and people ask fewer such things."""


def _weights(rows: ListRows) -> NDArray[np.float64]:
    """Every catalog weighs the same, and within one every list of a kind: with an answer, and without."""
    size = np.bincount(rows.lists, minlength=len(rows.catalogs))
    present = size > 0
    lists_of = {name: int((present & (rows.catalogs == name)).sum()) for name in np.unique(rows.catalogs)}
    catalogs = rows.catalogs[rows.lists]
    weights = 1.0 / (size[rows.lists] * np.array([lists_of[name] for name in catalogs]))
    weights[rows.wanted[rows.lists] == 0] *= UNANSWERABLE
    return np.asarray(weights / weights.mean(), np.float64)


class AnswerableHead(msgspec.Struct, frozen=True):
    """A logistic regression over what a whole list says."""

    names: tuple[str, ...]
    weight: NDArray[np.float64]
    bias: float
    mean: NDArray[np.float64]
    scale: NDArray[np.float64]

    def log_odds(self, evidence: NDArray[np.float64]) -> NDArray[np.float64]:
        """Log-odds (lists,) that a list serves its request, by evidence (lists, g)."""
        return np.asarray((evidence - self.mean) / self.scale @ self.weight + self.bias, np.float64)

    def probability(self, evidence: NDArray[np.float64]) -> NDArray[np.float64]:
        """Probabilities (lists,) of the same."""
        return np.asarray(1.0 / (1.0 + np.exp(-self.log_odds(evidence))), np.float64)

    def arrays(self) -> bytes:
        """The content of `head.npz`."""
        buffer = io.BytesIO()
        held = {name: np.asarray(getattr(self, name)) for name in ("weight", "bias", "mean", "scale")}
        np.savez(buffer, allow_pickle=False, names=np.array(self.names), **held)
        return buffer.getvalue()


def evidence_of(rows: ListRows, logits: NDArray[np.float32]) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """Numbers of the lists (l,), and what each says as a whole, (l, g)."""
    names = (*LIST_EVIDENCE, *OF_LIST)
    found = [(number, list_evidence(rows.features[of], logits[of], names)) for number, of in rows.each()]
    return np.array([number for number, _ in found]), np.stack([evidence for _, evidence in found])


RIDGE = 0.01
"""Inverse strength of the head's penalty: with a weak one it learns what holds in its own catalogs alone."""


def train_head(rows: ListRows, logits: NDArray[np.float32]) -> AnswerableHead:
    """The head, from logits that trees gave to lists they were not grown on; every catalog weighs the same.

    Raises:
        EmptyTrainingSet: no lists that serve their request, or none that do not.
    """
    from sklearn.linear_model import LogisticRegression

    numbers, evidence = evidence_of(rows, logits)
    answerable = rows.wanted[numbers] > 0
    if answerable.all() or not answerable.any():
        raise EmptyTrainingSet("requests of both kinds, answerable and not")
    mean, scale = evidence.mean(axis=0), np.maximum(evidence.std(axis=0), 1e-9)
    catalogs = rows.catalogs[numbers]
    counts = {name: int((catalogs == name).sum()) for name in np.unique(catalogs)}
    weights = np.array([1.0 / counts[name] for name in catalogs])
    model = LogisticRegression(C=RIDGE, max_iter=1_000)
    model.fit((evidence - mean) / scale, answerable, sample_weight=weights / weights.mean())
    return AnswerableHead((*LIST_EVIDENCE, *OF_LIST), model.coef_[0], float(model.intercept_[0]), mean, scale)


class CatalogFigures(msgspec.Struct, frozen=True, kw_only=True):
    """What a ranker that has not seen a catalog is worth there; NDCG@5 in percent, the rest in [0, 1]."""

    requests: int
    learned: float
    dense: float
    words: float
    cross_encoder: float
    ece: float
    """Expected calibration error of the probabilities of the first five, ten bins."""
    false_alarms: float
    caught: float
    false_alarms_adapted: float | None = None
    """By the threshold that the catalog's cohort gives; None where no cohort was read."""
    caught_adapted: float | None = None

    @property
    def gain(self) -> float:
        """NDCG@5 beyond the best single ranking."""
        return self.learned - max(self.dense, self.words, self.cross_encoder)


class TrainedRanker(msgspec.Struct, frozen=True):
    """Trees and head grown on every catalog, and what those without a catalog are worth on it."""

    booster: Any
    head: AnswerableHead
    temperature: float
    threshold: float
    margin: float | None
    """Log-odds above the level of a cohort (`cohort_level`) that a list needs; None where none was read."""
    figures: dict[str, CatalogFigures]


def train_list_ranker(rows: ListRows, recipe: RankerRecipe, cohorts: ListRows | None = None) -> TrainedRanker:
    """Grows trees on all catalogs but one in turn, judges the one, and grows the final ones on all.

    Temperature, head, abstention threshold and margin come from logits of catalogs that the trees had not
    seen. Each catalog is judged by a threshold and a margin that come from the others.

    Args:
        rows: requests of the catalogs, answerable and not.
        recipe: settings of the run.
        cohorts: lists of the catalogs' cohorts, all unanswerable.

    Raises:
        EmptyTrainingSet: fewer than two catalogs.
    """
    names = sorted(set(rows.documents.tolist()))
    if len(names) < 2:
        raise EmptyTrainingSet("second catalog: a ranker is judged on catalogs that it has not seen")
    logits = np.zeros(len(rows.labels), np.float32)
    boosters = {}
    for name in names:
        inside = (rows.documents == name)[rows.lists]
        boosters[name] = _grown(rows.of_lists(rows.documents != name), recipe)
        logits[inside] = boosters[name].predict(rows.features[inside], raw_score=True)
    temperature = _temperature(rows, logits)
    judged = {name: _Unseen.of(rows, logits, name, boosters[name], cohorts) for name in names}
    figures: dict[str, CatalogFigures] = {}
    for name, unseen in judged.items():
        margin = _least(other.margin for key, other in judged.items() if key != name)
        for asked in np.unique(rows.catalogs[rows.documents == name]).tolist():
            of = rows.catalogs == asked
            found = _figures(rows.of_lists(of), logits[of[rows.lists]], temperature, unseen, margin)
            figures[asked] = found
    return TrainedRanker(
        _grown(rows, recipe),
        train_head(rows, logits),
        temperature,
        float(np.median([unseen.threshold for unseen in judged.values()])),
        _least(unseen.margin for unseen in judged.values()),
        figures,
    )


class _Unseen(msgspec.Struct, frozen=True):
    """A catalog as seen by trees and a head that know only the others."""

    head: AnswerableHead
    threshold: float
    """Of the others: see `_threshold`."""
    level: float | None
    """The level of its cohort; None where it has none."""
    margin: float | None
    """The largest one that refuses at most `ALARMS` of the answerable requests of any of its sets."""

    @classmethod
    def of(
        cls,
        rows: ListRows,
        logits: NDArray[np.float32],
        name: str,
        booster: Any,  # noqa: ANN401
        cohorts: ListRows | None,
    ) -> _Unseen:
        others = rows.documents != name
        mask = others[rows.lists]
        head = train_head(rows.of_lists(others), logits[mask])
        threshold = _threshold(rows.of_lists(others), logits[mask], head)
        level = None if cohorts is None else _level(cohorts, name, booster, head)
        if level is None:
            return cls(head, threshold, None, None)
        own = _lowest_answerable(rows.of_lists(~others), logits[~mask], head)
        return cls(head, threshold, level, min(own) - level)


def _level(cohorts: ListRows, name: str, booster: Any, head: AnswerableHead) -> float | None:  # noqa: ANN401
    """The level of a catalog's cohort; None where it has none."""
    of = cohorts.of_lists(cohorts.documents == name)
    if not len(of.lists):
        return None
    logits = np.asarray(booster.predict(of.features, raw_score=True), np.float32)
    return cohort_level(head.probability(evidence_of(of, logits)[1]).tolist())


def _least(margins: Iterable[float | None]) -> float | None:
    return min((margin for margin in margins if margin is not None), default=None)


def _grown(rows: ListRows, recipe: RankerRecipe) -> Any:  # noqa: ANN401
    return grow_trees(rows, tuple(FEATURES), RISING, recipe)


def _temperature(rows: ListRows, logits: NDArray[np.float32]) -> float:
    """Of sigmoid(logit / temperature), the one of least log loss; every catalog weighs the same."""
    weights, labels = _weights(rows), rows.labels

    def loss(temperature: float) -> float:
        scaled = logits / temperature
        return float((weights * (np.logaddexp(0.0, scaled) - scaled * labels)).mean())

    return min((float(value) for value in np.geomspace(0.5, 2.0, 61)), key=loss)


def _threshold(rows: ListRows, logits: NDArray[np.float32], head: AnswerableHead) -> float:
    """The largest probability that refuses at most `ALARMS` of the answerable requests of any set."""
    return 1.0 / (1.0 + math.exp(-min(_lowest_answerable(rows, logits, head))))


def _lowest_answerable(rows: ListRows, logits: NDArray[np.float32], head: AnswerableHead) -> list[float]:
    """For each set the log-odds that `ALARMS` of its answerable requests are below."""
    numbers, evidence = evidence_of(rows, logits)
    log_odds, answerable = head.log_odds(evidence), rows.wanted[numbers] > 0
    sets = rows.catalogs[numbers]
    return [
        float(np.quantile(log_odds[answerable & (sets == name)], ALARMS))
        for name in np.unique(sets)
        if (answerable & (sets == name)).any()
    ]


def _figures(
    rows: ListRows,
    logits: NDArray[np.float32],
    temperature: float,
    unseen: _Unseen,
    margin: float | None,
) -> CatalogFigures:
    column = {name: place for place, name in enumerate(FEATURES)}
    orders = {
        "learned": logits,
        "dense": rows.features[:, column["cosine"]],
        "words": rows.features[:, column["lexical_score"]],
        "cross_encoder": rows.features[:, column["logit"]],
    }
    asked = [(number, of) for number, of in rows.each() if rows.wanted[number] > 0]
    ranking = {
        name: 100.0
        * float(np.mean([_ndcg5(rows.labels[of], scores[of], int(rows.wanted[n])) for n, of in asked]))
        for name, scores in orders.items()
    }
    probabilities = 1.0 / (1.0 + np.exp(-logits / temperature))
    heads = [of.start + np.argsort(-logits[of], kind="stable")[:5] for _, of in rows.each()]
    first = np.concatenate(heads)
    numbers, evidence = evidence_of(rows, logits)
    log_odds, answerable = unseen.head.log_odds(evidence), rows.wanted[numbers] > 0
    false_alarms, caught = _rates(1.0 / (1.0 + np.exp(-log_odds)) < unseen.threshold, answerable)
    adapted: tuple[float | None, float | None] = (None, None)
    if margin is not None and unseen.level is not None:
        adapted = _rates(log_odds < unseen.level + margin, answerable)
    return CatalogFigures(
        requests=len(asked),
        ece=calibration_error(
            list(zip(probabilities[first].tolist(), rows.labels[first].tolist(), strict=True))
        ),
        false_alarms=false_alarms,
        caught=caught,
        false_alarms_adapted=adapted[0],
        caught_adapted=adapted[1],
        **ranking,
    )


def _rates(refused: Labels, answerable: Labels) -> tuple[float, float]:
    """Share refused of what can be answered, and of what cannot."""
    return (
        float(refused[answerable].mean()),
        float(refused[~answerable].mean()) if (~answerable).any() else 0.0,
    )


def _ndcg5(labels: Labels, scores: NDArray[np.float32], wanted: int) -> float:
    """Normalised discounted gain of the first five; what is wanted and not in the list counts as missed."""
    found = labels[np.argsort(-scores, kind="stable")[:5]]
    discounts = 1.0 / np.log2(np.arange(2, 7))
    return float((found * discounts[: len(found)]).sum() / discounts[: min(wanted, 5)].sum())


def publish_list_ranker(
    trained: TrainedRanker, rows: ListRows, recipe: RankerRecipe, out: Path, measured: tuple[str, str]
) -> Manifest:
    """Writes trees, head, reference answers of LightGBM, manifest and card.

    Args:
        trained: what `train_list_ranker` gave.
        rows: what it was trained on; a sample of them is kept with the original's answers.
        recipe: settings of the run.
        out: the model folder, created where absent.
        measured: date and command, for the card.

    Raises:
        UnfaithfulExport: the written trees do not answer as LightGBM's do.
    """
    chosen = rows.features[np.linspace(0, len(rows.features) - 1, REFERENCES).astype(int)]
    expected = trained.booster.predict(chosen, raw_score=True)
    reference = ListReference(tuple(map(tuple, chosen.tolist())), tuple(expected.tolist()))
    contents = {
        MODEL: tree_ensemble(trained.booster, len(FEATURES)),
        HEAD: trained.head.arrays(),
        REFERENCE: msgspec.json.encode(reference),
    }
    manifest = Manifest(
        name=recipe.name,
        kind="list_ranker",
        version="1",
        base_model=f"{recipe.trees} trees of {recipe.leaves} leaves, and a logistic regression",
        licence="Apache-2.0",
        training=_learned_from(trained.figures),
        temperature=trained.temperature,
        thresholds={"abstain": trained.threshold}
        | ({} if trained.margin is None else {"over_cohort": trained.margin}),
        encoder=rows.models[0],
        cross_encoder=rows.models[1],
        features=tuple(FEATURES),
        figures=tuple(_recorded(trained.figures, measured)),
    )
    manifest = write_folder(out, manifest, contents)
    most = float(np.abs(load_list_ranker(out).score(chosen) - expected).max())
    if most > MOST_LOGIT_DIFFERENCE:
        raise UnfaithfulExport(out, f"a logit differs from LightGBM's by {most:.6f}")
    return manifest


def _learned_from(figures: Mapping[str, CatalogFigures]) -> tuple[TrainingData, ...]:
    """The data that the sets are made of, with its licence: of `written-mcp` as of `written`."""
    counts: Counter[str] = Counter()
    for name, found in figures.items():
        counts[name.partition("-")[0]] += found.requests
    return tuple(
        TrainingData(TITLES.get(name, name), LICENCES.get(name, "not stated"), counts[name])
        for name in sorted(counts)
    )


REFERENCES = 200
"""Rows kept with the original's answers."""


def _recorded(figures: Mapping[str, CatalogFigures], measured: tuple[str, str]) -> Iterator[Figure]:
    for catalog, found in figures.items():
        benchmark = f"{catalog}, by trees that were not grown on it"
        for name, value in msgspec.structs.asdict(found).items():
            if value is not None:
                yield Figure(benchmark, name, round(float(value), 4), *measured)
