"""kr8s as its users have it. Each function is one habit, and returns what it saw."""

from __future__ import annotations

import asyncio
import json
import os
import socket
import sys
import threading
import time
import urllib.request
from typing import Any

import kr8s
import kr8s.asyncio
from kr8s.objects import ConfigMap, Pod, new_class

NAMESPACE = os.environ["NAMESPACE"]
Job = new_class("PyTorchJob", version="kubeflow.org/v1", namespaced=True)


def settings(name: str, labels: dict[str, str] | None = None, **data: str) -> ConfigMap:
    return ConfigMap({"metadata": {"name": name, "namespace": NAMESPACE, "labels": labels or {}}, "data": data})


def pod(name: str, script: str) -> Pod:
    container = {"name": "main", "image": "python", "command": ["sh", "-c", script]}
    spec = {"containers": [container], "restartPolicy": "Never", "terminationGracePeriodSeconds": 1}
    return Pod({"metadata": {"name": name, "namespace": NAMESPACE}, "spec": spec})


def job(name: str) -> Any:
    template = {"spec": {"containers": [{"name": "pytorch", "image": "python", "command": ["true"]}]}}
    spec = {"runPolicy": {"suspend": True}, "pytorchReplicaSpecs": {"Worker": {"replicas": 1, "template": template}}}
    return Job({"metadata": {"name": name, "namespace": NAMESPACE}, "spec": spec})


def crud() -> Any:
    made = settings("c", a="1", b="1")
    made.create()
    made.patch({"data": {"a": "2"}})
    made.patch([{"op": "remove", "path": "/data/b"}], type="json")
    made.label({"team": "a"})
    made.annotate(note="first")
    read = ConfigMap.get("c", namespace=NAMESPACE)
    found = {"data": dict(read.raw.data), "labels": dict(read.labels), "annotations": dict(read.annotations)}
    made.delete()
    found["exists"] = made.exists()
    try:
        ConfigMap.get("c", namespace=NAMESPACE, timeout=1)
    except kr8s.NotFoundError as error:
        found["missing"] = type(error).__name__
    return found


def errors() -> Any:
    settings("c").create()
    try:
        settings("c").create()
    except kr8s.ServerError as error:
        return [error.response.status_code, str(error)]
    return "was taken"


def lists() -> Any:
    for number in range(4):
        settings(f"c{number}", {"parity": "eo"[number % 2]}).create()
    job("j").create()

    def names(kind: Any, **words: Any) -> list[str]:
        return sorted(each.name for each in kr8s.get(kind, namespace=NAMESPACE, **words))

    return {
        "odd": names("configmaps", label_selector={"parity": "o"}),
        "one": names("cm", field_selector="metadata.name=c2"),
        "jobs": names("pytorchjobs.kubeflow.org"),
        "class": names(Job),
        "version": kr8s.version()["major"],
        "whoami": kr8s.whoami(),
        "resource": "pytorchjobs" in [each["name"] for each in kr8s.api_resources()],
    }


def watching() -> Any:
    """An informer: what is there, then what changes."""
    settings("before").create()

    def change() -> None:
        time.sleep(1)  # kr8s watches from the time at which it begins, so the watch must be open
        made = settings("c", a="1")
        made.create()
        made.patch({"data": {"a": "2"}})
        made.delete()

    threading.Thread(target=change).start()
    found = []
    for what, each in kr8s.watch("configmaps", namespace=NAMESPACE):
        found.append([what, each.name])
        if what == "DELETED":
            break
    return found


def find_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        return int(taken.getsockname()[1])


def running() -> Any:
    """A pod is waited for, its log followed, a command run in it, a port of it reached."""
    number = find_port()
    serve = f"cd /tmp; echo page > index.html; exec python3 -m http.server -b 127.0.0.1 {number}"
    made = pod("p", f"for i in 1 2 3; do echo line $i; done; {serve}")
    made.create()
    made.wait("condition=Ready", timeout=60)
    found: dict[str, Any] = {"ready": made.ready(), "logs": []}
    for line in made.logs(follow=True):
        found["logs"].append(line)
        if len(found["logs"]) == 3:
            break
    done = made.exec(["sh", "-c", "echo out; echo oh >&2"])
    found["exec"] = [done.returncode, done.stdout.decode(), done.stderr.decode()]
    failed = made.exec(["sh", "-c", "exit 3"], check=False)
    found["exit"] = failed.returncode
    # The pod shares this network. kr8s's own "auto" draws a number, whether it is taken or not.
    with made.portforward(number, local_port=find_port()) as port:
        for _ in range(100):
            try:
                with urllib.request.urlopen(f"http://127.0.0.1:{port}/index.html", timeout=30) as answer:
                    found["page"] = answer.read().decode()
                break
            except OSError:
                time.sleep(0.1)
    made.delete()
    made.wait("delete", timeout=60)
    return found


def jobs() -> Any:
    made = job("j")
    made.create()
    made.patch({"spec": {"runPolicy": {"suspend": False}}})
    made.wait("condition=Succeeded", timeout=90)
    made.refresh()
    return {
        "conditions": [each["type"] for each in made.status.conditions],
        "pods": [each.name for each in kr8s.get("pods", namespace=NAMESPACE)],
    }


def asynchronous() -> Any:
    async def look() -> Any:
        api = await kr8s.asyncio.api()
        made = await kr8s.asyncio.objects.ConfigMap({"metadata": {"name": "c", "namespace": NAMESPACE}})
        await made.create()
        names = [each.name async for each in api.get("configmaps", namespace=NAMESPACE)]
        await made.delete()
        return sorted(names)

    return asyncio.run(look())


def in_cluster() -> Any:
    """Runs in a pod, with the token of its account."""
    found: dict[str, Any] = {"listed": [each.name for each in kr8s.get("configmaps", namespace=NAMESPACE)]}
    try:
        list(kr8s.get("secrets", namespace=NAMESPACE))
    except kr8s.ServerError as error:
        found["secrets"] = [error.response.status_code, str(error)]
    return found


if __name__ == "__main__":
    print(json.dumps(globals()[sys.argv[1]]()))
