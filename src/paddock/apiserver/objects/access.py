"""Who asks and what they may do, by what is stored: the tokens of service accounts, and RBAC.

The index of roles and bindings follows each commit. The owner's own token is not read here (`http.server`). Rule: what
decides is in `apiserver.access`; this reads the objects that it needs.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable
from dataclasses import replace
from hashlib import sha256
from typing import Any

import msgspec
from multidict import MultiMapping

from paddock.apiserver.access.attributes import Attributes, list_questions
from paddock.apiserver.access.bootstrap import build_defaults
from paddock.apiserver.access.rights import KEYS, Decision, Rights, read_binding
from paddock.apiserver.access.rules import find_uncovered
from paddock.apiserver.access.token_requests import TokenWish, build_answer
from paddock.apiserver.access.tokens import AUDIENCE, Bound, Claims, Tokens
from paddock.apiserver.access.users import User, list_impersonated, read_impersonated
from paddock.apiserver.objects.writes import Objects
from paddock.apiserver.storage.records import Change, is_going, storage_key
from paddock.kube.errors import BadRequest, Conflict, Forbidden, NotFound
from paddock.kube.meta import PODS, SECRETS, SERVICE_ACCOUNTS, Key, Manifest, labels_of, name_of, namespace_of
from paddock.kube.rbac import ALL, GROUP, Rule, read_rules
from paddock.kube.service_accounts import read_account_name
from paddock.kube.times import read_time

_BOUND = {"Pod": storage_key(PODS), "Secret": storage_key(SECRETS)}
_ACCOUNTS = storage_key(SERVICE_ACCOUNTS)
_LEEWAY_SECONDS = 60.0
"""A token outlives the end of its account or pod by so much, where a finalizer keeps the object (Kubernetes,
pkg/serviceaccount, its validator of claims)."""
_KNOWN_TOKENS = 1000
"""Whose signatures were checked are remembered: one takes 0.15 ms, and a client sends its token with each request."""


class Access:
    """The users of one store, and their rights."""

    def __init__(self, objects: Objects, tokens: Tokens, is_owner: Callable[[str], bool]) -> None:
        """`is_owner`: whether a token is the owner's, which is kept elsewhere."""
        self.tokens = tokens
        self.is_owner = is_owner
        self._store, self._clock = objects.store, objects.clock
        self._rights = Rights()
        self._known: OrderedDict[bytes, Claims] = OrderedDict()
        for key in KEYS:
            for stored in self._store.select(key):
                self._rights.put(_plural(key), stored.manifest())
        self._store.listen(self._committed)

    def _committed(self, changes: list[Change]) -> None:
        for change in changes:
            if change.resource not in KEYS:
                continue
            if change.type == "DELETED":
                self._rights.remove(_plural(change.resource), Key(change.namespace, change.name))
            else:
                self._rights.put(_plural(change.resource), change.object)

    # Who

    def find_user(self, token: str) -> User | None:
        """Whom a token stands for at this API; None for none."""
        claims = self.find_claims(token)
        return claims.user if claims is not None and AUDIENCE in claims.audiences else None

    def find_claims(self, token: str) -> Claims | None:
        """What a token says, as long as its account and what it is bound to exist (`_is`). Raises OSError as
        `Tokens.make`."""
        claims = self._read(token)
        if claims is None or not self._is(_ACCOUNTS, claims.account, claims.uid):
            return None
        bound = claims.bound
        if bound is None or self._is(_BOUND[bound.kind], Key(claims.account.namespace, bound.name), bound.uid):
            return claims
        return None

    def _read(self, token: str) -> Claims | None:
        digest = sha256(token.encode(errors="replace")).digest()
        claims = self._known.pop(digest, None)
        if claims is not None and self._clock() >= claims.expires:
            return None
        claims = claims or self.tokens.read(token)
        if claims is not None:
            self._known[digest] = claims
            if len(self._known) > _KNOWN_TOKENS:
                self._known.popitem(last=False)
        return claims

    def _is(self, resource: str, key: Key, uid: str) -> bool:
        """Whether the object is there, and not kept by a finalizer alone."""
        stored = self._store.get(resource, *key)
        if stored is None or stored.uid != uid:
            return False
        if not is_going(stored.body):
            return True
        ends = read_time(stored.manifest()["metadata"]["deletionTimestamp"])
        return ends is not None and self._clock() <= ends + _LEEWAY_SECONDS

    def find_account(self, account: Key) -> Manifest | None:
        """A service account; None for one that does not exist."""
        stored = self._store.get(_ACCOUNTS, *account)
        return None if stored is None else stored.manifest()

    def make_token(self, account: Key, wish: TokenWish) -> Manifest:
        """Answers a TokenRequest. Raises `NotFound`, `Conflict`, `Invalid`, and OSError as `Tokens.make`."""
        stored = self._store.get(_ACCOUNTS, *account)
        if stored is None:
            raise NotFound(f'serviceaccounts "{account.name}" not found', kind="serviceaccounts", name=account.name)
        if wish.bound is not None:
            wish = replace(wish, bound=self._find_bound(account, wish.bound))
        token, expires = self.tokens.make(account, stored.uid, wish.seconds, wish.audiences, wish.bound)
        return build_answer(wish, account.name, account.namespace, token, expires)

    def _find_bound(self, account: Key, wanted: Bound) -> Bound:
        """With the UID of what is there."""
        stored = self._store.get(_BOUND[wanted.kind], account.namespace, wanted.name)
        if stored is None:
            plural = f"{wanted.kind.lower()}s"
            raise NotFound(f'{plural} "{wanted.name}" not found', kind=plural, name=wanted.name)
        if wanted.uid not in ("", stored.uid):
            raise Conflict(
                f"the UID in the bound object reference ({wanted.uid}) does not match the UID in record. The object"
                " might have been deleted and then recreated",
                kind=f"{wanted.kind.lower()}s", name=wanted.name,
            )  # fmt: skip
        if wanted.kind == "Pod" and (other := read_account_name(stored.manifest())) != account.name:
            raise BadRequest(
                f"cannot bind token for serviceaccount {account.name!r} to pod running with different serviceaccount"
                f" name: {other!r}"
            )
        return replace(wanted, uid=stored.uid)

    def impersonate(self, user: User, headers: MultiMapping[str]) -> User:
        """The user as whom the request is done: another one where its headers say so and `user` may. Raises
        `BadRequest`, `Forbidden`."""
        wanted = read_impersonated(headers)
        if wanted is None:
            return user
        for group, resource, namespace, name in list_impersonated(wanted):
            plural, _, part = resource.partition("/")
            self.check(user, Attributes("impersonate", group, plural, part, namespace, name))
        return wanted

    # What

    def decide(self, user: User, asked: Attributes) -> Decision:
        if user.may_everything:
            return Decision(True, "its group system:masters may do everything")
        decisions = [self._rights.decide(user, each) for each in list_questions(asked)]
        return next((each for each in decisions if not each.allowed), decisions[0])

    def check(self, user: User, asked: Attributes) -> None:
        """Raises `Forbidden`, in the words of Kubernetes, for what a user may not do."""
        if user.may_everything:
            return
        refused = (each for each in list_questions(asked) if not self._rights.decide(user, each).allowed)
        first = next(refused, None)
        if first is None:
            return
        said = f'User "{user.name}" cannot {first.describe()}'
        if first.path:
            raise Forbidden(f"forbidden: {said}")
        whole = f"{first.resource}.{first.group}" if first.group else first.resource
        what = f'{whole} "{first.name}"' if first.name else whole
        raise Forbidden(f"{what} is forbidden: {said}", kind=first.resource, name=first.name, group=first.group)

    def list_rules(self, user: User, namespace: str) -> tuple[Rule, ...]:
        """All that a user may do in a namespace, and of what has none."""
        if user.may_everything:
            everything = frozenset({ALL})
            return Rule(everything, everything, everything), Rule(everything, paths=everything)
        return self._rights.list_rules(user, namespace)

    def check_grant(self, user: User, plural: str, manifest: Manifest, before: Manifest | None) -> None:
        """Refuses a role or binding that grants more than its writer holds: who may write roles could otherwise do
        everything (Kubernetes, "Privilege escalation prevention"). What an update leaves as it was is not looked at;
        labels are, as other roles take over the rules of a role by them."""
        if user.may_everything or (before is not None and _list_granting(manifest) == _list_granting(before)):
            return
        namespace, name = namespace_of(manifest), name_of(manifest)
        if plural.endswith("bindings"):
            role = read_binding(manifest).role_key
            which = "roles" if role.namespace else "clusterroles"
            if self.decide(user, Attributes("bind", GROUP, which, "", namespace, role.name)).allowed:
                return
            # Of what is committed, as its rules are: a role that comes in this turn would be bound with rules unseen.
            if not self._rights.has(role):
                raise NotFound(f'{which}.{GROUP} "{role.name}" not found', kind=which, name=role.name)
            wanted = self._rights.find_rules(role)
        elif self.decide(user, Attributes("escalate", GROUP, plural, "", namespace, name)).allowed:
            return
        else:
            wanted = _EVERYTHING if manifest.get("aggregationRule") else read_rules(manifest.get("rules"))
        missing = find_uncovered(wanted, self._rights.list_rules(user, namespace))
        if missing is not None:
            shown, groups = msgspec.json.encode(missing).decode(), " ".join(user.groups)
            raise Forbidden(
                f'{plural}.{GROUP} "{name}" is forbidden: user "{user.name}" (groups=[{groups}]) is attempting to grant'
                f" RBAC permissions not currently held: {shown}",
                kind=plural, name=name,
            )  # fmt: skip


def _list_granting(manifest: Manifest) -> tuple[Any, ...]:
    return *(manifest.get(each) for each in ("rules", "aggregationRule", "roleRef", "subjects")), labels_of(manifest)


_ALL = frozenset({ALL})
_EVERYTHING = (Rule(_ALL, _ALL, _ALL), Rule(_ALL, paths=_ALL))


def _plural(key: str) -> str:
    return key.partition("/")[2]


def make_defaults(objects: Objects) -> None:
    """Creates what of the roles and bindings of each cluster is missing, before requests are served."""
    objects.make_missing([(f"{GROUP}/{plural}", manifest) for plural, manifest in build_defaults()])
