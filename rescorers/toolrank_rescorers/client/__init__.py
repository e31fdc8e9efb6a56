"""A typed client of the rescorer service, sync and async, with retries, a deadline and a circuit breaker."""

from toolrank_rescorers.client.asynchronous import AsyncRescorerClient
from toolrank_rescorers.client.errors import CircuitOpen, ClientError, Refused, Unreachable
from toolrank_rescorers.client.settings import ClientSettings
from toolrank_rescorers.client.synchronous import RescorerClient

__all__ = [
    "AsyncRescorerClient",
    "CircuitOpen",
    "ClientError",
    "ClientSettings",
    "Refused",
    "RescorerClient",
    "Unreachable",
]
