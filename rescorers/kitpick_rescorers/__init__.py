"""Stages that turn candidates into a ranked list. Pure functions: no index is read here."""

DEFAULT_PROFILE = "kitpick"
"""Name of the profile of a search that names none."""
