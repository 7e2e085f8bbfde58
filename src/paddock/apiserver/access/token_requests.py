"""Requests for a token of a service account: `kubectl create token`. Pure.

Source: Kubernetes, authentication/v1 TokenRequest and its validation.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from paddock.apiserver.access.tokens import AUDIENCE, Bound
from paddock.kube.errors import BadRequest, FieldCause, Invalid
from paddock.kube.meta import Manifest
from paddock.kube.times import format_time
from paddock.kube.validation.values import type_of

_MOST_SECONDS = 2**32
_LEAST_SECONDS, _USUAL_SECONDS = 600, 3600
"""Of a token of a service account, as in kube-apiserver."""


@dataclass(frozen=True, slots=True)
class TokenWish:
    """The spec of a TokenRequest (authentication/v1). `bound`: the kind, name and UID of the object that the token is
    bound to; its UID is empty where any of this name is meant."""

    audiences: tuple[str, ...]
    seconds: int
    bound: Bound | None


def read_token_request(body: Any) -> TokenWish:
    """The body of a POST to serviceaccounts/NAME/token. Raises `BadRequest`, `Invalid`."""
    if not isinstance(body, Mapping):
        raise BadRequest(f"the body is a TokenRequest: found {type_of(body)}")
    given = body.get("spec")
    spec: Mapping[str, Any] = given if isinstance(given, Mapping) else {}
    seconds = spec.get("expirationSeconds")
    seconds = _USUAL_SECONDS if seconds in (None, 0) else seconds
    if not isinstance(seconds, int) or isinstance(seconds, bool) or not _LEAST_SECONDS <= seconds <= _MOST_SECONDS:
        message = f"Invalid value: {seconds!r:.30}: may not specify a duration less than 10 minutes, or more than 2^32"
        raise _invalid_token("spec.expirationSeconds", f"{message} seconds")
    audiences, wanted = spec.get("audiences") or (AUDIENCE,), spec.get("boundObjectRef") or {}
    if not isinstance(audiences, list | tuple) or not all(isinstance(each, str) for each in audiences):
        raise _invalid_token("spec.audiences", "Invalid value: a list of texts is wanted")
    if not wanted:
        return TokenWish(tuple(audiences), seconds, None)
    if not isinstance(wanted, Mapping) or wanted.get("kind") not in ("Pod", "Secret") or not wanted.get("name"):
        raise _invalid_token("spec.boundObjectRef", "Invalid value: a Pod or a Secret, with its name, is wanted")
    bound = Bound(str(wanted["kind"]), str(wanted["name"]), str(wanted.get("uid") or ""))
    return TokenWish(tuple(audiences), seconds, bound)


def build_answer(wish: TokenWish, account: str, namespace: str, token: str, expires: float) -> Manifest:
    """The TokenRequest with the token in its status."""
    spec: Manifest = {"audiences": list(wish.audiences), "expirationSeconds": wish.seconds}
    if wish.bound is not None:
        bound = {"kind": wish.bound.kind, "apiVersion": "v1", "name": wish.bound.name, "uid": wish.bound.uid}
        spec["boundObjectRef"] = bound
    return {
        "kind": "TokenRequest", "apiVersion": "authentication.k8s.io/v1",
        "metadata": {"name": account, "namespace": namespace, "creationTimestamp": None}, "spec": spec,
        "status": {"token": token, "expirationTimestamp": format_time(expires)},
    }  # fmt: skip


def _invalid_token(field: str, message: str) -> Invalid:
    cause = FieldCause(field, message)
    said = f'TokenRequest.authentication.k8s.io "" is invalid: {field}: {message}'
    return Invalid(said, causes=[cause], kind="TokenRequest", group="authentication.k8s.io")
