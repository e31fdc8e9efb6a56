"""Numbers that every known client can parse.

ml-commons casts a score to `Double`, which fails for `1`, and for more than 18 characters; others fail for an
exponent. So: always a decimal point, six decimals, no exponent.
"""

from __future__ import annotations

from typing import Annotated

import msgspec

PlainNumber = Annotated[msgspec.Raw, msgspec.Meta(extra_json_schema={"type": "number"})]


def plain_number(value: float) -> msgspec.Raw:
    """The value with six decimals."""
    return msgspec.Raw(f"{value + 0.0:.6f}".replace("-0.000000", "0.000000").encode())
