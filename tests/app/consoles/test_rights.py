"""What a reader may do by their rules: what is not known is allowed, and what is known is asked once a minute."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import pytest

from paddock.app.consoles.rights import FRESH_SECONDS, ReviewedRights, allows, read_rules
from paddock.jobs.apis.registry import PADDLEPADDLE
from paddock.kube.api import Api, Event
from paddock.kube.calls import Call, T
from paddock.kube.errors import Unavailable
from paddock.kube.meta import PODS, Resource

JOBS = PADDLEPADDLE.resource
GROUP = JOBS.group


def rule(verbs: str, group: str = GROUP, resources: str = "paddlejobs", **more: Any) -> dict[str, Any]:
    return {"verbs": verbs.split(), "apiGroups": [group], "resources": resources.split(), **more}


@pytest.mark.parametrize(
    ("rules", "verb", "resource", "subresource", "allowed"),
    [
        ([rule("get list watch")], "patch", JOBS, "", False),
        ([rule("get list watch")], "list", JOBS, "", True),
        ([rule("get"), rule("patch delete")], "delete", JOBS, "", True),
        ([rule("*")], "patch", JOBS, "", True),
        ([rule("*", "*", "*")], "delete", PODS, "", True),
        ([rule("patch", "kubeflow.org")], "patch", JOBS, "", False),
        ([rule("get", "", "pods")], "get", PODS, "log", False),
        ([rule("get", "", "pods pods/log")], "get", PODS, "log", True),
        ([rule("get", "", "*/log")], "get", PODS, "log", True),
        ([rule("get", "", "pods/log")], "get", PODS, "", False),
        ([rule("patch", resourceNames=["mnist"])], "patch", JOBS, "", True),
        ([], "get", JOBS, "", False),
    ],
)
def test_a_rule_is_read_as_rbac_reads_it(
    rules: list[dict[str, Any]], verb: str, resource: Resource, subresource: str, allowed: bool
) -> None:
    assert allows(read_rules({"resourceRules": rules}), verb, resource, subresource) is allowed


@pytest.mark.parametrize("status", [{"incomplete": True}, {"evaluationError": "webhook: no answer"}])
def test_what_is_not_known_is_allowed(status: dict[str, Any]) -> None:
    assert allows(read_rules({"resourceRules": [rule("get")], **status}), "patch", JOBS)


class Reviewing(Api):
    """Answers reviews; None: it does not answer."""

    def __init__(self) -> None:
        self.status: dict[str, Any] | None = {"resourceRules": [rule("get")]}
        self.asked: list[str] = []

    async def send(self, call: Call[T]) -> T:
        spec = call.manifest["spec"]  # type: ignore[attr-defined]
        self.asked.append(spec.get("resourceAttributes", spec)["namespace"])
        if self.status is None:
            raise Unavailable("nothing answers")
        return {"status": self.status}  # type: ignore[return-value]

    async def follow(self, resource: Resource, namespace: str = "", **_: Any) -> AsyncIterator[Event]:
        raise AssertionError("nothing is followed")
        yield


async def test_each_namespace_is_asked_for_once_a_minute() -> None:
    api, now = Reviewing(), 100.0
    rights = ReviewedRights(api, lambda: now)
    assert not await rights.may("patch", JOBS, "team-a")
    assert not await rights.may("delete", JOBS, "team-a")
    assert await rights.may("get", JOBS, "team-b")
    assert api.asked == ["team-a", "team-b"]
    api.status = {"resourceRules": [rule("patch")]}
    now += FRESH_SECONDS
    assert await rights.may("patch", JOBS, "team-a")


async def test_an_api_that_does_not_answer_takes_no_right_away() -> None:
    api, now = Reviewing(), 100.0
    rights = ReviewedRights(api, lambda: now)
    assert not await rights.may("patch", JOBS, "team-a")
    api.status, now = None, now + FRESH_SECONDS
    assert not await rights.may("patch", JOBS, "team-a"), "what was known"
    assert await rights.may("patch", JOBS, "team-b"), "nothing is known"


async def test_a_copy_is_shown_only_if_the_api_allows_it() -> None:
    """Rules may be incomplete, which greys no button; what is not known must not show another reader's logs."""
    api, now = Reviewing(), 100.0
    rights = ReviewedRights(api, lambda: now)
    api.status = {"incomplete": True}
    assert await rights.may("get", PODS, "team-a", "log")
    assert not await rights.is_allowed("get", PODS, "team-a", "log")
    api.status = {"allowed": True}
    assert not await rights.is_allowed("get", PODS, "team-a", "log"), "asked a moment ago"
    assert await rights.is_allowed("get", PODS, "team-b", "log")
    api.status, now = None, now + FRESH_SECONDS
    assert not await rights.is_allowed("get", PODS, "team-b", "log"), "an API that does not answer allows nothing"
