"""Parameter servers, workers and heter ranks in any numbers train, with a real PaddlePaddle.

`make shapes` runs a row for each pair of values and both versions (`shapes`), SHAPES=servers every row without heter
ranks; the seconds of each are printed.
"""

from __future__ import annotations

import copy
import os
import re
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest
import yaml

from e2e.commands import Cluster
from e2e.manifests import build_wide_and_deep
from e2e.shapes import USUAL, VERSIONS, Shape, build_all, find_cover
from paddock.environments.defaults import build_defaults
from support.sandboxes import ONE_SANDBOX

HETER = Path(__file__).parents[2] / "examples" / "heter"
ENVIRONMENTS = "/apis/paddock.dev/v1alpha1/environments"
CHOSEN: dict[str, Callable[[], Sequence[Shape]]] = {
    "": lambda: USUAL,
    "pairs": lambda: find_cover(build_all()),
    "servers": lambda: build_all(heter=(0,)),
    "heter": lambda: find_cover(build_all(heter=(1, 2, 3))),
    "all": build_all,
}


@pytest.mark.paddle
@pytest.mark.timeout(600)
@ONE_SANDBOX
@pytest.mark.parametrize("shape", CHOSEN[os.environ.get("SHAPES", "")](), ids=lambda shape: shape.name)
def test_any_number_of_servers_workers_and_heter_ranks_trains(shared: Cluster, shape: Shape) -> None:
    add_environment(shared, shape.version)
    job = build_heter(shape) if shape.heter else build_servers(shape)
    where = ["--workdir", str(HETER)] if shape.heter else []
    ended = shared.paddock("run", shared.write(job), *where, seconds=400)
    assert ended.code == 0, str(ended)
    found = re.search(r"Held-out (?:AUC|accuracy) (0\.\d+)", str(ended), re.IGNORECASE)
    assert found and float(found[1]) > 0.6, str(ended)
    took = re.search(r"Completed in (.+?):", str(ended))
    print(f"\n{shape.name}: {took[1] if took else '?'}, held-out {found[1]}")


def test_the_cover_has_each_pair_of_values() -> None:
    for shapes in (build_all(), build_all(heter=(1, 2, 3))):
        covered = frozenset[object]().union(*(each.pairs for each in find_cover(shapes)))
        assert all(each.pairs <= covered for each in shapes)


def add_environment(cluster: Cluster, version: str) -> None:
    """The servers' Environment with this PaddlePaddle, and the program of the documents' job."""
    assert version in VERSIONS
    known = {each["metadata"]["name"] for each in cluster.read(ENVIRONMENTS)["items"]}
    if name_environment(version) in known:
        return
    mine = copy.deepcopy(next(each for each in build_defaults() if each["metadata"]["name"] == "paddle-ps"))
    mine["metadata"]["name"] = name_environment(version)
    mine["spec"]["requirements"] = [f"paddlepaddle=={version}"]
    del mine["spec"]["images"]
    cluster.create(ENVIRONMENTS, mine)


def name_environment(version: str) -> str:
    return "shapes-" + version.replace(".", "-")


def build_servers(shape: Shape) -> dict[str, Any]:
    """The documents' own program in this shape."""
    job = build_wide_and_deep(name_job(shape), {"EPOCHS": "1", "STEPS": "100"})
    return take_shape(job, shape)


def build_heter(shape: Shape) -> dict[str, Any]:
    """The example's own file in this shape."""
    job: dict[str, Any] = yaml.safe_load((HETER / "job.yaml").read_text())
    job["metadata"]["name"] = name_job(shape)
    return take_shape(job, shape)


def name_job(shape: Shape) -> str:
    return shape.name.lower().replace(".", "-")


def take_shape(job: dict[str, Any], shape: Shape) -> dict[str, Any]:
    spec = job["spec"]
    spec["intranet"], spec["withGloo"] = shape.intranet, shape.gloo
    # A heter rank gives a connection 200 ms (brpc's default), and nine processes on two cores may need more.
    spec["runPolicy"] = {"backoffLimit": 3 if shape.heter else 0}
    for role, count in (("ps", shape.servers), ("worker", shape.workers), ("heter", shape.heter)):
        if not count:
            spec.pop(role, None)
            continue
        spec[role] = copy.deepcopy(spec[role])
        spec[role]["replicas"] = count
        metadata = spec[role]["template"].setdefault("metadata", {})
        metadata["annotations"] = {"paddock.dev/environment": name_environment(shape.version)}
    return job
