"""What demonstrations are worth to a language model, and the sequence of them that is worth most."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from hashlib import blake2b
from pathlib import Path

import msgspec

from kitpick_foundation.decoding import decoder_of
from kitpick_rescorers.errors import RescorerError
from kitpick_rescorers.llm.injection import sanitise
from kitpick_rescorers.llm.meter import CallMeter
from kitpick_rescorers.llm.windows import PARALLEL
from kitpick_training.own.demorank import CHARACTERS, Demonstration, ask_relevance, relevance_messages

Score = Callable[[Sequence[Sequence[int]]], Sequence[float]]
"""How good each of some sequences of numbers is; higher is better."""


class InvalidFeedback(RescorerError):
    """A file of remembered answers that cannot be used."""


class _Known(msgspec.Struct, frozen=True):
    key: str
    relevance: float | None


class ModelFeedback:
    """Asks a model about questions whose answer is known, once for each question and sequence.

    Answers are stored as they come, and never asked for again.

    Args:
        meter: the model within caps.
        identity: of the model: another one's answers are not used.
        path: the file of answers.

    Raises:
        InvalidFeedback: the file cannot be read.
    """

    def __init__(self, meter: CallMeter, identity: str, path: Path) -> None:
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
        text = sanitise(question.text, CHARACTERS).text
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
        asked = msgspec.json.encode((self._identity, relevance_messages(query, text, before)))
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
        lines = decoder_of(_Known).decode_lines(whole)
    except OSError as error:
        raise InvalidFeedback(f"{path}: cannot be read: {error.strerror}") from error
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise InvalidFeedback(f"{path}: not a file of answers: {error}: remove it to ask again") from error
    return {item.key: item.relevance for item in lines}


def greedy_sequence(count: int, length: int, score: Score) -> list[int]:
    """Numbers out of 0 … count - 1: first the best alone, then whatever is best behind those chosen.

    Liu et al., 2024, algorithm 1.

    Args:
        count: how many there are to choose from.
        length: how many to choose, at most.
        score: asked for all extensions of a step together; of equal ones the first is chosen.
    """
    chosen: list[int] = []
    while len(chosen) < min(length, count):
        rest = [number for number in range(count) if number not in chosen]
        scores = score([[*chosen, number] for number in rest])
        chosen.append(rest[max(range(len(rest)), key=scores.__getitem__)])
    return chosen


def greedy_grades(chosen: Sequence[int], count: int) -> list[float]:
    """Labels of 0 … count - 1: the k chosen ones k … 1 in their order, the rest 0."""
    grades = [0.0] * count
    for label, number in enumerate(reversed(chosen), start=1):
        grades[number] = float(label)
    return grades
