"""The official client as its users have it. Each function is one habit, and returns what it saw."""

from __future__ import annotations

import contextlib
import json
import os
import sys
import threading
import time
from typing import Any

from kubernetes.client.exceptions import ApiException
from kubernetes.leaderelection import electionconfig, leaderelection
from kubernetes.leaderelection.resourcelock.leaselock import LeaseLock
from kubernetes.stream import stream

from kubernetes import client, config, dynamic, watch

NAMESPACE = os.environ["NAMESPACE"]
GROUP, VERSION, JOBS = "kubeflow.org", "v1", "pytorchjobs"


def settings(name: str, labels: dict[str, str] | None = None, **data: str) -> client.V1ConfigMap:
    return client.V1ConfigMap(metadata=client.V1ObjectMeta(name=name, labels=labels), data=data)


def pod(name: str, script: str) -> client.V1Pod:
    container = client.V1Container(name="main", image="python", command=["sh", "-c", script])
    spec = client.V1PodSpec(containers=[container], restart_policy="Never", termination_grace_period_seconds=1)
    return client.V1Pod(metadata=client.V1ObjectMeta(name=name), spec=spec)


def job(name: str, **spec: Any) -> dict[str, Any]:
    template = {"spec": {"containers": [{"name": "pytorch", "image": "python", "command": ["true"]}]}}
    roles = {"Worker": {"replicas": 1, "template": template}}
    return {
        "apiVersion": f"{GROUP}/{VERSION}", "kind": "PyTorchJob", "metadata": {"name": name},
        "spec": {"runPolicy": {"suspend": True}, "pytorchReplicaSpecs": roles, **spec},
    }  # fmt: skip


def crud() -> Any:
    core, found = client.CoreV1Api(), {}
    made = core.create_namespaced_config_map(NAMESPACE, settings("c", a="1"))
    made.data["a"] = "2"
    replaced = core.replace_namespaced_config_map("c", NAMESPACE, made)
    found["replaced"] = replaced.data
    with contextlib.suppress(ApiException):
        core.replace_namespaced_config_map("c", NAMESPACE, made)  # of an older resourceVersion
        found["stale"] = "was taken"
    found["read"] = core.read_namespaced_config_map("c", NAMESPACE).data
    found["deleted"] = core.delete_namespaced_config_map("c", NAMESPACE)["status"]
    found["left"] = [each.metadata.name for each in core.list_namespaced_config_map(NAMESPACE).items]
    return found


def errors() -> Any:
    """Status code, reason, and what the body says."""
    core, custom = client.CoreV1Api(), client.CustomObjectsApi()
    core.create_namespaced_config_map(NAMESPACE, settings("c"))
    wrong = client.V1ConfigMap(metadata=client.V1ObjectMeta(name="A_B"))
    calls = {
        "missing": lambda: core.read_namespaced_config_map("none", NAMESPACE),
        "again": lambda: core.create_namespaced_config_map(NAMESPACE, settings("c")),
        "wrong": lambda: core.create_namespaced_config_map(NAMESPACE, wrong),
        "job": lambda: custom.create_namespaced_custom_object(
            GROUP, VERSION, NAMESPACE, JOBS, job("j", runPolicy={"backoffLimit": "many"})
        ),
        "kind": lambda: client.BatchV1Api().list_namespaced_cron_job(NAMESPACE),
    }
    return {name: refusal(call) for name, call in calls.items()}


def refusal(call: Any) -> Any:
    try:
        call()
    except ApiException as error:
        status = json.loads(error.body)
        return [error.status, status["reason"], status["message"]]
    return "was taken"


def pages() -> Any:
    core = client.CoreV1Api()
    for number in range(7):
        core.create_namespaced_config_map(NAMESPACE, settings(f"c{number}", {"parity": "eo"[number % 2]}))
    found, mark = [], None
    while mark != "":
        page = core.list_namespaced_config_map(NAMESPACE, limit=3, _continue=mark)
        found.append([each.metadata.name for each in page.items])
        mark = page.metadata._continue or ""
    odd = core.list_namespaced_config_map(NAMESPACE, label_selector="parity in (o)").items
    one = core.list_namespaced_config_map(NAMESPACE, field_selector="metadata.name=c5").items
    return {"pages": found, "odd": [each.metadata.name for each in odd], "one": [each.metadata.name for each in one]}


def watching() -> Any:
    """A list, a watch from its version, a second watch from where the first one ended."""
    core, found = client.CoreV1Api(), []
    core.create_namespaced_config_map(NAMESPACE, settings("before"))
    version = core.list_namespaced_config_map(NAMESPACE).metadata.resource_version

    def change() -> None:
        time.sleep(0.3)  # the watch is open by then; if not, it begins at the version all the same
        core.create_namespaced_config_map(NAMESPACE, settings("c", a="1"))
        core.patch_namespaced_config_map("c", NAMESPACE, {"data": {"a": "2"}})
        core.delete_namespaced_config_map("c", NAMESPACE)

    threading.Thread(target=change).start()
    first = watch.Watch()
    for event in first.stream(core.list_namespaced_config_map, NAMESPACE, resource_version=version, timeout_seconds=60):
        found.append([event["type"], event["object"].metadata.name])
        if event["type"] == "ADDED":
            version = event["object"].metadata.resource_version
            break
    again = watch.Watch()
    for event in again.stream(core.list_namespaced_config_map, NAMESPACE, resource_version=version, timeout_seconds=60):
        found.append([event["type"], event["object"].metadata.name])
        if event["type"] == "DELETED":
            again.stop()
    begin = time.monotonic()
    quiet = list(watch.Watch().stream(core.list_namespaced_secret, NAMESPACE, timeout_seconds=1))
    return {"events": found, "quiet": quiet, "ended": time.monotonic() - begin < 30}


def patches() -> Any:
    core, custom = client.CoreV1Api(), client.CustomObjectsApi()
    core.create_namespaced_config_map(NAMESPACE, settings("c", a="1", b="1"))
    strategic = core.patch_namespaced_config_map("c", NAMESPACE, {"data": {"a": "2"}}).data
    operations = [{"op": "remove", "path": "/data/b"}]
    operated = core.patch_namespaced_config_map("c", NAMESPACE, operations).data
    custom.create_namespaced_custom_object(GROUP, VERSION, NAMESPACE, JOBS, job("j"))
    labels = {"metadata": {"labels": {"x": "y"}}}
    merged = custom.patch_namespaced_custom_object(GROUP, VERSION, NAMESPACE, JOBS, "j", labels)
    return {"strategic": strategic, "json": operated, "merge": merged["metadata"]["labels"]}


def applying() -> Any:
    objects = dynamic.DynamicClient(client.ApiClient())
    maps = objects.resources.get(api_version="v1", kind="ConfigMap")
    jobs = objects.resources.get(api_version=f"{GROUP}/{VERSION}", kind="PyTorchJob")

    def apply(kind: Any, body: dict[str, Any], manager: str, **options: Any) -> Any:
        return kind.server_side_apply(body, namespace=NAMESPACE, field_manager=manager, **options).to_dict()

    body = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "c"}, "data": {"a": "1", "b": "1"}}
    apply(maps, body, "first")
    found: dict[str, Any] = {"dropped": apply(maps, {**body, "data": {"a": "1"}}, "first")["data"]}
    try:
        apply(maps, {**body, "data": {"a": "2"}}, "second")
    except dynamic.exceptions.ConflictError as error:
        found["conflict"] = json.loads(error.body)["message"]
    found["forced"] = apply(maps, {**body, "data": {"a": "2"}}, "second", force_conflicts=True)["data"]
    found["job"] = apply(jobs, job("applied"), "first")["metadata"]["name"]
    found["listed"] = [each.metadata.name for each in jobs.get(namespace=NAMESPACE).items]
    return found


def logs() -> Any:
    """Followed from the first line to the end; then the last lines alone."""
    core = client.CoreV1Api()
    core.create_namespaced_pod(NAMESPACE, pod("p", "for i in 1 2 3; do echo line $i; sleep 0.3; done"))
    until(lambda: core.read_namespaced_pod("p", NAMESPACE).status.phase not in (None, "Pending"))
    followed = list(watch.Watch().stream(core.read_namespaced_pod_log, "p", NAMESPACE))
    tail = core.read_namespaced_pod_log("p", NAMESPACE, tail_lines=1)
    until(lambda: core.read_namespaced_pod("p", NAMESPACE).status.phase == "Succeeded")
    ended = core.read_namespaced_pod("p", NAMESPACE).status.container_statuses[0].state.terminated.exit_code
    return {"followed": followed, "tail": tail, "exit": ended}


def entering() -> Any:
    core = client.CoreV1Api()
    core.create_namespaced_pod(NAMESPACE, pod("p", "sleep 600"))
    until(lambda: core.read_namespaced_pod("p", NAMESPACE).status.phase == "Running")
    words = {"stdin": True, "stdout": True, "stderr": True, "tty": False, "_preload_content": False}
    command = ["sh", "-c", "read word; echo got $word; echo oh >&2; exit 3"]
    talk = stream(core.connect_get_namespaced_pod_exec, "p", NAMESPACE, command=command, **words)
    talk.write_stdin("it\n")
    talk.run_forever(timeout=60)
    return {"out": talk.read_stdout(), "err": talk.read_stderr(), "exit": talk.returncode}


def electing() -> Any:
    """Two candidates of the client's own election, one after the other, over a Lease."""
    led = []

    def stand(name: str) -> None:
        lock = LeaseLock("leader", NAMESPACE, name)
        done = threading.Event()

        def lead() -> None:
            led.append(name)
            done.set()

        settings = electionconfig.Config(
            lock, lease_duration=3, renew_deadline=2, retry_period=1, onstarted_leading=lead, onstopped_leading=None
        )
        threading.Thread(target=leaderelection.LeaderElection(settings).run, daemon=True).start()
        assert done.wait(60), f"{name} never led"

    stand("first")
    holder = client.CoordinationV1Api().read_namespaced_lease("leader", NAMESPACE).spec.holder_identity
    renewed = {}

    def is_renewed() -> bool:
        lease = client.CoordinationV1Api().read_namespaced_lease("leader", NAMESPACE).spec
        renewed[lease.renew_time] = lease.holder_identity
        return len(renewed) > 2

    until(is_renewed)
    return {"led": led, "holder": holder, "renewed by": sorted(set(renewed.values()))}


def in_cluster() -> Any:
    """Runs in a pod, with the token of its account."""
    core = client.CoreV1Api()
    listed = [each.metadata.name for each in core.list_namespaced_config_map(NAMESPACE).items]
    who = (
        client.AuthenticationV1Api().create_self_subject_review(client.V1SelfSubjectReview()).status.user_info.username
    )
    return {
        "listed": "kube-root-ca.crt" in listed,
        "who": who,
        "secrets": refusal(lambda: core.list_namespaced_secret(NAMESPACE)),
    }


def until(look: Any) -> None:
    end = time.monotonic() + 90
    while not look():
        assert time.monotonic() < end, "it never came"
        time.sleep(0.1)


if __name__ == "__main__":
    if os.environ.get("IN_CLUSTER"):
        config.load_incluster_config()
    else:
        config.load_kube_config()
    print(json.dumps(globals()[sys.argv[1]]()))
