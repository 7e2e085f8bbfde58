"""What a request asks to do, in the words of RBAC: verb, resource, name, or the path of what is no resource. Pure.

Source: Kubernetes, apiserver/endpoints/request (RequestInfo) and its documents on authorization.
"""

from __future__ import annotations

from dataclasses import dataclass, replace


@dataclass(frozen=True, slots=True)
class Attributes:
    """One question to RBAC."""

    verb: str
    group: str = ""
    resource: str = ""
    """The plural; empty: `path` is asked for."""
    subresource: str = ""
    namespace: str = ""
    name: str = ""
    path: str = ""

    @property
    def whole_resource(self) -> str:
        """`pods/log`, as rules name it."""
        return f"{self.resource}/{self.subresource}" if self.subresource else self.resource

    def describe(self) -> str:
        """As a 403 of Kubernetes has it, behind `User "…" cannot`."""
        if self.path:
            return f'{self.verb} path "{self.path}"'
        where = f'in the namespace "{self.namespace}"' if self.namespace else "at the cluster scope"
        return f'{self.verb} resource "{self.whole_resource}" in API group "{self.group}" {where}'


_OF_ONE = {"GET": "get", "HEAD": "get", "POST": "create", "PUT": "update", "PATCH": "patch", "DELETE": "delete"}
_OF_MANY = {**_OF_ONE, "GET": "list", "HEAD": "list", "DELETE": "deletecollection"}
STREAMS = frozenset({"exec", "attach", "portforward"})
"""The subresources that let a client into a pod."""


def find_verb(method: str, *, one: bool, watches: bool) -> str:
    """`one`: an object is named; `watches`: a watch is asked for. Any other method is a verb in small letters."""
    if watches and method in ("GET", "HEAD"):
        return "watch"
    return (_OF_ONE if one else _OF_MANY).get(method, method.lower())


def list_questions(asked: Attributes) -> tuple[Attributes, ...]:
    """All that must be allowed. Who is let into a pod by GET, as WebSocket clients ask, must be allowed to `create`
    there as well: without that a right to read would be a right to run programs (Kubernetes from 1.35 on)."""
    if asked.resource == "pods" and asked.subresource in STREAMS and asked.verb == "get":
        return asked, replace(asked, verb="create")
    return (asked,)
