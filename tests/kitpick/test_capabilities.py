"""What a model reads of a search by capabilities."""

from __future__ import annotations

from typing import Annotated

import msgspec

from kitpick.capabilities import arguments_schema


class Wanted(msgspec.Struct, frozen=True):
    """A sentence for people who read the code."""

    query: Annotated[str, msgspec.Meta(description="A sentence for the model.")] = ""


def test_a_model_reads_descriptions_of_arguments_and_no_docstring() -> None:
    schema = arguments_schema(Wanted)
    assert schema["properties"]["query"]["description"] == "A sentence for the model."
    assert "description" not in schema
    assert "title" not in schema
    assert schema["additionalProperties"] is False
