"""A typed client of the rescorer service, sync and async, with retries, a deadline and a circuit breaker."""

from kitpick_service.client.clients import AsyncRescorerClient, RemoteRescorer, RescorerClient
from kitpick_service.client.conversation import (
    CircuitOpen,
    ClientError,
    ClientSettings,
    Refused,
    Unreachable,
)

__all__ = [
    "AsyncRescorerClient",
    "CircuitOpen",
    "ClientError",
    "ClientSettings",
    "Refused",
    "RemoteRescorer",
    "RescorerClient",
    "Unreachable",
]
