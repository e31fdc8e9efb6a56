"""The list of hostile cases: what can be tried in this process gets what the list says."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from hostile.descriptions import description_cases


def test_no_operation_of_a_description_vanishes() -> None:
    outcomes = {case.group: case.outcome() for case in description_cases()}
    assert {name: said for name, said in outcomes.items() if said != "right"} == {}
    assert len(outcomes) > 180


@pytest.mark.needs("serve")
def test_a_token_that_is_wrong_in_any_way_is_nobodys(tmp_path: Path) -> None:
    from hostile.tokens import bad_tokens, good_tokens, write_issuers

    from kitpick_service.errors import Unauthorized
    from kitpick_service.keys import KeyRing

    file = tmp_path / "keys.toml"
    file.write_text(write_issuers(tmp_path))
    ring = KeyRing(file)

    def tenant_of(token: str) -> str:
        try:
            with ring.admit(f"Bearer {token}") as bearer:
                return bearer.tenant
        except Unauthorized:
            return "nobody"

    bad = {name: tenant_of(token) for name, token in bad_tokens()}
    assert {name for name, tenant in bad.items() if tenant != "nobody"} == set()
    assert len(bad) > 100
    good = [tenant_of(token) for _, token in good_tokens()]
    assert not {"nobody", "acme"} & set(good)
    assert "other" in good


def test_an_operation_that_is_missing_is_noticed() -> None:
    case = next(iter(description_cases()))
    assert replace(case, apis=(*case.apis, "other")).outcome().startswith("came out: ")
    assert replace(case, told=False).outcome().startswith("dead letters: ")
