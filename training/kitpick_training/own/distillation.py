"""Distillation: a language model orders the candidates of requests, and the cross-encoder learns that."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import msgspec

from kitpick.catalog import Catalog
from kitpick.model_set import llm_settings
from kitpick.settings import Settings
from kitpick_engines.contract import Filter
from kitpick_engines.document import ApiDocument
from kitpick_engines.text import rerank_text
from kitpick_evaluation.dataset import JudgedQuery, check_queries
from kitpick_evaluation.datasets.queries_file import requests_file
from kitpick_evaluation.errors import InvalidDataset
from kitpick_evaluation.json_lines import read_json_lines
from kitpick_foundation.errors import KitpickError
from kitpick_ingest.progress import Progress
from kitpick_rescorers.llm.endpoint import ChatEndpoint
from kitpick_rescorers.llm.meter import CallMeter, Caps
from kitpick_rescorers.llm.model import CallFailed, CapReached, LanguageModel
from kitpick_rescorers.llm.windows import PARALLEL, PassOrder, Windows, permute
from kitpick_training.errors import require_torch
from kitpick_training.own.lists import GradedRequest, split_queries
from kitpick_training.own.requests import FIRST_STAGE, Lessons, OwnReport, OwnTraining, fine_tuned


class Permutation(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """One answer of a teacher."""

    query: str
    teacher: str
    """Identity of who ordered."""
    ranking: tuple[str, ...]
    """Ids of all candidates, best first."""
    relevant: frozenset[str] = frozenset()
    """Ids that are known to answer the request; empty where nobody judged it."""


class PermutationFile:
    """A permutation set that grows. What is added is on the disk when `add` returns."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def read(self) -> list[Permutation]:
        """All answers; none where there is no file. A last line that a killed process cut off is removed.

        Raises:
            InvalidDataset: a line is no permutation, or the file cannot be read.
        """
        if not self.path.exists():
            return []
        data = self.path.read_bytes()
        if whole := data.rfind(b"\n") + 1 - len(data):
            os.truncate(self.path, len(data) + whole)
        return list(read_json_lines(self.path, Permutation))

    def add(self, answer: Permutation) -> None:
        """Appends an answer.

        Raises:
            InvalidDataset: the disk refused; what was added before is intact.
        """
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            with self.path.open("ab") as file:
                file.write(msgspec.json.encode(answer) + b"\n")
                file.flush()
                os.fsync(file.fileno())
        except OSError as error:
            raise InvalidDataset(f"{self.path}: cannot be written: {error.strerror}") from error


def taught_request(answer: Permutation, texts: Mapping[str, str]) -> GradedRequest | None:
    """The answer in texts; None where fewer than two of its candidates have one.

    Where nobody judged the request, the teacher's first text counts as right.
    """
    ordered = tuple(dict.fromkeys(texts[key] for key in answer.ranking if key in texts))
    if len(ordered) < 2:
        return None
    judged = frozenset(texts[key] for key in answer.relevant if key in texts)
    grades = tuple(-float(place) for place in range(len(ordered)))
    return GradedRequest(answer.query, ordered, grades, judged or frozenset(ordered[:1]))


class InvalidTeacher(KitpickError):
    """A teacher that is not named as it must be, or is nowhere configured."""


class TeacherPlan(msgspec.Struct, frozen=True, kw_only=True):
    """What is asked of a teacher, and where its answers go."""

    requests: Path
    """Lines of `{"query": …}`, of which some may have `relevant` ids."""
    answers: Path
    """The permutation set; what is in it is not asked again."""
    candidates: int = 20
    windows: Windows = Windows()
    caps: Caps


class TeacherReport(msgspec.Struct, frozen=True, kw_only=True):
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


class DistillationReport(msgspec.Struct, frozen=True, kw_only=True):
    """What was asked, and what was learned from the answers."""

    asking: TeacherReport
    training: OwnReport


def teacher_of(name: str, settings: Settings) -> LanguageModel:
    """`llm:MODEL` at the endpoint of the settings, or `llm:` for the model there.

    Raises:
        InvalidTeacher: another name, or no endpoint is set.
        LlmUnavailable: it cannot be used.
    """
    configured = llm_settings(settings)
    kind, _, model = name.partition(":")
    if kind != "llm":
        raise InvalidTeacher(f"{name!r}: a teacher is llm:MODEL or llm:")
    if not configured.url:
        raise InvalidTeacher(f"{name!r}: set KITPICK_LLM_URL to the endpoint where the teacher is")
    return ChatEndpoint(msgspec.structs.replace(configured, model=model or configured.model))


def distil(
    catalog: Catalog, teacher: LanguageModel, teaching: TeacherPlan, training: OwnTraining, progress: Progress
) -> DistillationReport:
    """Asks the teacher what was not asked yet, and trains the cross-encoder in use on all its answers.

    Where a cap is reached or the teacher is gone, training goes on with what there is; run again to go on
    asking. Validation is on requests held out: by what is known to be relevant, else by the teacher's first.

    Raises:
        MissingExtra: the extra `train` is not installed; nobody was asked.
        NotBetter: the outcome orders the candidates held out no better; nothing was replaced.
        EvaluationError, EngineError, ModelError, RescorerError: the catalog cannot be searched, or training
            failed; answers are kept.
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
        command="kitpick models distill",
    )
    report = fine_tuned(catalog.models.chosen.cross_encoder, training, lessons, progress)
    return DistillationReport(asking=asking, training=report)


def ask_teacher(
    catalog: Catalog, teacher: LanguageModel, teaching: TeacherPlan, progress: Progress
) -> TeacherReport:
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
    meter, outcomes, stopped = CallMeter(teacher, teaching.caps), Counter[str](), ""
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
    return TeacherReport(
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
    catalog: Catalog, meter: CallMeter, batch: Sequence[JudgedQuery], teaching: TeacherPlan
) -> Iterator[tuple[JudgedQuery, PassOrder | CallFailed]]:
    """Each request of a batch with its answer, all asked at the same time."""

    def ask(request: JudgedQuery, texts: dict[str, str]) -> PassOrder | CallFailed:
        try:
            return permute(meter, request.text, texts, teaching.windows)
        except CallFailed as error:
            return error

    proposed = []
    for request in batch:
        hits = catalog.search(request.text, teaching.candidates, profile=FIRST_STAGE).hits
        proposed.append({hit.document.id: rerank_text(hit.document) for hit in hits})
    with ThreadPoolExecutor(PARALLEL) as pool:
        yield from zip(batch, pool.map(ask, batch, proposed), strict=True)


def _stored(file: PermutationFile, request: JudgedQuery, answer: PassOrder | CallFailed, teacher: str) -> str:
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
