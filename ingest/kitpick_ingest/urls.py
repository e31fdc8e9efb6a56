"""URLs in specifications of sources: recognised, checked, and shown without secrets."""

from __future__ import annotations

from urllib.parse import SplitResult, urlsplit

from kitpick_ingest.errors import UnknownSource


def is_url(text: str) -> bool:
    """Whether the text is meant as a URL that this project reads."""
    return text.startswith(("http://", "https://"))


def split_url(url: str) -> SplitResult:
    """Parts of a URL that names a host.

    Raises:
        UnknownSource: it names none, or its port is no number.
    """
    try:
        parts = urlsplit(url)
        if parts.hostname and parts.port != 0:
            return parts
    except ValueError:
        pass
    raise UnknownSource("URL", "names no host, or a port that is none", "write https://HOST/PATH")


def shown_url(url: str) -> str:
    """The URL without user, password, query and fragment."""
    parts = split_url(url)
    return f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}{parts.path}"
