"""What bubblewrap is told and tells."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pytest

from paddock.node.bubblewrap import Entries, Status, build_binds, build_view, read_status
from paddock.node.volumes import Mount

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
    *("--tmpfs", "/", "--symlink", "usr/bin", "/bin", "--bind", "/home", "/home", "--bind", "/mnt", "/mnt"),
    *("--bind", "/usr", "/usr"),
]
MNT = ["--tmpfs", "/mnt", "--bind", "/mnt/disk", "/mnt/disk", "--symlink", "disk", "/mnt/link"]


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
def test_room_is_made_where_a_mount_path_does_not_exist(targets: list[str], words: list[str]) -> None:
    assert build_view(targets, TREE.get) == words


def test_a_directory_that_is_too_full_to_rebuild_is_named() -> None:
    full = {"/": {"big": None}, "/big": dict.fromkeys(map(str, range(5000)))}
    with pytest.raises(OSError, match="/big has 5000 entries"):
        build_view(["/big/new"], full.get)


def test_a_mount_inside_another_comes_after_it() -> None:
    mounts = [Mount(Path("/b"), "/data/cache"), Mount(Path("/a"), "/data", read_only=True)]
    assert build_binds(mounts) == ["--ro-bind", "/a", "/data", "--bind", "/b", "/data/cache"]


@pytest.mark.parametrize(
    ("text", "status"),
    [
        ("", Status()),
        ('{ "child-pid": 7, "pid-namespace": 40 }\n', Status(7)),
        ('{ "child-pid": 7 }\n{ "exit-code": 137 }\n', Status(7, 137)),
        ('{ "child-pid": 7 }\n{ "exit-', Status(7)),
    ],
)
def test_the_status_is_read_as_far_as_it_was_written(text: str, status: Status) -> None:
    assert read_status(text) == status
