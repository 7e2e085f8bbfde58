"""The logs of a run are found by what the node has written beside them, with no API."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from paddock.app.history import read_place
from paddock.history.logs import LogFile, LogLocation, PodDirectories, find_log_files, find_pod_logs, measure
from paddock.jobs.labels import ATTEMPT_LABEL, INDEX_LABEL, ROLE_LABEL
from paddock.node.runtime.logs import write_owner
from paddock.node.runtime.records import log_directory


def write_log(
    node: Path, pod: str, uid: str, *, job: str = "job", attempt: int = 0, text: str = "x", container: str = "paddle",
    when: float = 1000.0, main: str = "paddle", labels: Mapping[str, str] | None = None,
) -> Path:  # fmt: skip
    """As the kubelet does at the start of a container."""
    role, index = pod.split("-")[-2:]
    given = {ROLE_LABEL: role, INDEX_LABEL: index, ATTEMPT_LABEL: str(attempt)} if labels is None else labels
    owner = {"apiVersion": "batch.paddlepaddle.org/v1", "kind": "PaddleJob", "name": "demo", "uid": job,
             "controller": True}  # fmt: skip
    manifest: dict[str, Any] = {"metadata": {"namespace": "default", "name": pod, "uid": uid, "labels": dict(given),
                                "ownerReferences": [owner]}}  # fmt: skip
    if main:
        manifest["metadata"]["annotations"] = {"kubectl.kubernetes.io/default-container": main}
    write_owner(node, manifest)
    path = log_directory(node, "default", pod, uid) / container / "0.log"
    path.parent.mkdir(mode=0o700, exist_ok=True)
    path.write_text(text)
    os.utime(path, (when, when))
    return path


def find(node: Path, job: str = "job", namespace: str = "", name: str = "") -> list[LogFile]:
    logs = PodDirectories(node / "pods", read_place).find(namespace, name, job)
    return find_log_files(logs if name else find_pod_logs(node / "pods", read_place), job)


def test_each_rank_of_each_attempt_has_its_log(tmp_path: Path) -> None:
    write_log(tmp_path, "demo-worker-10", "c")
    write_log(tmp_path, "demo-worker-9", "b")
    write_log(tmp_path, "demo-ps-0", "a")
    write_log(tmp_path, "demo-worker-9", "d", attempt=1)
    write_log(tmp_path, "demo-worker-9", "e", job="another")
    found = find(tmp_path, namespace="default", name="demo")
    assert [(file.rank, file.place.attempt) for file in found] == [
        ("ps-0", 0), ("worker-9", 0), ("worker-10", 0), ("worker-9", 1)
    ]  # fmt: skip
    assert found[0] == LogFile(
        tmp_path / "pods/default_demo-ps-0_a/paddle/0.log", "demo-ps-0", LogLocation("ps", 0, 0), 1000.0, 1
    )
    assert find(tmp_path, namespace="default", name="dem0") == find(tmp_path / "missing") == []


def test_the_container_that_trains_is_read_and_not_its_side_car(tmp_path: Path) -> None:
    write_log(tmp_path, "demo-worker-0", "a", text="trained")
    write_log(tmp_path, "demo-worker-0", "a", container="sidecar", when=2000.0)
    (file,) = find(tmp_path)
    assert file.path.read_text() == "trained"
    again = file.path.with_name("1.log")
    again.write_text("again")
    os.utime(again, (3000.0, 3000.0))
    assert [file.path for file in find(tmp_path)] == [again]


def test_a_pod_that_names_no_container_has_the_log_that_was_written_last(tmp_path: Path) -> None:
    write_log(tmp_path, "demo-worker-0", "a", main="")
    last = write_log(tmp_path, "demo-worker-0", "a", main="", container="other", when=2000.0)
    assert [file.path for file in find(tmp_path)] == [last]


def test_a_pod_that_was_made_again_in_the_same_attempt_has_its_newest_log(tmp_path: Path) -> None:
    last = write_log(tmp_path, "demo-worker-0", "a", when=2000.0)
    write_log(tmp_path, "demo-worker-0", "b", when=1000.0)
    assert [file.path for file in find(tmp_path)] == [last]


def test_the_logs_of_an_older_paddock_are_found_by_their_pods_names(tmp_path: Path) -> None:
    path = write_log(tmp_path, "demo-worker-3", "a")
    owner = '{"api_version":"v","kind":"PaddleJob","namespace":"default","name":"demo","uid":"job"}'
    (path.parents[1] / ".owner.json").write_text(owner)
    (file,) = find(tmp_path)
    assert (file.pod, file.rank, file.place.attempt) == ("demo-worker-3", "worker-3", 0)


@pytest.mark.parametrize("content", [b"", b"{", b'{"kind":1}', b"\xff", b"[" * 100_000])
def test_a_damaged_owner_hides_its_pod_alone(tmp_path: Path, content: bytes) -> None:
    bad = write_log(tmp_path, "demo-worker-0", "a")
    (bad.parents[1] / ".owner.json").write_bytes(content)
    (tmp_path / "pods" / "stray").write_text("")
    write_log(tmp_path, "demo-worker-1", "b")
    assert [file.rank for file in find(tmp_path)] == ["worker-1"]


def test_a_link_or_a_pipe_in_place_of_a_log_or_its_owner_is_no_log(tmp_path: Path) -> None:
    for number, make in enumerate((os.mkfifo, lambda path: os.symlink("/etc/passwd", path), os.mkdir)):
        path = write_log(tmp_path, f"demo-worker-{number}", f"l{number}")
        path.unlink()
        make(path)
        owner = write_log(tmp_path, f"demo-ps-{number}", f"o{number}").parents[1] / ".owner.json"
        owner.unlink()
        make(owner)
    assert find(tmp_path) == []


@pytest.mark.parametrize(
    ("labels", "pod", "place"),
    [
        ({ROLE_LABEL: "ps", INDEX_LABEL: "2", ATTEMPT_LABEL: "7"}, "x", LogLocation("ps", 2, 7)),
        ({ROLE_LABEL: "ps", INDEX_LABEL: "2"}, "x", LogLocation("ps", 2, 0)),
        ({}, "demo-worker-11", LogLocation("worker", 11, 0)),
        ({ROLE_LABEL: "ps", INDEX_LABEL: "two"}, "demo-worker-1", LogLocation("worker", 1, 0)),
        ({ROLE_LABEL: "ps", INDEX_LABEL: "9" * 50}, "x", None),
        ({}, "x", None),
    ],
)
def test_a_pods_place_stands_in_its_labels(labels: dict[str, str], pod: str, place: LogLocation | None) -> None:
    assert read_place(labels, pod) == place


def test_logs_are_weighed_by_what_they_take_on_the_disk(tmp_path: Path) -> None:
    path = write_log(tmp_path, "demo-worker-0", "a", text="x" * 10_000)
    (pod,) = find_pod_logs(tmp_path / "pods", read_place)
    assert measure(pod) == path.stat().st_blocks * 512 >= 10_000


def test_a_directory_is_looked_into_once_and_only_if_it_can_be_of_the_run(tmp_path: Path) -> None:
    """A job's name begins that of another, and a pod's directory is not older than its job, but by a clock set back."""
    created = {"old": 0.0, "mine": 1e6, "late": 2e6}
    for uid, when in created.items():
        directory = write_log(tmp_path, "fit-a-worker-0", uid, job=uid).parents[1]
        os.utime(directory, (when - 3600, when - 3600))
    other = write_log(tmp_path, "fit-worker-0", "other", job="other").parents[1]
    pods = PodDirectories(tmp_path / "pods", read_place)

    def find(name: str, uid: str, since: float) -> list[str]:
        return [each.directory.name for each in pods.find("default", name, uid, since)]

    assert find("fit-a", "mine", 1e6) == ["default_fit-a-worker-0_mine"]
    assert find("fit-a", "old", 1e6) == [], "not looked into"
    assert find("fit-a", "late", 2e6) == ["default_fit-a-worker-0_late"]
    assert find("fit-a", "old", 0.0) == ["default_fit-a-worker-0_old"]
    assert find("fit", "other", 0.0) == [other.name]
    assert find("fit", "mine", 0.0) == find("fit-a", "mine", 0.0), "it is asked by its UID"
