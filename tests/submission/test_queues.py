"""Where --queue and --priority stand: with Kueue, with Volcano, with neither, and of who may read little."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, cast

import pytest

from paddock.jobs.labels import KUEUE_ANNOTATION, PRIORITY_LABEL, QUEUE_LABEL
from paddock.kube.calls import Listing
from paddock.kube.errors import Forbidden, NotFound
from paddock.kube.meta import Manifest, annotations_of, labels_of
from paddock.script.manifest import build_manifest
from paddock.script.request import ScriptRequest
from paddock.submission.documents import find_resource
from paddock.submission.queues import (
    Queues,
    System,
    explain_no_queue,
    explain_unknown_queue,
    fetch_queues,
    place_in_queue,
)

KUEUE = {"kueue.x-k8s.io": "v1beta2"}
OLD_KUEUE = {"kueue.x-k8s.io": "v1beta1"}
VOLCANO = {"scheduling.volcano.sh": "v1beta1"}


@dataclass
class Server:
    """A server with these API groups and objects, by the path of a call; another object may not be read, whether or not
    there is such a kind: a server looks at rights first."""

    groups: Mapping[str, str]
    queues: tuple[str, ...] = ()
    there: Mapping[str, bool] = field(default_factory=dict)
    suspends: bool = False
    unserved: tuple[str, ...] = ()
    asked: list[str] = field(default_factory=list)

    async def fetch(self, path: str) -> Any:
        if path != "/apis":
            group, version = path.removeprefix("/apis/").split("/")
            if self.groups.get(group) != version:
                raise NotFound("no such version")
            kinds = ("queues", "podgroups", "localqueues", "workloads")
            return {"resources": [{"name": each} for each in kinds if each not in self.unserved]}
        named = [{"name": name, "preferredVersion": {"version": each}} for name, each in self.groups.items()]
        return {"groups": [*named, {"name": "apps", "preferredVersion": {"version": "v1"}}]}

    async def get(self, resource: Any, namespace: str, name: str) -> Manifest:
        self.asked.append(f"{resource.qualified} {resource.version}")
        if resource.plural not in self.there:
            raise Forbidden("no")
        if not self.there[resource.plural]:
            raise NotFound("none")
        return {"metadata": {"name": name}}

    async def list(self, resource: Any, namespace: str) -> Any:
        self.asked.append(f"{resource.qualified} {resource.version} {namespace}".strip())
        if not self.queues:
            raise Forbidden("no")
        if resource.plural in self.unserved or resource.version != self.groups.get(resource.group):
            raise NotFound("no such kind")
        return Listing([{"metadata": {"name": name}} for name in self.queues], "1")

    async def create(self, resource: Any, manifest: Manifest, *, dry_run: bool) -> Manifest:
        assert dry_run and labels_of(manifest)[QUEUE_LABEL] and annotations_of(manifest).get(KUEUE_ANNOTATION) != "Pods"
        spec = manifest["spec"]
        return {**manifest, "spec": {**spec, "runPolicy": {**spec["runPolicy"], "suspend": self.suspends}}}


def build(framework: str = "paddle") -> Manifest:
    request = ScriptRequest(("python", "train.py"), framework, namespace="team", queue="gold", priority="high")
    return build_manifest(request)


async def ask(server: Server, framework: str = "paddle") -> tuple[Queues, Manifest]:
    manifest = build(framework)
    queues = await fetch_queues(cast(Any, server), manifest, find_resource(manifest), "gold", "high")
    return queues, place_in_queue(manifest, queues, "gold", "high")


def priorities(manifest: Manifest) -> bool:
    return "priorityClassName" in str(manifest)


@pytest.mark.parametrize(
    ("framework", "suspends", "mark"),
    [
        ("paddle", True, "Suspend"),
        ("paddle", False, "Pods"),
        ("pytorch", True, None),
        ("pytorch", False, "Pods"),
        ("jax", True, None),
        ("jax", False, "Pods"),
    ],
)
async def test_kueue_takes_a_job_as_its_webhooks_take_it(framework: str, suspends: bool, mark: str | None) -> None:
    queues, placed = await ask(Server(KUEUE, ("gold",), suspends=suspends), framework)
    assert (queues.system, queues.suspends) == (System.KUEUE, suspends)
    assert labels_of(placed)[QUEUE_LABEL] == "gold"
    assert annotations_of(placed).get(KUEUE_ANNOTATION) == mark
    assert explain_no_queue(queues, "gold", "team") is None


@pytest.mark.parametrize(
    ("workload", "own", "labelled", "named"),
    [
        (True, True, True, True),
        (True, False, True, False),
        (True, None, True, True),
        (False, True, False, True),
        (False, False, False, True),
        (None, None, False, True),
    ],
)
async def test_a_priority_is_kueue_s_class_where_there_is_one_and_the_pods_where_there_is_one(
    workload: bool | None, own: bool | None, labelled: bool, named: bool
) -> None:
    found = {"workloadpriorityclasses": workload, "priorityclasses": own}
    there = {name: each for name, each in found.items() if each is not None}
    _, placed = await ask(Server(KUEUE, ("gold",), there))
    assert (labels_of(placed).get(PRIORITY_LABEL) == "high") is labelled
    assert priorities(placed) is named


async def test_an_older_version_is_asked_for_where_the_newest_is_not_served() -> None:
    server = Server(OLD_KUEUE, ("gold",))
    queues, _ = await ask(server)
    assert queues.known == ["gold"] and "localqueues.kueue.x-k8s.io v1beta1 team" in server.asked


async def test_without_kueue_the_queue_is_volcano_s() -> None:
    queues, placed = await ask(Server(VOLCANO, ("default", "gold")))
    assert placed["spec"]["schedulingPolicy"] == {"queue": "gold", "priorityClass": "high"}
    assert QUEUE_LABEL not in labels_of(placed) and priorities(placed)
    assert explain_no_queue(queues, "gold", "team") is None


async def test_kueue_comes_before_volcano_where_both_are_there() -> None:
    queues, _ = await ask(Server(KUEUE | VOLCANO, ("gold",)))
    assert queues.system is System.KUEUE


@pytest.mark.parametrize(
    ("server", "said"),
    [
        (  # who may list nothing
            Server(VOLCANO, unserved=("queues",)),
            "this cluster has neither Kueue nor Volcano, which have queues: leave --queue out",
        ),
        (
            Server(KUEUE | VOLCANO, unserved=("queues", "localqueues")),
            "this cluster has neither Kueue nor Volcano, which have queues: leave --queue out",
        ),
        (
            Server(VOLCANO, ("default",), unserved=("queues",)),
            "this cluster has neither Kueue nor Volcano, which have queues: leave --queue out",
        ),
        (Server({}), "this cluster has neither Kueue nor Volcano, which have queues: leave --queue out"),
        (
            Server(KUEUE, ("golds", "tin")),
            'team has no LocalQueue of this name; it has golds and tin; did you mean "golds"?',
        ),
        (Server(VOLCANO, ("default",)), "Volcano has no Queue of this name; it has default"),
    ],
)  # fmt: skip
async def test_a_queue_that_is_not_there_is_told_with_those_that_are(server: Server, said: str) -> None:
    queues, _ = await ask(server)
    assert said in str(explain_no_queue(queues, "gold", "team"))


@pytest.mark.parametrize("groups", [KUEUE, OLD_KUEUE, VOLCANO])
async def test_of_queues_that_may_not_be_listed_that_is_said(groups: Mapping[str, str]) -> None:
    queues, _ = await ask(Server(groups))
    assert queues.known is None and explain_no_queue(queues, "gold", "team") is None
    where = "Queues of Volcano" if groups is VOLCANO else "LocalQueues of team"
    assert f"you may not list the {where}, so whether" in str(explain_unknown_queue(queues, "gold", "team"))
