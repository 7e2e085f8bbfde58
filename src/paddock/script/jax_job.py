"""ScriptRequest -> the spec of a JAXJob of kubeflow.org/v1. Pure.

`jax.distributed.initialize` reads no variable that says which process it is (jax 0.10, `_src/distributed.py` and
`_src/clusters`): a program hands it COORDINATOR_ADDRESS, COORDINATOR_PORT, NUM_PROCESSES and PROCESS_ID, which Kubeflow
and Paddock set (`jobs.frameworks.jax`). JAX itself is not added: which of its builds is wanted, only the user knows.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from paddock.kube.meta import Manifest
from paddock.launches.launch import Launch
from paddock.script.containers import build_pod
from paddock.script.plain_job import IMAGE
from paddock.script.request import ScriptRequest
from paddock.script.told_launchers import explain_refused as explain_refused_launcher
from paddock.words.phrases import Phrase, phrase


def build_spec(request: ScriptRequest, name: str) -> Manifest:
    pod = build_pod(request, "jax", name, IMAGE, build_command(request), gpus=request.gpus)
    restart = "OnFailure" if request.restarts else "Never"
    worker = {"replicas": request.workers, "restartPolicy": restart, "template": {"spec": pod}}
    return {"runPolicy": {"backoffLimit": request.restarts}, "jaxReplicaSpecs": {"Worker": worker}}


def build_command(request: ScriptRequest) -> list[str]:
    """What was typed."""
    return list(request.words)


def explain_refused(request: ScriptRequest) -> Iterator[Phrase]:
    yield from explain_refused_launcher(request)
    if request.servers:
        yield phrase("--ps: JAX has no parameter servers: leave it out, and --workers says how many train together")


def explain_workers(request: ScriptRequest, launches: Sequence[Launch]) -> Iterator[Phrase]:
    if request.workers > 1 and request.launch.launcher is None:
        yield phrase(
            "the {count} workers train together where the program hands COORDINATOR_ADDRESS:COORDINATOR_PORT, "
            "NUM_PROCESSES and PROCESS_ID to jax.distributed.initialize, which reads none of them itself",
            count=request.workers,
        )
