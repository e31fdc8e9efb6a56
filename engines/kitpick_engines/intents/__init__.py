"""Former place of `kitpick_rescorers.intents`: programs that use the old names find the same modules."""

import sys
from importlib import import_module

for _name in ("answers", "confirmed", "store", "votes", "written"):
    sys.modules[f"{__name__}.{_name}"] = import_module(f"kitpick_rescorers.intents.{_name}")
