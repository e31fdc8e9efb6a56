"""Two encoders as one: their vectors side by side, turned into as many numbers as one of them has.

Two bodies of different origin err on different texts, so the sum of their cosines orders better than either
alone. The sum is the inner product of the vectors side by side, each scaled by the root of its weight; its
directions of largest variance on real texts (PCA, not centred, so that inner products stay) keep nearly all
of it in half the numbers. Both graphs become one, with a product behind them, so that whoever reads vectors
sees one encoder.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import msgspec
import numpy as np
import onnx
from numpy.typing import NDArray
from onnx import TensorProto, helper, numpy_helper

from kitpick_models.manifest import MODEL, REFERENCE, TOKENIZER, Manifest, read_file, write_folder
from kitpick_models.runtime import load_encoder
from kitpick_models.verify import EncoderReference, pack, verify
from kitpick_training.errors import UnfaithfulExport
from kitpick_training.export.graph import INPUTS
from kitpick_training.export.stored import stored_model
from kitpick_training.recipe import PairRecipe

Array = NDArray[np.float32]
_BLOCK = 64
"""Numbers of a word's vector that share a scale."""
_SHRUNK = (1.0, 0.95, 0.9, 0.85, 0.8)
"""Of the largest number of a block, what becomes the largest step: rare large ones are cut."""
_MIDDLE = 7.5
"""Sixteen steps around zero: no number is exactly zero, and both signs have as many."""
MATRIX = "pair.matrix"
"""The constant that turns both vectors, side by side."""
BOTH = "pair.both"
"""The value that holds them so."""
PACKED, SCALE = "words.pairs", "words.scale"
"""The constants of a table of words in four bits."""


class Half(NamedTuple):
    """One of both encoders, and what its cosine counts."""

    folder: Path
    weight: float


def pair_manifest(halves: Sequence[Manifest], recipe: PairRecipe) -> Manifest:
    """What the encoder that two are together is made of, and which tools either was trained on."""
    first = halves[0]
    return Manifest(
        name=recipe.name,
        kind="encoder",
        version="1",
        base_model=" beside ".join(f"{half.name} ({half.base_model})" for half in halves),
        licence=first.licence,
        storage=first.storage,
        training=tuple(dict.fromkeys(data for half in halves for data in half.training)),
        seen=tuple(sorted({tool for half in halves for tool in half.seen})),
        score_scale="cosine",
        thresholds=first.thresholds,
        template=first.template,
        max_tokens=first.max_tokens,
        dimensions=recipe.dimensions,
    )


def turned(vectors: Sequence[Array], weights: Sequence[float], dimensions: int) -> list[Array]:
    """For each encoder the matrix (own, dimensions) that turns its unit vectors.

    The inner product of what both give, added up, is nearest to the weighted sum of their cosines on the
    texts that were given.

    Args:
        vectors: of the same texts by each encoder, (n, own).
        weights: of the cosines, positive.
        dimensions: of the result, at most the sum of theirs.
    """
    roots = np.sqrt(np.asarray(weights, np.float64) / sum(weights))
    both = np.concatenate([root * part for root, part in zip(roots, vectors, strict=True)], axis=1)
    _, directions = np.linalg.eigh(both.T.astype(np.float64) @ both)
    kept = directions[:, ::-1][:, :dimensions]
    parts = np.split(kept, np.cumsum([part.shape[1] for part in vectors])[:-1])
    return [np.asarray(root * part, np.float32) for root, part in zip(roots, parts, strict=True)]


def join(
    halves: Sequence[Half], texts: Sequence[str], out: Path, manifest: Manifest, reference: int = 200
) -> Manifest:
    """Writes the encoder that two are together, and returns its manifest with the digests filled in.

    Args:
        halves: encoders that were exported here, with one tokenizer.
        texts: real texts and requests, some thousands.
        out: the folder, created where absent.
        manifest: everything but `files`, with `dimensions`.
        reference: how many of the last texts are stored with their vectors.

    Raises:
        ModelError: a half is damaged, or no encoder.
        UnfaithfulExport: the graph gives other vectors than the halves do.
    """
    encoders = [load_encoder(half.folder) for half in halves]
    vectors = [encoder.encode(texts) for encoder in encoders]
    matrices = turned(vectors, [half.weight for half in halves], manifest.dimensions)
    return join_turned([half.folder for half in halves], matrices, texts[-reference:], out, manifest)


def join_turned(
    folders: Sequence[Path],
    matrices: Sequence[Array],
    reference: Sequence[str],
    out: Path,
    manifest: Manifest,
) -> Manifest:
    """`join` by matrices that were found before.

    Args:
        folders: of encoders that were exported here, with one tokenizer.
        matrices: of each, what turns its vectors.
        reference: texts that are stored with their vectors.
        out: the folder, created where absent.
        manifest: everything but `files` and `dimensions`.

    Raises:
        ModelError, UnfaithfulExport: as `join`.
    """
    encoders = [load_encoder(folder) for folder in folders]
    parts = [encoder.encode(reference) @ matrix for encoder, matrix in zip(encoders, matrices, strict=True)]
    exact = np.sum(parts, axis=0)
    wanted = exact / np.linalg.norm(exact, axis=1, keepdims=True)
    graphs = [
        stored_model(folder, encoder.manifest) for folder, encoder in zip(folders, encoders, strict=True)
    ]
    files = {
        MODEL: joined_graph(graphs, matrices),
        TOKENIZER: read_file(folders[0], encoders[0].manifest, TOKENIZER),
        REFERENCE: msgspec.json.encode(EncoderReference(tuple(reference), pack(wanted))),
    }
    manifest = msgspec.structs.replace(manifest, dimensions=matrices[0].shape[1])
    manifest = write_folder(out, manifest, files)
    found = verify(out)
    if not found.sound:
        raise UnfaithfulExport(out / MODEL, "; ".join(found.faults))
    return manifest


def joined_graph(models: Sequence[Any], matrices: Sequence[Array]) -> bytes:
    """One serialised graph: every model's vector times its matrix, added up, made unit length.

    Names of the models are told apart by a number. Words are stored in four bits: rows are gathered before
    they are unpacked, so that this costs no time, and a table of words is a third of a small encoder.
    """
    nodes: list[Any] = []
    constants: list[Any] = []
    outputs = []
    for number, model in enumerate(models):
        small_words(model.graph)
        outputs.append(_renamed(model.graph, f"{number}."))
        nodes += model.graph.node
        constants += model.graph.initializer
    nodes += _turning(outputs, constants, np.concatenate(list(matrices)))
    inputs = [helper.make_tensor_value_info(name, TensorProto.INT64, ["batch", "tokens"]) for name in INPUTS]
    vector = helper.make_tensor_value_info("vector", TensorProto.FLOAT, ["batch", matrices[0].shape[1]])
    graph = helper.make_graph(nodes, "pair", inputs, [vector], constants)
    model = helper.make_model(
        graph,
        opset_imports=list(models[0].opset_import),
        ir_version=models[0].ir_version,
        producer_name="kitpick",
    )
    onnx.checker.check_model(model)
    data: bytes = model.SerializeToString(deterministic=True)
    return data


def _renamed(graph: Any, prefix: str) -> str:  # noqa: ANN401
    """Puts a prefix before all names but those of the inputs; the name of the output."""

    def name(old: str) -> str:
        return prefix + old if old and old not in INPUTS else old

    for node in graph.node:
        node.name = prefix + node.name
        node.input[:] = [name(each) for each in node.input]
        node.output[:] = [name(each) for each in node.output]
    for constant in graph.initializer:
        constant.name = name(constant.name)
    return name(graph.output[0].name)


def _turning(outputs: Sequence[str], constants: list[Any], matrix: Array) -> list[Any]:
    """Nodes from the vectors to the joined one.

    Every row is multiplied as two equal ones: a product with a single row takes another kernel, and a text's
    numbers would depend on its company.
    """
    constants += [
        numpy_helper.from_array(matrix.astype(np.float16), MATRIX),
        numpy_helper.from_array(np.ones(1, np.int64), "pair.one"),
        numpy_helper.from_array(np.int64(0), "pair.first"),
    ]
    steps: list[tuple[str, list[str], str, dict[str, Any]]] = [
        ("Concat", [*outputs], BOTH, {"axis": -1}),
        ("Unsqueeze", [BOTH, "pair.one"], "pair.row", {}),
        ("Concat", ["pair.row", "pair.row"], "pair.rows", {"axis": 1}),
        ("Cast", [MATRIX], "pair.turn", {"to": TensorProto.FLOAT}),
        ("MatMul", ["pair.rows", "pair.turn"], "pair.turned", {}),
        ("Gather", ["pair.turned", "pair.first"], "pair.sum", {"axis": 1}),
        ("LpNormalization", ["pair.sum"], "vector", {"axis": -1, "p": 2}),
    ]
    return [
        helper.make_node(operator, inputs, [output], f"make.{output}", **attributes)
        for operator, inputs, output, attributes in steps
    ]


class PackedWords(NamedTuple):
    """A table of words in four bits."""

    pairs: NDArray[np.uint8]
    """(words, numbers / 2): the even number in the lower half of a byte, the odd one in the upper."""
    scale: NDArray[np.float16]
    """(words, blocks, 1)."""

    def unpacked(self) -> Array:
        """The table, float32 (words, numbers)."""
        steps = np.stack([self.pairs & 15, self.pairs >> 4], axis=-1).astype(np.float32) - _MIDDLE
        words, blocks, _ = self.scale.shape
        scaled = steps.reshape(words, blocks, -1) * self.scale.astype(np.float32)
        return np.asarray(scaled.reshape(words, -1), np.float32)


def packed_words(table: Array, block: int = _BLOCK) -> PackedWords:
    """A table (words, numbers) in four bits, each block by the scale of least squared error."""
    blocks = table.reshape(len(table), -1, block)
    largest = np.abs(blocks).max(axis=2, keepdims=True) / _MIDDLE
    found = [_steps(blocks, largest * shrunk) for shrunk in _SHRUNK]
    best = np.argmin([error for _, _, error in found], axis=0)
    steps = np.choose(best, [each for each, _, _ in found]).reshape(len(table), -1).astype(np.uint8)
    scale = np.choose(best, [each for _, each, _ in found])
    return PackedWords(steps[:, 0::2] | (steps[:, 1::2] << 4), scale.astype(np.float16))


def _steps(blocks: Array, scale: Array) -> tuple[Array, Array, Array]:
    """Steps, scale as it is stored, and squared error of each block."""
    stored = np.maximum(scale.astype(np.float16).astype(np.float32), np.float32(1e-7))
    steps = np.clip(np.rint(blocks / stored + _MIDDLE), 0, 15)
    error = np.square((steps - _MIDDLE) * stored - blocks).sum(axis=2, keepdims=True)
    return steps, stored, error


def small_words(graph: Any) -> None:  # noqa: ANN401
    """Stores the table of words of a graph that was exported here in four bits in place of eight.

    Words that are in four bits already stay as they are.

    Raises:
        UnfaithfulExport: the graph keeps its words otherwise.
    """
    if any(each.name == PACKED for each in graph.initializer):
        return
    tables = {each.name: numpy_helper.to_array(each) for each in graph.initializer if each.name in _TABLES}
    old = _reading_words(graph)
    if len(tables) != len(_TABLES) or len(old) != 4:
        raise UnfaithfulExport(Path(MODEL), "does not keep its words in int8 with a scale a word")
    packed = packed_words(tables["words"].astype(np.float32) * tables[SCALE].reshape(-1, 1))
    at = list(graph.node).index(old[0])
    kept = [node for node in graph.node if node not in old]
    constants = [each for each in graph.initializer if each.name not in _TABLES] + _constants(packed)
    nodes = [*kept[:at], *_unpacking(old[-1].output[0]), *kept[at:]]
    del graph.node[:], graph.initializer[:]
    graph.node.extend(nodes)
    graph.initializer.extend(constants)


_TABLES = ("words", SCALE)


def _reading_words(graph: Any) -> list[Any]:  # noqa: ANN401
    """The nodes that gather words and scales, make floats of words, and multiply both."""
    gathered = [node for node in graph.node if node.op_type == "Gather" and node.input[0] in _TABLES]
    values = {output for node in gathered for output in node.output}
    cast = [node for node in graph.node if node.op_type == "Cast" and node.input[0] in values]
    values |= {output for node in cast for output in node.output}
    scaled = [node for node in graph.node if node.op_type == "Mul" and set(node.input) <= values]
    return [*gathered, *cast, *scaled]


def _constants(packed: PackedWords) -> list[Any]:
    blocks = packed.scale.shape[1]
    return [
        numpy_helper.from_array(np.asarray(value), name)
        for name, value in {
            PACKED: packed.pairs,
            SCALE: packed.scale,
            "words.lower": np.uint8(15),
            "words.upper": np.uint8(4),
            "words.last": np.full(1, -1, np.int64),
            "words.middle": np.float32(_MIDDLE),
            "words.blocks": np.array([0, 0, blocks, -1], np.int64),
            "words.whole": np.array([0, 0, 2 * packed.pairs.shape[1]], np.int64),
        }.items()
    ]


def _unpacking(output: str) -> list[Any]:
    """Nodes from token ids to their words' vectors."""
    steps: list[tuple[str, list[str], str, dict[str, Any]]] = [
        ("Gather", [PACKED, "input_ids"], "words.bytes", {}),
        ("BitwiseAnd", ["words.bytes", "words.lower"], "words.even", {}),
        ("BitShift", ["words.bytes", "words.upper"], "words.odd", {"direction": "RIGHT"}),
        ("Unsqueeze", ["words.even", "words.last"], "words.evens", {}),
        ("Unsqueeze", ["words.odd", "words.last"], "words.odds", {}),
        ("Concat", ["words.evens", "words.odds"], "words.steps", {"axis": -1}),
        ("Cast", ["words.steps"], "words.floats", {"to": TensorProto.FLOAT}),
        ("Sub", ["words.floats", "words.middle"], "words.signed", {}),
        ("Reshape", ["words.signed", "words.blocks"], "words.parted", {}),
        ("Gather", [SCALE, "input_ids"], "words.half", {}),
        ("Cast", ["words.half"], "words.scales", {"to": TensorProto.FLOAT}),
        ("Mul", ["words.parted", "words.scales"], "words.scaled", {}),
        ("Reshape", ["words.scaled", "words.whole"], output, {}),
    ]
    return [
        helper.make_node(operator, inputs, [result], f"make.{result}", **attributes)
        for operator, inputs, result, attributes in steps
    ]
