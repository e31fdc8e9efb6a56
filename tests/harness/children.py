"""Processes that a test starts with helpers of the tests."""

from __future__ import annotations

import os
import sys


def importing() -> dict[str, str]:
    """The environment of a child that can import what this process can, helpers of tests among it."""
    return os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)}
