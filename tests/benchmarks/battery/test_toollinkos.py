"""Functions that need each other."""

from __future__ import annotations

from pathlib import Path

from battery.toollinkos import read_toollinkos


def test_a_request_needs_its_main_function_first_and_what_that_depends_on(shared_data: Path) -> None:
    catalog = read_toollinkos(shared_data / "toollinkos")
    assert (len(catalog.documents), len(catalog.requests)) == (573, 1_569)
    assert catalog.requests[0].relevant[0] == "share_location_via_email"
    assert "validate_email" in catalog.requests[0].relevant
    email = catalog.documents["share_location_via_email"].parameters[0]
    assert (email.name, email.required) == ("email_address", True)
