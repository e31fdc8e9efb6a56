"""Metrics for Prometheus. They contain no query, no document and no id of either."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Protocol

from prometheus_client import (
    CollectorRegistry,
    Counter,
    Histogram,
    disable_created_metrics,
    generate_latest,
)
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from kitpick_rescorers.scoring import ScoreCache
from kitpick_service.contents import Contents
from kitpick_service.gate import Gate
from kitpick_service.queue import ModelQueue

disable_created_metrics()  # type: ignore[no-untyped-call]

_SECONDS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0)
_FILL = (0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0)
_SPACE = "kitpick"


class WatchedService(Protocol):
    """The work in progress of a service."""

    gate: Gate
    contents: Contents

    @property
    def queues(self) -> Iterable[ModelQueue]:
        """The queues of all models."""

    @property
    def score_cache(self) -> ScoreCache:
        """The scores of all callers."""


class Metrics:
    """The metrics of one service, in a registry of their own. Safe to use from several threads."""

    def __init__(self) -> None:
        self.registry = CollectorRegistry()
        self._answers = self._counter("answers", "Answers by path and status", "path", "status")
        self._seconds = self._histogram("answer_seconds", "From first byte to answer", _SECONDS, "path")
        self._stages = self._histogram("stage_seconds", "Time of a pipeline's stage", _SECONDS, "stage")
        self._degraded = self._counter("degraded", "Stages that could not do their work", "stage")
        self._reloads = self._counter("reloads", "Times the models were loaded anew", "outcome")
        self.tokens = self._counter("model_tokens", "Padded tokens worked on", "model")
        self.rows = self._counter("model_rows", "Texts and pairs worked on", "model")
        self.busy = self._counter("model_busy_seconds", "Time that threads spent in a model", "model")
        self.fill = self._histogram("batch_fill", "Tokens of a batch over its budget", _FILL, "model")
        self.wait = self._histogram("queue_wait_seconds", "Before the first row ran", _SECONDS, "model")
        self.refused = self._counter("queue_refused", "Not taken, or given up", "model", "reason")

    def answered(self, path: str, status: int, seconds: float) -> None:
        """One answer."""
        self._answers.labels(path, str(status)).inc()
        self._seconds.labels(path).observe(seconds)

    def rescored(self, stages: Mapping[str, float], degraded: Iterable[str]) -> None:
        """One run of a pipeline: milliseconds by stage, and the names of stages that could not work."""
        for stage, milliseconds in stages.items():
            self._stages.labels(stage).observe(milliseconds / 1e3)
        for stage in degraded:
            self._degraded.labels(stage).inc()

    def reloaded(self, outcome: str) -> None:
        """The models were loaded anew (`done`), or not (`failed`)."""
        self._reloads.labels(outcome).inc()

    def watch(self, service: WatchedService) -> None:
        """Adds gauges that are read from the service at each scrape."""
        self.registry.register(_Present(service))

    def text(self) -> bytes:
        """Everything in Prometheus' text format."""
        return generate_latest(self.registry)

    def _counter(self, name: str, help_text: str, *labels: str) -> Counter:
        return Counter(name, help_text, labels, namespace=_SPACE, registry=self.registry)

    def _histogram(self, name: str, help_text: str, buckets: tuple[float, ...], *labels: str) -> Histogram:
        return Histogram(name, help_text, labels, namespace=_SPACE, registry=self.registry, buckets=buckets)


class QueueMetrics:
    """Observes one queue; the label `model` tells the queues of a service apart."""

    def __init__(self, metrics: Metrics, model: str) -> None:
        self._tokens = metrics.tokens.labels(model)
        self._rows = metrics.rows.labels(model)
        self._busy = metrics.busy.labels(model)
        self._fill = metrics.fill.labels(model)
        self._wait = metrics.wait.labels(model)
        self._refused, self._model = metrics.refused, model

    def batch(self, rows: int, tokens: int, room: int, seconds: float) -> None:
        """Tokens a second are the rate of tokens over that of busy seconds."""
        self._tokens.inc(tokens)
        self._rows.inc(rows)
        self._busy.inc(seconds)
        self._fill.observe(tokens / room)

    def job(self, waited: float, rows: int) -> None:
        """The wait of one request."""
        self._wait.observe(waited)

    def refused(self, reason: str) -> None:
        """One request that was refused or given up."""
        self._refused.labels(self._model, reason).inc()


class _Present(Collector):
    """Gauges of the work in progress."""

    def __init__(self, service: WatchedService) -> None:
        self._service = service

    def collect(self) -> Iterator[Metric]:
        """Gauges of the gate and of every queue, counters of what is remembered."""
        gate, cache, contents = self._service.gate, self._service.score_cache, self._service.contents
        yield _gauge("requests_under_way", "Requests that were admitted", gate.requests)
        yield _gauge("body_bytes_under_way", "Bytes of their bodies", gate.bytes)
        waiting = GaugeMetricFamily(f"{_SPACE}_queue_tokens", "Padded tokens that wait", labels=["model"])
        ahead = GaugeMetricFamily(f"{_SPACE}_queue_seconds", "Work that waits, in seconds", labels=["model"])
        jobs = GaugeMetricFamily(f"{_SPACE}_queue_requests", "Requests that wait", labels=["model"])
        for queue in self._service.queues:
            waiting.add_metric([queue.name], queue.waiting_tokens)
            ahead.add_metric([queue.name], queue.waiting_seconds)
            jobs.add_metric([queue.name], queue.waiting_jobs)
        yield from (waiting, ahead, jobs)
        yield _looked_up("score_cache_pairs", "Pairs looked up", cache)
        yield _gauge("content_cache_bytes", "Bytes of remembered documents", contents.bytes)
        yield _looked_up("content_cache_documents", "Documents sent as hashes", contents)


def _looked_up(name: str, help_text: str, cache: ScoreCache | Contents) -> Metric:
    found = CounterMetricFamily(f"{_SPACE}_{name}", help_text, labels=["outcome"])
    found.add_metric(["hit"], cache.hits)
    found.add_metric(["miss"], cache.misses)
    return found


def _gauge(name: str, help_text: str, value: float) -> Metric:
    return GaugeMetricFamily(f"{_SPACE}_{name}", help_text, value=value)
