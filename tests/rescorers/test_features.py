"""Features of candidates, each against what can be worked out by hand."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from kitpick_engines.contract import Candidate, Place
from kitpick_engines.document import Effect
from kitpick_rescorers.features import (
    FEATURES,
    RISING,
    candidate_features,
    effect_of_name,
    stems,
    wanted_effects,
)
from kitpick_rescorers.request import RescoreRequest, opening_state
from kitpick_rescorers.state import State

QUERY = "Please copy all my files. Then tell me how many there are."


def candidate(
    api: str,
    *,
    tool: str = "Store",
    lexical: tuple[int, float] | None = None,
    dense: int | None = None,
    cosine: float = 0.0,
    effect: Effect = Effect.UNKNOWN,
    text: str = "",
) -> Candidate:
    """A candidate whose vector has that cosine with (1, 0)."""
    return Candidate(
        id=f"{tool}/{api}",
        category="",
        tool=tool,
        api=api,
        text=text or api,
        vector=np.array([cosine, (1 - cosine**2) ** 0.5], np.float32),
        lexical=None if lexical is None else Place(*lexical),
        dense=None if dense is None else Place(dense, cosine),
        effect=effect,
    )


LISTED = (
    candidate(
        "copyFile", lexical=(1, 8.0), dense=2, cosine=0.6, effect=Effect.WRITE, text="Store: copy a file"
    ),
    candidate("deleteFile", lexical=(2, 4.0), effect=Effect.DESTRUCTIVE),
    candidate("count", tool="Counter", dense=1, cosine=0.8),
)


CROWD = [(0.8 + 0.96) / 2, (0.8 + 0.6) / 2, (0.96 + 0.6) / 2]


def state_of(
    candidates: Sequence[Candidate] = LISTED, logits: Mapping[str, float] | None = None, query: str = QUERY
) -> State:
    state = opening_state(RescoreRequest(query, candidates, np.array([2.0, 0.0], np.float32)))
    known = logits or {}
    ranked = tuple(replace(item, logit=known.get(item.candidate.api)) for item in state.ranked)
    return replace(state, ranked=ranked)


def column(name: str, state: State) -> list[float]:
    found: list[float] = candidate_features(state)[:, list(FEATURES).index(name)].tolist()
    return found


SCORED = state_of(logits={"copyFile": 3.0, "deleteFile": 1.0})


@pytest.mark.parametrize(
    ("name", "values"),
    [
        ("lexical_rank", [1, 1 / 2, 0]),
        ("lexical_score", [8, 4, 0]),
        ("lexical_share", [1, 0.5, 0]),
        ("dense_rank", [1 / 2, 0, 1]),
        ("cosine", [0.6, 0, 0.8]),
        ("cosine_gap", [-0.2, -0.8, 0]),
        ("crowd", CROWD),
        ("cosine_of_its_own", [0.6 - 0.2 * CROWD[0], -0.2 * CROWD[1], 0.8 - 0.2 * CROWD[2]]),
        ("sentence_rank", [0, 0, 0]),
        ("scored", [1, 1, 0]),
        ("logit", [3, 1, 1]),  # what was not read has the lowest of what was
        ("logit_gap", [0, -2, -2]),
        ("logit_rank", [1, 1 / 2, 1 / 2]),
        ("name_asked", [1, 0.5, 0]),
        ("tool_asked", [0, 0, 0]),
        ("effect_fit", [1, -1, 1]),  # by the verb of its name, where no effect is known
        ("tool_best_cosine", [0.6, 0.6, 0.8]),
        ("tool_mean_cosine", [0.3, 0.3, 0.8]),
        ("tool_best_logit", [3, 3, 1]),
        ("tool_mean_logit", [2, 2, 1]),
        ("gap_in_tool", [0, -2, 0]),
        ("tool_candidates", [2, 2, 1]),
        ("agreement", [1 / 2] * 3),  # one of two
        ("best_cosine", [0.8] * 3),
        ("cosine_margin", [0.8] * 3),
        ("lexical_margin", [1.0] * 3),
        ("best_logit", [3] * 3),
        ("logit_margin", [2] * 3),
        ("sentences", [2] * 3),
        ("words", [12] * 3),
    ],
)
def test_a_feature_is_what_it_says(name: str, values: list[float]) -> None:
    assert column(name, SCORED) == pytest.approx(values, abs=1e-6)


def test_the_request_is_covered_by_the_stems_of_a_text() -> None:
    asked = stems(QUERY)
    assert {"copy", "fil"} <= asked
    assert column("request_covered", SCORED)[0] == pytest.approx(2 / len(asked))
    assert column("best_covered", SCORED) == pytest.approx([2 / len(asked)] * 3)


def test_without_vector_logits_and_words_everything_is_finite() -> None:
    bare = opening_state(RescoreRequest("?", [replace(each, lexical=None, dense=None) for each in LISTED]))
    assert np.isfinite(candidate_features(bare)).all()


def test_no_candidates_are_no_rows() -> None:
    assert candidate_features(state_of([])).shape == (0, len(FEATURES))


def test_rows_go_with_their_candidates_in_any_order() -> None:
    turned = replace(SCORED, ranked=SCORED.ranked[::-1])
    assert np.allclose(candidate_features(turned), candidate_features(SCORED)[::-1])


@pytest.mark.parametrize(
    ("words", "stem"),
    [(("copy", "copies", "copying"), "copy"), (("file", "files", "filing"), "fil"), (("as",), None)],
)
def test_words_of_one_stem_are_one_word(words: tuple[str, ...], stem: str | None) -> None:
    assert stems(" ".join(words)) == (frozenset() if stem is None else {stem})


@pytest.mark.parametrize(
    ("query", "effects"),
    [
        ("what is on my list", {Effect.READ}),
        ("Deleting the old ones", {Effect.DESTRUCTIVE}),
        ("remove this and create that", {Effect.DESTRUCTIVE, Effect.WRITE}),
        ("milk, butter", set()),
    ],
)
def test_the_verbs_of_a_request_ask_for_effects(query: str, effects: set[Effect]) -> None:
    assert wanted_effects(query) == effects


def test_a_name_has_the_effect_of_its_first_verb() -> None:
    assert effect_of_name("listDeletedUsers") is Effect.READ
    assert effect_of_name("users.remove") is Effect.DESTRUCTIVE
    assert effect_of_name("users") is Effect.UNKNOWN


def test_rising_features_exist() -> None:
    assert set(RISING) <= set(FEATURES)


@given(st.text(max_size=80), st.lists(st.floats(-1, 1), min_size=1, max_size=12), st.booleans())
def test_any_request_and_any_cosines_give_finite_rows(query: str, cosines: list[float], scored: bool) -> None:
    found = [candidate(f"api{n}", tool=f"t{n % 3}", dense=n + 1, cosine=c) for n, c in enumerate(cosines)]
    logits = {each.api: 10.0 * c for each, c in zip(found, cosines, strict=True)} if scored else {}
    rows = candidate_features(state_of(found, logits, query))
    assert rows.shape == (len(found), len(FEATURES))
    assert np.isfinite(rows).all()
