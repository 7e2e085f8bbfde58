"""What several managers apply one after the other: the same is sent to the embedded API and to a real server."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from paddock.kube.meta import Manifest


@dataclass(frozen=True, slots=True)
class Step:
    """One write. `patch`: a merge patch of the manager in place of an apply."""

    manager: str
    wanted: Mapping[str, Any] = field(default_factory=dict)
    force: bool = False
    patch: bool = False


def config(labels: Mapping[str, str] | None = None, **data: str) -> Manifest:
    meta: Manifest = {"name": "x", **({"labels": dict(labels)} if labels is not None else {})}
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": meta, **({"data": data} if data else {})}


def pod(*containers: Manifest, **spec: Any) -> Manifest:
    return {
        "apiVersion": "v1", "kind": "Pod", "metadata": {"name": "x"},
        "spec": {**spec, **({"containers": list(containers)} if containers else {})},
    }  # fmt: skip


def service(*ports: Manifest, **spec: Any) -> Manifest:
    return {
        "apiVersion": "v1", "kind": "Service", "metadata": {"name": "x"}, "spec": {"ports": list(ports), **spec},
    }  # fmt: skip


HTTP, DNS = {"name": "http", "port": 80, "protocol": "TCP"}, {"name": "dns", "port": 53, "protocol": "UDP"}
MAIN = {"name": "main", "image": "a:1"}


def account(*secrets: str) -> Manifest:
    named = [{"name": each} for each in secrets]
    meta = {"name": "x"}
    return {
        "apiVersion": "v1",
        "kind": "ServiceAccount",
        "metadata": meta,
        **({"imagePullSecrets": named} if named else {}),
    }


SEQUENCES: Mapping[str, Sequence[Step]] = {
    "the same twice": (Step("a", config(k="1")), Step("a", config(k="1"))),
    "a field less": (Step("a", config(k="1", l="2")), Step("a", config(k="1"))),
    "the last field less": (Step("a", config(k="1")), Step("a", config())),
    "a label less": (Step("a", config({"x": "1", "y": "2"})), Step("a", config({"x": "1"}))),
    "another value": (Step("a", config(k="1")), Step("a", config(k="2"))),
    "two that agree": (Step("a", config(k="1")), Step("b", config(k="1")), Step("a", config())),
    "two that agree, and both drop it": (
        Step("a", config(k="1")), Step("b", config(k="1")), Step("a", config()), Step("b", config()),
    ),
    "two that disagree": (Step("a", config(k="1")), Step("b", config(k="2"))),
    "two that disagree about two": (Step("a", config(k="1", l="1", m="1")), Step("b", config(k="2", l="2", m="1"))),
    "one that takes it": (
        Step("a", config(k="1", l="1")), Step("b", config(k="2"), force=True), Step("a", config(k="1", l="1")),
    ),
    "one that takes it, and the other lets go": (
        Step("a", config(k="1", l="1")), Step("b", config(k="2"), force=True), Step("a", config(l="1")),
    ),
    "fields beside each other": (Step("a", config(k="1")), Step("b", config(l="2")), Step("a", config(m="3"))),
    "three managers": (
        Step("a", config(k="1")), Step("b", config(l="1")), Step("c", config(k="2", l="2")),
        Step("c", config(k="2", l="2"), force=True), Step("c", config()),
    ),
    "a patch takes a field": (
        Step("a", config(k="1", l="1")), Step("p", {"data": {"k": "2"}}, patch=True), Step("a", config(k="1", l="1")),
    ),
    "a patch removes a field": (
        Step("a", config(k="1", l="1")), Step("p", {"data": {"k": None}}, patch=True), Step("a", config(l="1")),
    ),
    "a patch adds a field, which an apply then has too": (
        Step("a", config(k="1")), Step("p", {"data": {"l": "2"}}, patch=True), Step("a", config(k="1", l="2")),
        Step("a", config(k="1")),
    ),
    "a port of a service": (Step("a", service(HTTP)), Step("b", service(DNS)), Step("a", service())),
    "two protocols of one port": (
        Step("a", service({"name": "t", "port": 53, "protocol": "TCP"})), Step("b", service(DNS)),
        Step("a", service({"name": "t", "port": 53, "protocol": "TCP"})),
    ),
    "a port, and its own name": (
        Step("a", service(HTTP)), Step("b", service({"name": "web", "port": 80, "protocol": "TCP"})),
        Step("b", service({"name": "web", "port": 80, "protocol": "TCP"}), force=True),
        Step("a", service({"port": 80, "protocol": "TCP"})),
    ),
    "secrets to pull images": (Step("a", account("p", "q")), Step("b", account("r")), Step("a", account("q"))),
    "the image of a container": (
        Step("a", pod(MAIN)), Step("b", pod({"name": "main", "image": "a:2"})),
        Step("b", pod({"name": "main", "image": "a:2"}), force=True), Step("a", pod(MAIN)),
    ),
    "finalizers": (
        Step("a", config() | {"metadata": {"name": "x", "finalizers": ["paddock.dev/a"]}}),
        Step("b", config() | {"metadata": {"name": "x", "finalizers": ["paddock.dev/b"]}}),
        Step("a", config()), Step("b", config()),
    ),
}  # fmt: skip

RECORDED = Path(__file__).with_name("apply_sequences.json")
"""What a real kube-apiserver made of each step: whether it was done, the fields of a conflict, the object, owners."""


def tell_owners(found: dict[str, Any]) -> dict[str, Any]:
    """The fields of each manager that the sequences name. A real server has entries for whole objects too."""
    entries = found["metadata"].get("managedFields") or ()
    named = (each for each in entries if len(each["manager"]) == 1 and not each.get("subresource"))
    return {f"{each['manager']} {each['operation']}": _without_objects(each["fieldsV1"], "") for each in named}


def _without_objects(trie: dict[str, Any], part: str) -> dict[str, Any]:
    kept = {name: _without_objects(inner, name) for name, inner in trie.items() if name != "."}
    return {".": {}, **kept} if "." in trie and part.startswith("k:") else kept


def tell_wanted(found: dict[str, Any]) -> Any:
    """What the sequences write of an object: neither defaults nor what a server adds."""
    spec, meta = found.get("spec") or {}, found["metadata"]
    containers = [(each["name"], each["image"]) for each in spec.get("containers") or ()]
    ports = [(each.get("name"), each["port"], each["protocol"]) for each in spec.get("ports") or ()]
    return {
        "labels": meta.get("labels"), "finalizers": sorted(meta.get("finalizers") or ()), "data": found.get("data"),
        "containers": containers, "ports": ports, "selector": spec.get("selector"),
        "secrets": found.get("imagePullSecrets"),
    }  # fmt: skip
