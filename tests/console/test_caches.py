"""What is made of the objects of a topic, and kept as long as they stay the same."""

from __future__ import annotations

from paddock.console.feed import Cache, Topic
from paddock.kube.meta import PODS, Key, Manifest, Resource, name_of

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
