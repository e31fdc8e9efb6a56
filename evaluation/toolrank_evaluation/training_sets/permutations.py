"""A permutation set: requests with candidates in the order that a teacher gave them, one a line of JSON."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

import msgspec

from toolrank_evaluation.errors import InvalidDataset
from toolrank_evaluation.json_lines import read_json_lines
from toolrank_evaluation.training_sets.graded import GradedRequest


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
