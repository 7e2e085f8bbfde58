"""The verbs of an `Api`, and the calls that they send."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from typing import Any, cast

import pytest

from paddock.kube.api import Api, Event
from paddock.kube.calls import Call, Create, Delete, Get, List, Patch, Replace, T
from paddock.kube.meta import NODES, PODS, Manifest

POD: Manifest = {"metadata": {"namespace": "n", "name": "a"}}


class Sent(Api):
    """Records the call; its response is empty."""

    call: Call[Any]

    async def send(self, call: Call[T]) -> T:
        self.call = call
        return cast("T", None)

    def follow(self, *_: Any, **__: Any) -> AsyncIterator[Event]:
        raise NotImplementedError


@pytest.mark.parametrize(
    ("act", "call", "verb"),
    [
        (lambda api: api.get(PODS, "n", "a"), Get(PODS, "n", "a"), "get"),
        (lambda api: api.list(PODS), List(PODS), "list"),
        (
            lambda api: api.list(PODS, "n", labels="a=b", fields="c=d"),
            List(PODS, "n", labels="a=b", fields="c=d"),
            "list",
        ),
        (lambda api: api.create(PODS, POD), Create(PODS, "n", "a", manifest=POD), "create"),
        (
            lambda api: api.create(PODS, {}, namespace="n", name="a", subresource="binding", strict=True, dry_run=True),
            Create(PODS, "n", "a", "binding", manifest={}, strict=True, dry_run=True),
            "create",
        ),
        (lambda api: api.create(NODES, {}), Create(NODES, manifest={}), "create"),
        (lambda api: api.replace(PODS, POD), Replace(PODS, "n", "a", manifest=POD), "update"),
        (
            lambda api: api.replace(PODS, POD, namespace="m", subresource="status", strict=True, dry_run=True),
            Replace(PODS, "m", "a", "status", manifest=POD, strict=True, dry_run=True),
            "update",
        ),
        (
            lambda api: api.patch(PODS, "n", "a", [], subresource="status", kind="json", strict=True, dry_run=True),
            Patch(PODS, "n", "a", "status", patch=[], kind="json", strict=True, dry_run=True),
            "patch",
        ),
        (
            lambda api: api.delete(PODS, "n", "a", uid="u", grace=0, propagation="Orphan"),
            Delete(PODS, "n", "a", uid="u", grace=0, propagation="Orphan"),
            "delete",
        ),
    ],
)
async def test_a_verb_sends_its_call(act: Callable[[Api], Any], call: Call[Any], verb: str) -> None:
    api = Sent()
    await act(api)
    assert (api.call, api.call.verb) == (call, verb)
