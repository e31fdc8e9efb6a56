"""Stages that turn candidates into a ranked list. Pure functions: no index is read here."""
