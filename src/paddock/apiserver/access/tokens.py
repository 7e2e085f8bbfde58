"""Tokens of service accounts: JSON Web Tokens, signed by a key of this cluster.

A token names the account by its UID, and where it was made for a pod that pod, so it is worth nothing once either is
gone (`Claims`; who reads one looks). Source of the claims: Kubernetes, pkg/serviceaccount (bound tokens).
"""

from __future__ import annotations

import uuid
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from paddock.apiserver.access.users import User, account_user, name_account, split_account
from paddock.kube.meta import Key

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.ec import EllipticCurvePrivateKey

ISSUER = "https://kubernetes.default.svc.cluster.local"
AUDIENCE = ISSUER
"""A token for another audience is none for this API."""
_ALGORITHM = "ES256"
_POD_NAME, _POD_UID = "authentication.kubernetes.io/pod-name", "authentication.kubernetes.io/pod-uid"
_MOST_BYTES = 8 * 1024
"""Of a token that is looked at: what is longer is none of ours."""


@dataclass(frozen=True, slots=True)
class Bound:
    """An object that a token is bound to: its kind (`Pod`, `Secret`), name and UID."""

    kind: str
    name: str
    uid: str


@dataclass(frozen=True, slots=True)
class Claims:
    """What a valid token says."""

    account: Key
    uid: str
    """Of the account."""
    audiences: tuple[str, ...]
    expires: float
    bound: Bound | None = None

    @property
    def user(self) -> User:
        extra: dict[str, tuple[str, ...]] = {}
        if self.bound is not None and self.bound.kind == "Pod":
            extra = {_POD_NAME: (self.bound.name,), _POD_UID: (self.bound.uid,)}
        return account_user(self.account, self.uid, extra)


class Tokens:
    """Makes and reads tokens. `path`: the key, made on first use by `write` with the mode 0600."""

    def __init__(self, path: Path, write: Callable[[Path, bytes], None], clock: Callable[[], float]) -> None:
        self._path, self._write, self._clock = path, write, clock
        self._key: EllipticCurvePrivateKey | None = None

    def make(
        self, account: Key, uid: str, seconds: int, audiences: tuple[str, ...] = (AUDIENCE,), bound: Bound | None = None
    ) -> tuple[str, float]:
        """The token of an account, and when it expires. Raises OSError where the key cannot be kept."""
        import jwt  # late: most clusters never make a token

        now = int(self._clock())
        inner: dict[str, Any] = {"namespace": account.namespace, "serviceaccount": {"name": account.name, "uid": uid}}
        if bound is not None:
            inner[bound.kind.lower()] = {"name": bound.name, "uid": bound.uid}
        claims = {
            "aud": list(audiences), "exp": now + seconds, "iat": now, "nbf": now, "iss": ISSUER,
            "jti": str(uuid.uuid4()), "sub": name_account(account), "kubernetes.io": inner,
        }  # fmt: skip
        return jwt.encode(claims, self._open(), algorithm=_ALGORITHM), float(now + seconds)

    def read(self, token: str) -> Claims | None:
        """None for what this cluster has not signed, and for what has expired. Raises OSError as `make`."""
        if token.count(".") != 2 or len(token) > _MOST_BYTES:
            return None
        import jwt  # late, as above

        options: Any = {"verify_exp": False, "verify_nbf": False, "verify_iat": False, "verify_aud": False}
        try:
            claims = jwt.decode(token, self._open().public_key(), [_ALGORITHM], options, issuer=ISSUER)
        except (jwt.PyJWTError, ValueError):
            return None
        read = _read_claims(claims)
        # By the clock of the cluster, which tests move.
        return read if read is not None and self._clock() < read.expires else None

    def _open(self) -> EllipticCurvePrivateKey:
        from cryptography.hazmat.primitives import serialization
        from cryptography.hazmat.primitives.asymmetric import ec

        if self._key is None:
            try:
                found = serialization.load_pem_private_key(self._path.read_bytes(), None)
            except (FileNotFoundError, ValueError):
                found = ec.generate_private_key(ec.SECP256R1())
                form = serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
                self._write(self._path, found.private_bytes(*form))
            if not isinstance(found, ec.EllipticCurvePrivateKey):
                raise OSError(f"{self._path} is not the key of this cluster's tokens: move it away, a new one is made")
            self._key = found
        return self._key


def _read_claims(claims: Mapping[str, Any]) -> Claims | None:
    account, inner = split_account(str(claims.get("sub"))), claims.get("kubernetes.io")
    if account is None or not isinstance(inner, Mapping):
        return None
    bound = next(
        (Bound(kind, *_name(inner[kind.lower()])) for kind in ("Pod", "Secret") if inner.get(kind.lower())), None
    )
    audiences = claims.get("aud") or ()
    named = (audiences,) if isinstance(audiences, str) else tuple(map(str, audiences))
    return Claims(account, _name(inner.get("serviceaccount"))[1], named, float(claims.get("exp") or 0), bound)


def _name(value: Any) -> tuple[str, str]:
    found = value if isinstance(value, Mapping) else {}
    return str(found.get("name") or ""), str(found.get("uid") or "")
