"""Authentication of a request: the bearer token, and a Host header that names this machine.

The token belongs to the one user who owns the directory. The Host header is checked against DNS rebinding. Probes and
/version need no token.
"""

from __future__ import annotations

import hmac
import secrets
from collections.abc import Collection
from pathlib import Path

from paddock.apiserver.http.files import write_private
from paddock.kube.errors import ApiError, Forbidden, Unauthorized

# Kubernetes opens the same paths to everybody, by its role system:public-info-viewer.
# The last form is for Python's official client, which asks for /version/ with a slash.
OPEN_PATHS = frozenset({"/livez", "/readyz", "/healthz", "/version", "/version/"})
_SERVICE_NAMES = ("kubernetes", "kubernetes.default", "kubernetes.default.svc", "kubernetes.default.svc.cluster.local")


def make_token(directory: Path) -> str:
    """The token in `directory`, created on first use. It never changes, so kubeconfig files stay valid."""
    return make_secret(directory / "token")


def make_secret(path: Path) -> str:
    """The random text of this file, created on first use."""
    try:
        token = path.read_text("ascii").strip()
    except (FileNotFoundError, UnicodeDecodeError):
        token = ""
    if len(token) < 32:
        token = secrets.token_urlsafe(32)
        write_private(path, token.encode())
    return token


def build_hosts(port: int) -> frozenset[str]:
    """The Host headers that the server accepts."""
    local = {f"{name}:{port}" for name in ("127.0.0.1", "localhost", "[::1]")}
    return frozenset(local | {f"{name}{suffix}" for name in _SERVICE_NAMES for suffix in ("", f":{port}")})


def check_host(host: str, allowed: Collection[str]) -> ApiError | None:
    # DNS rebinding: a web page that resolves its own name to 127.0.0.1 must not reach the API through the browser.
    if host.lower() in allowed:
        return None
    return Forbidden(f"host {host[:100]!r} is not served: this API answers under 127.0.0.1 and localhost only")


def read_bearer(authorization: str) -> str:
    """The token of `Bearer TOKEN`; empty for any other header."""
    scheme, _, given = authorization.partition(" ")
    return given.strip() if scheme.lower() == "bearer" else ""


def holds_token(given: str, token: str) -> bool:
    """Compared in constant time."""
    # aiohttp decodes bytes that are not UTF-8 as surrogates, which plain `encode()` refuses.
    return hmac.compare_digest(given.encode(errors="replace"), token.encode())


def explain_unauthorized() -> Unauthorized:
    """Of a token that is neither the owner's nor a valid one of a service account."""
    return Unauthorized(
        "Unauthorized: send the bearer token of the cluster's kubeconfig file, or a valid one of a service account"
    )
