"""Scripts of bare machines for tests: from a manifest's text to files, and bash that runs them."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from paddock.manifests.yaml_texts import write_yaml
from paddock.places.bare import place
from paddock.places.hosts import read_hosts
from paddock.places.programs import build_programs
from paddock.places.rendering import Request
from paddock.preflight import find_api, read_bytes
from support.programs import need

OWN = {key: value for key, value in os.environ.items() if not key.startswith(("PADDOCK_", "PADDLE_"))}


def build_manifest(
    *roles: str, command: Sequence[str], name: str = "probe", env: Sequence[Mapping[str, Any]] = (), replicas: int = 2
) -> str:
    """A PaddleJob whose roles (worker, ps) have these replicas and this command each."""
    container = {"name": "paddle", "image": "demo:1", "command": list(command), "env": list(env)}
    role = {"replicas": replicas, "template": {"spec": {"containers": [container]}}}
    metadata = {"name": name, "namespace": "default"}
    spec = dict.fromkeys(roles or ("worker",), role)
    manifest = {"apiVersion": "batch.paddlepaddle.org/v1", "kind": "PaddleJob", "metadata": metadata, "spec": spec}
    return write_yaml([manifest])


def build_torch_manifest(command: Sequence[str], workers: int = 2, name: str = "probe") -> str:
    """A PyTorchJob of a master and workers."""
    container = {"name": "pytorch", "image": "demo:1", "command": list(command)}
    roles = {
        kind: {"replicas": replicas, "template": {"spec": {"containers": [container]}}}
        for kind, replicas in (("Master", 1), ("Worker", workers))
        if replicas
    }
    metadata = {"name": name, "namespace": "default"}
    return json.dumps(
        {
            "apiVersion": "kubeflow.org/v1",
            "kind": "PyTorchJob",
            "metadata": metadata,
            "spec": {"pytorchReplicaSpecs": roles},
        }
    )


def build_request(manifest: str, hosts: str, port: int | None = None) -> Request:
    documents = read_bytes(manifest.encode())
    for document in documents:
        api = find_api(document)
        if api is not None:
            job = api.read_job(document.manifest)
            machines = read_hosts(hosts)
            programs = build_programs(job, machines, port=port)
            used = tuple(host for host in machines if any(each.host == host for each in programs))
            return Request(job, document.manifest, "job.yaml", used, programs)
    raise AssertionError("the manifest has no job")


def write_scripts(folder: Path, manifest: str, hosts: str, port: int | None = None) -> list[Path]:
    """The scripts, in the order of the machines."""
    paths = []
    for file in place.render(build_request(manifest, hosts, port)).files:
        path = folder / file.path
        path.write_text(file.text, encoding="utf-8")
        paths.append(path)
    return paths


def run_script(script: Path, *words: str, env: Mapping[str, str] | None = None) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [need("bash"), str(script), *words], env={**OWN, **(env or {})}, stdin=subprocess.DEVNULL,
        capture_output=True, text=True, timeout=60,
    )  # fmt: skip
