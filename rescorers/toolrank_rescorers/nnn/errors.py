"""What can be wrong with a decoding problem."""

from __future__ import annotations

from toolrank_rescorers.errors import RescorerError


class InvalidProblem(RescorerError, ValueError):
    """Vectors or penalties for which no answer is defined: which argument, and what is expected of it."""

    def __init__(self, argument: str, reason: str) -> None:
        super().__init__(f"{argument}: {reason}")
        self.argument = argument
