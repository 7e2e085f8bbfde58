"""Paths in which a pod may have put a link, a FIFO or a device."""

from __future__ import annotations

import errno
import os
import socket
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from paddock.node.runtime.pod_files import (
    LeadsOut,
    open_beneath,
    open_for_writing,
    read_end,
    read_start,
    remove_tree,
    write_beneath,
)
from support.programs import lack, need


@pytest.fixture
def volume(tmp_path: Path) -> Path:
    """A volume, and beside it what does not belong to its pods."""
    (tmp_path / "volume/a/b").mkdir(parents=True)
    (tmp_path / "volume/a/file").write_text("inside")
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside/key").write_text("secret")
    return tmp_path / "volume"


def locate(volume: Path, path: str, *, make: bool = False) -> Path:
    """Where `open_beneath` gets to."""
    file = open_beneath(volume, path, make=make)
    try:
        return Path(f"/proc/self/fd/{file}").readlink()
    finally:
        os.close(file)


@pytest.mark.parametrize(
    ("links", "path", "found"),
    [
        ({}, "a/b", "a/b"),
        ({}, "a/file", "a/file"),
        ({}, "./a//b/", "a/b"),
        ({"link": "a"}, "link/b", "a/b"),
        ({"a/up": "../a/b"}, "a/up", "a/b"),
        ({"one": "two", "two": "a/file"}, "one", "a/file"),
    ],
)
def test_a_link_that_stays_inside_is_followed(volume: Path, links: dict[str, str], path: str, found: str) -> None:
    for name, target in links.items():
        (volume / name).symlink_to(target)
    assert locate(volume, path) == volume / found


@pytest.mark.parametrize(
    ("links", "path"),
    [
        ({"link": "../outside"}, "link/key"),
        ({"link": "../outside"}, "link"),
        ({"a/link": "../../outside/key"}, "a/link"),
        ({"link": "/etc"}, "link/passwd"),
        ({"link": "/etc/passwd"}, "link"),
        ({"link": "a", "a/out": ".."}, "link/out/../outside/key"),
        ({"proc": "/proc/self/root"}, "proc/etc/passwd"),
        ({}, "../outside"),
    ],
)
@pytest.mark.parametrize("make", [False, True])
def test_a_link_that_leads_out_is_refused(volume: Path, links: dict[str, str], path: str, make: bool) -> None:
    for name, target in links.items():
        (volume / name).symlink_to(target)
    with pytest.raises(LeadsOut):
        locate(volume, path, make=make)


def test_a_path_that_is_too_long_makes_nothing(volume: Path) -> None:
    with pytest.raises(OSError, match="File name too long"):
        open_beneath(volume, "x/" * 3000, make=True)
    assert not (volume / "x").exists()


def test_links_in_a_circle_end(volume: Path) -> None:
    (volume / "x").symlink_to("y")
    (volume / "y").symlink_to("x")
    with pytest.raises(OSError, match="symbolic links") as told:
        locate(volume, "x")
    assert told.value.errno == errno.ELOOP


def test_directories_are_made_inside_only(volume: Path) -> None:
    (volume / "link").symlink_to("../outside")
    (volume / "dangling").symlink_to("later/on")
    assert locate(volume, "new/deep", make=True) == volume / "new/deep"
    assert locate(volume, "dangling/x", make=True) == volume / "later/on/x"
    with pytest.raises(LeadsOut):
        locate(volume, "link/made", make=True)
    assert os.listdir(volume.parent / "outside") == ["key"]


def test_what_was_checked_is_what_is_used(volume: Path) -> None:
    """A pod swaps a directory and a link without end, as in CVE-2021-25741: the link is never followed."""
    (volume / "spare").symlink_to("../outside")
    stop = threading.Event()

    def swap() -> None:
        while not stop.is_set():
            os.rename(volume / "a", volume / "other")
            os.rename(volume / "spare", volume / "a")
            os.rename(volume / "a", volume / "spare")
            os.rename(volume / "other", volume / "a")

    swapper = threading.Thread(target=swap)
    swapper.start()
    try:
        seen = set()
        for _ in range(2000):
            try:
                file = open_beneath(volume, "a/b")
            except OSError:
                continue
            seen.add(os.fstat(file).st_ino)
            os.close(file)
    finally:
        stop.set()
        swapper.join()
    assert seen <= {(volume / "a/b").stat().st_ino}


def make_fifo(path: Path) -> None:
    os.mkfifo(path)


def make_link(path: Path) -> None:
    path.symlink_to(path.parent / "outside/key")


def make_device_link(path: Path) -> None:
    path.symlink_to("/dev/zero")


def make_socket(path: Path) -> None:
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(str(path))


@pytest.mark.parametrize("make", [make_fifo, make_link, make_device_link, make_socket, Path.mkdir])
def test_nothing_but_a_regular_file_is_opened(volume: Path, make: Callable[[Path], None]) -> None:
    path = volume.parent / "p"
    make(path)
    for read in (read_start, read_end):
        with pytest.raises(OSError, match="not a regular file"):
            read(path, 10)
    with pytest.raises(OSError):
        os.close(open_for_writing(path, os.O_TRUNC))
    assert (volume.parent / "outside/key").read_text() == "secret"


def test_of_a_huge_file_a_piece_is_read(tmp_path: Path) -> None:
    path = tmp_path / "huge"
    with path.open("wb") as file:
        file.write(b"start")
        file.truncate(2**40)  # a terabyte that takes no room
        file.seek(0, os.SEEK_END)
        file.write(b"end")
    assert read_start(path, 5) == b"start"
    assert read_end(path, 3) == b"end"


def test_a_file_for_writing_is_made_or_emptied(tmp_path: Path) -> None:
    path = tmp_path / "file"
    for _ in range(2):
        file = open_for_writing(path, os.O_TRUNC)
        os.write(file, b"once")
        os.close(file)
    assert path.read_text() == "once"
    assert path.stat().st_mode & 0o777 == 0o600


def test_a_file_of_a_volume_is_written_inside(volume: Path) -> None:
    write_beneath(volume, "new/sub/file", b"1", 0o640)
    write_beneath(volume, "new/sub/file", b"2", 0o640)
    assert (volume / "new/sub/file").read_bytes() == b"2"
    assert (volume / "new/sub/file").stat().st_mode & 0o777 == 0o640
    assert os.listdir(volume / "new/sub") == ["file"]


def test_a_file_of_a_volume_goes_through_no_link(volume: Path) -> None:
    (volume / "etc").symlink_to("../outside")
    with pytest.raises(LeadsOut):
        write_beneath(volume, "etc/key", b"changed", 0o644)
    (volume / "file").symlink_to("../outside/key")
    write_beneath(volume, "file", b"changed", 0o644)
    assert (volume / "file").read_bytes() == b"changed"
    assert (volume.parent / "outside/key").read_text() == "secret"


def test_a_tree_is_removed_and_what_its_links_lead_to_is_not(volume: Path) -> None:
    (volume / "file").symlink_to("../outside/key")
    (volume / "a/b/directory").symlink_to(volume.parent / "outside")
    os.mkfifo(volume / "fifo")
    remove_tree(volume)
    assert not volume.exists()
    assert (volume.parent / "outside/key").read_text() == "secret"


def test_a_link_in_place_of_a_tree_is_left(volume: Path, caplog: pytest.LogCaptureFixture) -> None:
    link = volume.parent / "link"
    link.symlink_to("outside")
    remove_tree(link)
    assert (volume.parent / "outside/key").read_text() == "secret"
    assert "link cannot be removed" in caplog.text


def test_a_tree_that_is_not_there_is_no_error(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    remove_tree(tmp_path / "no")
    remove_tree(tmp_path / "no/more")
    assert caplog.text == ""


def test_a_tree_of_any_depth_is_removed(tmp_path: Path) -> None:
    """Deeper than Python recurses, and than one path may be long."""
    top = tmp_path / "top"
    top.mkdir()
    here = os.open(top, os.O_RDONLY)
    for _ in range(2000):
        os.mkdir("deep", dir_fd=here)
        below = os.open("deep", os.O_RDONLY, dir_fd=here)
        os.close(here)
        here = below
    os.close(here)
    remove_tree(top)
    assert not top.exists()


def test_a_tree_without_rights_is_removed(tmp_path: Path) -> None:
    """By an ordinary user, where this test's user is root: root needs no rights."""
    top = tmp_path / "top"
    (top / "closed/inner").mkdir(parents=True)
    (top / "closed/inner/file").touch()
    for path in (top / "closed/inner", top / "closed", top):
        path.chmod(0)
    child = os.fork()
    if child == 0:
        try:
            os.chdir(tmp_path)
            if os.getuid() == 0:
                for path in (tmp_path, top, top / "closed", top / "closed/inner", top / "closed/inner/file"):
                    os.chown(path, 65534, 65534)
                os.setgroups([])
                os.setgid(65534)
                os.setuid(65534)
            remove_tree(Path("top"))
        finally:
            os._exit(0)
    os.waitpid(child, 0)
    assert not top.exists()


def test_what_cannot_be_removed_stays_alone(tmp_path: Path) -> None:
    """A mount in the tree, which no program can be made to leave."""
    top = tmp_path / "top"
    for name in ("a", "busy", "z"):
        (top / "inner" / name).mkdir(parents=True)
        (top / "inner" / name / "file").touch()
    script = 'mount -t tmpfs none "$1/inner/busy" && touch "$1/inner/busy/kept" && exec "$2" -c "$3" "$1"'
    program = (
        "import pathlib, sys; from paddock.node.runtime.pod_files import remove_tree; top = pathlib.Path(sys.argv[1])\n"
        "remove_tree(top); print(sorted(path.name for path in top.rglob('*')))"
    )
    words = [need("unshare"), "-Urm", "sh", "-c", script, "sh", str(top), sys.executable, program]
    answer = subprocess.run(words, capture_output=True, text=True, timeout=60)
    if answer.stderr.startswith("unshare"):
        lack("unshare", answer.stderr.strip())
    assert answer.stdout == "['busy', 'inner', 'kept']\n", answer.stderr
