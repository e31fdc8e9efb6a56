"""Lexical ranking: the words and weights that all engines share."""
