"""Errors of models. Their text says what is wrong, where, and the cure."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

from kitpick_foundation.errors import FailureKind, KitpickError, MissingExtra


class ModelError(KitpickError):
    """Base of everything this part raises."""

    failure = FailureKind.UNAVAILABLE


class RuntimeClash(ModelError):
    """`onnxruntime` and `onnxruntime-gpu` are both installed: they overwrite each other's files."""

    def __init__(self, packages: Iterable[str]) -> None:
        names = " and ".join(sorted(packages))
        super().__init__(
            f"{names} are installed together and overwrite each other's files: uninstall both, "
            "then pip install 'kitpick[cpu]' or 'kitpick[gpu]'"
        )


class ProviderRefused(ModelError):
    """Another device than the one asked for would have been used."""

    def __init__(self, asked: str, granted: Iterable[str]) -> None:
        super().__init__(
            f"provider {asked!r} was asked for, onnxruntime offers {list(granted)}: install "
            "'kitpick[gpu]' with a matching CUDA driver, or ask for provider 'cpu'"
        )
        self.asked = asked


class ForkedModel(ModelError):
    """A model that was loaded before this process was forked, and that cannot be loaded again in it."""

    def __init__(self, provider: str) -> None:
        reason = f"a driver of {provider} does not survive a fork" if provider != "cpu" else "it has no file"
        super().__init__(
            f"this process was forked after a model was loaded, and cannot use it: {reason}; start processes "
            "with multiprocessing's `spawn`, or load models after the fork"
        )


class UnknownModel(ModelError):
    """No folder of this name holds a model."""

    def __init__(self, name: str, places: Iterable[Path], known: Iterable[str]) -> None:
        super().__init__(
            f"no model {name!r} in {', '.join(map(str, places))}; known are {', '.join(known) or 'none'}"
        )


class UnknownModelSet(ModelError):
    """No model set has this name, and no folder."""

    def __init__(self, name: str, known: Iterable[str]) -> None:
        install = ", or install the package that has it" if name.isidentifier() else ""
        super().__init__(
            f"no model set {name!r}, and no such folder: name one of {', '.join(known) or 'none'}{install}"
        )


class CorruptModel(ModelError):
    """A file of the model is missing or differs from the one its manifest names."""

    def __init__(self, path: Path, reason: str) -> None:
        super().__init__(f"{path}: {reason}; install or export the model again")
        self.path = path


class UnsupportedModel(ModelError):
    """The model is sound, but of a newer format or of another kind than asked for."""


class UnusableFolder(ModelError):
    """A folder, or one of its files, of which no model can be made."""

    failure = FailureKind.INPUT

    def __init__(self, place: Path, reason: str, cure: str) -> None:
        super().__init__(f"{place}: {reason}; {cure}")
        self.place = place


class UnknownToken(ModelError):
    """A token id that the model's vocabulary does not have."""


class NotFinite(ModelError):
    """The model answered NaN or infinity; nothing was returned."""


@contextmanager
def failures_as(named: Callable[[Exception], ModelError]) -> Iterator[None]:
    """A context for calls of other packages: whatever these raise is raised as `named`; our errors pass."""
    try:
        yield
    except (ModelError, MissingExtra):
        raise
    except Exception as error:
        raise named(error) from error
