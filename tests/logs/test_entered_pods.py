"""The shell programs that look into a container, in each shell that images have, and what is made of their words."""

from __future__ import annotations

import gzip
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from itertools import count
from pathlib import Path

import pytest

from paddock.kube.pod_stacks import MOST_BYTES, PodStacks, ProcessStacks, Trouble
from paddock.logs.entered_pods import (
    Guards,
    Look,
    SeenProcess,
    UnreadableLook,
    build_copy,
    build_dump,
    build_look,
    build_stacks,
    read_dumps,
    read_look,
    read_machine,
)
from paddock.logs.entered_troubles import Entered, Lack, Lacking, tell_entered, tell_state
from paddock.logs.stacks import fold
from paddock.node.stacks.dumps import find_py_spy

T = "token"
SHELLS = [("dash",), ("bash",), ("busybox", "sh")]
MARKS = {"PADDOCK_POD_UID": f"test-{os.getpid()}", "PADDOCK_CONTAINER": "main"}
WAITS = "import time\ndef waits():\n    print('ready', flush=True)\n    time.sleep(1000)\nwaits()"

linux = pytest.mark.skipif(sys.platform != "linux", reason="/proc is Linux's")


@pytest.fixture(params=SHELLS, ids=lambda each: each[0])
def shell(request: pytest.FixtureRequest) -> tuple[str, ...]:
    words: tuple[str, ...] = request.param
    if shutil.which(words[0]) is None:
        pytest.skip(f"there is no {words[0]} here")
    return words


def run(
    shell: tuple[str, ...], command: tuple[str, ...], data: bytes = b"", **more: str
) -> subprocess.CompletedProcess[bytes]:
    environment = {"PATH": os.environ["PATH"], **MARKS, **more}
    return subprocess.run([*shell, *command[1:]], input=data, capture_output=True, env=environment, check=False)


_NUMBERS = count()


@pytest.fixture(autouse=True)
def pod_of_its_own() -> None:
    """busybox's timeout leaves a process that looks for up to a second whether its command has ended."""
    MARKS["PADDOCK_POD_UID"] = f"test-{os.getpid()}-{next(_NUMBERS)}"


@pytest.fixture
def program() -> Iterator[subprocess.Popen[bytes]]:
    """It has the marks of the container, a rank, and a word that looks like a line of the look."""
    hostile = "\nother process 1 S 0 0 0\nother python yes"
    words = [sys.executable, "-c", WAITS, hostile]
    environment = {**os.environ, **MARKS, "PADDLE_TRAINER_ID": "7", "RANK": "3"}
    with subprocess.Popen(words, env=environment, stdout=subprocess.PIPE) as found:
        assert found.stdout is not None
        assert found.stdout.readline() == b"ready\n"
        yield found
        found.kill()


@linux
def test_a_look_finds_the_processes_of_its_container_alone(
    shell: tuple[str, ...], program: subprocess.Popen[bytes], tmp_path: Path
) -> None:
    with subprocess.Popen(["sleep", "1000"], env=MARKS | {"PADDOCK_CONTAINER": "other"}) as other:
        ended = run(shell, build_look(T, copies=True), TMPDIR=str(tmp_path))
        other.kill()
    look = read_look(ended.stdout.decode(), T)
    assert ended.stderr == b""
    (seen,) = look.processes
    assert (seen.pid, seen.python, seen.rank, seen.user) == (program.pid, True, "3", os.getuid())
    assert seen.state in ("R", "S")
    assert seen.command.startswith(f"{sys.executable} -c import time def waits():")
    assert (look.guards.user, look.guards.machine, look.chosen) == (os.getuid(), os.uname().machine, (seen,))
    if not look.guards.tool:
        assert look.guards.directory == str(tmp_path)
    assert list(tmp_path.iterdir()) == [], "what it has tried is removed"


@linux
@pytest.mark.slow
def test_a_look_that_is_to_copy_nothing_writes_nothing(shell: tuple[str, ...], tmp_path: Path) -> None:
    tmp_path.chmod(0o755)
    before = tmp_path.stat().st_mtime_ns
    look = read_look(run(shell, build_look(T, copies=False), TMPDIR=str(tmp_path)).stdout.decode(), T)
    assert (look.guards.directory, tmp_path.stat().st_mtime_ns) == ("", before)


@linux
@pytest.mark.parametrize("packed", [True, False])
@pytest.mark.slow
def test_py_spy_comes_by_the_input_and_leaves_nothing(
    shell: tuple[str, ...], program: subprocess.Popen[bytes], tmp_path: Path, packed: bool
) -> None:
    data = Path(find_py_spy(os.environ)).read_bytes()
    data = gzip.compress(data, 1) if packed else data
    guards = Guards(packs=packed, directory=str(tmp_path))
    ended = run(shell, build_copy(T, guards, len(data), [program.pid, 2**22 + 1]), data)
    dumped = read_dumps(ended.stdout.decode(), ended.stderr.decode(), T)
    assert list(tmp_path.iterdir()) == []
    assert not dumped.failed
    if dumped.dumps[program.pid].trouble is Trouble.NOT_ALLOWED:
        pytest.skip("this machine lets nobody look into a process")
    assert [each.function for each in dumped.dumps[program.pid].threads[0].frames] == ["<module>", "waits"]
    assert dumped.dumps[2**22 + 1].trouble is not None, "one that is not there takes none away"


@linux
def test_a_copy_that_is_not_whole_leaves_nothing(shell: tuple[str, ...], tmp_path: Path) -> None:
    data = gzip.compress(os.urandom(100_000))
    guards = Guards(packs=True, directory=str(tmp_path))
    ended = run(shell, build_copy(T, guards, len(data), [1]), data[: len(data) // 2])
    assert read_dumps(ended.stdout.decode(), "", T).failed
    assert list(tmp_path.iterdir()) == []
    assert read_dumps(run(shell, build_copy(T, Guards(directory="/nowhere"), 9, [1])).stdout.decode(), "", T).failed


@linux
def test_what_the_tool_of_the_image_says_is_kept_apart(shell: tuple[str, ...], tmp_path: Path) -> None:
    tool = tmp_path / "py-spy"
    refused = "echo 'Error: Permission denied (os error 13)' >&2; exit 1"
    answers = f"5) {refused} ;; 6) head -c {MOST_BYTES * 2} /dev/zero ;;"
    stack = '[{"thread_name": "MainThread", "frames": [{"name": "f", "filename": "a.py", "line": 3}]}]'
    tool.write_text(f"#!/bin/sh\ncase $5 in {answers} 7) echo '{stack}' ;; 8) exit 124 ;; esac\n")
    tool.chmod(0o755)
    ended = run(shell, build_dump(T, str(tool), [5, 6, 7, 8]))
    found = read_dumps(ended.stdout.decode(errors="replace"), ended.stderr.decode(), T).dumps
    assert {pid: each.trouble for pid, each in found.items()} == {
        5: Trouble.NOT_ALLOWED, 6: Trouble.TOO_LONG, 7: None, 8: Trouble.NO_ANSWER,
    }  # fmt: skip
    assert found[5].said == "Error: Permission denied (os error 13)"
    assert found[7].threads[0].frames[0].line == 3


def test_a_look_without_its_end_is_none() -> None:
    with pytest.raises(UnreadableLook):
        read_look(f"{T} machine x86_64\n{T} process 1 S 0 0 0\n", T)
    with pytest.raises(UnreadableLook, match="no such shell"):
        read_look("sh: no such shell", T)
    assert read_look(f"{T} process x\n{T} process 7 S y z\n{T} done", T).processes == (SeenProcess(7, "S"),)


def test_what_paddock_has_started_itself_is_no_process_of_the_container() -> None:
    text = f"{T} process 7 S 0 0 0\n{T} program /bin/sh\n{T} command sh -c t={T} copies=$1\n{T} done"
    assert read_look(text, T).processes == ()
    assert len(read_look(text.replace(f"t={T}", "t=other"), T).processes) == 1


def test_a_program_that_another_system_cannot_start_is_none() -> None:
    if tool := find_py_spy(os.environ):
        assert read_machine(Path(tool).read_bytes()) == os.uname().machine
    assert read_machine(Path(sys.executable).resolve().read_bytes()) == "", "it needs an interpreter and libraries"
    assert read_machine(b"#!/bin/sh\n") == read_machine(b"") == read_machine(b"\x7fELF\x02\x01" + b"\xff" * 90) == ""


PYTHON = SeenProcess(7, "S", 1000, 0, "futex_do_wait", "python3.11", True, "", "python train.py")
SHUT = Guards(user=1000)


def tell(trouble: Trouble, guards: Guards, lacking: Lacking | None = None, seen: SeenProcess = PYTHON) -> str:
    look = Look(guards, (seen,))
    stacks = build_stacks("pod", "main", look, {}, trouble)
    return str(tell_entered(stacks.processes[0], Entered(stacks, look, lacking)))


@pytest.mark.parametrize(
    ("guards", "said"),
    [
        (replace(SHUT, user=500), "it runs as user 1000, and what enters the container as user 500"),
        (replace(SHUT, ptrace_scope=1), "(kernel.yama.ptrace_scope is 1), unless the securityContext of its container "
                                        "has `capabilities: {add: [SYS_PTRACE]}`"),
        (replace(SHUT, user=0, ptrace_scope=1), "(kernel.yama.ptrace_scope is 1)"),
        (replace(SHUT, capabilities=1 << 19, ptrace_scope=1), "although the container has CAP_SYS_PTRACE"),
        (replace(SHUT, ptrace_scope=0), "may allow it, from its next start on"),
        (SHUT, "seccomp or AppArmor profile"),
    ],
)  # fmt: skip
def test_what_forbids_it_is_told(guards: Guards, said: str) -> None:
    told = tell(Trouble.NOT_ALLOWED, guards)
    assert said in told
    assert told.endswith("; process 7, python train.py: it waits, in futex_do_wait of the kernel")


@pytest.mark.parametrize("lack", Lack)
def test_why_there_is_no_tool_is_told(lack: Lack) -> None:
    told = tell(Trouble.NO_TOOL, Guards(machine="riscv64"), Lacking(lack, "x86_64"))
    assert told.startswith("its image has no py-spy, and ") and "; process 7, python train.py: " in told
    assert ("riscv64" in told) == (lack is Lack.OTHER_MACHINE)


def test_other_troubles() -> None:
    assert tell(Trouble.NO_ANSWER, SHUT, seen=replace(PYTHON, state="T")) == (
        "process 7 is stopped, by a signal or a debugger: SIGCONT lets it go on"
    )
    assert tell(Trouble.ENDED, SHUT) == "process 7 has ended meanwhile"
    assert str(tell_state(replace(PYTHON, state="R"))).endswith("it computes")
    assert str(tell_state(replace(PYTHON, state="D", waits="nfs_wait"))).endswith("directory (nfs_wait)")


def test_a_pod_without_python_and_one_with_too_many_say_so() -> None:
    none = build_stacks(
        "pod", "main", Look(SHUT, (SeenProcess(1, "S", program="sh", python=False),)), {}, Trouble.NO_TOOL
    )
    assert [str(why) for _, why in fold({"worker-0": none}).without] == ["it runs no Python, but sh"]
    many = Look(SHUT, tuple(replace(PYTHON, pid=pid) for pid in range(1, 71)))
    found = build_stacks("pod", "main", many, {}, Trouble.NO_TOOL)
    assert (len(found.processes), found.left_out) == (64, 6)


def test_who_folds_chooses_the_words() -> None:
    pod = PodStacks("pod", (ProcessStacks(7, "main", "python", trouble="NoTool"),))

    def own(process: ProcessStacks, of: PodStacks) -> object:
        assert of is pod
        return f"own {process.pid}"

    assert fold({"worker-0": pod}, own).without == (("worker-0", "own 7"),)  # type: ignore[arg-type]
