"""A folder of sentence-transformers, or of an exported encoder: reads from its files how to run it.

Nothing is run here, and nothing is downloaded. What cannot be used is refused with the cure.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import takewhile
from pathlib import Path
from typing import Any, TypeVar, cast, get_args

import msgspec

from kitpick_foundation.decoding import UNDECODABLE, decode_as
from kitpick_models.errors import UnusableFolder
from kitpick_models.graph_file import keeps_weights_elsewhere
from kitpick_models.manifest import TOKENIZER, Pooling

MOST_TOKENS = 512
"""A description has fewer; the cost of a text grows with the square of its tokens."""
_BUCKET = 8
"""Texts are padded to a multiple of this many tokens, which must not be more than a model has places for."""
_PLACES = ("", "onnx")
"""Folders, within the one that is named, that hold graphs."""
_WEIGHTS = ("*.safetensors", "*.bin", "*.pt", "*.h5", "*.msgpack")
_SENTENCEPIECE = ("*.model", "vocab.txt", "vocab.json")
_HEAD = 250
"""Lines of a page in which its head ends: some name a hundred languages, one a line."""
_POINTER = b"version https://git-lfs"
_READ_HERE = frozenset({"Transformer", "Pooling", "Normalize"})
"""Modules of sentence-transformers that are a graph, the pooling of its answer, and unit length."""
_MODES = {"cls_token": "cls", "cls": "cls", "mean_tokens": "mean", "mean": "mean", "max_tokens": "max"} | {
    "max": "max", "lasttoken": "last", "mean_sqrt_len_tokens": "mean", "mean_sqrt_len": "mean"
}  # fmt: skip
"""Names of pooling in `1_Pooling/config.json`. A mean over the root of the length has the same direction."""
_OFFSET = frozenset({"roberta", "xlm-roberta", "camembert", "mpnet", "xmod", "longformer"})
"""Bodies that count places from the id of their padding on, so that two of them are never used."""
_REQUESTS, _DOCUMENTS = ("query",), ("document", "passage", "corpus")
"""Names of prompts, as sentence-transformers looks for them."""

File = TypeVar("File")


class _Module(msgspec.Struct):
    type: str
    path: str = ""


class _Sentences(msgspec.Struct):
    max_seq_length: int | None = None


class _Prompts(msgspec.Struct):
    prompts: dict[str, str | None] = {}
    default_prompt_name: str | None = None


class _Config(msgspec.Struct):
    model_type: str = ""
    max_position_embeddings: int | None = None
    pad_token_id: int | None = None
    name: str = msgspec.field(default="", name="_name_or_path")


class _TokenizerConfig(msgspec.Struct):
    model_max_length: int | float | None = None


class Prefixes(msgspec.Struct, frozen=True):
    """What is put before texts."""

    requests: str = ""
    documents: str = ""
    unused: tuple[str, ...] = ()
    """Names of prompts that are for neither."""


class SentenceFolder:
    """The files of an encoder. Each is read when it is asked for.

    Methods raise `UnusableFolder` where one is missing or broken, or says what cannot be done here.
    """

    def __init__(self, folder: Path, file: str = "") -> None:
        """`file` is the graph, within the folder; empty where there is only one."""
        if not folder.is_dir():
            raise UnusableFolder(folder, "no such folder", "name a folder that holds an encoder")
        self.folder = folder
        self.graph = self._graph_file(file)
        self._config = self._read("config.json", _Config) or _Config()

    @property
    def origin(self) -> str:
        """What the model calls itself, else the name of the folder."""
        return self._config.name or self.folder.resolve().name

    def graph_bytes(self) -> bytes:
        """The graph."""
        data = _whole(self.graph)
        try:
            elsewhere = keeps_weights_elsewhere(data)
        except ValueError as error:
            raise UnusableFolder(self.graph, f"not an ONNX file ({error})", "export it again") from error
        if elsewhere:
            told = "keeps weights in other files, which no digest covers"
            raise UnusableFolder(self.graph, told, _ONE_FILE)
        return data

    def tokenizer_bytes(self) -> bytes:
        """The content of `tokenizer.json`."""
        places = [place / TOKENIZER for place in (self.folder, self.graph.parent)]
        found = next((place for place in places if place.is_file()), None)
        if found is None:
            raise UnusableFolder(self.folder, f"no {TOKENIZER}{self._other_vocabulary()}", TOKENIZER_CURE)
        data = _whole(found)
        if data.lstrip()[:1] != b"{":
            told = "no JSON: a SentencePiece or other vocabulary under that name"
            raise UnusableFolder(found, told, TOKENIZER_CURE)
        return data

    def pooling(self, *, whole: bool) -> Pooling | None:
        """How the vectors of tokens become one; None where no file says it.

        It needs none where the graph answers with the vector of a `whole` text itself, after all modules.
        """
        if whole:
            return "none"
        listed = self._read("modules.json", list[_Module]) or []
        modules = {module.type.rpartition(".")[2]: module for module in listed}
        if others := sorted(modules.keys() - _READ_HERE):
            reason = f"{', '.join(others)}: not in the graph {self.graph.name}"
            raise UnusableFolder(self.folder / "modules.json", reason, _WHOLE_CURE)
        path = f"{modules['Pooling'].path or '1_Pooling'}" if "Pooling" in modules else "1_Pooling"
        settings = self._read(f"{path}/config.json", dict[str, Any])
        return None if settings is None else self._mode(settings, self.folder / path / "config.json")

    def prefixes(self) -> Prefixes:
        """What `config_sentence_transformers.json` has put before requests and descriptions."""
        found = self._read("config_sentence_transformers.json", _Prompts) or _Prompts()
        prompts = {name: prompt for name, prompt in found.prompts.items() if prompt}
        usual = prompts.get(found.default_prompt_name or "", "")
        named = [next((name for name in names if name in prompts), "") for names in (_REQUESTS, _DOCUMENTS)]
        requests, documents = (prompts[name] if name else usual for name in named)
        used = {*named, found.default_prompt_name}
        return Prefixes(requests, documents, tuple(sorted(prompts.keys() - used)))

    def max_tokens(self, wanted: int | None) -> int:
        """How many tokens of a text are read: as many as asked for, else as all files allow."""
        places = self._config.max_position_embeddings or MOST_TOKENS
        places -= 2 * (self._config.model_type in _OFFSET)
        sentences = self._read("sentence_bert_config.json", _Sentences) or _Sentences()
        tokenizer = self._read("tokenizer_config.json", _TokenizerConfig) or _TokenizerConfig()
        given = (sentences.max_seq_length, tokenizer.model_max_length, places, MOST_TOKENS)
        least = wanted or int(min(most for most in given if most and most > 0))
        return max(1, least // _BUCKET) * _BUCKET

    def padding(self) -> int | None:
        """The id of the token that fills a batch; None where `config.json` does not say."""
        return self._config.pad_token_id

    def licence(self) -> str:
        """What the head of `README.md` says; empty where it says nothing."""
        return " ".join(self._said("license")[:1])

    def languages(self) -> tuple[str, ...]:
        """Codes of the languages that the head of `README.md` names; none where it names none."""
        said = (each.strip("[],'\" ") for each in " ".join(self._said("language")).replace(",", " ").split())
        return tuple(dict.fromkeys(each.lower() for each in said if each))

    def _said(self, key: str) -> list[str]:
        """What the head of `README.md` says under a key: in its line, or in the list behind it."""
        try:
            lines = (self.folder / "README.md").read_text("utf-8", "replace").splitlines()[:_HEAD]
        except OSError:
            return []
        start = next((n for n, line in enumerate(lines) if line.startswith(f"{key}:")), None)
        if start is None:
            return []
        listed = takewhile(lambda line: line.lstrip().startswith("- "), lines[start + 1 :])
        said = [lines[start].partition(":")[2], *(line.strip()[2:] for line in listed)]
        return [each.strip() for each in said if each.strip()]

    def _mode(self, settings: dict[str, Any], path: Path) -> Pooling:
        flags = [name.removeprefix("pooling_mode_") for name, on in settings.items() if on is True]
        named = settings.get("pooling_mode")
        modes = [named] if named else [flag for flag in flags if f"pooling_mode_{flag}" in settings]
        known = _MODES.get(str(modes[0])) if len(modes) == 1 else None
        if known is None:
            said = " and ".join(map(str, modes)) or "none"
            raise UnusableFolder(path, f"pooling {said} is not known here", _POOLING_CURE)
        if settings.get("include_prompt") is False:
            told = "the prompt takes no part in its pooling (include_prompt)"
            raise UnusableFolder(path, told, _POOLING_CURE)
        return cast(Pooling, known)

    def _graph_file(self, file: str) -> Path:
        if file:
            if not (self.folder / file).is_file():
                raise UnusableFolder(self.folder / file, "no such file", "name one within the folder")
            return self.folder / file
        found = [path for place in _PLACES for path in sorted((self.folder / place).glob("*.onnx"))]
        if not found:
            raise UnusableFolder(self.folder, f"no ONNX file{self._other_weights()}", _GRAPH_CURE)
        if len(found) > 1:
            names = ", ".join(path.relative_to(self.folder).as_posix() for path in found)
            cure = "name one with --file; that without a width or a processor in its name is the plain one"
            raise UnusableFolder(self.folder, f"several ONNX files: {names}", cure)
        return found[0]

    def _other_weights(self) -> str:
        found = _names(self.folder, _WEIGHTS)
        return f", only {found}: kitpick runs without torch" if found else ""

    def _other_vocabulary(self) -> str:
        found = _names(self.folder, _SENTENCEPIECE)
        return f", only {found}" if found else ""

    def _read(self, name: str, kind: type[File]) -> File | None:
        """A file of settings; None where there is none."""
        path = self.folder / name
        if not path.is_file():
            return None
        try:
            return decode_as(path.read_bytes(), kind)
        except (OSError, *UNDECODABLE) as error:
            raise UnusableFolder(path, f"cannot be read ({error})", "fetch it again") from error


def _whole(path: Path) -> bytes:
    """The content of a file."""
    try:
        data = path.read_bytes()
    except OSError as error:
        raise UnusableFolder(path, f"cannot be read ({error.strerror})", "fetch it again") from error
    if data.startswith(_POINTER):
        raise UnusableFolder(path, "a pointer of Git LFS in place of the file", "run `git lfs pull` there")
    return data


def _names(folder: Path, patterns: Sequence[str]) -> str:
    return ", ".join(sorted(path.name for pattern in patterns for path in folder.glob(pattern))[:3])


POOLINGS: tuple[Pooling, ...] = get_args(Pooling)
_WHOLE_CURE = (
    "export all of it where torch is, and import OUT: "
    "optimum-cli export onnx --library-name sentence_transformers --model FOLDER OUT"
)
_POOLING_CURE = f"only {', '.join(POOLINGS[1:])} are; {_WHOLE_CURE}"
_ONE_FILE = "write one file, of at most 2 GB, with the package onnx: onnx.save(onnx.load(FILE), NEW)"
TOKENIZER_CURE = (
    "write it with the package transformers: AutoTokenizer.from_pretrained(FOLDER).save_pretrained(FOLDER)"
)
_GRAPH_CURE = (
    "export it where torch is: `optimum-cli export onnx --model FOLDER OUT`, then import OUT; of a BERT, "
    "`kitpick models export FOLDER --kind encoder` makes a model, too"
)
