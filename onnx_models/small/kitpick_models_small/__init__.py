"""The model set `small` of kitpick: found by its name once this package is installed."""
