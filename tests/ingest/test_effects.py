"""What calling an API does to the world."""

from __future__ import annotations

import pytest

from kitpick_engines.document import Effect
from kitpick_ingest.effects import effect_of_function_name, effect_of_hints, effect_of_method


@pytest.mark.parametrize(
    ("method", "effect"),
    [
        ("GET", "read"),
        ("head", "read"),
        (" post ", "write"),
        ("PATCH", "write"),
        ("DELETE", "destructive"),
        ("PURGE", "unknown"),
        ("", "unknown"),
        (None, "unknown"),
    ],
)
def test_effect_of_an_http_method(method: str | None, effect: str) -> None:
    assert effect_of_method(method) == Effect(effect)


@pytest.mark.parametrize(
    ("read_only", "destructive", "effect"),
    [
        (True, None, "read"),
        (True, True, "read"),
        (False, None, "write"),
        (False, True, "destructive"),
        (False, False, "write"),
        (None, False, "write"),
        (None, True, "destructive"),
        (None, None, "unknown"),
    ],
)
def test_effect_of_mcp_hints(read_only: bool | None, destructive: bool | None, effect: str) -> None:
    assert effect_of_hints(read_only, destructive) == Effect(effect)


@pytest.mark.parametrize(
    ("name", "effect"),
    [
        ("cancel_order", "destructive"),
        ("subscriptionCancel", "destructive"),
        ("billing.voidInvoice", "destructive"),
        ("revoke_token", "destructive"),
        ("bulk-delete-users", "destructive"),
        ("refund_charge", "write"),
        ("createRefund", "write"),
        ("get_refund", "unknown"),
        ("findOneAndDelete", "destructive"),
        ("check_then_refund", "write"),
        ("search_and_list_refunds", "unknown"),
        ("isCancelled", "unknown"),
        ("cancellation_policy", "unknown"),
        ("cancel.list_reasons", "unknown"),
        ("send_email", "unknown"),
        ("", "unknown"),
    ],
)
def test_effect_of_a_functions_name(name: str, effect: str) -> None:
    assert effect_of_function_name(name) == Effect(effect)
