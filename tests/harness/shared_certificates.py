"""The certificates that this machine trusts, read once a process: each client of HTTP reads them anew.

That takes 40 ms of processor time, and most tests ask a server of their own a few times, without TLS.
"""

from __future__ import annotations

import importlib.util
import os
from typing import Any

_VARIABLES = ("SSL_CERT_FILE", "SSL_CERT_DIR")
_READ: dict[object, Any] = {}


def read_once() -> None:
    """From now on clients that trust what the machine trusts share a context."""
    if importlib.util.find_spec("httpx2") is None:  # absent where only clients of others are tried
        return
    from httpx2._transports import default

    create = getattr(default, "create_ssl_context", None)
    if create is None:  # another version of the library
        return

    def created(verify: Any = True, cert: Any = None, trust_env: bool = True) -> Any:
        if verify is not True or cert is not None:
            return create(verify=verify, cert=cert, trust_env=trust_env)
        key = (os.getpid(), trust_env, *map(os.environ.get, _VARIABLES))
        if key not in _READ:
            _READ[key] = create(trust_env=trust_env)
        return _READ[key]

    default.create_ssl_context = created
