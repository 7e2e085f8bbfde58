"""A working directory as a ConfigMap: which files, under which keys, and what the containers are given."""

from __future__ import annotations

import base64
from collections import Counter
from typing import Any

import pytest

from cli.views import RESOURCE, build_manifest
from paddock.cli.submit.directory_files import HIDDEN, IGNORED, File, Found
from paddock.cli.submit.directory_map import (
    LARGEST,
    MOST_FILES,
    MOUNT,
    Entry,
    build_directory_map,
    explain_sending,
    find_own_directory,
    mount_directory_map,
    plan_entries,
)
from paddock.jobs.apis.registry import KINDS
from paddock.words.phrases import render


def found(*files: tuple[str, int], **left_out: int) -> Found:
    return Found(tuple(File(*file) for file in files), Counter(left_out))


@pytest.mark.parametrize(
    ("files", "keys"),
    [
        ([("train.py", 1)], ["train.py"]),
        ([("pkg/mod.py", 1), ("pkg/data/w.bin", 1)], ["pkg__mod.py", "pkg__data__w.bin"]),
        ([("a/b", 1), ("a__b", 1)], ["a__b", "file-1"]),
        ([("file-1", 1), ("a/b", 1), ("a__b", 1)], ["file-1", "a__b", "file-2"]),
        ([("a b.py", 1), ("数据.txt", 1)], ["file-0", "file-1"]),
        ([(f"{'x' * 254}", 1)], ["file-0"]),
    ],
)
def test_each_file_has_a_key_that_kubernetes_takes(files: list[tuple[str, int]], keys: list[str]) -> None:
    entries, refusal = plan_entries(found(*files), ".")
    assert refusal is None
    assert [entry.key for entry in entries] == keys
    assert [entry.path for entry in entries] == [path for path, _ in files]


@pytest.mark.parametrize(
    ("files", "said"),
    [
        ([], "there is no file to send in ."),
        ([("w.bin", LARGEST)], ". is too large to travel as a ConfigMap: 1 files, 900 KiB, and at most 900 KiB."),
        ([(f"{n}.py", 1) for n in range(MOST_FILES + 1)], ". holds 1001 files, and at most 1000 travel"),
    ],
)
def test_what_does_not_fit_is_refused(files: list[tuple[str, int]], said: str) -> None:
    entries, refusal = plan_entries(found(*files), ".")
    assert entries == () and refusal is not None and str(refusal).startswith(said)


def test_what_is_too_large_is_refused_with_its_five_largest_files() -> None:
    files = [(f"data/{n}.bin", n * 100_000) for n in range(1, 8)]
    refusal = str(plan_entries(found(*files), ".")[1])
    assert [line.split() for line in refusal.splitlines()[1:6]] == [
        [str(size), "KiB", f"data/{n}.bin"] for n, size in ((7, 684), (6, 586), (5, 488), (4, 391), (3, 293))
    ]
    assert "volume" in refusal and "image" in refusal and ".gitignore" in refusal


def test_just_what_fits_is_taken() -> None:
    """The keys count as well."""
    assert plan_entries(found(("w.bin", LARGEST - 5)), ".")[1] is None
    assert plan_entries(found(("w.bin", LARGEST - 4)), ".")[1] is not None


@pytest.mark.parametrize(
    ("left_out", "said"),
    [
        ({}, "sending 2 files, 34 KiB, of . as a ConfigMap"),
        ({IGNORED: 3}, "sending 2 files, 34 KiB, of . as a ConfigMap; left out by .gitignore: 3"),
        ({HIDDEN: 1}, "sending 2 files, 34 KiB, of . as a ConfigMap; left out as hidden: 1"),
        ({IGNORED: 3, HIDDEN: 1}, "sending 2 files, 34 KiB, of . as a ConfigMap; left out: 3 by .gitignore, 1 hidden"),
    ],
)
def test_the_sent_files_are_reported(left_out: dict[str, int], said: str) -> None:
    assert str(explain_sending(found(("a", 34_000), ("b", 816), **left_out), ".")) == f"{said}\n  a, b"


def test_what_is_sent_is_named_while_it_can_be_read_at_a_glance() -> None:
    few = explain_sending(found(*((f"{n}.py", n) for n in range(8))), ".")
    assert str(few).splitlines()[1:] == ["  0.py, 1.py, 2.py, 3.py, 4.py, 5.py, 6.py, 7.py"]
    many = explain_sending(found(*((f"{n}.py", n) for n in range(9))), ".")
    assert str(many).splitlines()[1:] == ["  the largest: 8.py, 7.py, 6.py, 5.py, 4.py"]
    assert render(many, "zh").splitlines()[1:] == ["  最大的是：8.py, 7.py, 6.py, 5.py, 4.py"]


def test_the_sent_files_are_reported_in_chinese() -> None:
    said = render(explain_sending(found(("a", 10), **{IGNORED: 3}), "."), "zh")
    assert said == "以 ConfigMap 发送 . 中的 1 个文件，10 B；.gitignore 排除 3 项\n  a"


def test_text_is_stored_as_text_and_the_rest_in_base64() -> None:
    entries = (Entry("a.py", "a.py"), Entry("w.bin", "w.bin"), Entry("nul", "nul"))
    contents = {"a.py": "print('你好')\n".encode(), "w.bin": b"\xff\x00", "nul": b"a\x00b"}
    built = build_directory_map("demo-workdir-1", "team", entries, contents)
    assert built["data"] == {"a.py": "print('你好')\n"}
    assert {key: base64.b64decode(text) for key, text in built["binaryData"].items()} == {
        "w.bin": b"\xff\x00",
        "nul": b"a\x00b",
    }
    assert built["metadata"]["namespace"] == "team"
    assert "data" not in build_directory_map("x", "team", entries[1:2], contents)


def container_of(manifest: dict[str, Any], role: str = "worker", index: int = 0) -> dict[str, Any]:
    found: dict[str, Any] = manifest["spec"][role]["template"]["spec"]["containers"][index]
    return found


def test_the_containers_that_train_start_in_it_and_write_their_logs_elsewhere() -> None:
    manifest = build_manifest(ps=1)
    sidecar = {"name": "sidecar", "image": "busybox"}
    manifest["spec"]["worker"]["template"] = {
        "spec": {"containers": [sidecar, container_of(manifest)], "volumes": [{"name": "mine", "emptyDir": {}}]}
    }
    job = KINDS[RESOURCE].read_job(manifest)
    mounted = mount_directory_map(manifest, job, "demo-workdir-1", [Entry("a__b", "a/b"), Entry("c", "c", 0o755)])
    for role, index in (("worker", 1), ("ps", 0)):
        container = container_of(mounted, role, index)
        assert container["workingDir"] == MOUNT
        assert container["volumeMounts"][-1]["mountPath"] == MOUNT
        assert {"name": "PADDLE_LOG_DIR", "value": "/tmp/paddock-log"} in container["env"]
        volume = mounted["spec"][role]["template"]["spec"]["volumes"][-1]
        assert volume["configMap"] == {
            "name": "demo-workdir-1",
            "items": [{"key": "a__b", "path": "a/b"}, {"key": "c", "path": "c", "mode": 0o755}],
        }
    assert container_of(mounted, "worker", 0) == sidecar
    assert "volumes" not in build_manifest()["spec"]["worker"]["template"]["spec"], "the argument is as it was"


def test_a_log_directory_of_the_users_own_stays() -> None:
    manifest = build_manifest()
    container_of(manifest)["env"] = [{"name": "PADDLE_LOG_DIR", "value": "/mnt/log"}]
    mounted = mount_directory_map(manifest, KINDS[RESOURCE].read_job(manifest), "x", [Entry("a", "a")])
    assert container_of(mounted)["env"] == [{"name": "PADDLE_LOG_DIR", "value": "/mnt/log"}]


def test_a_working_directory_of_the_users_own_is_found() -> None:
    manifest = build_manifest()
    assert find_own_directory(KINDS[RESOURCE].read_job(manifest)) == ""
    container_of(manifest)["workingDir"] = "/app"
    assert find_own_directory(KINDS[RESOURCE].read_job(manifest)) == "/app"
