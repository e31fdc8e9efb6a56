"""Checks of a catalog: what keeps requests from finding the right API."""
