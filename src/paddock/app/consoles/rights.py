"""What a reader may do, for the console's buttons: a SelfSubjectRulesReview of each namespace, once a minute.

The review is a hint, as Kubernetes says: an authorizer that is no RBAC may not list its rules (`incomplete`).
What is not known counts as allowed, and the API decides.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from paddock.client.client import Client
from paddock.client.credentials import Credentials
from paddock.client.kubeconfig import Config
from paddock.kube import rbac
from paddock.kube.access_reviews import fetch_allowed
from paddock.kube.api import Api
from paddock.kube.errors import ApiError
from paddock.kube.meta import Resource
from paddock.kube.rbac import Rule

REVIEWS = Resource("authorization.k8s.io", "v1", "SelfSubjectRulesReview", "selfsubjectrulesreviews", namespaced=False)
FRESH_SECONDS = 60.0
"""How long an answer is used: a button turns grey within a minute, and the API refuses at once."""

WATCH_SECONDS = 40
"""How long a watch is: a server looks at rights when one begins, and a reader who has lost them sees nothing more
within a minute."""


@dataclass(frozen=True, slots=True)
class Rules:
    """The `resourceRules` of a review. `complete`: there are no others."""

    rules: tuple[Rule, ...] = ()
    complete: bool = False


def read_rules(status: Mapping[str, Any]) -> Rules:
    """The rules in the `status` of a review. Pure."""
    rules = rbac.read_rules(status.get("resourceRules"))
    return Rules(rules, not (status.get("incomplete") or status.get("evaluationError")))


def allows(rules: Rules, verb: str, resource: Resource, subresource: str = "") -> bool:
    """Whether a rule covers it, or not all rules are known. A rule for objects of some names counts, as one of them may
    be meant. Pure."""
    plural = f"{resource.plural}/{subresource}" if subresource else resource.plural
    covered = any(rule.concerns(verb, resource.group, plural) for rule in rules.rules)
    return covered or not rules.complete


def build_client(config: Config, credentials: Credentials | None = None) -> Client:
    """The client of one reader's pages, which shows what they may see now."""
    return Client(config, credentials=credentials, watch_seconds=WATCH_SECONDS, endures=False)


class ReviewedRights:
    """One reader's; `api` has their rights. `clock`: seconds that only grow."""

    def __init__(self, api: Api, clock: Callable[[], float] = time.monotonic) -> None:
        self._api, self._clock = api, clock
        self._known: dict[str, tuple[float, Rules]] = {}
        self._proven: dict[tuple[str, Resource, str, str], tuple[float, bool]] = {}
        self._locks: dict[str, asyncio.Lock] = {}

    async def may(self, verb: str, resource: Resource, namespace: str, subresource: str = "") -> bool:
        return allows(await self._fetch(namespace), verb, resource, subresource)

    async def is_allowed(self, verb: str, resource: Resource, namespace: str, subresource: str = "") -> bool:
        """Whether the API itself says so (SelfSubjectAccessReview), for what is shown without asking it: copies.
        What is not known is not allowed."""
        asked = (verb, resource, namespace, subresource)
        at, allowed = self._proven.get(asked, (-FRESH_SECONDS, False))
        if self._clock() - at >= FRESH_SECONDS:
            try:
                allowed = await fetch_allowed(self._api, *asked)
            except ApiError:
                return False
            self._proven[asked] = (self._clock(), allowed)
        return allowed

    async def _fetch(self, namespace: str) -> Rules:
        """A page asks for many buttons at once: the first asks the API. An error is no answer, and is asked again."""
        async with self._locks.setdefault(namespace, asyncio.Lock()):
            at, rules = self._known.get(namespace, (-FRESH_SECONDS, Rules()))
            if self._clock() - at < FRESH_SECONDS:
                return rules
            try:
                rules = await fetch_rules(self._api, namespace)
            except ApiError:
                return rules
            self._known[namespace] = (self._clock(), rules)
            return rules


async def fetch_rules(api: Api, namespace: str) -> Rules:
    """A review is of one namespace; what has none is in those of all. Raises `ApiError`."""
    spec = {"namespace": namespace or "default"}
    answer = await api.create(REVIEWS, {"apiVersion": REVIEWS.api_version, "kind": REVIEWS.kind, "spec": spec})
    return read_rules(answer.get("status") or {})
