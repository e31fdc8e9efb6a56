"""What users import, and what that costs."""

from __future__ import annotations

import importlib
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import kitpick
from kitpick_foundation.errors import KitpickError


def in_a_fresh_process(code: str) -> Any:
    """What the code prints as JSON."""
    command = [sys.executable, "-c", f"import json, sys, time\n{code}"]
    return json.loads(subprocess.run(command, capture_output=True, text=True, timeout=600, check=True).stdout)


@pytest.mark.parametrize("name", kitpick.__all__)
def test_every_name_is_there_and_is_the_one_its_module_defines(name: str) -> None:
    found = getattr(kitpick, name)
    assert found is getattr(importlib.import_module(found.__module__), name)
    assert found.__doc__


def test_names_are_listed_and_others_are_not_there() -> None:
    assert set(kitpick.__all__) <= set(dir(kitpick))
    with pytest.raises(AttributeError, match="no attribute 'Catalogue'"):
        _ = kitpick.Catalogue  # type: ignore[attr-defined]
    with pytest.raises(ImportError):
        exec("from kitpick import Catalogue")


def test_the_package_itself_costs_nothing() -> None:
    code = """
started = time.process_time()
import kitpick
spent = time.process_time() - started
print(json.dumps([spent, sorted({name.partition('.')[0] for name in sys.modules})]))
"""
    spent, loaded = in_a_fresh_process(code)
    assert spent < 1, f"{spent:.3f} s of processor time"
    heavy = {"onnxruntime", "typer", "rich", "numpy", "pydantic", "msgspec", "tokenizers", "starlette"}
    assert heavy.isdisjoint(loaded)


def test_a_catalog_loads_neither_models_nor_commands_nor_a_server() -> None:
    code = """
from kitpick import Catalog, Filter, Intent, KitpickError, Profile, SearchHit, SearchResult, SyncOptions
print(json.dumps(sorted({name.partition('.')[0] for name in sys.modules})))
"""
    loaded = in_a_fresh_process(code)
    assert {"onnxruntime", "torch", "typer", "rich", "starlette", "uvicorn"}.isdisjoint(loaded)


def test_a_catalog_that_is_only_named_loads_nothing_that_opens_or_searches_one() -> None:
    code = """
from kitpick import Catalog
print(json.dumps(sorted(sys.modules)))
"""
    needed_later = {"kitpick.model_set", "kitpick.feedback", "kitpick_models.encoders", "tokenizers"}
    needed_later |= {"kitpick_rescorers.search", "kitpick_rescorers.stages", "kitpick_rescorers.nnn"}
    assert needed_later.isdisjoint(in_a_fresh_process(code))


def test_a_catalog_that_is_only_opened_loads_nothing_for_syncs_and_services(tmp_path: Path) -> None:
    code = f"""
from kitpick import Catalog
Catalog.open({f"sqlite:{tmp_path / 'tools.db'}"!r}).close()
print(json.dumps(sorted(sys.modules)))
"""
    unneeded = {"asyncio", "ssl", "filelock", "kitpick_ingest.sync", "kitpick_ingest.opening"}
    assert unneeded.isdisjoint(in_a_fresh_process(code))


def test_language_models_are_loaded_only_where_a_profile_asks_one(tmp_path: Path) -> None:
    code = f"""
from kitpick import Catalog
Catalog.open({f"sqlite:{tmp_path / 'tools.db'}"!r}).close()
extensions = "kitpick_rescorers.llm"
print(json.dumps([name for name in sys.modules if name.startswith(extensions)]))
"""
    assert in_a_fresh_process(code) == []


def test_one_root_catches_what_a_catalog_raises(tmp_path: Any) -> None:
    with pytest.raises(KitpickError):
        kitpick.Catalog.open("carrier-pigeon:loft")
    assert kitpick.KitpickError is KitpickError


def test_a_service_without_the_page_loads_none_of_it() -> None:
    code = """
import kitpick.cli.serve
print(json.dumps(sorted(sys.modules)))
"""
    loaded = in_a_fresh_process(code)
    assert "kitpick.cli.serve" in loaded
    assert not [name for name in loaded if name.startswith(("kitpick.ui", "kitpick_evaluation"))]
