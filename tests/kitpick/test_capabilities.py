"""Searches by capabilities: what a model reads of them, and what they hold."""

from __future__ import annotations

from functools import partial
from typing import Annotated

import msgspec
import pytest

from kitpick.capabilities import arguments_schema, search_steps
from kitpick.catalog import Catalog


class Wanted(msgspec.Struct, frozen=True):
    """A sentence for people who read the code."""

    query: Annotated[str, msgspec.Meta(description="A sentence for the model.")] = ""


def test_a_model_reads_descriptions_of_arguments_and_no_docstring() -> None:
    schema = arguments_schema(Wanted)
    assert schema["properties"]["query"]["description"] == "A sentence for the model."
    assert "description" not in schema
    assert "title" not in schema
    assert schema["additionalProperties"] is False


@pytest.mark.needs("weights", "onnxruntime")
def test_what_several_steps_find_is_held_once(catalog: Catalog) -> None:
    steps = search_steps(partial(catalog.search, k=3), ["forecast the weather", "will it rain", "send mail"])
    found = [hit for step in steps.steps for hit in step.result.hits]
    by_id = {hit.id: hit.document for hit in found}
    assert len(found) > len(by_id)
    assert all(hit.document is by_id[hit.id] for hit in found)
