"""Profiles: pipelines as data, shipped as the TOML files beside this module or read from a user's own."""

from __future__ import annotations

from toolrank_rescorers.profiles.profile import FirstStage, Profile
from toolrank_rescorers.profiles.reading import DEFAULT_PROFILE, load_profile, parse_profile, shipped_profiles

__all__ = ["DEFAULT_PROFILE", "FirstStage", "Profile", "load_profile", "parse_profile", "shipped_profiles"]
