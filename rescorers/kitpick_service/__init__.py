"""Rescoring over HTTP: one stateless process. Nothing here opens a connection of its own."""
