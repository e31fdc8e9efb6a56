"""Whether a provider takes what a deferral sends: a conversation of four turns with its SDK and a real key.

    python benchmarks/provider_check.py anthropic --model claude-sonnet-5 --record anthropic.jsonl

Key and address are those of the SDK: `ANTHROPIC_API_KEY`, `OPENAI_API_KEY`, and `…_BASE_URL`. It costs some
ten requests. Every request and its answer can be recorded, one JSON object a line, without headers: so
without the key. Nothing but made-up tools and texts is sent.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TextIO

from kitpick.adapters.deferral import AnthropicDeferral, Namespaces, OpenAIDeferral
from kitpick.catalog import Catalog
from kitpick.settings import Settings
from kitpick_engines.document import ApiDocument

MAX_REQUESTS = 8
"""So many requests are sent for one turn."""
_CITY = {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}
_MAIL = {
    "type": "object",
    "properties": {"to": {"type": "string"}, "text": {"type": "string"}},
    "required": ["to", "text"],
}
_EVENT = {"type": "object", "properties": {"title": {"type": "string"}}, "required": ["title"]}
FUNCTIONS = (
    {"name": "get_weather", "description": "Current weather and forecast for a city", "parameters": _CITY},
    {"name": "send_email", "description": "Send an email message to a recipient", "parameters": _MAIL},
    {"name": "create_event", "description": "Create a new event in the calendar", "parameters": _EVENT},
)
PINNED = "check/check/send_email"
TURNS = (
    ("a deferred tool is found and called", "What is the weather in Paris now? Use a tool.", "get_weather"),
    ("what was found stays loaded", "And in Berlin? Call the tool again.", "get_weather"),
    ("a pinned tool is called", "Send an email to ann@example.com that says hello.", "send_email"),
    ("after unloading, the rest goes on", "Put an event called umbrella into my calendar.", "create_event"),
)
"""What is checked, what the user says, and what the model is to call then."""


class Provider(ABC):
    """A conversation with a provider."""

    def __init__(self, deferral: AnthropicDeferral | OpenAIDeferral, model: str) -> None:
        self._deferral = deferral
        self._model = model
        self._said: list[Any] = []

    def turn(self, text: str) -> None:
        """Says something, and answers calls until the model is done, or for `MAX_REQUESTS`."""
        self._said.append({"role": "user", "content": text})
        for _ in range(MAX_REQUESTS):
            self._said += self.asked(self._said)
            answers = self._deferral.answers(self._said)
            if not answers:
                return
            self._said += self.as_input(answers)

    def unload(self) -> None:
        """Goes on as if the prompt cache had ended."""
        self._said = self._deferral.shortened(self._said, 0)

    @abstractmethod
    def asked(self, conversation: Sequence[Any]) -> list[Any]:
        """What the model says; raises whatever the SDK does."""

    @abstractmethod
    def as_input(self, answers: list[dict[str, Any]]) -> list[Any]:
        """Answers as they are appended."""


class Anthropic(Provider):
    """Anthropic's Messages API."""

    def __init__(self, deferral: AnthropicDeferral, model: str, client: Any) -> None:  # noqa: ANN401 - the SDK's
        super().__init__(deferral, model)
        self._client = client

    def asked(self, conversation: Sequence[Any]) -> list[Any]:
        """One message of the assistant."""
        message = self._client.messages.create(
            model=self._model, max_tokens=1_000, tools=self._deferral.tools, messages=list(conversation)
        )
        return [{"role": "assistant", "content": message.content}]

    def as_input(self, answers: list[dict[str, Any]]) -> list[Any]:
        """The beginning of the user's next message."""
        return [{"role": "user", "content": answers}]


class OpenAI(Provider):
    """OpenAI's Responses API."""

    def __init__(self, deferral: OpenAIDeferral, model: str, client: Any) -> None:  # noqa: ANN401 - the SDK's
        super().__init__(deferral, model)
        self._client = client

    def asked(self, conversation: Sequence[Any]) -> list[Any]:
        """The items of one response."""
        response = self._client.responses.create(
            model=self._model, tools=self._deferral.tools, input=list(conversation)
        )
        return [item.model_dump(exclude_none=True) for item in response.output]

    def as_input(self, answers: list[dict[str, Any]]) -> list[Any]:
        """As they are."""
        return answers


def check(provider: Provider, called: list[str], say: Callable[[str], None]) -> bool:
    """Runs the turns and says what came of each; whether all is well.

    Args:
        provider: whom to talk to.
        called: where names of called APIs arrive.
        say: takes one line a turn.
    """
    well = True
    for number, (what, text, wanted) in enumerate(TURNS):
        if number == len(TURNS) - 1:
            provider.unload()
        del called[:]
        try:
            provider.turn(text)
        except Exception as error:  # noqa: BLE001 - every SDK has errors of its own
            say(f"refused  {what}: {type(error).__name__}: {error}")
            return False
        done = wanted in called
        well &= done
        say(
            f"{'ok      ' if done else 'not done'} {what}"
            + ("" if done else f": called {called or 'nothing'}")
        )
    return well


def main(arguments: Sequence[str] | None = None) -> int:
    """Prints a line for each check; 1 where one fails."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("provider", choices=("anthropic", "openai"))
    parser.add_argument("--model", required=True)
    parser.add_argument("--namespaces", choices=("found", "all"), help="of OpenAI")
    parser.add_argument("--record", type=Path, metavar="FILE")
    given = parser.parse_args(arguments)
    called: list[str] = []
    with (
        _catalog() as catalog,
        _recording(given.record) as record,
        _provider(given, catalog, called, record) as own,
    ):
        return 0 if check(own, called, print) else 1


@contextmanager
def _catalog() -> Iterator[Catalog]:
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "check.json"
        file.write_text(json.dumps(FUNCTIONS))
        with Catalog.open(f"sqlite:{folder}/check.db", settings=Settings(rescorer="")) as catalog:
            catalog.ingest(f"functions:{file}")
            yield catalog


@contextmanager
def _recording(file: Path | None) -> Iterator[TextIO | None]:
    if file is None:
        yield None
        return
    with file.open("w", encoding="utf-8") as opened:
        yield opened


@contextmanager
def _provider(
    given: argparse.Namespace, catalog: Catalog, called: list[str], record: TextIO | None
) -> Iterator[Provider]:
    def run(document: ApiDocument, arguments: dict[str, Any]) -> dict[str, str]:
        called.append(document.api)
        return {"answer": f"{document.api} was called, all went well: 21 degrees"}

    def keep(response: Any) -> None:  # noqa: ANN401 - of the SDK's HTTP client
        if record is not None:
            asked, answer = json.loads(response.request.content), json.loads(response.read())
            record.write(
                json.dumps({"request": asked, "status": response.status_code, "answer": answer}) + "\n"
            )

    hooks = {"event_hooks": {"response": [keep]}}
    if given.provider == "anthropic":
        import anthropic

        with anthropic.Anthropic(http_client=anthropic.DefaultHttpxClient(**hooks), max_retries=0) as client:
            yield Anthropic(AnthropicDeferral(catalog, run, pinned=[PINNED]), given.model, client)
    else:
        import openai

        namespaces: Namespaces | None = given.namespaces
        deferral = OpenAIDeferral(catalog, run, pinned=[PINNED], namespaces=namespaces)
        with openai.OpenAI(http_client=openai.DefaultHttpxClient(**hooks), max_retries=0) as other:
            yield OpenAI(deferral, given.model, other)


if __name__ == "__main__":
    sys.exit(main())
