"""Writes the results of an evaluation into the manifests of the models that took part.

kitpick eval toolbench -p kitpick -o report.json
python -m kitpick_training.model_figures report.json "kitpick eval toolbench"
"""

from __future__ import annotations

import argparse
import datetime
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

import msgspec

from kitpick.settings import Settings
from kitpick_evaluation.report import Report, read_report
from kitpick_foundation.errors import KitpickError
from kitpick_models.locate import find_model
from kitpick_models.manifest import CARD, MANIFEST, Figure, Manifest, card, encode_manifest, read_manifest
from kitpick_rescorers.profiles import Profile, load_profile
from kitpick_training.errors import FiguresNotWritten

RECORDED = ("recall@5", "ndcg@5", "comp@5")


def main() -> None:
    """Records a report for the models that the settings name."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("report", type=Path, help="what `kitpick eval -o` wrote")
    parser.add_argument("command", help="what measured it, without -p and its values")
    asked = parser.parse_args()
    today = datetime.date.today().isoformat()
    try:
        for identity in record_report(read_report(asked.report), (today, asked.command), Settings()):
            print(f"recorded for {identity}")
    except KitpickError as error:
        sys.exit(str(error))


def record_report(report: Report, measured: tuple[str, str], settings: Settings) -> list[str]:
    """Writes the overall figures of each profile into manifest and card of every model that it uses.

    Args:
        report: of an evaluation with these settings.
        measured: its date, and its command without the options that name profiles.
        settings: they name the models.

    Returns:
        The identities of the models.

    Raises:
        ModelError: a model's manifest cannot be read or written.
    """
    profiles = [load_profile(name) for name in report.profiles]
    written: list[str] = []
    for role, folder in _folders(settings).items():
        using = [profile for profile in profiles if role in roles_of(profile)]
        if using:
            figures = [found for profile in using for found in _figures(report, profile, role, measured)]
            written.append(record_figures(folder, figures).identity)
    return written


def roles_of(profile: Profile) -> frozenset[str]:
    """The models that a profile asks."""
    needs = profile.needs()
    asked = {
        "encoder": profile.needs_vector,
        "cross_encoder": "scorer" in needs,
        "query_kind": "query_kind" in needs,
        "list_ranker": "ranker" in needs,
    }
    return frozenset(role for role, wanted in asked.items() if wanted)


def _folders(settings: Settings) -> dict[str, Path]:
    names = settings.chosen_models().names()
    return {role: find_model(name) for role, name in names.items()}


def _figures(report: Report, profile: Profile, role: str, measured: tuple[str, str]) -> Iterator[Figure]:
    date, command = measured
    others = [report.provenance.models[other] for other in sorted(roles_of(profile) - {role})]
    beside = f" with {', '.join(others)}" if others else ""
    benchmark = f"{report.dataset} ({_asked(report)}), profile {profile.name}{beside}"
    row = report.overall(profile.name)
    for name in RECORDED:
        if name in row.figures:
            value = round(row.figures[name], 4)
            yield Figure(benchmark, name, value, date, f"{command} -p {profile.name}")


def _asked(report: Report) -> str:
    held = report.provenance.requests
    return f"{report.queries} of {held} requests" if report.queries < held else f"{held} requests"


def record_figures(folder: Path, figures: Sequence[Figure]) -> Manifest:
    """Adds measured values; one of the same benchmark and figure takes the place of what was there.

    Each file is replaced in one step: whoever opens the model meanwhile reads the old or the new manifest.

    Raises:
        CorruptModel, UnsupportedModel: the manifest cannot be read.
        FiguresNotWritten: the folder cannot be written; the manifest is the old or the new one, whole.
    """
    manifest = read_manifest(folder)
    known = {(found.benchmark, found.figure): found for found in (*manifest.figures, *figures)}
    extended = msgspec.structs.replace(manifest, figures=tuple(known.values()))
    try:
        _replace(folder / MANIFEST, encode_manifest(extended))
        _replace(folder / CARD, card(extended).encode("utf-8"))
    except OSError as error:
        raise FiguresNotWritten(folder, error.strerror or str(error)) from error
    return extended


def _replace(path: Path, content: bytes) -> None:
    beside = path.with_name(f"{path.name}.part")
    try:
        beside.write_bytes(content)
        beside.replace(path)
    finally:
        beside.unlink(missing_ok=True)


if __name__ == "__main__":
    main()
