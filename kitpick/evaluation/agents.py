"""Plays recorded tasks with a language model: over all tools, and over those that a search finds.

A task is a prompt, the calls that it needs, and recorded answers of tools, so nothing real is called. The
model is whatever OpenAI-compatible endpoint the settings name. Counted are tasks solved, tokens, cached
tokens, calls that the task does not need, and those of them that destroy something.
"""

from __future__ import annotations

import enum
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec

from kitpick.adapters.conversation_tools import (
    DESCRIPTION,
    SEARCH,
    SEARCH_SCHEMA,
    ConversationTools,
)
from kitpick.adapters.tools import CallableTool, as_text, callable_tools, tools_of
from kitpick.catalog import Catalog
from kitpick_engines.contract import Filter
from kitpick_engines.document import ApiDocument
from kitpick_foundation.decoding import UNDECODABLE, decode_as
from kitpick_foundation.errors import FailureKind, KitpickError, suggestion
from kitpick_foundation.text_files import read_utf8
from kitpick_rescorers.llm.endpoint import ChatEndpoint, ChatTurn
from kitpick_rescorers.llm.model import CallFailed

MAX_TURNS = 12
"""Answers of the model in one task."""
MAX_ANSWER_TOKENS = 1_000
_SEARCH_TOOL = {
    "type": "function",
    "function": {"name": SEARCH, "description": DESCRIPTION, "parameters": SEARCH_SCHEMA},
}


class ToolsShown(enum.Enum):
    """Which tools a model is shown."""

    ALL = "all"
    DEFERRED = "deferred"
    """A search, and what it found."""
    SEARCHED = "searched"
    """What kitpick finds for the prompt."""


class InvalidTasks(KitpickError):
    """A file of tasks that cannot be used."""


class SilentModel(KitpickError):
    """A language model that did not answer at all."""

    failure = FailureKind.UNAVAILABLE

    def __init__(self, url: str, problem: str) -> None:
        super().__init__(f"the language model at {url} gave no answer: {problem}")


class NeededCall(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A call without which a task is not solved."""

    tool: str
    """Id of an API, or its name."""
    arguments: dict[str, Any] = {}
    """Arguments that the call must have; others are free."""


class AgentTask(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A task with recorded answers."""

    prompt: str
    needs: tuple[NeededCall, ...]
    answers: dict[str, Any] = {}
    """What a tool answers, by id or name; others answer `{"ok": true}`."""
    id: str = ""


class Played(msgspec.Struct, frozen=True):
    """What became of one task."""

    task: str
    way: ToolsShown
    solved: bool
    turns: int
    prompt_tokens: int
    cached_tokens: int
    completion_tokens: int
    wrong_calls: int
    """Calls that the task does not need, and of tools that were not offered."""
    destructive_calls: int
    """Wrong calls of APIs that destroy something."""
    problem: str = ""
    """Why the task could not be played to its end."""


class WayReport(msgspec.Struct, frozen=True):
    """Sums over the tasks of one way."""

    way: ToolsShown
    tasks: int
    solved: int
    prompt_tokens: int
    cached_tokens: int
    completion_tokens: int
    wrong_calls: int
    destructive_calls: int
    problems: int


def read_tasks(path: Path) -> list[AgentTask]:
    """Tasks from JSON lines; those without an id are named by their line.

    Raises:
        InvalidTasks: the file cannot be read, or a line is no task: which, and why.
    """
    try:
        lines = read_utf8(path).split(b"\n")  # not where Unicode has other ends of lines: texts may hold them
    except (OSError, UnicodeDecodeError) as error:
        raise InvalidTasks(f"{path}: cannot be read: {error}") from error
    tasks = [_task(path, number, line) for number, line in enumerate(lines, 1) if line.strip()]
    if not tasks:
        raise InvalidTasks(f"{path}: holds no task")
    return tasks


def _task(path: Path, number: int, line: bytes) -> AgentTask:
    try:
        task = decode_as(line, AgentTask)
    except UNDECODABLE as error:
        raise InvalidTasks(
            f"{path}, line {number}: no task: {error}; a task has prompt, needs and answers"
        ) from error
    return task if task.id else msgspec.structs.replace(task, id=f"line {number}")


class _Recorder:
    """Answers calls as they were recorded, and notes them."""

    def __init__(self, task: AgentTask) -> None:
        self._task = task
        self.made: list[tuple[ApiDocument, dict[str, Any]]] = []

    def run(self, document: ApiDocument, arguments: dict[str, Any]) -> Any:  # noqa: ANN401 - as recorded
        self.made.append((document, arguments))
        answers = self._task.answers
        return answers.get(document.id, answers.get(document.api, {"ok": True}))

    @property
    def solved(self) -> bool:
        return all(any(_meets(need, *call) for call in self.made) for need in self._task.needs)

    @property
    def wrong(self) -> list[ApiDocument]:
        needed = {need.tool for need in self._task.needs}
        return [document for document, _ in self.made if not {document.id, document.api} & needed]


def _meets(need: NeededCall, document: ApiDocument, arguments: Mapping[str, Any]) -> bool:
    return need.tool in (document.id, document.api) and need.arguments.items() <= dict(arguments).items()


class _Toolbox:
    """What a model is offered in one task: fixed tools, or a search and what it found so far."""

    def __init__(self, fixed: Sequence[CallableTool] = (), searched: ConversationTools | None = None) -> None:
        self._fixed = fixed
        self._searched = searched
        self._kept: list[object] = []

    def _tools(self) -> Sequence[CallableTool]:
        return self._fixed if self._searched is None else self._searched.loaded(self._kept)

    def offered(self) -> list[dict[str, Any]]:
        """Definitions of the next request."""
        search = [] if self._searched is None else [_SEARCH_TOOL]
        return [*search, *map(_definition, self._tools())]

    def call(self, name: str, arguments: dict[str, Any]) -> str | None:
        """What the model reads of a call, None for a tool that was not offered."""
        if name == SEARCH and self._searched is not None:
            findings = self._searched.search(arguments)
            self._kept.append(findings.kept())
            return findings.text
        tool = next((tool for tool in self._tools() if tool.name == name), None)
        return None if tool is None else as_text(tool.call(arguments))


def _definition(tool: CallableTool) -> dict[str, Any]:
    described = {"description": tool.description} if tool.description else {}
    return {"type": "function", "function": {"name": tool.name, **described, "parameters": tool.schema}}


class AgentEvaluation:
    """Plays tasks over a catalog with a model."""

    def __init__(
        self, catalog: Catalog, endpoint: ChatEndpoint, permitted: Filter, k: int, seconds: float
    ) -> None:
        """`k` tools are found for a request or a capability; a turn may take so many seconds."""
        self._catalog = catalog
        self._endpoint = endpoint
        self._permitted = permitted
        self._k = k
        self._seconds = seconds

    def check(self, tasks: Iterable[AgentTask]) -> None:
        """Refuses tasks that nobody can solve here, before anything is spent.

        Raises:
            InvalidTasks: one needs a tool that the catalog does not have, as far as the caller may see.
        """
        documents = list(self._catalog.documents(self._permitted))
        known = {document.id for document in documents} | {document.api for document in documents}
        for task in tasks:
            for need in task.needs:
                if need.tool not in known:
                    hint = suggestion(need.tool, sorted(known)) or "it is empty"
                    raise InvalidTasks(f"task {task.id!r} needs {need.tool!r}, which is not there: {hint}")

    def play(self, task: AgentTask, way: ToolsShown) -> Played:
        """Plays one task to the model's last word, at most `MAX_TURNS` turns.

        Raises:
            EmptyCatalog, EngineError, RescorerError: the catalog cannot be searched.
        """
        recorder, turns, strangers, problem = _Recorder(task), list[ChatTurn](), 0, ""
        try:
            for turn, unknown in self._turns(task, self._toolbox(task, way, recorder)):
                turns.append(turn)
                strangers += unknown
        except CallFailed as error:
            problem = str(error)
        return Played(
            task.id,
            way,
            recorder.solved,
            len(turns),
            sum(turn.prompt_tokens for turn in turns),
            sum(turn.cached_tokens for turn in turns),
            sum(turn.completion_tokens for turn in turns),
            len(recorder.wrong) + strangers,
            sum(document.effect == "destructive" for document in recorder.wrong),
            problem,
        )

    def _turns(self, task: AgentTask, toolbox: _Toolbox) -> Iterator[tuple[ChatTurn, int]]:
        """The model's turns, and how many calls of each were of tools that were not offered."""
        messages: list[dict[str, Any]] = [{"role": "user", "content": task.prompt}]
        for _ in range(MAX_TURNS):
            offered = toolbox.offered()
            turn = self._endpoint.chat(messages, offered, max_tokens=MAX_ANSWER_TOKENS, seconds=self._seconds)
            answers, strangers = _answered(turn.message, toolbox)
            yield turn, strangers
            messages += [{"role": "assistant", **turn.message}, *answers]
            if not answers:
                return

    def _toolbox(self, task: AgentTask, way: ToolsShown, recorder: _Recorder) -> _Toolbox:
        if way is ToolsShown.ALL:
            return _Toolbox(tools_of(list(self._catalog.documents(self._permitted)), recorder.run))
        if way is ToolsShown.SEARCHED:
            found = self._catalog.search(task.prompt, self._k, filter=self._permitted)
            return _Toolbox(callable_tools(found, recorder.run))
        tools = ConversationTools(self._catalog, recorder.run, k=self._k, filter=self._permitted)
        return _Toolbox(searched=tools)


def _answered(message: Mapping[str, Any], toolbox: _Toolbox) -> tuple[list[dict[str, Any]], int]:
    """Answers to the calls of a message, and how many of them named a tool that was not offered."""
    answers: list[dict[str, Any]] = []
    strangers = 0
    calls = message.get("tool_calls")
    for call in calls if isinstance(calls, list) else []:
        function = call.get("function", {}) if isinstance(call, dict) else {}
        name = str(function.get("name", "")) if isinstance(function, dict) else ""
        text = _said(toolbox, name, function.get("arguments") if name else None)
        strangers += text is None
        content = f"there is no tool {name!r}" if text is None else text
        call_id = str(call.get("id", "")) if isinstance(call, dict) else ""
        answers.append({"role": "tool", "tool_call_id": call_id, "content": content})
    return answers, strangers


def _said(toolbox: _Toolbox, name: str, arguments: object) -> str | None:
    try:
        given = decode_as(arguments, dict[str, Any]) if isinstance(arguments, str) else arguments
    except UNDECODABLE as error:
        return f"the arguments are no JSON object: {error}"
    return toolbox.call(name, given if isinstance(given, dict) else {})


def summed(played: Iterable[Played]) -> list[WayReport]:
    """One row for each way that was played."""
    by_way: dict[ToolsShown, list[Played]] = {}
    for one in played:
        by_way.setdefault(one.way, []).append(one)
    return [_way(way, by_way[way]) for way in ToolsShown if way in by_way]


def _way(way: ToolsShown, played: Sequence[Played]) -> WayReport:
    return WayReport(
        way,
        len(played),
        sum(one.solved for one in played),
        sum(one.prompt_tokens for one in played),
        sum(one.cached_tokens for one in played),
        sum(one.completion_tokens for one in played),
        sum(one.wrong_calls for one in played),
        sum(one.destructive_calls for one in played),
        sum(bool(one.problem) for one in played),
    )
