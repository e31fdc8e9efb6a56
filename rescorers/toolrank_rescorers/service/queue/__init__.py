"""One queue a model: rows of all requests, batched by length, each request getting its share."""

from toolrank_rescorers.service.queue.model_queue import ModelQueue, Observer, QueueLimits

__all__ = ["ModelQueue", "Observer", "QueueLimits"]
