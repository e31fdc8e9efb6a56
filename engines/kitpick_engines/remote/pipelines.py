"""The search pipelines of a catalog: those that rescore, and the model whose vectors they expect."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress

from kitpick_engines.errors import EngineError
from kitpick_engines.remote.server import Json, SearchServer
from kitpick_engines.remote.state import is_named_for

DEFAULT_PIPELINE = "index.search.default_pipeline"


def name_model(server: SearchServer, catalog: str, index: str, model: str) -> None:
    """Lets the pipelines of a catalog that name a model name the one behind the vectors of its live index.

    They are the one that `kitpick setup` makes, which has the catalog's name, and the default of the index,
    unless an index of somebody else has the same default. Whoever may not change pipelines gets searches
    without vectors until somebody does, as `kitpick doctor` says.
    """
    with suppress(EngineError):
        for name in dict.fromkeys((catalog, default_of(server, index))):
            found = None if name == "_none" else server.find("GET", f"/_search/pipeline/{name}", patience=0)
            changed = _naming(found[name], model) if found else None
            if (
                found
                and changed != found[name]
                and (name == catalog or not _is_shared(server, catalog, name))
            ):
                server.call("PUT", f"/_search/pipeline/{name}", changed, patience=0)


def _is_shared(server: SearchServer, catalog: str, pipeline: str) -> bool:
    """Whether an index that is not of this catalog has the pipeline as its default."""
    found = server.call("GET", f"/_all/_settings/{DEFAULT_PIPELINE}?flat_settings=true", patience=0)
    return any(
        each["settings"].get(DEFAULT_PIPELINE) == pipeline and not is_named_for(index, catalog)
        for index, each in found.items()
    )


def default_of(server: SearchServer, index: str) -> str:
    """The pipeline that searches of an index go through; `_none` for none.

    Raises:
        EngineError: it cannot be read.
    """
    wanted = f"/{index}/_settings/{DEFAULT_PIPELINE}?flat_settings=true"
    found = server.find("GET", wanted, patience=0) or {}
    named = (each["settings"].get(DEFAULT_PIPELINE) for each in found.values())
    return next((str(each) for each in named if each), "_none")


def rescoring(pipeline: Json) -> Iterator[Json]:
    """What a pipeline says to each `kitpick` processor."""
    return (each["kitpick"] for each in pipeline.get("response_processors", ()) if "kitpick" in each)


def _naming(pipeline: Json, model: str) -> Json:
    """The pipeline with this model wherever it names one."""
    if not any("vector_model" in said for said in rescoring(pipeline)):
        return pipeline
    processors = [
        {**each, "kitpick": {**each["kitpick"], "vector_model": model}}
        if "vector_model" in each.get("kitpick", ())
        else each
        for each in pipeline["response_processors"]
    ]
    return {**pipeline, "response_processors": processors}
