"""What an operator asks for, as RBAC names it, and an API that grants what manifests of roles give and no more."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterable, Mapping, Sequence
from contextlib import asynccontextmanager
from typing import Any, NamedTuple

from paddock.kube.access_reviews import ACCESS_REVIEWS
from paddock.kube.api import Api, Event
from paddock.kube.calls import Call, Create, T
from paddock.kube.errors import Forbidden
from paddock.kube.meta import Manifest, Resource, name_of, namespace_of


class Asked(NamedTuple):
    verb: str
    resource: Resource
    subresource: str = ""
    name: str = ""
    namespace: str = ""

    @property
    def plural(self) -> str:
        return f"{self.resource.plural}/{self.subresource}" if self.subresource else self.resource.plural

    def __str__(self) -> str:
        return f"{self.verb} {self.plural} {self.name}".rstrip()


class Wrapper(Api):
    """An API whose every request goes through `asking` first."""

    def __init__(self, api: Api) -> None:
        self._api = api

    async def send(self, call: Call[T]) -> T:
        name = "" if isinstance(call, Create) else call.name
        namespace = call.namespace or (namespace_of(call.manifest) if isinstance(call, Create) else "")
        async with self.asking(Asked(call.verb, call.resource, call.subresource, name, namespace)):
            return await self._api.send(call)

    async def follow(self, resource: Resource, namespace: str = "", **selectors: str) -> AsyncIterator[Event]:
        asked = Asked("list", resource, namespace=namespace)
        async with self.asking(asked), self.asking(asked._replace(verb="watch")):
            async for event in self._api.follow(resource, namespace, **selectors):
                yield event

    @asynccontextmanager
    async def asking(self, asked: Asked) -> AsyncIterator[None]:
        yield


class Recorder(Wrapper):
    """Records the requests of an operator, and those that were refused."""

    def __init__(self, api: Api) -> None:
        super().__init__(api)
        self.asked: set[Asked] = set()
        self.refused: set[Asked] = set()

    @asynccontextmanager
    async def asking(self, asked: Asked) -> AsyncIterator[None]:
        self.asked.add(asked)
        try:
            yield
        except Forbidden:
            self.refused.add(asked)
            raise


class Guard(Wrapper):
    """Grants what the bindings in `manifests` give to their one account, as RBAC does, and says which rights it has, as
    every account may ask. `used`: what was asked for of the granted; `refused`: what was asked for besides."""

    def __init__(self, api: Api, manifests: Iterable[Manifest]) -> None:
        super().__init__(api)
        self.granted = frozenset(read_granted(list(manifests)))
        self.used: set[Granted] = set()
        self.refused: set[str] = set()

    async def send(self, call: Call[T]) -> T:
        if isinstance(call, Create) and call.resource == ACCESS_REVIEWS:
            wanted = call.manifest["spec"]["resourceAttributes"]
            resource = Resource(wanted["group"], "v1", "", wanted["resource"], namespaced=True)
            asked = Asked(wanted["verb"], resource, wanted.get("subresource", ""), namespace=wanted["namespace"])
            allowed: Any = {"status": {"allowed": any(each.covers(asked) for each in self.granted)}}
            return allowed  # type: ignore[no-any-return]
        return await super().send(call)

    @asynccontextmanager
    async def asking(self, asked: Asked) -> AsyncIterator[None]:
        covering = {each for each in self.granted if each.covers(asked)}
        if not covering:
            self.refused.add(str(asked))
            raise Forbidden(
                f'{asked.resource.plural} is forbidden: cannot {asked} in the namespace "{asked.namespace}"'
            )
        self.used |= covering
        yield


class Granted(NamedTuple):
    """One verb on one resource. `namespace`: empty for all, and for what has none."""

    namespace: str
    group: str
    plural: str
    name: str
    verb: str

    def covers(self, asked: Asked) -> bool:
        return (
            (self.group, self.plural, self.verb) == (asked.resource.group, asked.plural, asked.verb)
            and self.namespace in ("", asked.namespace)
            and self.name in ("", asked.name)
        )


def read_granted(manifests: Sequence[Manifest]) -> Iterable[Granted]:
    roles = {(each["kind"], namespace_of(each), name_of(each)): each for each in manifests if "rules" in each}
    for binding in manifests:
        if not binding["kind"].endswith("Binding"):
            continue
        place = namespace_of(binding)
        role = roles[binding["roleRef"]["kind"], place, binding["roleRef"]["name"]]
        for rule in role["rules"]:
            yield from _read_rule(place, rule)


def _read_rule(place: str, rule: Mapping[str, Any]) -> Iterable[Granted]:
    for group in rule["apiGroups"]:
        for plural in rule["resources"]:
            for name in rule.get("resourceNames") or ("",):
                yield from (Granted(place, group, plural, name, verb) for verb in rule["verbs"])
