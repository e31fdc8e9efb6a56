"""The child process of the fuzzer: reads inputs, says what came of each and how much of the code was new.

Untrusted bytes are handed to one reader, named on the command line. A line comes in for each input (base64),
a line goes out (JSON: `outcome` and `new`, the number of lines of our packages that no input ran before).
What ends this process without a line is a native crash.
"""

from __future__ import annotations

import base64
import hashlib
import json
import os
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from types import FrameType
from typing import Any

from kitpick_foundation.errors import KitpickError

Reader = Callable[[bytes], object]
_OURS = "kitpick_"


def reader_named(name: str) -> Reader:
    """The reader of untrusted bytes of this name; nothing that it needs is imported before."""
    kind, _, what = name.partition(":")
    if kind in {"model", "catalog"}:
        return _stored_reader(name)
    return {"text": _text_reader, "wire": _wire_reader, "source": _source_reader, "check": _check}[kind](what)


def _text_reader(what: str) -> Reader:
    from msgspec.structs import replace

    from kitpick.mcp.config import read_config
    from kitpick_engines.document import ApiDocument
    from kitpick_evaluation.json_lines import read_json_lines
    from kitpick_foundation.yaml_values import parse_yaml
    from kitpick_ingest.approvals import Approvals
    from kitpick_models.graph_file import keeps_weights_elsewhere
    from kitpick_models.locate import find_model
    from kitpick_models.manifest import read_manifest
    from kitpick_models.verify import REFERENCE, read_reference
    from kitpick_rescorers.llm.windows import read_ranking
    from kitpick_rescorers.llm.writing import read_writing
    from kitpick_rescorers.profiles import parse_profile
    from kitpick_service.keys import parse_keys
    from kitpick_training.own.demorank import Demonstration, read_pool

    def graph(data: bytes) -> object:
        try:
            return keeps_weights_elsewhere(data)
        except ValueError:  # what its caller makes a typed error of
            return None

    def manifest(data: bytes) -> object:
        with tempfile.TemporaryDirectory() as folder:
            (Path(folder) / "manifest.json").write_bytes(data)
            return read_manifest(Path(folder))

    def in_file(read: Callable[[Path], object]) -> Reader:
        def given(data: bytes) -> object:
            with tempfile.TemporaryDirectory() as folder:
                file = Path(folder) / "given"
                file.write_bytes(data)
                return read(file)

        return given

    def reference(data: bytes) -> object:
        with tempfile.TemporaryDirectory() as folder:
            (Path(folder) / REFERENCE).write_bytes(data)
            digest = hashlib.sha256(data).hexdigest()
            return read_reference(Path(folder), replace(shipped, files={REFERENCE: digest}))

    shipped = read_manifest(find_model("reranker-l6"))
    document = ApiDocument(id="s/t/a", source="s", category="c", tool="t", api="a", description="weather")
    readers: dict[str, Reader] = {
        "yaml": lambda data: parse_yaml(data, 100_000),
        "verbatim": lambda data: parse_yaml(data, 65_536, verbatim=True),
        "profile": lambda data: parse_profile(data.decode("utf-8", "replace"), "x.toml"),
        "keys": lambda data: parse_keys(data.decode("utf-8", "replace"), "keys.toml"),
        "graph": graph,
        "manifest": manifest,
        "reference": reference,
        "ranking": lambda data: read_ranking(data.decode("utf-8", "replace"), 5),
        "writing": lambda data: read_writing(data.decode("utf-8", "replace"), document),
        "pool": in_file(read_pool),
        "config": in_file(read_config),
        "lock": in_file(Approvals.read),
        "run": in_file(lambda file: list(read_json_lines(file, Demonstration))),
        "conversation": _conversation,
    }
    return readers[what]


def _conversation(data: bytes) -> object:
    """The messages of a conversation: what is asked, what was called, what is held."""
    import msgspec

    from kitpick.conversation import called_names, request_of
    from kitpick.held_identifiers import held_identifiers
    from kitpick_foundation.decoding import UNDECODABLE

    try:
        messages = msgspec.json.decode(data, type=list[dict[str, Any]])
    except UNDECODABLE:  # what its caller refuses
        return None
    return called_names(messages), held_identifiers(messages), request_of(messages)


def _wire_reader(path: str) -> Reader:
    """The body of a request to this path, up to where models would be asked; or an answer to the client."""
    import msgspec

    from kitpick_service.app import ENDPOINTS
    from kitpick_service.body import count_values
    from kitpick_service.calls import decode
    from kitpick_service.client.conversation import read_answer
    from kitpick_service.documents import read_documents
    from kitpick_service.exchange import request_of
    from kitpick_service.protocol import RescoreCall
    from kitpick_service.ticket import Ticket

    if path == "answer":
        return lambda data: read_answer(200, data)
    (endpoint,) = [item for item in ENDPOINTS if item.path == path and item.request is not None]
    decoder = msgspec.json.Decoder(endpoint.request)

    def read(data: bytes) -> object:
        count_values(data)
        call: Any = decode(decoder, data)
        if isinstance(call, RescoreCall):
            return request_of(call)
        given = getattr(call, "documents", None) or getattr(call, "texts", None) or ()
        fields = getattr(call, "rank_fields", ())
        return read_documents(given, Ticket("fuzz", 5), fields, getattr(call, "document_format", "text"))

    return read


def _source_reader(kind: str) -> Reader:
    """A file of this kind, as ingestion opens it."""
    from kitpick_ingest.opening import open_source

    def read(data: bytes) -> object:
        with tempfile.TemporaryDirectory() as folder:
            file = Path(folder) / ("given.jsonl" if kind == "documents" else "given.json")
            file.write_bytes(data)
            return list(open_source(f"{kind}:{file}").read())

    return read


def _stored_reader(name: str) -> Reader:
    """A file of a model or of a catalog, among others that are sound."""
    import stored

    kind, _, what = name.partition(":")
    return stored.model_reader(what) if kind == "model" else stored.catalog_reader(what)


def _check(what: str) -> Reader:
    """Readers with a defect, to see that the fuzzer finds it."""

    def broken(data: bytes) -> object:
        if b"x" not in data:
            return None
        if what == "crash":
            os.abort()
        if what == "hang":
            time.sleep(60)
        raise ZeroDivisionError("untyped")

    return broken


class Covered:
    """Lines of our packages that were run."""

    def __init__(self) -> None:
        self._lines: set[tuple[str, int]] = set()

    def __len__(self) -> int:
        return len(self._lines)

    def trace(self, frame: FrameType, event: str, argument: object) -> Any:
        """For `sys.settrace`."""
        if _OURS not in frame.f_code.co_filename:
            return None
        self._lines.add((frame.f_code.co_filename, frame.f_lineno))
        return self.trace


def outcome_of(reader: Reader, data: bytes) -> str:
    """`read`, `refused` for a typed error, else the untyped one and where it came from."""
    try:
        reader(data)
    except KitpickError:
        return "refused"
    except Exception as error:  # noqa: BLE001 - that is what is looked for
        place = error.__traceback__
        while place is not None and place.tb_next is not None:
            place = place.tb_next
        where = f"{place.tb_frame.f_code.co_filename}:{place.tb_lineno}" if place is not None else ""
        return f"{type(error).__name__}: {str(error)[:200]} at {where}"
    return "read"


def main() -> None:
    """Until there is no more input."""
    reader, covered = reader_named(sys.argv[1]), Covered()
    sys.stdout.write("ready\n")
    sys.stdout.flush()
    for line in sys.stdin:
        before = len(covered)
        sys.settrace(covered.trace)
        outcome = outcome_of(reader, base64.b64decode(line))
        sys.settrace(None)
        sys.stdout.write(json.dumps({"outcome": outcome, "new": len(covered) - before}) + "\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main()
