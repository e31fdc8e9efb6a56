"""Readers, one kind of source a module; each yields documents and dead letters."""
