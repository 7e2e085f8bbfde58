"""Jobs as users of paddle-operator wrote them, and what a rank's program finds in its environment."""

from __future__ import annotations

from typing import Any

from paddock.jobs.apis.registry import PADDLEPADDLE
from paddock.jobs.model import Job, Rank, Settings
from paddock.jobs.objects import pods
from paddock.kube.meta import Manifest
from paddock.words.problems import InvalidJob
from support.operator_seam import build_job


def stored(manifest: Manifest) -> Manifest:
    """As an API server gives it back."""
    return {**manifest, "metadata": {**manifest["metadata"], "uid": "a-uid", "generation": 1}}


def read(**spec: Any) -> Job:
    return PADDLEPADDLE.read_job(stored(build_job(**spec)))


def refusals(manifest: Manifest) -> dict[str, str]:
    """Path and sentence of each error; empty for a job that is taken."""
    try:
        PADDLEPADDLE.read_job(stored(manifest))
    except InvalidJob as refusal:
        return {each.path: each.message for each in refusal.problems if each.severity == "error"}
    return {}


def addresses_of(job: Job, address: str = "10.0.0.{}") -> dict[Rank, str]:
    return {rank: address.format(number) for number, rank in enumerate(job.ranks(), 2)}


def pod_of(job: Job, rank: str, port: int | None = None) -> Manifest:
    role, _, index = rank.rpartition("-")
    return pods.build_pod(job, Rank(role, int(index)), 0, port, Settings())


def environment(job: Job, rank: str, port: int | None = None, address: str = "10.0.0.{}") -> dict[str, str]:
    """What the kubelet makes of the rank's pod and its ConfigMap: `env` wins over `envFrom`."""
    addresses = addresses_of(job, address)
    role, _, index = rank.rpartition("-")
    shared = pods.build_config_map(job, 0, addresses, port)["data"]
    found = dict(shared)
    for entry in pod_of(job, rank, port)["spec"]["containers"][0]["env"]:
        source = entry.get("valueFrom", {})
        if source.get("fieldRef", {}).get("fieldPath") == "status.podIP":
            found[entry["name"]] = addresses[Rank(role, int(index))]
        elif "configMapKeyRef" in source:
            found[entry["name"]] = shared[source["configMapKeyRef"]["key"]]
        else:
            found[entry["name"]] = entry["value"]
    return found
