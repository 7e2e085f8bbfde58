"""What a pod of a cluster is called, and says of itself, leads no copy of a log out of the spool, or into another's."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from paddock.app.consoles.spool.files import ClusterSpool
from paddock.app.home import Home
from paddock.kube.pod_logs import name_main_container

UID = "6f1c4d8e-0000-4000-8000-000000000001"
ANNOTATION = "kubectl.kubernetes.io/default-container"


def build_pod(main: str = "", **metadata: str) -> dict[str, Any]:
    named = {"namespace": "team", "name": "job-worker-0", "uid": UID, **metadata}
    containers = [{"name": "first"}, {"name": "trains"}]
    return {
        "metadata": {**named, "annotations": {ANNOTATION: main} if main else {}},
        "spec": {"containers": containers},
    }


@pytest.mark.parametrize(
    ("main", "chosen"),
    [
        ("", "first"),
        ("trains", "trains"),
        ("../../other_job-worker-0_uid/paddle", "first"),
        ("/proc/none", "first"),
        ("..", "first"),
    ],
)
def test_the_annotation_of_a_pod_chooses_among_its_containers_alone(tmp_path: Path, main: str, chosen: str) -> None:
    spool = ClusterSpool(Home(tmp_path, tmp_path))
    pod = build_pod(main)
    assert name_main_container(pod) == chosen
    log = spool.begin(pod)
    spool.finish(log)
    assert log.path == spool.home.node / "pods" / f"team_job-worker-0_{UID}" / chosen / "0.log"
    assert sorted(tmp_path.rglob("0.log")) == [log.path]


@pytest.mark.parametrize(
    "metadata",
    [{"namespace": ".."}, {"namespace": "a/b"}, {"name": "../../x"}, {"uid": "../x"}, {"uid": "a\0b"}, {"name": ""}],
)
def test_a_pod_whose_name_is_no_file_name_is_not_copied(tmp_path: Path, metadata: dict[str, str]) -> None:
    spool = ClusterSpool(Home(tmp_path, tmp_path))
    with pytest.raises(ValueError, match="cannot be the name of a file"):
        spool.is_copied(build_pod(**metadata))
    assert list(tmp_path.iterdir()) == []
