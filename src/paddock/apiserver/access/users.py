"""Users of the API: its owner, service accounts, and those whom the owner speaks for (impersonation). Pure.

Source of the names: Kubernetes, apiserver/authentication (user.DefaultInfo, serviceaccount.UserInfo) and its documents
on user impersonation.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from urllib.parse import unquote

from multidict import MultiMapping

from paddock.kube.errors import BadRequest
from paddock.kube.meta import Key, Manifest

AUTHENTICATED = "system:authenticated"
MASTERS = "system:masters"
"""Who is in this group may do everything, whatever RBAC says (kube-apiserver, its privileged group)."""
_ACCOUNTS = "system:serviceaccounts"
_ACCOUNT = "system:serviceaccount:"
_EXTRA = "impersonate-extra-"
_MOST_GROUPS = 100


@dataclass(frozen=True, slots=True)
class User:
    """Who asks: the `user.Info` of Kubernetes."""

    name: str
    groups: tuple[str, ...] = (AUTHENTICATED,)
    uid: str = ""
    extra: Mapping[str, tuple[str, ...]] = field(default_factory=dict, hash=False)
    """Further facts about the user, by name: the pod that a token was made for. Nothing is decided by them."""

    @property
    def may_everything(self) -> bool:
        return MASTERS in self.groups

    def build_info(self) -> Manifest:
        """The `userInfo` of a review (authentication/v1 UserInfo)."""
        info: Manifest = {"username": self.name, "groups": list(self.groups)}
        if self.uid:
            info["uid"] = self.uid
        if self.extra:
            info["extra"] = {name: list(values) for name, values in self.extra.items()}
        return info


OWNER = User("paddock", (MASTERS, AUTHENTICATED))
"""Who holds the token of the kubeconfig file: the user whose directory the cluster lies in."""


def name_account(account: Key) -> str:
    """The user name of a service account."""
    return f"{_ACCOUNT}{account.namespace}:{account.name}"


def account_user(account: Key, uid: str = "", extra: Mapping[str, tuple[str, ...]] | None = None) -> User:
    """The user whom a token of this service account stands for."""
    return User(name_account(account), group_accounts(account.namespace), uid, extra or {})


def group_accounts(namespace: str) -> tuple[str, ...]:
    """The groups of each service account of a namespace."""
    return _ACCOUNTS, f"{_ACCOUNTS}:{namespace}", AUTHENTICATED


def split_account(name: str) -> Key | None:
    """The service account of a user name; None for any other name."""
    namespace, found, account = name.removeprefix(_ACCOUNT).partition(":")
    return Key(namespace, account) if name.startswith(_ACCOUNT) and found and namespace and account else None


def read_impersonated(headers: MultiMapping[str]) -> User | None:
    """The user whom the request is to be done as, by its Impersonate headers; None without any. Raises `BadRequest`."""
    name = headers.get("Impersonate-User", "")
    groups: Sequence[str] = headers.getall("Impersonate-Group", [])
    uid, extra = headers.get("Impersonate-Uid", ""), _read_extra(headers)
    if not name:
        if groups or uid or extra:
            raise BadRequest("a group, a uid or further facts are impersonated without a user: give `--as` too")
        return None
    if len(groups) > _MOST_GROUPS:
        raise BadRequest(f"{len(groups)} groups are impersonated, of {_MOST_GROUPS} that one request can have")
    if (account := split_account(name)) and not groups:
        groups = group_accounts(account.namespace)
    elif AUTHENTICATED not in groups and name != "system:anonymous":
        groups = (*groups, AUTHENTICATED)
    return User(name, tuple(groups), uid, extra)


def _read_extra(headers: MultiMapping[str]) -> dict[str, tuple[str, ...]]:
    names = dict.fromkeys(name.lower() for name in headers if name.lower().startswith(_EXTRA))
    return {unquote(name.removeprefix(_EXTRA)): tuple(headers.getall(name)) for name in names}


def list_impersonated(user: User) -> Iterator[tuple[str, str, str, str]]:
    """What who impersonates must be allowed to: (group, resource, namespace, name) of the verb `impersonate`."""
    if account := split_account(user.name):
        yield "", "serviceaccounts", account.namespace, account.name
        implied = group_accounts(account.namespace)
    else:
        yield "", "users", "", user.name
        implied = (AUTHENTICATED,)
    for group in user.groups:
        # Those that follow from the name need no right of their own.
        if group not in implied:
            yield "", "groups", "", group
    if user.uid:
        yield "authentication.k8s.io", "uids", "", user.uid
    for name, values in user.extra.items():
        for value in values:
            yield "authentication.k8s.io", f"userextras/{name}", "", value
