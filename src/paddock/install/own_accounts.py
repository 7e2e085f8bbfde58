"""The service accounts of this Paddock, which no pod of a job may have (`kube.service_accounts`): those that its files
install, in the namespace where it runs, and the one whose token the process has. Pure.
"""

from __future__ import annotations

from paddock.install import console, deployment, webhook
from paddock.kube.meta import Key

_INSTALLED = (deployment.ACCOUNT, webhook.ACCOUNT, console.ACCOUNT)


def build_own_accounts(namespace: str, account: Key | None) -> frozenset[Key]:
    """`namespace`: that of the operator or of the webhook, which share one. `account`: that of the process, where it
    is known. The console has a namespace of its own unless somebody chose another one."""
    places = {namespace, *([account.namespace] if account else [])}
    installed = {Key(place, name) for place in places for name in _INSTALLED}
    return frozenset({*installed, Key(console.NAMESPACE, console.ACCOUNT), *([account] if account else [])})
