"""Reads a request: the names in it, what it rules out, and the words to search with."""
