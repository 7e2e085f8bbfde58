"""What an API server says when it says no: one class for each `reason`, the same on both sides of the wire.

    ApiError
      BadRequest 400   Unauthorized 401   Forbidden 403   NotFound 404   MethodNotAllowed 405
      AlreadyExists 409   Conflict 409   Expired 410 (watch or list again from the start)   TooLarge 413
      UnsupportedMediaType 415   Invalid 422 (with one cause for each field)
      TooManyRequests 429   InternalError 500   Unavailable 503 (also: nobody answered)   Timeout 504

Branches are what a caller can do: catch `NotFound`, `AlreadyExists`, `Conflict`, `Expired`; let the rest end the pass.
Source: k8s.io/apimachinery, meta/v1 StatusReason.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from paddock.kube.meta import Manifest


@dataclass(frozen=True, slots=True)
class FieldCause:
    """One wrong field: `field` is a path (`spec.worker.replicas`), `reason` Kubernetes' name (FieldValueInvalid)."""

    field: str
    message: str
    reason: str = "FieldValueInvalid"


class ApiError(Exception):
    """An answer of an API server that is not success. `message` is for people and is complete by itself."""

    code: ClassVar[int] = 500
    reason: ClassVar[str] = "InternalError"

    def __init__(
        self,
        message: str,
        *,
        causes: Sequence[FieldCause] = (),
        kind: str = "",
        name: str = "",
        retry_after: float | None = None,
    ) -> None:
        super().__init__(message)
        self.message = message
        self.causes = tuple(causes)
        self.kind = kind
        self.name = name
        self.retry_after = retry_after


class BadRequest(ApiError):
    code, reason = 400, "BadRequest"


class Unauthorized(ApiError):
    code, reason = 401, "Unauthorized"


class Forbidden(ApiError):
    code, reason = 403, "Forbidden"


class NotFound(ApiError):
    code, reason = 404, "NotFound"


class MethodNotAllowed(ApiError):
    code, reason = 405, "MethodNotAllowed"


class NotAcceptable(ApiError):
    code, reason = 406, "NotAcceptable"


class AlreadyExists(ApiError):
    code, reason = 409, "AlreadyExists"


class Conflict(ApiError):
    code, reason = 409, "Conflict"


class Expired(ApiError):
    code, reason = 410, "Expired"


class TooLarge(ApiError):
    code, reason = 413, "RequestEntityTooLarge"


class UnsupportedMediaType(ApiError):
    code, reason = 415, "UnsupportedMediaType"


class Invalid(ApiError):
    code, reason = 422, "Invalid"


class TooManyRequests(ApiError):
    code, reason = 429, "TooManyRequests"


class InternalError(ApiError):
    pass


class Unavailable(ApiError):
    code, reason = 503, "ServiceUnavailable"


class Timeout(ApiError):
    code, reason = 504, "Timeout"


NAMESPACE_TERMINATING = "NamespaceTerminating"
"""The reason of a cause (core/v1 NamespaceTerminatingCause), from Kubernetes 1.16 on."""


def is_namespace_terminating(error: ApiError) -> bool:
    """A create was refused as its namespace is being deleted. Nobody can take that back: asking again is of no use."""
    return any(cause.reason == NAMESPACE_TERMINATING for cause in error.causes)


_CLASSES: tuple[type[ApiError], ...] = (
    BadRequest, Unauthorized, Forbidden, NotFound, MethodNotAllowed, NotAcceptable, AlreadyExists, Conflict, Expired,
    TooLarge, UnsupportedMediaType, Invalid, TooManyRequests, InternalError, Unavailable, Timeout,
)  # fmt: skip
_BY_REASON = {cls.reason: cls for cls in _CLASSES} | {"Gone": Expired}
_BY_CODE = {cls.code: cls for cls in reversed(_CLASSES) if cls is not AlreadyExists}


def build_status(error: ApiError) -> Manifest:
    """The `Status` object that goes over the wire."""
    details: Manifest = {}
    if error.name:
        details["name"] = error.name
    if error.kind:
        details["kind"] = error.kind
    if error.causes:
        details["causes"] = [
            {"reason": cause.reason, "message": cause.message, "field": cause.field} for cause in error.causes
        ]
    if error.retry_after is not None:
        details["retryAfterSeconds"] = max(1, round(error.retry_after))
    status: Manifest = {
        "kind": "Status",
        "apiVersion": "v1",
        "metadata": {},
        "status": "Failure",
        "message": error.message,
        "reason": error.reason,
        "code": error.code,
    }
    if details:
        status["details"] = details
    return status


def read_status(code: int, body: Mapping[str, Any] | None) -> ApiError:
    """The error that an answer stands for; `body` may be anything, as proxies answer what they like."""
    body = body or {}
    details = body.get("details") or {}
    cls = _BY_REASON.get(str(body.get("reason")), _BY_CODE.get(code, InternalError))
    retry = details.get("retryAfterSeconds")
    return cls(
        str(body.get("message") or f"the server answered {code}"),
        causes=[
            FieldCause(str(cause.get("field", "")), str(cause.get("message", "")), str(cause.get("reason", "")))
            for cause in details.get("causes") or ()
        ],
        kind=str(details.get("kind") or ""),
        name=str(details.get("name") or ""),
        retry_after=float(retry) if isinstance(retry, int | float) else None,
    )
