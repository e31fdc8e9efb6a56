"""The queue of a model: rows of all requests, batched by length, with a fair share for each request."""

from kitpick_rescorers.service.queue.model_queue import ModelQueue, QueueLimits, QueueObserver

__all__ = ["ModelQueue", "QueueLimits", "QueueObserver"]
