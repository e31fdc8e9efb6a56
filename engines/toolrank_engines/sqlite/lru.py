"""A cache bounded by bytes."""

from __future__ import annotations

import threading
from collections import OrderedDict
from typing import Generic, TypeVar

Key = TypeVar("Key")
Value = TypeVar("Value")


class Lru(Generic[Key, Value]):
    """Forgets what was not asked for longest, once its things are larger together than `capacity` bytes."""

    def __init__(self, capacity: int) -> None:
        self._capacity = capacity
        self._held = 0
        self._items: OrderedDict[Key, tuple[Value, int]] = OrderedDict()
        self._lock = threading.Lock()

    def get(self, key: Key) -> Value | None:
        """The value, None where it is not held."""
        with self._lock:
            if key not in self._items:
                return None
            self._items.move_to_end(key)
            return self._items[key][0]

    def put(self, key: Key, value: Value, size: int) -> None:
        """Holds a value of `size` bytes."""
        with self._lock:
            self._held += size - self._items.pop(key, (None, 0))[1]
            self._items[key] = value, size
            while self._held > self._capacity:
                _, (_, freed) = self._items.popitem(last=False)
                self._held -= freed
