"""Readers of judged datasets, one a file; `opening` picks one by name."""
