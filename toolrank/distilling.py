"""Distillation: a language model orders the candidates of requests, and the cross-encoder learns that."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import msgspec

from toolrank.catalog import Catalog
from toolrank.errors import ToolrankError
from toolrank.model_set import llm_settings
from toolrank.model_training import FIRST_STAGE, Lessons, OwnReport, OwnTraining, fine_tuned, require_torch
from toolrank.settings import Settings
from toolrank_engines.contract import Filter
from toolrank_engines.document import ApiDocument
from toolrank_engines.text import rerank_text
from toolrank_evaluation.dataset import JudgedQuery, check_queries
from toolrank_evaluation.datasets.queries_file import requests_file
from toolrank_evaluation.training_sets.closed_catalog import split_queries
from toolrank_evaluation.training_sets.graded import GradedRequest
from toolrank_evaluation.training_sets.permutations import (
    Permutation,
    PermutationFile,
    taught_request,
)
from toolrank_ingest.progress import Progress
from toolrank_rescorers.llm.meter import Caps, Meter
from toolrank_rescorers.llm.model import CallFailed, CapReached, LanguageModel
from toolrank_rescorers.llm.opening import LOCAL, open_model
from toolrank_rescorers.llm.reranking import PARALLEL, Permuted, Windows, permuted


class InvalidTeacher(ToolrankError):
    """A teacher that is not named as it must be, or is nowhere configured."""


class Teaching(msgspec.Struct, frozen=True, kw_only=True):
    """What is asked of a teacher, and where its answers go."""

    requests: Path
    """Lines of `{"query": …}`, of which some may have `relevant` ids."""
    answers: Path
    """The permutation set; what is in it is not asked again."""
    candidates: int = 20
    windows: Windows = Windows()
    caps: Caps


class Asking(msgspec.Struct, frozen=True, kw_only=True):
    """How the asking went."""

    teacher: str
    requests: int
    known: int
    """Answered by an earlier run."""
    outcomes: dict[str, int]
    """`answered`, `unscored`, `error`: of the requests that were asked now."""
    stopped: str
    """Why the others were not asked; empty where all were."""
    calls: int
    tokens: int
    cost: float


class Distilled(msgspec.Struct, frozen=True, kw_only=True):
    """What was asked, and what was learned from the answers."""

    asking: Asking
    training: OwnReport


def teacher_of(name: str, settings: Settings) -> LanguageModel:
    """`llm:MODEL` at the endpoint of the settings, `llm:` for the model there, or `hf:FOLDER`.

    Raises:
        InvalidTeacher: another name, or no endpoint is set.
        LlmUnavailable: it cannot be used.
    """
    configured = llm_settings(settings)
    if name.startswith(LOCAL):
        return open_model(msgspec.structs.replace(configured, url=name))
    kind, _, model = name.partition(":")
    if kind != "llm":
        raise InvalidTeacher(f"{name!r}: a teacher is llm:MODEL, llm: or {LOCAL}FOLDER")
    if not configured.url:
        raise InvalidTeacher(f"{name!r}: set TOOLRANK_LLM_URL to the endpoint where the teacher is")
    return open_model(msgspec.structs.replace(configured, model=model or configured.model))


def distil(
    catalog: Catalog, teacher: LanguageModel, teaching: Teaching, training: OwnTraining, progress: Progress
) -> Distilled:
    """Asks the teacher what was not asked yet, and trains the cross-encoder in use on all its answers.

    Where a cap is reached or the teacher is gone, training goes on with what there is; run again to go on
    asking. Validation is on requests held out: by what is known to be relevant, else by the teacher's first.

    Raises:
        MissingRuntime: the extra `train` is not installed; nobody was asked.
        NotBetter: the outcome orders the candidates held out no better; nothing was replaced.
        EvaluationError, EngineError, ModelError, RescorerError: see there; answers are kept.
    """
    require_torch()
    asking = ask_teacher(catalog, teacher, teaching, progress)
    answers = [item for item in PermutationFile(teaching.answers).read() if item.teacher == asking.teacher]
    documents = _documents(catalog, answers)
    texts = {document.id: rerank_text(document) for document in documents}
    taught = [request for item in answers if (request := taught_request(item, texts))]
    train, held_out = split_queries(teaching.answers.name, taught, training.holdout)
    lessons = Lessons(
        train=train,
        held_out=held_out,
        documents=_learned(train, documents),
        name=f"own requests, ordered by {asking.teacher}",
        command="toolrank models distill",
    )
    report = fine_tuned(catalog.settings.cross_encoder, training, lessons, progress)
    return Distilled(asking=asking, training=report)


def ask_teacher(catalog: Catalog, teacher: LanguageModel, teaching: Teaching, progress: Progress) -> Asking:
    """Has the candidates of each request ordered, and stores every order as it comes.

    Raises:
        EvaluationError: the requests cannot be read, or the answers cannot be stored.
        EngineError, ModelError, RescorerError: the first stage cannot propose candidates.
    """
    requests = requests_file(teaching.requests)
    _check_judged(catalog, teaching.requests.name, requests)
    file = PermutationFile(teaching.answers)
    known = {item.query for item in file.read() if item.teacher == teacher.identity}
    todo = [request for request in requests if request.text not in known]
    meter, outcomes, stopped = Meter(teacher, teaching.caps), Counter[str](), ""
    with progress.phase("ask", len(todo)) as advance:
        for start in range(0, len(todo), PARALLEL):
            batch = todo[start : start + PARALLEL]
            failures = []
            for request, answer in _asked(catalog, meter, batch, teaching):
                outcomes[_stored(file, request, answer, teacher.identity)] += 1
                failures += [answer] if isinstance(answer, CallFailed) else []
                advance(1)
            if stopped := _why_stop(failures, len(batch)):
                break
    if stopped:
        progress.note(f"asking stopped: {stopped}; run again to go on")
    return Asking(
        teacher=teacher.identity,
        requests=len(requests),
        known=len(requests) - len(todo),
        outcomes=dict(outcomes),
        stopped=stopped,
        calls=meter.calls,
        tokens=meter.tokens,
        cost=meter.cost,
    )


def _check_judged(catalog: Catalog, name: str, requests: Sequence[JudgedQuery]) -> None:
    index, _ = catalog.live()
    judged = [request for request in requests if request.relevant]
    if judged:
        check_queries(name, judged, {id_ for id_, _ in catalog.engine.hashes(index)})


def _asked(
    catalog: Catalog, meter: Meter, batch: Sequence[JudgedQuery], teaching: Teaching
) -> Iterator[tuple[JudgedQuery, Permuted | CallFailed]]:
    """Each request of a batch with its answer, all asked at the same time."""

    def ask(request: JudgedQuery, texts: dict[str, str]) -> Permuted | CallFailed:
        try:
            return permuted(meter, request.text, texts, teaching.windows)
        except CallFailed as error:
            return error

    proposed = []
    for request in batch:
        hits = catalog.search(request.text, teaching.candidates, profile=FIRST_STAGE).hits
        proposed.append({hit.document.id: rerank_text(hit.document) for hit in hits})
    with ThreadPoolExecutor(PARALLEL) as pool:
        yield from zip(batch, pool.map(ask, batch, proposed), strict=True)


def _stored(file: PermutationFile, request: JudgedQuery, answer: Permuted | CallFailed, teacher: str) -> str:
    """What came of a request; an order of which a part is nobody's is not kept."""
    if isinstance(answer, CallFailed):
        return "error"
    if "unscored" in answer.outcomes or len(answer.order) < 2:
        return "unscored"
    file.add(Permutation(request.text, teacher, answer.order, request.relevant))
    return "answered"


def _why_stop(failures: Sequence[CallFailed], asked: int) -> str:
    """A cap ends the asking, and so does a batch without a single answer; empty where neither is."""
    capped = [error for error in failures if isinstance(error, CapReached)]
    ending = capped or (failures if len(failures) == asked else [])
    return str(ending[0]) if ending else ""


def _documents(catalog: Catalog, answers: Sequence[Permutation]) -> list[ApiDocument]:
    """Of all ids that anybody may see; what the catalog no longer has is left out."""
    ids = {key for item in answers for key in (*item.ranking, *item.relevant)}
    return catalog.engine.fetch(sorted(ids), Filter())


def _learned(train: Sequence[GradedRequest], documents: Sequence[ApiDocument]) -> list[ApiDocument]:
    right = {text for request in train for text in request.right}
    return [document for document in documents if rerank_text(document) in right]
