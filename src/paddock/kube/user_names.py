"""Names of users, as the API has them and as people read them. PURE.

Where an API tells nobody how it names them (Kubernetes before 1.26), the login and the machine of who asks stand for
the name. That is a claim of that machine, and its form tells it from the name of a user.
"""

from __future__ import annotations

import re

from paddock.kube.meta import Key

_ACCOUNT = re.compile(r"system:serviceaccount:([^:\s]+):([^:\s]+)")
"""Kubernetes, apiserver/authentication/serviceaccount (MakeUsername)."""
_LOGIN = re.compile(r"login (\S+) of (\S+)")


def read_account(name: str) -> Key | None:
    """The service account of a user name; None for another name."""
    found = _ACCOUNT.fullmatch(name)
    return Key(found[1], found[2]) if found else None


def write_login(login: str, machine: str) -> str:
    return f"login {login} of {machine}"


def read_login(name: str) -> tuple[str, str] | None:
    """The login and its machine; None where the text is no such claim."""
    found = _LOGIN.fullmatch(name)
    return (found[1], found[2]) if found else None
