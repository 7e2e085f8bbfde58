"""The errors of a Kubernetes API: one class for each `reason`, for servers and clients.

    ApiError
      BadRequest 400   Unauthorized 401   Forbidden 403   NotFound 404   MethodNotAllowed 405
      AlreadyExists 409   Conflict 409   Expired 410 (watch or list again from the start)   TooLarge 413
      UnsupportedMediaType 415   Invalid 422 (with one cause for each field)
      TooManyRequests 429   InternalError 500   Unavailable 503 (also: no response)   Timeout 504

Callers usually catch `NotFound`, `AlreadyExists`, `Conflict`, `Expired`; the others end the reconcile.
Source: k8s.io/apimachinery, meta/v1 StatusReason.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from paddock.kube.meta import Manifest


@dataclass(frozen=True, slots=True)
class FieldCause:
    """One wrong field."""

    field: str  # its path (`spec.worker.replicas`)
    message: str
    reason: str = "FieldValueInvalid"  # Kubernetes' name of it


class ApiError(Exception):
    """A response of an API server that is an error. `message` is for people, and complete without the other fields."""

    code: ClassVar[int] = 500
    reason: ClassVar[str] = "InternalError"

    def __init__(
        self,
        message: str,
        *,
        causes: Sequence[FieldCause] = (),
        kind: str = "",
        name: str = "",
        group: str = "",
        retry_after: float | None = None,
    ) -> None:
        super().__init__(message)
        self.message = message
        self.causes = tuple(causes)
        self.kind = kind
        self.name = name
        self.group = group
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
    """Whether a create was refused because its namespace is being deleted. That is final, so a retry is useless."""
    return any(cause.reason == NAMESPACE_TERMINATING for cause in error.causes)


_CLASSES: tuple[type[ApiError], ...] = (
    BadRequest, Unauthorized, Forbidden, NotFound, MethodNotAllowed, NotAcceptable, AlreadyExists, Conflict, Expired,
    TooLarge, UnsupportedMediaType, Invalid, TooManyRequests, InternalError, Unavailable, Timeout,
)  # fmt: skip
# Kubernetes has two reasons with code 410: Expired and Gone.
_BY_REASON = {cls.reason: cls for cls in _CLASSES} | {"Gone": Expired}
_BY_CODE = {cls.code: cls for cls in reversed(_CLASSES) if cls is not AlreadyExists}


def build_status(error: ApiError) -> Manifest:
    """The `Status` object of a response."""
    details: Manifest = {}
    if error.name:
        details["name"] = error.name
    if error.group:
        details["group"] = error.group
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
    """The error of a response. `body` need not be a Status: proxies send their own."""
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
        group=str(details.get("group") or ""),
        name=str(details.get("name") or ""),
        retry_after=float(retry) if isinstance(retry, int | float) else None,
    )
