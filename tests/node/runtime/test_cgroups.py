"""Control groups: where they can be made, what is written to them, and what the kernel does by it."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from paddock.node.runtime.cgroups import (
    NO_CGROUPS,
    Cgroups,
    MemoryEnd,
    Tree,
    count_most_processes,
    explain_outside,
    find_cgroups,
    find_trees,
    name_group,
    try_trees,
)
from paddock.node.runtime.pod_state import Run
from paddock.node.runtime.runs import explain_memory_end
from support.programs import lack

MIB = 2**20
RUN = Run("main", 2, 0.0)
V1 = """\
30 25 0:26 / /sys/fs/cgroup rw,relatime - tmpfs tmpfs rw,mode=755
34 30 0:30 / /sys/fs/cgroup/cpu rw,relatime - cgroup cgroup rw,cpu
35 30 0:31 / /sys/fs/cgroup/memory rw,relatime - cgroup cgroup rw,memory
36 30 0:32 /docker/1 /sys/fs/cgroup/pids rw,relatime shared:5 - cgroup cgroup rw,pids
40 30 0:36 / /sys/fs/cgroup/unified rw,relatime - cgroup2 cgroup rw
"""
OWN_V1 = "5:pids:/docker/1/a\n4:memory:/one\n1:cpu:/\n0::/two\n"
V2 = "30 25 0:26 / /sys/fs/cgroup rw,nosuid shared:9 - cgroup2 cgroup2 rw,nsdelegate\n"
OWN_V2 = "0::/user.slice/user-1000.slice/user@1000.service/app.slice/term.scope\n"
BOTH = frozenset({"memory", "pids"})


def test_version_1_has_a_place_for_each_controller() -> None:
    found = [(str(tree.path), tree.controllers) for tree in find_trees(V1, OWN_V1) if tree.version == 1]
    assert found == [
        ("/sys/fs/cgroup/memory/one", frozenset({"memory"})),
        ("/sys/fs/cgroup/pids/a", frozenset({"pids"})),
    ]


def test_version_2_has_places_from_this_process_up_to_the_mount() -> None:
    found = find_trees(V2, OWN_V2)
    assert [tree.path.name for tree in found] == [
        "term.scope", "app.slice", "user@1000.service", "user-1000.slice", "user.slice", "cgroup",
    ]  # fmt: skip
    assert {tree.controllers for tree in found} == {BOTH}


@pytest.mark.parametrize(
    ("mounts", "own"),
    [
        ("", ""),
        (V2, ""),
        ("no mountinfo at all", "no cgroup"),
        ("30 25 0:26 /docker/1 /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n", "0::/\n"),
        ("30 25 0:26 /docker/1 /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n", "0::/docker/12\n"),
    ],
)
def test_what_is_not_mounted_here_is_no_place(mounts: str, own: str) -> None:
    assert find_trees(mounts, own) == []


def test_what_cannot_be_written_is_not_used(tmp_path: Path) -> None:
    (tmp_path / "cgroup.subtree_control").write_text("cpu\n")
    candidates = [Tree(1, tmp_path / "missing", BOTH), Tree(2, tmp_path, BOTH), Tree(2, tmp_path / "no", BOTH)]
    assert try_trees(candidates, "paddock-1", 10) is NO_CGROUPS
    assert [each.name for each in tmp_path.iterdir()] == ["cgroup.subtree_control"]


def test_a_directory_that_is_no_group_is_not_taken_for_one(tmp_path: Path) -> None:
    assert try_trees([Tree(1, tmp_path, BOTH)], "paddock-1", 10) is NO_CGROUPS


@pytest.mark.parametrize(("cores", "most"), [(1, 4096), (8, 4096), (64, 32768), (0.5, 4096)])
def test_processes_of_a_container(cores: float, most: int) -> None:
    assert count_most_processes(cores) == most


def test_what_version_2_is_told_and_tells(tmp_path: Path) -> None:
    groups = Cgroups((Tree(2, tmp_path, BOTH),), 50)
    command = groups.enclose(["/bin/true"], "uid", RUN, 64 * MIB)
    group = tmp_path / name_group("uid", RUN)
    assert command[-2:] == ["--", "/bin/true"] and str(group / "cgroup.procs") in command
    written = {each.name: each.read_text() for each in group.iterdir()}
    assert written == {
        "memory.max": str(64 * MIB), "memory.swap.max": "0", "memory.oom.group": "1", "pids.max": "50",
    }  # fmt: skip
    (group / "memory.events").write_text("low 0\nmax 9\noom 1\noom_kill 2\noom_group_kill 1\n")
    assert groups.read_end("uid", RUN) == MemoryEnd(2, 64 * MIB, 64 * MIB), "of a kernel without memory.peak"
    (group / "memory.peak").write_text("1234\n")
    (group / "memory.max").write_text("max\n")
    assert groups.read_end("uid", RUN) == MemoryEnd(2, 1234, None)
    assert groups.read_end("other", RUN) is None


def test_version_1_is_joined_by_the_file_that_stops_nobody_else(tmp_path: Path) -> None:
    groups = Cgroups((Tree(1, tmp_path / "memory", BOTH), Tree(1, tmp_path / "pids", BOTH)), 50)
    for tree in groups.trees:
        tree.path.mkdir()
    command = groups.enclose(["/bin/true"], "uid", RUN, 64 * MIB)
    doors = [tmp_path / each / name_group("uid", RUN) / "tasks" for each in ("memory", "pids")]
    assert command[-4:] == [*map(str, doors), "--", "/bin/true"]
    for door in doors:
        door.touch()
    assert groups.list_doors("uid", RUN) == tuple(map(str, doors))


TEXTS = st.text(max_size=30) | st.sampled_from(["..", ".", "/", "../..", "/etc", "a/../../b", "\0", "%2e%2e"])


@given(TEXTS, TEXTS, st.integers(0, 99))
def test_no_name_leads_out_of_the_directory_of_the_groups(uid: str, container: str, number: int) -> None:
    name = name_group(uid, Run(container, number, 0.0))
    base = Path("/base/paddock-1")
    assert os.path.normpath(base / name) == str(base / name) and (base / name).parent == base
    assert "\0" not in name and name.encode()


def test_names_of_kubernetes_stay_as_they_are() -> None:
    assert name_group("4f0c-9", RUN) == "4f0c-9-main-2"


def test_a_program_that_cannot_join_its_group_says_so_and_is_watched(tmp_path: Path) -> None:
    """The group is there, and nobody can enter it: its door is a directory."""
    for name in ("memory", "pids"):
        (tmp_path / name / name_group("uid", RUN) / "tasks").mkdir(parents=True)
    groups = Cgroups((Tree(1, tmp_path / "memory", BOTH), Tree(1, tmp_path / "pids", BOTH)), 50)
    command = groups.enclose(["/bin/sh", "-c", 'echo "$0 $*"', "a", "b c"], "uid", RUN, 64 * MIB)
    ended = subprocess.run(command, capture_output=True, text=True, timeout=60)
    assert (ended.returncode, ended.stdout) == (0, "a b c\n")
    doors = [tmp_path / name / name_group("uid", RUN) / "tasks" for name in ("memory", "pids")]
    assert ended.stderr.splitlines() == [f"{explain_outside()}: {door}" for door in doors]
    assert not groups.has("uid", RUN, "memory") and not groups.has("uid", RUN, "pids")


def test_a_program_whose_group_cannot_be_made_says_so(tmp_path: Path) -> None:
    groups = Cgroups((Tree(1, tmp_path / "missing", BOTH),), 50)
    command = groups.enclose(["/bin/echo", "a b"], "uid", RUN, None)
    ended = subprocess.run(command, capture_output=True, text=True, timeout=60)
    assert (ended.returncode, ended.stdout) == (0, "a b\n")
    assert ended.stderr.startswith(f"{explain_outside()}: ") and "missing" in ended.stderr


@pytest.fixture
def version_2() -> Iterator[Path]:
    """A group of a real file system of version 2, also one to which no controller that is used here is bound."""
    mounts = Path("/proc/self/mountinfo")
    lines = mounts.read_text().splitlines() if mounts.exists() else []
    found = [line.split(" - ") for line in lines]
    roots = [fields.split()[4] for fields, kind in found if kind.startswith("cgroup2 ")]
    made = Path(roots[0], f"paddock-test-{os.getpid()}") if roots else None
    try:
        if made is not None:
            made.mkdir()
    except OSError:
        made = None
    if made is None:
        lack("a file system of cgroups of version 2", "is not mounted here, or cannot be written")
    yield made
    for left in (*(each for each in made.iterdir() if each.is_dir()), made):
        left.rmdir()


def test_a_real_group_of_version_2_is_joined_seen_and_removed(version_2: Path) -> None:
    groups = Cgroups((Tree(2, version_2, frozenset()),), 50)
    command = groups.enclose(["/bin/cat", "/proc/self/cgroup"], "uid", RUN, 64 * MIB)
    ended = subprocess.run(command, capture_output=True, text=True, timeout=60)
    inside = [line for line in ended.stdout.splitlines() if line.startswith("0::")]
    assert inside[0].endswith(f"/{version_2.name}/{name_group('uid', RUN)}") and ended.stderr == ""
    seen = Cgroups((Tree(2, version_2, BOTH),), 50)
    assert groups.list_doors("uid", RUN) == (str(version_2 / name_group("uid", RUN) / "cgroup.procs"),)
    assert not seen.has("uid", RUN, "memory"), "it has ended"
    command = groups.enclose(["/bin/sleep", "60"], "uid", RUN, None)
    with subprocess.Popen(command) as program:
        wait_for(lambda: seen.has("uid", RUN, "memory"))
        groups.remove("uid", RUN)
        assert (version_2 / name_group("uid", RUN)).is_dir(), "its program is still there"
        program.kill()
    groups.remove("uid", RUN)
    assert not (version_2 / name_group("uid", RUN)).exists()


def test_a_real_group_of_version_2_gives_no_controller_that_is_bound_elsewhere(version_2: Path) -> None:
    given = set((version_2 / "cgroup.controllers").read_text().split())
    found = try_trees([Tree(2, version_2, BOTH)], "paddock-1", 50)
    assert {each for tree in found.trees for each in tree.controllers} <= given
    found.close()


@pytest.mark.parametrize(
    ("end", "said"),
    [
        (MemoryEnd(1, 64 * MIB, 64 * MIB), "used 64 MiB of its limit of 64 MiB"),
        (MemoryEnd(1, 2**31 - 4096, 2**31), "used 2.0 GiB of its limit of 2.0 GiB"),
        (MemoryEnd(1, 30 * MIB, 64 * MIB), ""),
        (MemoryEnd(1, 64 * MIB, None), ""),
    ],
)
def test_the_limit_is_named_where_it_was_reached(end: MemoryEnd, said: str) -> None:
    assert explain_memory_end(end) == said


@pytest.fixture
def groups(tmp_path: Path) -> Iterator[Cgroups]:
    found = find_cgroups(tmp_path, 1)
    if not found.limits_memory or not found.counts_processes:
        lack("cgroups", "this user may make no control groups here")
    yield found
    found.close()
    assert not any(tree.path.exists() for tree in found.trees)


def wait_for(is_so: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 60
    while not is_so():
        assert time.monotonic() < deadline
        time.sleep(0.01)


def start(groups: Cgroups, program: str, memory: int | None = None) -> subprocess.CompletedProcess[str]:
    command = groups.enclose([sys.executable, "-c", program], "uid", RUN, memory)
    return subprocess.run(command, capture_output=True, text=True, timeout=60)


def test_more_memory_than_the_limit_ends_a_program(groups: Cgroups) -> None:
    ended = start(groups, "print(len(bytearray(256 << 20)))", 64 * MIB)
    assert ended.returncode == -9
    end = groups.read_end("uid", RUN)
    assert end is not None and end.kills == 1 and explain_memory_end(end) == "used 64 MiB of its limit of 64 MiB"
    groups.remove("uid", RUN)
    assert not groups.has("uid", RUN, "memory")


def test_less_does_not_and_nothing_else_changes(groups: Cgroups) -> None:
    program = "import os; print(len(bytearray(16 << 20)), sorted(os.environ))"
    ended = start(groups, program, 64 * MIB)
    alone = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    variables = {"PWD", "OLDPWD", "SHLVL", "_"}  # of the shell that joins the group

    def read(text: str) -> set[str]:
        return set(text.split("'")[1::2]) - variables

    assert ended.returncode == 0 and ended.stderr == "" and read(ended.stdout) == read(alone.stdout)
    end = groups.read_end("uid", RUN)
    assert end is not None and end.kills == 0
    groups.remove("uid", RUN)


def test_processes_are_bounded(groups: Cgroups) -> None:
    groups.most = 20
    program = (
        "import os, time\nmade = []\ntry:\n    while len(made) < 60:\n        made.append(os.fork())\n"
        "        if not made[-1]: time.sleep(60); os._exit(0)\n"
        "except BlockingIOError: pass\nprint(len(made))\nfor pid in made: os.kill(pid, 9); os.wait()"
    )
    ended = start(groups, program)
    assert 10 <= int(ended.stdout) < 20, ended.stderr
    groups.remove("uid", RUN)


def test_what_a_crash_has_left_is_removed_and_what_runs_stays(groups: Cgroups, tmp_path: Path) -> None:
    left, running = Run("left", 0, 0.0), Run("running", 0, 0.0)
    groups.enclose(["/bin/true"], "uid", left, None)
    command = groups.enclose(["/bin/sleep", "60"], "uid", running, 64 * MIB)
    with subprocess.Popen(command) as program:
        later = find_cgroups(tmp_path, 1)
        wait_for(lambda: later.has("uid", running, "memory"))
        later.sweep([("uid", running)])
        assert not later.has("uid", left, "memory") and later.has("uid", running, "memory")
        later.sweep([])
        assert later.has("uid", running, "memory"), "its program is still there"
        program.kill()
    later.remove("uid", running)
    assert not later.has("uid", running, "memory")
