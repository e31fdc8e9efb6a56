"""The engine without a server: one SQLite file, and float32 matrices in a folder beside it."""

from kitpick_engines.lexical import LexicalWeights
from kitpick_engines.sqlite.engine import SqliteEngine
from kitpick_engines.sqlite.writer import SqliteSettings

__all__ = ["LexicalWeights", "SqliteEngine", "SqliteSettings"]
