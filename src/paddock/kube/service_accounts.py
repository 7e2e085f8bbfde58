"""The service accounts under which Paddock itself runs, and which pods would act as one of them. Pure.

A pod may name any service account of its namespace (Kubernetes asks for no right to do so), and then does what that
account may. Whoever may create jobs beside the operator could so do what the operator may. On clusters before
Kubernetes 1.24 the token of an account is in a Secret as well, `NAME-token-xxxxx` (kube-controller-manager's
tokens controller), which a pod of the namespace may read. A Secret of another name may hold one too: only who may read
Secrets knows it.

`own` is everywhere the accounts of Paddock, by namespace and name: an account of the same name in another namespace is
somebody else's. `jobs.needs`, `preflight` and `datasets.cluster` refuse what is found here.
"""

from __future__ import annotations

import base64
import binascii
import json
from collections.abc import Collection, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from paddock.kube.meta import Key, Manifest

EVERYBODYS = "default"
"""The account of every pod that names none. It is never reserved, though an operator may run under it: no pod could
then run there."""

_FIELDS = ("serviceAccountName", "serviceAccount")
"""The second one is the older name of the first (core/v1 PodSpec), and stands where that is empty."""
_SECRET_FIELDS = ("secret", "secretref", "secretkeyref")
_SUBJECT = ("system", "serviceaccount")
"""How the subject of an account's token begins, between colons."""


@dataclass(frozen=True, slots=True)
class Use:
    """A field by which a pod would act as a service account."""

    path: str  # below the spec of the pod
    name: str  # what stands there, the account or the Secret of its token
    account: str  # the service account

    @property
    def by_token(self) -> bool:
        return self.name != self.account


def find_use(spec: Mapping[str, Any], namespace: str, own: Collection[Key]) -> Use | None:
    """The first field by which a pod of this spec, whatever it holds, would act as an account of `own`."""
    names = {account.name for account in own if account.namespace == namespace} - {EVERYBODYS}
    if not names:
        return None
    for field in _FIELDS:
        if isinstance(name := spec.get(field), str) and name in names:
            return Use(field, name, name)
    found = ((path, name, find_token_owner(name, namespace, own)) for path, name in _find_secrets(spec))
    return next((Use(path, name, account) for path, name, account in found if account), None)


def read_account_name(pod: Manifest) -> str:
    """The service account of a pod: the one that its spec names, or everybody's."""
    spec = pod.get("spec") or {}
    return str(spec.get("serviceAccountName") or spec.get("serviceAccount") or EVERYBODYS)


def find_token_owner(secret: str, namespace: str, own: Collection[Key]) -> str:
    """The account of `own` whose token a Secret holds, by its name; empty for any other Secret."""
    names = (account.name for account in own if account.namespace == namespace and account.name != EVERYBODYS)
    return next((name for name in names if secret.startswith(f"{name}-token-")), "")


def _find_secrets(spec: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """All Secrets that a spec names but those for pulling images, which no program gets to see: as a volume, as a
    source of one, for its driver, as a variable or many."""
    left: list[tuple[str, Any]] = [("", spec)]
    while left:
        path, value = left.pop()
        if isinstance(value, list):
            left += [(f"{path}[{number}]", each) for number, each in enumerate(value)]
        elif isinstance(value, Mapping):
            for key, item in value.items():
                here = f"{path}.{key}" if path else key
                if key == "secretName" and isinstance(item, str):
                    yield here, item
                elif key.lower().endswith(_SECRET_FIELDS) and isinstance(item, Mapping):
                    yield f"{here}.name", str(item.get("name"))
                left.append((here, item))


def read_account(token: str) -> Key | None:
    """The account of a token of Kubernetes, a JSON Web Token with the subject `system:serviceaccount:NAMESPACE:NAME`
    (Kubernetes, serviceaccount.MakeUsername); None for any other text. Nothing is verified: it is for the token of the
    process itself."""
    with suppress(ValueError, binascii.Error, RecursionError):
        claims = json.loads(base64.urlsafe_b64decode(token.split(".")[1] + "==")) if token.count(".") == 2 else None
        subject = claims.get("sub") if isinstance(claims, dict) else None
        match str(subject).split(":"):
            case [*begin, namespace, name] if tuple(begin) == _SUBJECT:
                return Key(namespace, name)
    return None
