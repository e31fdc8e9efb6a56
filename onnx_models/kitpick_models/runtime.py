"""Loads models, by the set in use, by name or by path."""

from __future__ import annotations

from pathlib import Path

from kitpick_models.encoders import CrossEncoder, Encoder, open_tokenizer
from kitpick_models.errors import UnsupportedModel
from kitpick_models.heads import ListRanker, QueryKindClassifier
from kitpick_models.locate import LEFT_OUT, choose, find_model
from kitpick_models.manifest import TOKENIZER, Kind, Manifest, read_manifest
from kitpick_models.settings import RuntimeSettings
from kitpick_models.tokens import TokenIds

_DEFAULT = RuntimeSettings()


def load_encoder(name_or_path: str | Path = "", settings: RuntimeSettings = _DEFAULT) -> Encoder:
    """An encoder by name (looked up in `$KITPICK_MODELS`, then the shipped ones) or by path.

    Without a name it is that of the set in use, `$KITPICK_MODELS` or the default one.

    Raises:
        UnknownModel, CorruptModel, UnsupportedModel: there is none, it is damaged, or it is something else.
        MissingExtra, RuntimeClash, ProviderRefused: it cannot run here as asked.
    """
    return Encoder(*_open(name_or_path, "encoder"), settings)


def load_cross_encoder(name_or_path: str | Path = "", settings: RuntimeSettings = _DEFAULT) -> CrossEncoder:
    """A cross-encoder by name or path; raises like `load_encoder`."""
    return CrossEncoder(*_open(name_or_path, "cross_encoder"), settings)


def load_pair_tokens(name_or_path: str | Path, encoder: Encoder) -> tuple[TokenIds, int]:
    """What a cross-encoder reads with, and its room for a request and a text together; nothing is run.

    The tokenizer is that of `encoder`, if both have the same. Raises like `load_encoder`.
    """
    folder, manifest = _open(name_or_path, "cross_encoder")
    same = manifest.files.get(TOKENIZER) == encoder.manifest.files.get(TOKENIZER)
    tokens = encoder.tokens if same else open_tokenizer(folder, manifest, encoder.settings)
    return tokens, manifest.max_tokens - 3


def load_query_kind(name_or_path: str | Path = "") -> QueryKindClassifier:
    """The single/multi classifier by name or path; raises like `load_encoder`, but needs no onnxruntime."""
    return QueryKindClassifier(*_open(name_or_path, "query_kind"))


def load_list_ranker(name_or_path: str | Path = "", settings: RuntimeSettings = _DEFAULT) -> ListRanker:
    """A list ranker by name or path; raises like `load_encoder`."""
    return ListRanker(*_open(name_or_path, "list_ranker"), settings)


def _open(name_or_path: str | Path, kind: Kind) -> tuple[Path, Manifest]:
    folder = find_model(name_or_path or choose().names().get(kind, LEFT_OUT))
    manifest = read_manifest(folder)
    if manifest.kind != kind:
        raise UnsupportedModel(f"{folder}: a model of kind {manifest.kind!r}, wanted is {kind!r}")
    return folder, manifest
