"""An issuer of tokens on this machine: it signs with joserfc, another library than the one that verifies."""

from __future__ import annotations

import base64
import hmac
import json
import threading
import time
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

ISSUER, AUDIENCE = "https://login.example.com", "kitpick"


def claims(**more: Any) -> dict[str, Any]:
    """Claims that are valid for a minute; None takes one away."""
    now = int(time.time())
    said = {"iss": ISSUER, "aud": AUDIENCE, "sub": "ann", "iat": now, "exp": now + 60, "tenant": "acme"}
    return {name: value for name, value in (said | more).items() if value is not None}


def encoded(data: bytes) -> str:
    """Base64 as tokens have it."""
    return base64.urlsafe_b64encode(data).decode().rstrip("=")


class TokenIssuer:
    """Makes keys, signs with them, and shows the public ones as a JSON Web Key Set."""

    def __init__(self) -> None:
        from joserfc.jwk import ECKey, OKPKey, RSAKey

        self.made = {
            "RS256": RSAKey.generate_key(2048, {"kid": "rsa"}),
            "ES256": ECKey.generate_key("P-256", {"kid": "ec"}),
            "EdDSA": OKPKey.generate_key("Ed25519", {"kid": "ed"}),
        }
        self.shown = list(self.made.values())
        self.asked = 0
        self.answer: bytes | None = None

    def key_set(self) -> str:
        """The public keys that are shown, as JSON."""
        return json.dumps({"keys": [key.as_dict(private=False) for key in self.shown]})

    def token(self, algorithm: str = "ES256", header: dict[str, Any] | None = None, **said: Any) -> str:
        """A token with these claims beside those of `claims`."""
        from joserfc import jwt

        key = self.made[algorithm]
        given = {"alg": algorithm, "kid": key.kid} | (header or {})
        kept = {name: value for name, value in given.items() if value is not None}
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # EdDSA has a newer name; issuers still use the old one
            return jwt.encode(kept, claims(**said), key, algorithms=[algorithm])

    def signed(self, payload: bytes, header: dict[str, Any] | None = None) -> str:
        """A token whose claims are these bytes."""
        from joserfc import jws

        given = {"alg": "ES256", "kid": "ec"} | (header or {})
        return jws.serialize_compact(given, payload, self.made["ES256"], algorithms=["ES256"])

    def confused(self) -> str:
        """A token that uses the public key as the secret of HS256; libraries refuse to make one."""
        parts = [{"alg": "HS256", "kid": "rsa"}, claims()]
        signed = ".".join(encoded(json.dumps(part).encode()) for part in parts)
        secret = self.made["RS256"].as_pem(private=False)
        return f"{signed}.{encoded(hmac.digest(secret, signed.encode(), 'sha256'))}"

    def rotate(self) -> None:
        """Signs with a new key from now on, and shows it alone."""
        from joserfc.jwk import ECKey

        self.made["ES256"] = ECKey.generate_key("P-256", {"kid": f"ec-{time.time_ns()}"})
        self.shown = [self.made["ES256"]]

    @contextmanager
    def listening(self) -> Iterator[str]:
        """Shows the keys over HTTP, at this URL; `answer` takes their place where it is set."""
        issuer = self

        class Keys(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                issuer.asked += 1
                self.send_response(302 if self.path == "/moved" else 200)
                self.send_header("location", "/keys")
                self.end_headers()
                self.wfile.write(issuer.answer or issuer.key_set().encode())

            def log_message(self, *_: object) -> None:
                pass

        server = ThreadingHTTPServer(("127.0.0.1", 0), Keys)
        thread = threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True)
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_port}/keys"
        finally:
            server.shutdown()
            server.server_close()
            thread.join(10)
