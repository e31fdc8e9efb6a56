"""The engine that needs no server: one SQLite file, and float32 matrices in a folder beside it."""

from toolrank_engines.sqlite.engine import SqliteEngine
from toolrank_engines.sqlite.settings import LexicalWeights, SqliteSettings

__all__ = ["LexicalWeights", "SqliteEngine", "SqliteSettings"]
