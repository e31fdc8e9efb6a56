"""What demonstrations are worth to a language model, measured on questions whose answer is known."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from hashlib import blake2b
from pathlib import Path

import msgspec

from toolrank_rescorers.demorank.pool import Demonstration
from toolrank_rescorers.demorank.relevance import CHARACTERS, ask_relevance, conversation
from toolrank_rescorers.errors import RescorerError
from toolrank_rescorers.llm.meter import Meter
from toolrank_rescorers.llm.planted import shown
from toolrank_rescorers.llm.reranking import PARALLEL


class InvalidFeedback(RescorerError):
    """A file of remembered answers that cannot be used."""


class _Known(msgspec.Struct, frozen=True):
    key: str
    relevance: float | None


class Feedback:
    """Asks a model, once a question and sequence: answers are stored as they come, and never asked again.

    Args:
        meter: the model within caps.
        identity: of the model: another one's answers are not used.
        path: the file of answers.

    Raises:
        InvalidFeedback: the file cannot be read.
    """

    def __init__(self, meter: Meter, identity: str, path: Path) -> None:
        self._meter, self._identity, self._path = meter, identity, path
        self._lock = threading.Lock()
        self._known = _read(path)

    def values(self, question: Demonstration, sequences: Sequence[Sequence[Demonstration]]) -> list[float]:
        """Probability (equation 3) of the right answer after each sequence; 0 where it is no answer at all.

        Raises:
            CallFailed: a call brought no answer, or a cap is reached; what was answered is kept.
        """
        with ThreadPoolExecutor(PARALLEL) as pool:
            found = pool.map(lambda shown_before: self._relevance(question, shown_before), sequences)
            return [_value(relevance, question.useful) for relevance in found]

    def _relevance(self, question: Demonstration, before: Sequence[Demonstration]) -> float | None:
        text = shown(question.text, CHARACTERS).text
        key = self._key(question.query, text, before)
        with self._lock:
            if key in self._known:
                return self._known[key]
        relevance = ask_relevance(self._meter, question.query, text, before)
        with self._lock:
            self._known[key] = relevance
            self._add(_Known(key, relevance))
        return relevance

    def _key(self, query: str, text: str, before: Sequence[Demonstration]) -> str:
        asked = msgspec.json.encode((self._identity, conversation(query, text, before)))
        return blake2b(asked, digest_size=16).hexdigest()

    def _add(self, known: _Known) -> None:
        try:
            self._path.parent.mkdir(parents=True, exist_ok=True)
            with self._path.open("ab") as file:
                file.write(msgspec.json.encode(known) + b"\n")
        except OSError as error:
            raise InvalidFeedback(f"{self._path}: cannot be written: {error.strerror}") from error


def _value(relevance: float | None, useful: bool) -> float:
    if relevance is None:
        return 0.0
    return relevance if useful else 1.0 - relevance


def _read(path: Path) -> dict[str, float | None]:
    """The whole lines of a file; one that a killed process cut off is removed."""
    if not path.exists():
        return {}
    try:
        data = path.read_bytes()
        whole = data[: data.rfind(b"\n") + 1]
        if len(whole) < len(data):
            path.write_bytes(whole)
        lines = msgspec.json.Decoder(_Known).decode_lines(whole)
    except OSError as error:
        raise InvalidFeedback(f"{path}: cannot be read: {error.strerror}") from error
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise InvalidFeedback(f"{path}: not a file of answers: {error}: remove it to ask again") from error
    return {item.key: item.relevance for item in lines}
