"""APIs that are confirmed for a request, by the operator's sample for the same request or by two clients.

A sample that is merely near has a vote among others. One for the same request is the answer: its API comes
first, whatever models say. Requests are the same if their words are, or if their vectors nearly are.
"""

from __future__ import annotations

import re
import unicodedata
from collections import defaultdict
from collections.abc import Sequence

from kitpick_rescorers.intents.votes import QUORUM, Intents

SAME_COSINE = 0.98
"""From this cosine on, two requests are the same. Among the pairs of 2,500 requests of MetaTool two are as
near, and both ask for the same thing; the third, from 0.97 on, does so as well."""
OPERATOR_SAYS = "a sample of the operator names it for this request"

_WORD = re.compile(r"[^\W_]+")
_FILLER_LIST = "please kindly hey hi hello thanks thank you a an the just can could"
_FILLERS = frozenset(_FILLER_LIST.split())
"""Words that change nothing about what is asked for."""
_MAX_READ = 4_000


def same_words(request: str) -> tuple[str, ...]:
    """The words of a request in their order, in one case, without politeness and articles.

    Requests with equal ones are the same. All words where nothing else is left.
    """
    text = unicodedata.normalize("NFKC", request[:_MAX_READ]).casefold()
    words = tuple(_WORD.findall(text))
    return tuple(word for word in words if word not in _FILLERS) or words


def confirmed(intents: Intents, near: Sequence[tuple[int, float]], request: str) -> dict[str, str]:
    """Ids of the APIs that were confirmed for a request, and by whom: the operator's first, then by clients.

    Clients confirm an API when `QUORUM` of them chose it for this request, and more than say that it failed
    or was not needed.

    `near` are rows with cosines, of APIs that the caller may see.
    """
    words = same_words(request)
    operator: set[str] = set()
    chose: defaultdict[str, set[str]] = defaultdict(set)
    objected: defaultdict[str, set[str]] = defaultdict(set)
    for row, cosine in near:
        if cosine < SAME_COSINE and not (words and same_words(intents.requests[row]) == words):
            continue
        api, client = intents.apis[row], intents.clients[row]
        if not client:
            operator.add(api)
        else:
            (chose if intents.chosen(row) else objected)[api].add(client)
    counts = {api: len(who) for api, who in chose.items() if len(who) > max(QUORUM - 1, len(objected[api]))}
    agreed = sorted(counts.keys() - operator, key=lambda api: (-counts[api], api))
    said = {api: f"{counts[api]} clients chose it for this request" for api in agreed}
    return dict.fromkeys(sorted(operator), OPERATOR_SAYS) | said
