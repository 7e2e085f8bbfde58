"""What is made of the objects of a topic, and kept as long as they stay the same."""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from typing import Any

import pytest

from cli.views import RESOURCE, build_manifest
from paddock.console.backend import Backend, Identity
from paddock.console.feed import READ_IN_A_STEP, Cache, Topic
from paddock.console.page_context import PageContext
from paddock.console.screens import jobs, queue, run_rows
from paddock.kube.meta import PODS, Key, Manifest, Resource, name_of
from support.consoles import Written
from support.steps import count_turns

TOPIC = Topic(PODS)
read: list[str] = []


def read_name(resource: Resource, manifest: Manifest) -> str:
    read.append(name_of(manifest))
    return f"{resource.kind} {manifest['metadata']['name']} {manifest.get('seen', 1)}"


def build_pod(name: str, **more: int) -> Manifest:
    return {"metadata": {"name": name, "namespace": "default"}, **more}


def test_only_what_has_changed_is_read_again() -> None:
    cache = Cache()
    cache.objects = {Key("default", name): build_pod(name) for name in ("a", "b")}
    read.clear()
    assert cache.each(TOPIC, read_name) == ["Pod a 1", "Pod b 1"]
    cache.objects[Key("default", "b")] = build_pod("b", seen=2)
    cache.objects[Key("default", "c")] = build_pod("c")
    assert cache.each(TOPIC, read_name) == ["Pod a 1", "Pod b 2", "Pod c 1"]
    del cache.objects[Key("default", "a")]
    assert cache.each(TOPIC, read_name) == ["Pod b 2", "Pod c 1"]
    assert read == ["a", "b", "b", "c"]
    assert set(cache.read[read_name]) == set(cache.objects)  # what has gone is not kept
    read.clear()


@pytest.mark.parametrize(
    "build",
    [jobs.build, queue.build, lambda page: run_rows.list_runs(page, [Topic(RESOURCE)])],
    ids=["jobs", "queue", "runs"],
)
@pytest.mark.slow
def test_others_have_their_turn_while_the_jobs_of_a_cluster_are_read(
    build: Callable[[PageContext], Coroutine[Any, Any, object]],
) -> None:
    cache, manifest = Cache(), build_manifest()
    cache.objects = {
        Key("default", name): {**manifest, "metadata": {"name": name, "namespace": "default", "uid": name}}
        for name in (f"job-{number}" for number in range(1_000))
    }
    api = Written({})
    page = PageContext(
        Backend("here", True, lambda _: api), Identity(), api, "en", {}, {}, {Topic(RESOURCE): cache}, 0.0
    )
    assert count_turns(build(page)) >= 1_000 / READ_IN_A_STEP
