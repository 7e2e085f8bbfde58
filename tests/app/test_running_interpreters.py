"""Which interpreter trains, by the processes that run."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from paddock.app.running_interpreters import Python, choose_python, read_pythons

BASE, VENV = Path("/conda/bin/python"), Path("/venv/bin/python")


def of(pid: int, path: Path, *parents: int, installs: bool = False) -> Python:
    return Python(pid, parents, path, {}, installs)


@pytest.mark.parametrize(
    ("found", "path"),
    [
        ([], None),
        ([of(1, VENV)], VENV),
        ([of(1, BASE), of(2, VENV, 1), of(3, VENV, 2, 1), of(4, VENV, 2, 1)], VENV),
        ([of(1, BASE), of(2, VENV)], None),
        ([of(1, VENV), of(2, BASE, 1)], BASE),
        ([of(1, VENV, installs=True)], None),
        ([of(1, VENV, installs=True), of(2, VENV, 1)], VENV),
    ],
)
def test_the_last_pythons_count_where_they_are_of_one_interpreter(found: list[Python], path: Path | None) -> None:
    chosen = choose_python(found)
    assert (chosen.path if chosen else None) == path


class Proc:
    """A directory such as /proc."""

    def __init__(self, root: Path) -> None:
        self.root = root

    def add(self, pid: int, parent: int, exe: Path, *words: str, path: str = "") -> None:
        place = self.root / str(pid)
        place.mkdir(parents=True)
        (place / "stat").write_text(f"{pid} (a ) (b) S {parent} 1 1")
        (place / "cmdline").write_bytes(b"".join(os.fsencode(word) + b"\0" for word in words))
        (place / "environ").write_bytes(f"PATH={path}\0HOME=/h\0bad\0".encode())
        (place / "exe").symlink_to(exe)


def test_a_python_is_known_by_its_first_word_and_its_file(tmp_path: Path) -> None:
    proc, real, other = Proc(tmp_path / "proc"), tmp_path / "python3.11", tmp_path / "other"
    for file in (real, other):
        file.touch(mode=0o755)
    for name in ("venv/bin", "shims"):
        (tmp_path / name).mkdir(parents=True)
    (tmp_path / "venv/bin/python").symlink_to(real)
    (tmp_path / "shims/python").touch(mode=0o755)
    venv = str(tmp_path / "venv/bin")
    proc.add(1, 0, other, "uv", "run", "train.py")
    proc.add(2, 1, real, f"{venv}/python", "train.py")
    proc.add(3, 2, real, "python", "-m", "pip", path=f"relative:{venv}")
    proc.add(4, 2, real, "python", path=str(tmp_path / "shims"))
    proc.add(5, 2, other, f"{venv}/python")
    proc.add(6, 2, real, "./python")
    found = list(read_pythons([1, 2, 3, 4, 5, 6, 7], proc.root))
    assert [(each.pid, each.parents, str(each.path), each.installs) for each in found] == [
        (2, (1,), f"{venv}/python", False),
        (3, (2, 1), f"{venv}/python", True),
    ]
    assert found[0].environ == {"PATH": "", "HOME": "/h"}


def test_a_process_decides_not_how_much_of_it_is_read(tmp_path: Path) -> None:
    """A process can make its command line as long as its memory."""
    (tmp_path / "proc/1").mkdir(parents=True)
    (tmp_path / "python").touch(mode=0o755)
    (tmp_path / "proc/1/exe").symlink_to(tmp_path / "python")
    for name in ("cmdline", "environ"):
        with (tmp_path / "proc/1" / name).open("wb") as file:
            file.write(f"{tmp_path}/python\0".encode())
            file.truncate(2**40)  # more than there is memory: sparse
    (found,) = read_pythons([1], tmp_path / "proc")
    assert found.path == tmp_path / "python"
