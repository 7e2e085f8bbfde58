"""Jobs for the end-to-end tests: the documents' own files, variants of them, and jobs of shell programs.

The image `busybox` stands for the programs of this machine, so a light job needs no PaddlePaddle.
"""

from __future__ import annotations

import copy
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import yaml

DOCUMENTS = Path(__file__).parents[2] / "examples" / "documents"
WIDE_AND_DEEP = DOCUMENTS / "wide_and_deep.yaml"
RESNET = DOCUMENTS / "resnet.yaml"


def build_light_job(name: str, worker: str, *, ps: str = "", workers: int = 1, clean: str = "Never") -> dict[str, Any]:
    """A PaddleJob whose ranks run shell programs."""
    spec: dict[str, Any] = {"cleanPodPolicy": clean, "worker": _build_role(worker, workers)}
    if ps:
        spec["ps"] = _build_role(ps, 1)
    return {
        "apiVersion": "batch.paddlepaddle.org/v1",
        "kind": "PaddleJob",
        "metadata": {"name": name},
        "spec": spec,
    }


def _build_role(script: str, replicas: int) -> dict[str, Any]:
    container = {"name": "paddle", "image": "busybox", "command": ["sh", "-c", script]}
    return {"replicas": replicas, "template": {"spec": {"containers": [container]}}}


def build_wide_and_deep(
    name: str, env: Mapping[str, str], *, worker: str = "", restart: str = "", clean: str = "Always"
) -> dict[str, Any]:
    """The documents' job under another name, with environment variables (EPOCHS, STEPS, LEARNING_RATE); `worker`: a
    shell program in place of the workers' `python3 train.py`."""
    job: dict[str, Any] = copy.deepcopy(yaml.safe_load(WIDE_AND_DEEP.read_text()))
    job["metadata"]["name"] = name
    job["spec"]["cleanPodPolicy"] = clean
    for role in ("worker", "ps"):
        container = job["spec"][role]["template"]["spec"]["containers"][0]
        container["env"] = [{"name": key, "value": value} for key, value in env.items()]
        if role == "worker" and worker:
            container["command"] = ["sh", "-c", worker]
        if restart:
            job["spec"][role]["template"]["spec"]["restartPolicy"] = restart
    return job
