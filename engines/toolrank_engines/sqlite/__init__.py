"""The engine that needs no server: one SQLite file, and float32 matrices in a folder beside it."""

from toolrank_engines.lexical.weights import LexicalWeights
from toolrank_engines.sqlite.engine import SqliteEngine
from toolrank_engines.sqlite.settings import SqliteSettings

__all__ = ["LexicalWeights", "SqliteEngine", "SqliteSettings"]
