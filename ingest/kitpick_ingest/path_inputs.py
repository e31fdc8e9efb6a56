"""Inputs that a path of OpenAPI names and nothing describes."""

from __future__ import annotations

import re

from kitpick_ingest.json_values import JsonObject, as_list, as_object
from kitpick_ingest.references import References

_PLACE = re.compile(r"\{([A-Za-z_][\w.-]{0,99})\}")


def with_places(item: JsonObject, operation: JsonObject, path: str, references: References) -> JsonObject:
    """The item of a path with an input for each place of the path that none of its parameters describes.

    Nothing is added where a parameter of the path fits no place: it is the same one under another name.
    """
    listed = (*as_list(operation.get("parameters")), *as_list(item.get("parameters")))
    found = [references.resolve(as_object(each)) for each in listed]
    declared = {each.get("name") for each in found if each.get("in") == "path"}
    places = dict.fromkeys(_PLACE.findall(path))
    missing = [name for name in places if name not in declared]
    if not missing or declared - places.keys():
        return item
    added = [{"name": name, "in": "path", "required": True, "schema": {"type": "string"}} for name in missing]
    return {**item, "parameters": [*as_list(item.get("parameters")), *added]}
