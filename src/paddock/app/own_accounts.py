"""The service accounts of this Paddock, which no pod of a job may have (`kube.service_accounts`): those that its files
install, in the namespace where it runs, and the one whose token this process has.
"""

from __future__ import annotations

import base64
import binascii
import json
from contextlib import suppress

from paddock.client.kubeconfig import Config
from paddock.install import console, deployment, webhook
from paddock.kube.meta import Key

_INSTALLED = (deployment.ACCOUNT, webhook.ACCOUNT, console.ACCOUNT)
_SUBJECT = ("system", "serviceaccount")


def build_own_accounts(namespace: str, account: Key | None) -> frozenset[Key]:
    """`namespace`: that of the operator or of the webhook, which share one. `account`: that of the process, where it
    is known. The console has a namespace of its own unless somebody chose another one. Pure."""
    places = {namespace, *([account.namespace] if account else [])}
    installed = {Key(place, name) for place in places for name in _INSTALLED}
    return frozenset({*installed, Key(console.NAMESPACE, console.ACCOUNT), *([account] if account else [])})


def read_account(token: str) -> Key | None:
    """The account of a token of Kubernetes, a JSON Web Token with the subject `system:serviceaccount:NAMESPACE:NAME`
    (Kubernetes, serviceaccount.MakeUsername); None for any other text. Nothing is verified: it is this process's own.
    Pure."""
    with suppress(ValueError, binascii.Error, RecursionError):
        claims = json.loads(base64.urlsafe_b64decode(token.split(".")[1] + "==")) if token.count(".") == 2 else None
        subject = claims.get("sub") if isinstance(claims, dict) else None
        match str(subject).split(":"):
            case [*begin, namespace, name] if tuple(begin) == _SUBJECT:
                return Key(namespace, name)
    return None


def find_account(config: Config) -> Key | None:
    """The account of this process. None where it is none, or where a program or a certificate stands for it."""
    with suppress(OSError, UnicodeDecodeError):
        return read_account((config.token_file.read_text() if config.token_file else config.token).strip())
    return None
