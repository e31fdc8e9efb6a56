"""Tunes the settings of a profile, and reports on requests that did not choose them."""
