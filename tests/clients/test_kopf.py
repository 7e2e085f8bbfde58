"""An operator of kopf, started as its users start it: `kopf run`."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from clients.fetched import PROGRAMS, find
from clients.kubectl import Kubectl
from e2e.commands import Cluster, Running, until

pytestmark = pytest.mark.slow

DEFINITION = {
    "apiVersion": "apiextensions.k8s.io/v1",
    "kind": "CustomResourceDefinition",
    "metadata": {"name": "greetings.example.org"},
    "spec": {
        "group": "example.org",
        "scope": "Namespaced",
        "names": {"kind": "Greeting", "plural": "greetings", "singular": "greeting"},
        "versions": [
            {
                "name": "v1",
                "served": True,
                "storage": True,
                "subresources": {"status": {}},
                "schema": {
                    "openAPIV3Schema": {
                        "type": "object",
                        "properties": {
                            "spec": {"type": "object", "properties": {"who": {"type": "string"}}},
                            "status": {"type": "object", "x-kubernetes-preserve-unknown-fields": True},
                        },
                    }
                },
            }
        ],
    },
}


@pytest.fixture
def kubectl(laptop: Cluster, namespace: str) -> Kubectl:
    return Kubectl(str(find("kubectl")), laptop, namespace)


@pytest.fixture
def operator(laptop: Cluster, kubectl: Kubectl) -> Iterator[Running]:
    """`kopf run`, which is there before its kind is."""
    place = str(laptop.directory)
    own = {"HOME": place, "TMPDIR": place, "FAREWELLS": f"{place}/farewells"}
    words = (str(find("kopf")), "run", "-n", kubectl.namespace, "--standalone", str(PROGRAMS / "of_kopf.py"))
    running = Running(words, {**laptop.environment, **own}, laptop.directory / "kopf")
    try:
        until("its begin", lambda: "Initial authentication has finished" in running.err, tell=lambda: running.err)
        yield running
    finally:
        running.stop()


def test_a_kind_of_its_own_is_created_updated_timed_and_deleted(kubectl: Kubectl, operator: Running) -> None:
    kubectl("apply", "-f", "-", stdin=DEFINITION)
    kubectl("wait", "crd/greetings.example.org", "--for=condition=Established", "--timeout=60s")
    spec = {"who": "a"}
    kubectl(
        "create",
        "-f",
        "-",
        stdin={"apiVersion": "example.org/v1", "kind": "Greeting", "metadata": {"name": "g"}, "spec": spec},
    )

    def status() -> dict[str, object]:
        found: dict[str, object] = kubectl.read("greeting", "g").get("status", {})
        return found

    until("its handlers", lambda: {"create", "late", "ticks"} <= status().keys(), tell=lambda: operator.err)
    assert (status()["create"], status()["late"]) == ({"greeted": "a"}, {"tries": 2})
    until("its timer", lambda: status()["ticks"] == 2)
    metadata = kubectl.read("greeting", "g")["metadata"]
    assert metadata["finalizers"] == ["example.org/kopf"] and metadata["generation"] == 1
    until("its event", lambda: "greeted a" in kubectl("events", "--for", "greeting.example.org/g"))

    kubectl("patch", "greeting", "g", "--type=merge", "-p", '{"spec": {"who": "b"}}')
    until("its update", lambda: status().get("changed") == "a to b", tell=lambda: operator.err)

    kubectl("delete", "greeting", "g", "--timeout=60s")
    assert (kubectl.laptop.directory / "farewells").read_text() == "g\n"


def test_objects_of_other_kinds_are_seen_by_their_labels(kubectl: Kubectl, operator: Running) -> None:
    kubectl("create", "configmap", "quiet", "--from-literal=a=b")
    kubectl("create", "configmap", "seen", "--from-literal=a=b")
    kubectl("label", "configmap", "seen", "greeting=yes")
    until("the label", lambda: "saw MODIFIED seen" in operator.err or "saw ADDED seen" in operator.err)
    kubectl("delete", "configmap", "seen", "quiet")
    until("the end", lambda: "saw DELETED seen" in operator.err, tell=lambda: operator.err)
    assert "quiet" not in operator.err
