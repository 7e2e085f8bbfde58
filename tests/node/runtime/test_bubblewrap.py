"""The arguments of bubblewrap, and its status output."""

from __future__ import annotations

import subprocess
from collections.abc import Mapping
from pathlib import Path

import pytest

from paddock.node.runtime.bubblewrap import Entries, Status, build_binds, build_root, read_directory, read_status
from paddock.node.runtime.mounts import Mount
from paddock.node.runtime.processes import read_birth, reap, spawn
from support.programs import need
from support.waiting import until

pytestmark = pytest.mark.sandbox

TREE: Mapping[str, Entries] = {
    "/": {"bin": "usr/bin", "usr": None, "mnt": None, "home": None, "proc": None, "dev": None},
    "/mnt": {"disk": None, "link": "disk"},
    "/mnt/disk": {},
    "/home": {"anna": None},
    "/home/anna": {"data": None},
    "/home/anna/data": {},
    "/dev": {"shm": None},
}
ROOT = [
    *("--tmpfs", "/", "--symlink", "usr/bin", "/bin", "--bind-try", "/home", "/home", "--bind-try", "/mnt", "/mnt"),
    *("--bind-try", "/usr", "/usr"),
]
MNT = ["--tmpfs", "/mnt", "--bind-try", "/mnt/disk", "/mnt/disk", "--symlink", "disk", "/mnt/link"]


@pytest.mark.parametrize(
    ("targets", "words"),
    [
        ([], ROOT),
        (["/nas/data"], ROOT),
        (["/home/anna/data"], ROOT),
        (["/dev/termination-log"], ROOT),
        (["/mnt/new"], ROOT + MNT),
        (["/mnt/new/deep", "/mnt/other"], ROOT + MNT),
        (["/mnt/disk/new"], [*ROOT, "--tmpfs", "/mnt/disk"]),
    ],
)
def test_a_missing_mount_path_rebuilds_the_directory_above_it(targets: list[str], words: list[str]) -> None:
    assert build_root(targets, TREE.get) == words


def test_a_directory_with_too_many_entries_is_named() -> None:
    full = {"/": {"big": None}, "/big": dict.fromkeys(map(str, range(5000)))}
    with pytest.raises(OSError, match="/big has 5000 entries"):
        build_root(["/big/new"], full.get)


def test_a_file_that_vanishes_meanwhile_is_no_error(tmp_path: Path) -> None:
    bubblewrap = need("bwrap")
    (tmp_path / "kept").touch()

    def read(path: str) -> Entries | None:
        found = read_directory(Path(path))
        return {**(found or {}), "vanished": None} if path == str(tmp_path) else found

    view = build_root([f"{tmp_path}/new"], read)
    words = [bubblewrap, *view, "--", "/bin/ls", str(tmp_path)]
    answer = subprocess.run(words, capture_output=True, text=True, timeout=180)
    assert (answer.stdout, answer.stderr) == ("kept\n", "")


async def test_only_a_link_that_cannot_be_read_is_left_out(tmp_path: Path) -> None:
    """A link may vanish while its directory is read; an ended process has such links in /proc."""
    ended = spawn(["/bin/true"], {}, tmp_path, tmp_path / "log")
    await until(lambda: read_birth(ended.pid) is None)
    found = read_directory(Path(f"/proc/{ended.pid}"))
    assert reap(ended.pid) == 0
    assert found is not None
    assert "stat" in found
    assert "exe" not in found


def test_a_mount_inside_another_comes_after_it() -> None:
    mounts = [Mount(Path("/b"), "/data/cache"), Mount(Path("/a"), "/data", read_only=True)]
    assert build_binds(mounts, {}) == [
        *("--bind", "/a", "/data", "--bind", "/b", "/data/cache"),
        # After the mount point of the inner one has been made.
        *("--remount-ro", "/data"),
    ]


def test_a_mount_is_bound_by_what_was_opened() -> None:
    mounts = [Mount(Path("/a"), "/data", read_only=True, descriptor=7), Mount(Path("/b"), "/b", descriptor=8)]
    assert build_binds(mounts, {}, by_descriptor=True) == ["--ro-bind-fd", "7", "/data", "--bind-fd", "8", "/b"]
    assert build_binds(mounts, {}) == ["--ro-bind", "/a", "/data", "--bind", "/b", "/b"]


def test_a_hidden_path_is_an_empty_directory_or_no_file() -> None:
    mounts = [Mount(Path("/a"), "/home/anna/state/out/job"), Mount(Path("/home/anna"), "/home/anna")]
    assert build_binds(mounts, {"/home/anna/state": True, "/run/engine": False}) == [
        *("--bind", "/home/anna", "/home/anna", "--ro-bind", "/dev/null", "/run/engine"),
        *("--tmpfs", "/home/anna/state", "--bind", "/a", "/home/anna/state/out/job"),
        *("--remount-ro", "/home/anna/state"),
    ]


@pytest.mark.parametrize(
    ("text", "status"),
    [
        ("", Status()),
        ('{ "child-pid": 7, "pid-namespace": 40 }\n', Status(7)),
        ('{ "child-pid": 7 }\n{ "exit-code": 137 }\n', Status(7, 137)),
        ('{ "child-pid": 7 }\n{ "exit-', Status(7)),
        ('7\n[1]\n"x"\n{ "child-pid": 7, "exit-code": "0" }\n', Status(7)),
    ],
)
def test_a_partly_written_status_is_read(text: str, status: Status) -> None:
    assert read_status(text) == status
