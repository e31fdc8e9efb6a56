"""An encoder from elsewhere becomes a model set that answers as its files say, or is refused with a cure."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path

import msgspec
import numpy as np
import pytest
import sentence_folders as made
from numpy.typing import NDArray
from tokenizers import Tokenizer

from kitpick_foundation.errors import FailureKind
from kitpick_models.encoders import Encoder
from kitpick_models.errors import UnsupportedModel, UnusableFolder
from kitpick_models.graph_file import number, part, read_graph, text
from kitpick_models.importing import Import, Imported, import_encoder
from kitpick_models.locate import choose, find_model
from kitpick_models.manifest import read_manifest, write_manifest
from kitpick_models.runtime import load_encoder
from kitpick_models.verify import verify

pytestmark = pytest.mark.needs("onnxruntime")
ASKED = ("send an email to the customer", "cancel the order", "invoice")
Array = NDArray[np.float32]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return made.write_folder(tmp_path / "multi lingual")


def brought(folder: Path, **said: object) -> tuple[Encoder, Imported]:
    """The encoder of the set that a folder becomes."""
    out = folder.parent / "set"
    report = import_encoder(
        msgspec.convert({"source": folder, "out": out, **said}, Import, dec_hook=lambda _, x: x)
    )
    return load_encoder(choose(str(out)).encoder), report


def hidden(asked: str) -> Array:
    """Vectors of the tokens of a text, (tokens, d), without the graph."""
    ids = Tokenizer.from_buffer(made.tokenizer()).encode(asked).ids
    return made.TOKENS[ids] + made.PLACED[1 : len(ids) + 1] + made.TOKENS[ids].sum(axis=0)


def unit(vector: Array) -> Array:
    return vector / np.linalg.norm(vector)


POOLINGS: dict[str, Callable[[Array], Array]] = {
    "cls_token": lambda rows: rows[0],
    "mean_tokens": lambda rows: rows.mean(axis=0),
    "mean_sqrt_len_tokens": lambda rows: rows.sum(axis=0) / np.sqrt(len(rows)),
    "max_tokens": lambda rows: rows.max(axis=0),
    "lasttoken": lambda rows: rows[-1],
}


@pytest.mark.parametrize("pooling", POOLINGS)
def test_texts_have_the_vectors_of_their_pooling_alone_and_in_company(tmp_path: Path, pooling: str):
    encoder, _ = brought(made.write_folder(tmp_path / "model", pooling=pooling))
    expected = [unit(POOLINGS[pooling](hidden(asked))) for asked in ASKED]
    found = encoder.encode(ASKED)
    assert np.allclose(found, expected, atol=1e-5)
    assert np.array_equal(found, np.concatenate([encoder.encode([asked]) for asked in ASKED]))


def test_what_was_made_is_a_set_that_verifies(folder: Path):
    encoder, report = brought(folder)
    assert (
        encoder.identity == report.identity == read_manifest(folder.parent / "set" / "multi-lingual").identity
    )
    assert (report.dimensions, report.max_tokens) == (made.DIMENSIONS, made.PLACES // 8 * 8)
    chosen = choose(str(folder.parent / "set"))
    assert (chosen.set_name, chosen.cross_encoder) == ("multi-lingual", "reranker-l6")
    assert (chosen.query_kind, chosen.list_ranker, chosen.replaced) == (None, None, ())
    assert verify(folder.parent / "set" / "multi-lingual").faults == ()
    assert sorted(path.name for path in folder.parent.iterdir()) == ["multi lingual", "set"]


def test_the_words_of_a_sentencepiece_vocabulary_are_known(folder: Path):
    encoder, _ = brought(folder)
    assert encoder.knows("customer")
    assert not encoder.knows("costumer")


def test_prefixes_come_from_the_prompts_or_from_the_call(folder: Path):
    prompts = {"query": "query: ", "passage": "passage: ", "clustering": "x"}
    made.write(folder, "config_sentence_transformers.json", {"prompts": prompts, "default_prompt_name": None})
    encoder, report = brought(folder)
    assert (report.reading.request_prefix, report.reading.document_prefix) == ("query: ", "passage: ")
    mean = POOLINGS["mean_tokens"]
    for read, prefix in ((encoder.encode_requests, "query: "), (encoder.encode, "passage: ")):
        assert np.allclose(read(ASKED), [unit(mean(hidden(prefix + asked))) for asked in ASKED], atol=1e-5)
    shutil.rmtree(folder.parent / "set")
    plain, _ = brought(folder, request_prefix="", document_prefix="")
    assert np.array_equal(plain.encode(ASKED), plain.encode_requests(ASKED))
    assert plain.identity != encoder.identity, "vectors of other texts are of another model"


def test_a_default_prompt_stands_before_everything(folder: Path):
    made.write(
        folder, "config_sentence_transformers.json", {"prompts": {"s": "send "}, "default_prompt_name": "s"}
    )
    assert [brought(folder)[1].reading.request_prefix, read_reading(folder)] == ["send ", "send "]


def read_reading(folder: Path) -> str:
    manifest = json.loads((folder.parent / "set" / "multi-lingual" / "manifest.json").read_bytes())
    return manifest["reading"]["document_prefix"]


def test_prompts_for_other_uses_are_named(folder: Path):
    made.write(folder, "config_sentence_transformers.json", {"prompts": {"s2p_query": "Instruct: "}})
    (said,) = brought(folder)[1].notes
    assert "s2p_query" in said
    assert "--request-prefix" in said


def test_a_graph_that_answers_with_vectors_of_texts_needs_no_pooling(tmp_path: Path):
    first = made.node("ReduceMax", ("last_hidden_state",), "sentence_embedding", KEEP_NO_AXIS, AXIS_1)
    folder = made.write_folder(tmp_path / "model", model=made.graph(first, output="sentence_embedding"))
    made.write(folder, "modules.json", [{"type": "a.Transformer"}, {"type": "a.Dense", "path": "2_Dense"}])
    encoder, report = brought(folder)
    assert (report.reading.pooling, report.reading.output) == ("none", "sentence_embedding")
    assert np.allclose(np.linalg.norm(encoder.encode(ASKED), axis=1), 1)


KEEP_NO_AXIS = text(1, "keepdims") + number(3, 0) + number(20, 2)
AXIS_1 = text(1, "axes") + number(8, 1) + number(20, 7)


def test_a_licence_comes_from_the_head_of_the_page(folder: Path):
    (folder / "README.md").write_text("---\nlanguage: multilingual\nlicense: mit\n---\n", encoding="utf-8")
    brought(folder)
    card = (folder.parent / "set" / "multi-lingual" / "CARD.md").read_text("utf-8")
    assert "- licence: mit" in card
    assert "pooled by mean" in card


@pytest.mark.needs("weights")
def test_the_shipped_encoder_laid_out_so_has_its_own_vectors(tmp_path: Path):
    folder = tmp_path / "brought"
    folder.mkdir()
    shipped = find_model("minilm-l6")
    (folder / "model.onnx").write_bytes(read_graph(shipped, read_manifest(shipped)))
    shutil.copy(shipped.parent / "tokenizer.json", folder)
    encoder, report = brought(folder, max_tokens=256)
    own = load_encoder("minilm-l6")
    assert report.dimensions == own.dimensions
    assert np.allclose(encoder.encode(ASKED), own.encode(ASKED), atol=1e-6)
    assert encoder.identity != own.identity


def remove(*names: str) -> Callable[[Path], None]:
    def act(folder: Path) -> None:
        for name in names:
            (folder / name).unlink()

    return act


def put(name: str, content: bytes) -> Callable[[Path], None]:
    return lambda folder: (folder / name).write_bytes(content) and None


def both(*acts: Callable[[Path], None]) -> Callable[[Path], None]:
    return lambda folder: [act(folder) for act in acts] and None


GRAPH = "onnx/model.onnx"
ELSEWHERE = part(7, part(5, part(13, text(1, "location") + text(2, "model.onnx_data")) + number(14, 1)))
DENSE = [{"type": "sentence_transformers.models.Transformer"}, {"type": "sentence_transformers.models.Dense"}]
REFUSED: dict[str, tuple[Callable[[Path], None], str, str]] = {
    "no tokenizer": (remove("tokenizer.json"), "no tokenizer.json", "save_pretrained"),
    "SentencePiece's own file alone": (
        both(remove("tokenizer.json"), put("sentencepiece.bpe.model", b"\n\x0e")),
        "only sentencepiece.bpe.model",
        "save_pretrained",
    ),
    "SentencePiece's own file under that name": (
        put("tokenizer.json", b"\n\x0e\n\x05<unk>"), "tokenizer.json: no JSON", "save_pretrained",
    ),
    "a damaged tokenizer": (put("tokenizer.json", b'{"model": 1}'), "cannot be loaded", "save_pretrained"),
    "no graph": (remove(GRAPH), "no ONNX file", "optimum-cli export onnx"),
    "torch's weights alone": (
        both(remove(GRAPH), put("model.safetensors", b"")), "only model.safetensors", "optimum-cli export",
    ),
    "several graphs": (
        put("onnx/model_qint8_avx512.onnx", b""), "onnx/model.onnx, onnx/model_qint8_avx512.onnx", "--file",
    ),
    "a pointer": (put(GRAPH, b"version https://git-lfs.github.com/v1"), "pointer of Git LFS", "git lfs pull"),
    "no graph at all": (put(GRAPH, b"location of nothing"), "not an ONNX file", "export it again"),
    "a damaged graph": (put(GRAPH, b"\x08"), "does not run", "export it again"),
    "weights elsewhere": (put(GRAPH, ELSEWHERE), "keeps weights in other files", "onnx.save"),
    "a language model": (
        put(GRAPH, made.graph(more_inputs=("past_key_values",))), "wants past_key_values", "only encoders",
    ),
    "unknown pooling": (
        put("1_Pooling/config.json", b'{"pooling_mode_weightedmean_tokens": true}'),
        "pooling weightedmean_tokens is not known", "only cls, mean, max, last are",
    ),
    "two poolings": (
        put("1_Pooling/config.json", b'{"pooling_mode_cls_token": true, "pooling_mode_max_tokens": true}'),
        "pooling cls_token and max_tokens", "only cls",
    ),
    "prompts outside the pooling": (
        put("1_Pooling/config.json", b'{"pooling_mode": "mean", "include_prompt": false}'),
        "include_prompt", "export",
    ),
    "no pooling": (remove("modules.json", "1_Pooling/config.json"), "no 1_Pooling/config.json", "--pooling"),
    "a layer outside the graph": (
        put("modules.json", msgspec.json.encode(DENSE)), "Dense: not in the graph", "sentence_transformers",
    ),
    "damaged settings": (put("config.json", b"{"), "config.json: cannot be read", "fetch it again"),
    "more tokens than places": (
        put("config.json", b'{"pad_token_id": 1}'), "cannot read 512 tokens", "--max-tokens",
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", REFUSED)
def test_what_cannot_be_used_is_refused_with_place_and_cure(folder: Path, case: str):
    damage, reason, cure = REFUSED[case]
    damage(folder)
    with pytest.raises(UnusableFolder) as refused:
        brought(folder)
    assert reason in str(refused.value)
    assert cure in str(refused.value)
    assert refused.value.failure is FailureKind.INPUT
    assert [path.name for path in folder.parent.iterdir()] == ["multi lingual"], "nothing is left behind"


def test_what_a_call_says_wins_over_files(folder: Path):
    (folder / "onnx" / "other.onnx").write_bytes(b"")
    remove("modules.json", "1_Pooling/config.json")(folder)
    report = brought(folder, file=GRAPH, pooling="cls", max_tokens=35, name="mine")[1]
    assert (report.reading.pooling, report.max_tokens) == ("cls", 32)
    assert report.identity.startswith("mine@")


def test_a_folder_that_is_there_is_left_alone(folder: Path):
    (folder.parent / "set").mkdir()
    with pytest.raises(UnusableFolder, match="is there already"):
        brought(folder)
    assert list((folder.parent / "set").iterdir()) == []


@pytest.mark.parametrize(
    ("name", "file", "reason"), [("../x", "", "no name"), ("", "onnx/none.onnx", "no such file")]
)
def test_names_that_lead_nowhere_are_refused(folder: Path, name: str, file: str, reason: str):
    with pytest.raises(UnusableFolder, match=reason):
        brought(folder, name=name, file=file)


def test_no_folder_is_no_encoder(tmp_path: Path):
    with pytest.raises(UnusableFolder, match="no such folder"):
        brought(tmp_path / "nothing")


def test_a_tokenizer_without_ends_is_of_no_encoder(folder: Path):
    bare = Tokenizer.from_buffer(made.tokenizer())
    plain = json.loads(bare.to_str()) | {"post_processor": None}
    (folder / "tokenizer.json").write_text(json.dumps(plain), encoding="utf-8")
    with pytest.raises(UnusableFolder, match="0 tokens around a text"):
        brought(folder)


def test_an_older_kitpick_refuses_the_manifest_rather_than_guess(
    folder: Path, monkeypatch: pytest.MonkeyPatch
):
    brought(folder)
    monkeypatch.setattr("kitpick_models.manifest.FORMAT", 1)
    with pytest.raises(UnsupportedModel, match="format 2"):
        read_manifest(folder.parent / "set" / "multi-lingual")


@pytest.mark.needs("weights")
def test_manifests_of_other_models_stay_as_they_are(tmp_path: Path):
    manifest = read_manifest(find_model("encoder-pair"))
    write_manifest(tmp_path, manifest)
    assert (tmp_path / "manifest.json").read_bytes() == (
        find_model("encoder-pair") / "manifest.json"
    ).read_bytes()


@pytest.mark.parametrize(
    ("head", "reads"),
    [
        ("language: multilingual", ("el", "cs")), ("language:\n- de\n- el\nlicense: mit", ("el",)),
        ("language: [cs, 'el']", ("cs", "el")), ("license: mit", ()),
    ],
)  # fmt: skip
def test_the_languages_that_an_encoder_reads_come_from_the_head_of_its_page(
    folder: Path, head: str, reads: tuple[str, ...]
):
    (folder / "README.md").write_text(f"---\n{head}\n---\n", encoding="utf-8")
    encoder, _ = brought(folder)
    assert tuple(each for each in ("cs", "el") if encoder.reads_language(each)) == tuple(sorted(reads))


def test_the_languages_are_said_by_the_call(folder: Path):
    encoder, _ = brought(folder, languages=("el",))
    assert encoder.reads_language("el")
    assert not encoder.reads_language("cs")
