"""Skills for agents: folders with a `SKILL.md`, whose front matter says what it is for.

The text of a `SKILL.md` becomes part of the definition, as it is. Files beside it are named there, not read.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from kitpick_engines.document import ApiDocument, document_id
from kitpick_foundation.yaml_values import InvalidYaml, parse_yaml
from kitpick_ingest.entries import BadEntry, Converted, PathSource, convert_entry
from kitpick_ingest.errors import SourceError
from kitpick_ingest.found_files import LEADS_OUT, is_mounted, leads_out, problem_of, walk
from kitpick_ingest.json_files import Entry, read_file
from kitpick_ingest.kinds import SKILL, TEXT
from kitpick_ingest.prose import clip
from kitpick_ingest.source import DeadLetter

FILE = "SKILL.md"
MAX_SKILL_BYTES = 1024 * 1024
"""A longer text is refused: no model could read it."""
MAX_RESOURCES = 200
"""Files beside a skill that are named."""
_PASSED_OVER = frozenset({".git", "node_modules", "__pycache__"})
_GENERIC = frozenset({"skills", "plugins", ".claude", ".agents", ".github"})
"""Folders of every collection, which say nothing of the skills in them."""
_FRONT_MATTER = re.compile(r"\A---[ \t]*\n(.*?)^---[ \t]*$\n?", re.DOTALL | re.MULTILINE)
_LINE = re.compile(r"^([A-Za-z][\w-]*):[ \t]+(.*?)[ \t]*$", re.MULTILINE)
_NOT_PROSE = ("#", "```", "---", "<!--", "|", "![")
_MAX_PARAGRAPH = 500


class _SkillFolder(NamedTuple):
    """A folder with a skill, and the files beside it, each by its path from there."""

    folder: Path
    resources: tuple[str, ...]


class SkillsSource(PathSource):
    """Every folder below a folder that holds a `SKILL.md`; ids are `name/PATH/OF/FOLDER`.

    Symbolic links to folders are not followed, and no file outside of the folder is read. A skill without
    front matter has the name of its folder and its first paragraph as description, which a dead letter says.
    """

    usual_name = "skills"

    def read(self) -> Iterator[Converted]:
        """Documents in the order of their paths."""
        if not self.path.is_dir():
            raise SourceError(str(self.path), "is no folder", "name the folder that holds the skills")
        root = self.path.resolve()
        empty = True
        for found in _walk(root):
            empty = False
            yield from self._read(found, root)
        if empty:
            raise SourceError(str(self.path), f"holds no folder with a {FILE}")

    def _read(self, found: _SkillFolder | Path, root: Path) -> Iterator[Converted]:
        if isinstance(found, Path):
            yield DeadLetter(self.name, str(found), LEADS_OUT)
            return
        file = found.folder / FILE
        if problem := problem_of(file, root):
            yield DeadLetter(self.name, str(file), problem)
            return
        try:
            text = read_file(file, MAX_SKILL_BYTES).decode("utf-8").replace("\r\n", "\n")
        except (SourceError, UnicodeDecodeError) as error:
            yield DeadLetter(self.name, str(file), getattr(error, "what", "not UTF-8"))
            return
        head, notes = _front_matter(text)
        yield from (DeadLetter(self.name, str(file), note) for note in notes)
        entry = Entry(str(file), text.encode())
        yield convert_entry(self.name, entry, lambda _: self._document(found, root, head, text))

    def _document(self, found: _SkillFolder, root: Path, head: dict[str, Any], text: str) -> ApiDocument:
        if "\0" in text:
            raise BadEntry("text contains a NUL character")
        parts = found.folder.relative_to(root).parts
        folder = found.folder.name
        name = _text(head.get("name")) or folder
        description = _text(head.get("description")) or _first_paragraph(text)
        more = {key: head[key] for key in ("license", "compatibility", "allowed-tools") if head.get(key)}
        told = {"name": name, "description": description, **more, TEXT: text}
        metadata = head.get("metadata")
        return ApiDocument(
            id=document_id(self.name, *(parts or (folder,))),
            source=self.name,
            category=SKILL,
            tool="/".join(part for part in parts[:-1] if part not in _GENERIC) or self.name,
            api=name,
            description=description,
            version=_text(metadata.get("version")) if isinstance(metadata, dict) else "",
            definition=msgspec.json.encode(told | {"resources": found.resources}).decode(),
        )


def _walk(root: Path) -> Iterator[_SkillFolder | Path]:
    """Folders with skills by path, and symbolic links to folders elsewhere, which may hold some."""
    for here, folders, files in walk(root):
        folders[:] = sorted(name for name in folders if name not in _PASSED_OVER)
        linked = (here / name for name in folders if (here / name).is_symlink())
        yield from (folder for folder in linked if leads_out(folder, root))
        if FILE in files:
            yield _SkillFolder(here, tuple(_resources(here)))


def _resources(folder: Path) -> Iterator[str]:
    """Files beside a skill, at most `MAX_RESOURCES`; those of skills below it are theirs."""
    left = MAX_RESOURCES
    for here, folders, files in walk(folder):
        folders[:] = sorted(
            name for name in folders if name not in _PASSED_OVER and not (here / name / FILE).exists()
        )
        for file in sorted(files):
            linked = (here / file).is_symlink() and not is_mounted(here / file)
            if linked or (here == folder and file == FILE):
                continue
            if left == 0:
                return
            left -= 1
            yield (here / file).relative_to(folder).as_posix()


def _front_matter(text: str) -> tuple[dict[str, Any], list[str]]:
    """What the front matter says, and what is wrong with it.

    Many are no YAML, because of a colon in a description: of those every line `key: text` counts.
    """
    found = _FRONT_MATTER.match(text)
    if found is None:
        return {}, ["no front matter: named after its folder, and described by its first paragraph"]
    repeated: list[tuple[str, ...]] = []
    try:
        head = parse_yaml(found[1].encode(), MAX_SKILL_BYTES, repeated=repeated)
    except InvalidYaml as error:
        head = {key: value.strip("\"'") for key, value in _LINE.findall(found[1])}
        return head, [f"front matter {error}: read line by line"]
    if not isinstance(head, dict):
        return {}, ["front matter without keys: named after its folder, and described by its first paragraph"]
    missing = [key for key in ("name", "description") if not _text(head.get(key))]
    notes = [f"front matter without {' and '.join(missing)}"] if missing else []
    names = (".".join(place) for place in repeated)
    return head, [
        *notes,
        *(f"front matter has {name!r} more than once: only the last is read" for name in names),
    ]


def _text(value: object) -> str:
    """A scalar on one line; empty for anything else."""
    return " ".join(str(value).split()) if isinstance(value, str | int | float) else ""


def _first_paragraph(text: str) -> str:
    body = _FRONT_MATTER.sub("", text)
    paragraphs = (" ".join(part.split()) for part in re.split(r"\n\s*\n", body))
    prose = (part for part in paragraphs if part and not part.startswith(_NOT_PROSE))
    return clip(next(prose, ""), _MAX_PARAGRAPH)
