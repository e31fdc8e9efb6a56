"""Profiles: pipelines as data, shipped as the TOML files beside this module or read from a user's own."""

from __future__ import annotations

from kitpick_rescorers.profiles.profile import (
    DEFAULT_PROFILE,
    FirstStage,
    Profile,
    load_profile,
    parse_profile,
    shipped_profiles,
)

__all__ = ["DEFAULT_PROFILE", "FirstStage", "Profile", "load_profile", "parse_profile", "shipped_profiles"]
