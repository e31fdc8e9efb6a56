"""Training DemoRank: a language model says which demonstrations help it, two small models learn that."""

from __future__ import annotations

import datetime
import random
from collections.abc import Callable, Sequence
from pathlib import Path
from statistics import fmean

import msgspec

from kitpick.catalog import Catalog
from kitpick.evaluation.measuring import Judged
from kitpick_engines.contract import Filter
from kitpick_engines.text import rerank_text
from kitpick_evaluation.dataset import JudgedQuery
from kitpick_ingest.progress import Progress
from kitpick_models.locate import find_model
from kitpick_models.manifest import Manifest, TrainingData
from kitpick_models.runtime import load_cross_encoder, load_encoder
from kitpick_models.settings import RuntimeSettings
from kitpick_rescorers.llm.meter import CallMeter, Caps
from kitpick_rescorers.llm.model import LanguageModel
from kitpick_training.data.prepared import fused_neighbours
from kitpick_training.errors import require_torch
from kitpick_training.own.demorank import (
    POOL,
    RERANKER,
    RETRIEVER,
    Demonstration,
    DemonstrationRetriever,
    DemonstrationSelector,
    InvalidPool,
    PairScorer,
    demonstration_text,
    pool_lines,
    question_after,
    question_text,
)
from kitpick_training.own.feedback import ModelFeedback, greedy_grades, greedy_sequence
from kitpick_training.own.lists import GradedRequest, OwnLists, split_queries
from kitpick_training.own.requests import FIRST_STAGE

ANSWERS = "answers.jsonl"
COMMAND = "python -m kitpick_training.own.train_demorank"
_LEAST = 4
"""Demonstrations below which there is nothing to choose from."""


def retriever_list(
    question: Demonstration, candidates: Sequence[Demonstration], values: Sequence[float]
) -> GradedRequest:
    """A question with demonstrations, graded by what each alone was worth; the best one counts as right."""
    texts = tuple(demonstration_text(item) for item in candidates)
    best = texts[max(range(len(texts)), key=values.__getitem__)]
    asked = question_text(question.query, question.text)
    return GradedRequest(asked, texts, tuple(values), frozenset([best]))


def reranker_lists(
    question: Demonstration, candidates: Sequence[Demonstration], chosen: Sequence[int]
) -> list[GradedRequest]:
    """One list for each demonstration of a greedy sequence: what is chosen next, after those before it.

    The first is the paper's training list: the k chosen ones labelled k … 1, the rest 0. The others hold
    what was not chosen yet, with the same labels; right is what was chosen next.
    """
    grades = greedy_grades(chosen, len(candidates))
    texts = [demonstration_text(item) for item in candidates]
    lists = []
    for step, following in enumerate(chosen):
        before = [candidates[place] for place in chosen[:step]]
        rest = [place for place in range(len(candidates)) if place not in chosen[:step]]
        lists.append(
            GradedRequest(
                question_after(question.query, question.text, before),
                tuple(texts[place] for place in rest),
                tuple(grades[place] for place in rest),
                frozenset([texts[following]]),
            )
        )
    return lists


class DemoTraining(msgspec.Struct, frozen=True, kw_only=True):
    """What to train, and what may be asked for it."""

    out: Path
    run: Path
    """Answers of the language model and checkpoints: a stopped run goes on from them."""
    retriever: Path
    reranker: Path
    """Recipes."""
    caps: Caps
    questions: int = 200
    """Of the pool, drawn to learn from and to be judged by."""
    similar: int = 10
    """Demonstrations near a question that are tried with it, and as many drawn by chance."""
    retrieved: int = 10
    shots: int = 3
    holdout: float = 0.2


class DemoReport(msgspec.Struct, frozen=True, kw_only=True):
    """What came out.

    `zero_shot`, `retrieved`, `chosen`: mean probability of the right answer to questions held out, after no
    demonstrations, DRetriever's first ones, and those that DReranker chose.
    """

    teacher: str
    demonstrations: int
    left_out: int
    """Of APIs that the catalog does not have, or not everybody may see; and repeated ones."""
    trained_on: int
    held_out: int
    zero_shot: float
    retrieved: float
    chosen: float
    outcomes: dict[str, int]
    calls: int
    tokens: int
    cost: float


def train_demonstrations(
    catalog: Catalog,
    teacher: LanguageModel,
    written: Sequence[Demonstration],
    training: DemoTraining,
    progress: Progress,
) -> DemoReport:
    """Trains DRetriever and DReranker for a language model, from encoder and cross-encoder of the settings.

    Raises:
        MissingExtra: the extra `train` is not installed; nobody was asked.
        InvalidPool: too few demonstrations have an API that everybody may see.
        CallFailed: a call brought no answer, or a cap is reached: run again to go on.
        NotBetter: DReranker chooses no better than the cross-encoder it started from; nothing was replaced.
        EvaluationError, EngineError, ModelError: the catalog cannot be searched, or training failed; nothing
            was replaced.
    """
    require_torch()
    from kitpick_training.publication import replacement_of

    pool = with_texts(catalog, written)
    if len(pool) < _LEAST:
        raise InvalidPool(
            f"{len(pool)} demonstrations of APIs that everybody may see: write {_LEAST} or more"
        )
    meter = CallMeter(teacher, training.caps)
    feedback = ModelFeedback(meter, teacher.identity, training.run / ANSWERS)
    with replacement_of(training.out) as staged:
        staged.joinpath(POOL).write_bytes(pool_lines(pool))
        lesson = _Lesson(catalog, pool, feedback, training, progress)
        lesson.learn_to_retrieve(staged / RETRIEVER)
        runtime = RuntimeSettings(threads=catalog.settings.threads)
        retriever = DemonstrationRetriever(pool, load_encoder(staged / RETRIEVER, runtime).encode)
        lesson.learn_to_rerank(retriever, staged / RERANKER)
        figures = lesson.judged(retriever, load_cross_encoder(staged / RERANKER, runtime))
    return DemoReport(
        teacher=teacher.identity,
        demonstrations=len(pool),
        left_out=len(written) - len(pool),
        trained_on=len(lesson.train),
        held_out=len(lesson.held_out),
        zero_shot=figures[0],
        retrieved=figures[1],
        chosen=figures[2],
        outcomes=dict(meter.outcomes),
        calls=meter.calls,
        tokens=meter.tokens,
        cost=meter.cost,
    )


def with_texts(catalog: Catalog, written: Sequence[Demonstration]) -> list[Demonstration]:
    """Those whose API everybody may see, with its text; of those that read alike the first one."""
    missing = sorted({item.api for item in written if not item.text})
    texts = {document.id: rerank_text(document) for document in catalog.engine.fetch(missing, Filter())}
    found: dict[str, Demonstration] = {}
    for item in written:
        text = item.text or texts.get(item.api, "")
        if text:
            known = msgspec.structs.replace(item, text=text)
            found.setdefault(demonstration_text(known), known)
    return list(found.values())


def pool_of_requests(judged: Judged, progress: Progress) -> list[Demonstration]:
    """Demonstrations out of judged requests: what is relevant, and as much that is proposed and is not."""
    pool: list[Demonstration] = []
    with progress.phase("propose", len(judged.queries)) as advance:
        for query in judged.queries:
            hits = judged.catalog.search(query.text, 4 * len(query.relevant) + 4, profile=FIRST_STAGE).hits
            wrong = [hit.document.id for hit in hits if hit.document.id not in query.relevant]
            pool += [Demonstration(query.text, api, True) for api in sorted(query.relevant)]
            pool += [Demonstration(query.text, api, False) for api in wrong[: len(query.relevant)]]
            advance(1)
    return pool


class _Lesson:
    """Questions of a pool in two splits, and what a language model makes of demonstrations for them."""

    def __init__(
        self,
        catalog: Catalog,
        pool: Sequence[Demonstration],
        feedback: ModelFeedback,
        training: DemoTraining,
        progress: Progress,
    ) -> None:
        self._settings, self._encode = catalog.settings, catalog.models.encoder.encode
        self._pool, self._feedback, self._training, self._progress = pool, feedback, training, progress
        drawn = random.Random(0).sample(range(len(pool)), min(training.questions, len(pool)))
        queries = sorted({pool[number].query for number in drawn})
        asked = [JudgedQuery(query, query, frozenset()) for query in queries]
        known = {query.text for query in split_queries("demonstrations", asked, training.holdout)[0]}
        self.train = [number for number in drawn if pool[number].query in known]
        self.held_out = [number for number in drawn if pool[number].query not in known]

    def learn_to_retrieve(self, out: Path) -> None:
        """DRetriever: each demonstration alone before a question."""
        from kitpick_training.fine_tuning import Places, tune_preference
        from kitpick_training.recipe import PreferenceRecipe, read_recipe

        recipe = read_recipe(self._training.retriever, PreferenceRecipe)
        questions = [*self.train, *self.held_out]
        asked = [question_text(self._pool[number].query, self._pool[number].text) for number in questions]
        texts = [demonstration_text(item) for item in self._pool]
        depth = min(len(texts), 4 * self._training.similar + 20)
        near = fused_neighbours(asked, texts, self._encode, depth)
        ranked = {number: row.tolist() for number, row in zip(questions, near, strict=True)}

        def graded(number: int) -> list[GradedRequest]:
            candidates = [self._pool[other] for other in self._tried(number, ranked[number])]
            values = self._feedback.values(self._pool[number], [[item] for item in candidates])
            return [retriever_list(self._pool[number], candidates, values)]

        source = self._lists("ask", graded, recipe.seed, recipe.list_size)
        start = find_model(self._settings.chosen_models().encoder)
        places = Places(start, self._training.run / RETRIEVER, out)
        tune_preference(places, recipe, source, self._described(RETRIEVER), _measured(), self._progress.note)

    def learn_to_rerank(self, retriever: DemonstrationRetriever, out: Path) -> None:
        """DReranker: greedy sequences out of what DRetriever brings."""
        from kitpick_training.fine_tuning import Places, fine_tune
        from kitpick_training.recipe import RerankerRecipe, read_recipe

        recipe = read_recipe(self._training.reranker, RerankerRecipe)

        def graded(number: int) -> list[GradedRequest]:
            question = self._pool[number]
            candidates = [self._pool[other] for other in self._near(retriever, number)]

            def score(sequences: Sequence[Sequence[int]]) -> list[float]:
                return self._feedback.values(
                    question, [[candidates[place] for place in sequence] for sequence in sequences]
                )

            chosen = greedy_sequence(len(candidates), self._training.shots, score)
            return reranker_lists(question, candidates, chosen)

        source = self._lists("chain", graded, recipe.seed, recipe.list_size)
        start = find_model(self._settings.chosen_models().cross_encoder)
        places = Places(start, self._training.run / RERANKER, out)
        fine_tune(places, recipe, source, self._described(RERANKER), _measured(), self._progress.note)

    def judged(self, retriever: DemonstrationRetriever, reranker: PairScorer) -> list[float]:
        """Mean values over the questions held out: no demonstrations, the nearest, the chosen."""
        selector = DemonstrationSelector(retriever, reranker)
        rows = []
        with self._progress.phase("judge", len(self.held_out)) as advance:
            for number in self.held_out:
                question, near = self._pool[number], self._near(retriever, number)
                chosen = selector.rerank(question.query, question.text, near, self._training.shots)
                sequences = [(), near[: self._training.shots], chosen]
                shown = [[self._pool[place] for place in sequence] for sequence in sequences]
                rows.append(self._feedback.values(question, shown))
                advance(1)
        return [fmean(column) for column in zip(*rows, strict=True)]

    def _lists(
        self, phase: str, graded: Callable[[int], list[GradedRequest]], seed: int, size: int
    ) -> OwnLists:
        with self._progress.phase(phase, len(self.train) + len(self.held_out)) as advance:

            def lists(numbers: Sequence[int]) -> list[GradedRequest]:
                found = []
                for number in numbers:
                    found += graded(number)
                    advance(1)
                return found

            return OwnLists(lists(self.train), lists(self.held_out), seed, size)

    def _tried(self, number: int, ranked: Sequence[int]) -> list[int]:
        """Demonstrations of other requests: the first of those ranked, and as many by chance."""
        others = [other for other in range(len(self._pool)) if self._differs(number, other)]
        near = [other for other in ranked if self._differs(number, other)][: self._training.similar]
        rest = sorted(set(others) - set(near))
        drawn = random.Random(number).sample(rest, min(self._training.similar, len(rest)))
        return [*near, *drawn]

    def _near(self, retriever: DemonstrationRetriever, number: int) -> list[int]:
        """What DRetriever brings for a question, without demonstrations of the same request."""
        question = self._pool[number]
        nearest = retriever.retrieve(question.query, question.text, len(self._pool))
        return [other for other in nearest if self._differs(number, other)][: self._training.retrieved]

    def _differs(self, number: int, other: int) -> bool:
        return self._pool[number].query != self._pool[other].query

    def _described(self, name: str) -> Callable[[Manifest, int], Manifest]:
        def described(manifest: Manifest, step: int) -> Manifest:
            return msgspec.structs.replace(
                manifest,
                name=f"demonstration-{name}",
                base_model=f"{manifest.identity}, {step} steps; before: {manifest.base_model}",
                training=(
                    *manifest.training,
                    TrainingData("demonstrations", "their owner's", len(self.train)),
                ),
            )

        return described


def _measured() -> tuple[str, str]:
    return datetime.date.today().isoformat(), COMMAND
