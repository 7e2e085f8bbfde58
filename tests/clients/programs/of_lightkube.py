"""lightkube as its users have it. Each function is one habit, and returns what it saw."""

from __future__ import annotations

import json
import os
import sys
import threading
from typing import Any

from lightkube import ApiError, Client
from lightkube.config.kubeconfig import KubeConfig
from lightkube.generic_resource import create_namespaced_resource, load_in_cluster_generic_resources
from lightkube.models.core_v1 import Container, PodSpec
from lightkube.models.meta_v1 import ObjectMeta
from lightkube.resources.core_v1 import ConfigMap, Pod, Secret
from lightkube.types import PatchType

NAMESPACE = os.environ["NAMESPACE"]
Job = create_namespaced_resource("kubeflow.org", "v1", "PyTorchJob", "pytorchjobs")


def settings(name: str, labels: dict[str, str] | None = None, **data: str) -> ConfigMap:
    return ConfigMap(metadata=ObjectMeta(name=name, labels=labels), data=data)


def pod(name: str, script: str) -> Pod:
    container = Container(name="main", image="python", command=["sh", "-c", script])
    spec = PodSpec(containers=[container], restartPolicy="Never", terminationGracePeriodSeconds=1)
    return Pod(metadata=ObjectMeta(name=name), spec=spec)


def job(name: str) -> Any:
    template = {"spec": {"containers": [{"name": "pytorch", "image": "python", "command": ["true"]}]}}
    spec = {"runPolicy": {"suspend": True}, "pytorchReplicaSpecs": {"Worker": {"replicas": 1, "template": template}}}
    return Job(metadata=ObjectMeta(name=name), spec=spec)


def crud(api: Client) -> Any:
    made = api.create(settings("c", a="1"))
    made.data["a"] = "2"
    replaced = api.replace(made)
    found = {"replaced": replaced.data, "stale": refusal(lambda: api.replace(made))}
    api.delete(ConfigMap, "c")
    found["missing"] = refusal(lambda: api.get(ConfigMap, "c"))
    return found


def refusal(call: Any) -> Any:
    """Code, reason and message of the client's own error."""
    try:
        call()
    except ApiError as error:
        return [error.status.code, error.status.reason, error.status.message]
    return "was taken"


def pages(api: Client) -> Any:
    for number in range(7):
        api.create(settings(f"c{number}", {"parity": "eo"[number % 2]}))
    listed = [each.metadata.name for each in api.list(ConfigMap, chunk_size=3)]
    odd = [each.metadata.name for each in api.list(ConfigMap, labels={"parity": "o"})]
    none = [each.metadata.name for each in api.list(ConfigMap, labels={"parity": None})]
    return {
        "all": listed,
        "odd": odd,
        "has": none,
        "one": [each.metadata.name for each in api.list(ConfigMap, fields={"metadata.name": "c5"})],
    }


def watching(api: Client) -> Any:
    listed = api.list(ConfigMap)
    list(listed)

    def change() -> None:
        api.create(settings("c", a="1"))
        api.patch(ConfigMap, "c", {"data": {"a": "2"}})
        api.delete(ConfigMap, "c")

    threading.Thread(target=change).start()
    found = []
    for what, each in api.watch(ConfigMap, resource_version=listed.resourceVersion, server_timeout=60):
        found.append([what, each.metadata.name])
        if what == "DELETED":
            return found
    return found


def patches(api: Client) -> Any:
    api.create(settings("c", a="1", b="1"))
    api.create(job("j"))
    operations = [{"op": "remove", "path": "/data/b"}]
    labels = {"metadata": {"labels": {"x": "y"}}}
    return {
        "strategic": api.patch(ConfigMap, "c", {"data": {"a": "2"}}).data,
        "json": api.patch(ConfigMap, "c", operations, patch_type=PatchType.JSON).data,
        "merge": api.patch(Job, "j", labels, patch_type=PatchType.MERGE).metadata.labels,
        "custom": refusal(lambda: api.patch(Job, "j", labels)),
    }


def applying(api: Client) -> Any:
    api.apply(settings("c", a="1", b="1"), field_manager="first")
    found: dict[str, Any] = {"dropped": api.apply(settings("c", a="1"), field_manager="first").data}
    found["conflict"] = refusal(lambda: api.apply(settings("c", a="2"), field_manager="second"))
    found["forced"] = api.apply(settings("c", a="2"), field_manager="second", force=True).data
    found["job"] = api.apply(job("j"), field_manager="first").spec["pytorchReplicaSpecs"]["Worker"]["replicas"]
    found["dry"] = api.apply(settings("never"), field_manager="first", dry_run=True).metadata.name
    found["stored"] = refusal(lambda: api.get(ConfigMap, "never"))
    return found


def definitions(api: Client) -> Any:
    """Kinds that are read from the definitions of the cluster, by their own classes."""
    load_in_cluster_generic_resources(api)
    from lightkube.generic_resource import get_generic_resource

    known = get_generic_resource("kubeflow.org/v1", "PyTorchJob")
    api.create(job("j"))
    scale = api.get(known.Scale, "j")
    api.patch(known.Scale, "j", {"spec": {"replicas": 2}}, patch_type=PatchType.MERGE)
    return {
        "scale": scale.spec.replicas,
        "workers": api.get(known, "j").spec["pytorchReplicaSpecs"]["Worker"]["replicas"],
    }


def logs(api: Client) -> Any:
    api.create(pod("p", "for i in 1 2 3; do echo line $i; sleep 0.3; done; sleep 1"))
    api.wait(Pod, "p", for_conditions=["Ready"])
    return [line.strip() for line in api.log("p", follow=True)]


def entering(api: Client) -> Any:
    api.create(pod("p", "sleep 600"))
    api.wait(Pod, "p", for_conditions=["Ready"])
    command = ["sh", "-c", "read word; echo got $word; echo oh >&2; exit 3"]
    done = api.exec("p", command=command, stdin="it\n", stdout=True, stderr=True)
    return {"out": done.stdout, "err": done.stderr, "exit": done.exit_code}


def in_cluster(api: Client) -> Any:
    """Runs in a pod, with the token of its account."""
    return {
        "listed": [each.metadata.name for each in api.list(ConfigMap)],
        "secrets": refusal(lambda: list(api.list(Secret))),
    }


if __name__ == "__main__":
    own = KubeConfig.from_service_account() if os.environ.get("IN_CLUSTER") else None
    print(json.dumps(globals()[sys.argv[1]](Client(own, namespace=NAMESPACE))))
