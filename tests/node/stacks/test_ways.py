"""The two ways to a stack, with real processes; and that no process gets a signal that would end it."""

from __future__ import annotations

import asyncio
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest

from paddock.environments.stacks import paddock_stacks
from paddock.kube.pod_stacks import MOST_BYTES, Trouble
from paddock.logs.stack_places import find_place, show_place
from paddock.logs.stacks import main_frames
from paddock.node.runtime.pod_state import PodState, Run
from paddock.node.stacks.dumps import (
    FILE,
    Dump,
    Faulthandler,
    PySpy,
    Way,
    find_py_spy,
    is_caught,
    judge_py_spy,
    read_signal,
)
from paddock.node.stacks.processes import Processes, Seen
from paddock.node.stacks.taking import NodeStacks
from support.waiting import until

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="/proc is Linux's")
PROGRAM = """
import os, sys, threading
if sys.argv[1:] == ["told"]:
    sys.path.insert(0, {directory!r})
    import paddock_stacks
    paddock_stacks.install()
    paddock_stacks.install()
lock = threading.Lock()
def wait():
    lock.acquire()
    print("ready", flush=True)
    lock.acquire()
wait()
"""


class Programs:
    def __init__(self, directory: Path) -> None:
        self._directory = directory
        self._started: list[subprocess.Popen[bytes]] = []

    def start(self, *words: str, python: bool = True) -> int:
        script = self._directory / "dead.py"
        script.write_text(PROGRAM.format(directory=str(Path(paddock_stacks.__file__).parent)))
        command = [sys.executable, str(script), *words] if python else list(words)
        started = subprocess.Popen(command, stdout=subprocess.PIPE, env={**os.environ, "RANK": "3"})
        self._started.append(started)
        assert started.stdout is not None
        assert started.stdout.readline() == b"ready\n"
        return started.pid

    def is_there(self, pid: int) -> bool:
        return next(each for each in self._started if each.pid == pid).poll() is None

    def end(self) -> None:
        for each in self._started:
            each.kill()
            each.wait()
            assert each.stdout is not None
            each.stdout.close()


@pytest.fixture
def programs(tmp_path: Path) -> Iterator[Programs]:
    started = Programs(tmp_path)
    yield started
    started.end()


def place_of(found: Dump) -> str:
    (main,) = [each.frames for each in found.threads if each.main]
    return show_place(find_place(main))


async def take(way: Way, pid: int) -> Dump:
    """Once it is where it stays: it has printed its line before it gets there."""

    async def look() -> Dump | None:
        found = await way.take(Processes().look(pid))
        return found if found.trouble is not None or place_of(found).endswith(":12") else None

    found: Dump = await until(look)
    return found


async def test_a_program_with_the_module_tells_its_stack_and_lives(programs: Programs) -> None:
    pid = programs.start("told")
    for _ in range(2):
        found = await take(Faulthandler(Processes()), pid)
        assert found.trouble is None and place_of(found) == "wait, dead.py:12"
    assert programs.is_there(pid)


async def test_a_program_without_the_module_is_sent_no_signal(programs: Programs) -> None:
    processes = Processes()
    pid = programs.start()
    assert (await Faulthandler(processes).take(processes.look(pid))).trouble is Trouble.NOT_ALLOWED
    assert programs.is_there(pid)


async def test_a_program_that_took_the_place_of_one_with_the_module_is_sent_no_signal(
    programs: Programs, tmp_path: Path
) -> None:
    """It has a file of that name, and no handler: a shell with the file that another has left open."""
    code = f"import os; os.set_inheritable(os.memfd_create('{FILE}47'), True); print('ready', flush=True); " \
        "os.execlp('sleep', 'sleep', '1000')"  # fmt: skip
    pid = programs.start(sys.executable, "-c", code, python=False)
    processes = Processes()
    found = processes.find_file(pid, FILE)
    assert found is not None and found[1] == f"{FILE}47"
    taken = await Faulthandler(processes).take(processes.look(pid))
    assert taken.trouble is Trouble.NOT_ALLOWED
    assert programs.is_there(pid)


FORKS = """
import os, sys, time
{begin}
def in_parent():
    print(os.getpid(), *forks, flush=True)
    while True: time.sleep(1000)
def in_fork():
    while True: time.sleep(1000)
forks = []
for _ in range(2):
    pid = os.fork()
    if pid == 0:
        {again}
        in_fork()
    forks.append(pid)
in_parent()
"""
OWN_FILES = """
sys.path.insert(0, {directory!r})
import paddock_stacks
paddock_stacks.install()
"""
ONE_FILE = """
import faulthandler
file = os.memfd_create("paddock-stacks-47")
os.set_blocking(file, True)
faulthandler.register(47, file=os.open(f"/proc/self/fd/{file}", os.O_RDWR | os.O_APPEND), all_threads=True)
os.close(file)
"""


class Forked:
    """A program, its fork's number first of all."""

    def __init__(self, begin: str, again: str = "pass") -> None:
        self._started = subprocess.Popen(
            [sys.executable, "-c", FORKS.format(begin=begin, again=again)],
            stdout=subprocess.PIPE, text=True, start_new_session=True,
        )  # fmt: skip
        assert self._started.stdout is not None
        self.parent, *self.forks = map(int, self._started.stdout.readline().split())

    def __enter__(self) -> Forked:
        return self

    def __exit__(self, *_: object) -> None:
        os.killpg(self.parent, signal.SIGKILL)
        self._started.wait()
        assert self._started.stdout is not None
        self._started.stdout.close()


async def where(way: Way, pid: int) -> str:
    """The function that it is in; the trouble where there is none."""

    async def look() -> str:
        found = await way.take(Processes().look(pid))
        if found.trouble is not None:
            return str(found.trouble)
        names = [frame.function for each in found.threads for frame in each.frames]
        return next((name for name in names if name.startswith("in_")), "")

    said: str = await until(look)
    return said


async def test_a_fork_has_a_file_of_its_own_and_so_has_its_fork() -> None:
    again = "second = os.fork()\n        if second: forks.append(second)\n        time.sleep(0)"
    with Forked(OWN_FILES.format(directory=str(Path(paddock_stacks.__file__).parent)), again) as program:
        way = Faulthandler(Processes())

        async def list_all() -> list[int]:
            """A fork is there before it has made its file."""
            pids = [program.parent, *(each.pid for each in psutil.Process(program.parent).children(recursive=True))]
            return pids if len(find_files(pids)) == 5 else []

        pids: list[int] = await until(list_all)
        found = await asyncio.gather(*(where(way, pid) for pid in pids))
        assert found == ["in_parent", *["in_fork"] * 4]


def find_files(pids: list[int]) -> set[int]:
    """The files of these processes, each once; none while one of them changes its own."""
    try:
        files = [(pid, Processes().find_file(pid, FILE)) for pid in pids]
        return {os.stat(f"/proc/{pid}/fd/{file[0]}").st_ino for pid, file in files if file}
    except OSError:
        return set()


TWO_FILES = """
first = os.memfd_create("paddock-stacks-47")
""" + ONE_FILE.replace("os.close(file)", "")


async def test_a_fork_that_makes_its_file_after_the_first_look_is_asked_by_that() -> None:
    """It answers into the file that it has now, while the other is waited at."""
    with Forked(TWO_FILES) as program:
        looked: list[tuple[int, str]] = []

        class Early(Processes):
            def find_file(self, pid: int, prefix: str) -> tuple[int, str] | None:
                files = sorted(
                    (int(each.name), each.readlink().name.partition(":")[2].partition(" ")[0])
                    for each in Path(f"/proc/{pid}/fd").iterdir()
                    if f":{prefix}" in str(each.readlink())
                )
                looked.append(files[1 if looked else 0])
                return looked[-1]

        found = await Faulthandler(Early(), seconds=5.0).take(Processes().look(program.parent))
        assert found.trouble is None and len(set(looked)) == 2
        assert any(frame.function == "in_parent" for each in found.threads for frame in each.frames)


async def test_an_answer_that_comes_late_is_nobody_elses() -> None:
    """Of processes that share a file, as an older module lets them."""
    with Forked(ONE_FILE) as program:
        way = Faulthandler(Processes(), seconds=60.0)
        fork = program.forks[0]
        assert [await where(way, pid) for pid in (program.parent, fork)] == ["in_parent", "in_fork"]
        way._seconds = 0.5
        os.kill(program.parent, signal.SIGSTOP)
        assert await where(way, program.parent) == Trouble.NO_ANSWER
        assert await where(way, fork) == Trouble.NO_ANSWER, "what comes now may be its parent's"
        os.kill(program.parent, signal.SIGCONT)

        async def answers() -> bool:
            return await where(way, fork) == "in_fork"

        assert await until(answers)
        way._seconds = 60.0
        assert await where(way, program.parent) == "in_parent"


async def test_who_owes_an_answer_and_has_ended_holds_nobody_up() -> None:
    with Forked(ONE_FILE) as program:
        way = Faulthandler(Processes(), seconds=0.5)
        first, second = program.forks

        async def has_begun() -> bool:
            """Before that, all signals may be blocked in it (glibc's fork)."""
            return await where(way, first) == "in_fork"

        assert await until(has_begun)
        os.kill(first, signal.SIGSTOP)
        assert await where(way, first) == Trouble.NO_ANSWER
        assert await where(way, second) == Trouble.NO_ANSWER
        os.kill(first, signal.SIGKILL)

        async def answers() -> bool:
            return await where(way, second) == "in_fork"

        assert await until(answers)


async def test_one_that_does_not_answer_holds_up_no_other_program(programs: Programs) -> None:
    way, told, slow = Faulthandler(Processes(), seconds=60.0), programs.start("told"), programs.start("told")
    await take(way, slow)
    os.kill(slow, signal.SIGSTOP)
    waits = asyncio.create_task(way.take(Processes().look(slow)))
    assert place_of(await take(way, told)) == "wait, dead.py:12"
    assert not waits.done()
    os.kill(slow, signal.SIGCONT)
    assert place_of(await waits) == "wait, dead.py:12"


HOSTILE = {
    "a sealed file": "f = os.memfd_create(name, os.MFD_ALLOW_SEALING); fcntl.fcntl(f, 1033, 0xF)",  # F_ADD_SEALS
    "a file that nobody writes": "f = os.memfd_create(name)",
    "a file that grows without an end": "f = os.memfd_create(name); os.write(f, b'x' * 10**6)\n"
        "signal.signal(47, lambda *_: os.write(f, b'x' * 10**6))",
    "another text": "f = os.memfd_create(name)\nsignal.signal(47, lambda *_: os.write(f, b'hello'))",
}  # fmt: skip


@pytest.mark.parametrize("name", HOSTILE)
async def test_a_program_with_a_file_of_its_own_by_that_name_is_only_without_a_stack(
    name: str, programs: Programs
) -> None:
    code = f"import fcntl, os, signal, time\nname = '{FILE}47'\nsignal.signal(47, lambda *_: None)\n" \
        f"{HOSTILE[name]}\nprint('ready', flush=True)\nwhile True: time.sleep(1)"  # fmt: skip
    pid = programs.start(sys.executable, "-c", code, python=False)
    processes = Processes()
    found = await Faulthandler(processes, seconds=0.5).take(processes.look(pid))
    assert found.trouble in (Trouble.NOT_ALLOWED, Trouble.NO_ANSWER, Trouble.TOO_LONG)
    assert programs.is_there(pid)


async def test_a_file_with_a_place_on_the_disk_is_not_written_to(tmp_path: Path) -> None:
    """As a pod might have it open for reading alone."""
    file = tmp_path / "precious"
    file.write_text("kept")
    (tmp_path / "proc/7/fd").mkdir(parents=True)
    (tmp_path / "proc/7/fd/9").symlink_to(file)

    class Told(Processes):
        def find_file(self, pid: int, prefix: str) -> tuple[int, str]:
            return 9, f"{prefix}47"

        def look(self, pid: int) -> Seen:
            return Seen(pid, "", "", True, "", "S", 1 << 46)

    way = Faulthandler(Told(), proc=tmp_path / "proc")
    assert (await way.take(Told().look(7))).trouble is Trouble.NOT_ALLOWED
    assert file.read_text() == "kept"


async def test_py_spy_looks_from_outside(programs: Programs) -> None:
    program = find_py_spy(os.environ)
    if not program:
        pytest.skip("py-spy is not installed")
    found = await take(PySpy(program), programs.start())
    if found.trouble is Trouble.NOT_ALLOWED:
        pytest.skip("this system lets nobody look into a process")
    assert place_of(found) == "wait, dead.py:12"


async def test_a_pod_has_the_stack_of_the_way_that_succeeds(programs: Programs) -> None:
    """py-spy is not there: the program tells its stack itself, or says why there is none."""
    processes = Processes()
    state = PodState("uid", "default", "pod", "127.1.0.1", 0.0)
    told, silent = programs.start("told"), programs.start()
    sleeper = programs.start("sh", "-c", "echo ready; exec sleep 1000", python=False)
    sleeping = {"sleep", Path(shutil.which("sleep") or "").resolve().name}

    async def sleeps() -> bool:
        """The shell says that it is ready before it becomes the other program."""
        return processes.look(sleeper).program in sleeping

    await until(sleeps)
    running = [(state, Run(name, 0, 0.0, pid)) for name, pid in (("a", told), ("b", silent), ("c", sleeper))]
    stacks = NodeStacks(lambda: running, processes, (PySpy(""), Faulthandler(processes)))
    pod = {"metadata": {"name": "pod", "uid": "uid"}}
    found = await stacks.take(pod)
    by = {each.pid: each for each in found.processes}
    assert set(by) == {told, silent}
    assert (by[told].by, by[told].trouble, by[told].rank) == ("faulthandler", "", "3")
    assert main_frames(by[told])[-1].function == "wait"
    assert (by[silent].by, by[silent].trouble) == ("", Trouble.NO_TOOL)
    assert len(found.others) == 1 and set(found.others) <= sleeping
    assert (await stacks.take({"metadata": {"name": "other", "uid": "other"}})).processes == ()


async def test_no_more_than_sixty_four_processes_are_looked_at() -> None:
    class Many(Processes):
        def list_of(self, roots: object) -> dict[int, str]:
            return dict.fromkeys(range(1, 71), "a")

        def look(self, pid: int) -> Seen:
            return Seen(pid, "python", "python3", True, "", "S", 0)

    class At:
        name = "at"

        async def take(self, seen: Seen) -> Dump:
            return Dump((), Trouble.FAILED, "no")

    found = await NodeStacks(list, Many(), (At(),)).take({"metadata": {"name": "a", "uid": "b"}})
    assert (len(found.processes), found.left_out) == (64, 6)


ENDS = {
    "refused": (1, "", "Error: Permission Denied: Try running\n again", Trouble.NOT_ALLOWED),
    "another form": (0, "{}", "", Trouble.FAILED),
    "a thread without a frame": (0, '[{"frames": []}]', "", Trouble.NO_PYTHON),
    "a stack": (0, '[{"frames": [{"name": "a", "filename": "b", "line": 1}]}]', "", None),
}


@pytest.mark.parametrize("name", ENDS)
def test_ends_of_py_spy(name: str) -> None:
    code, out, said, trouble = ENDS[name]
    assert judge_py_spy(code, out, said).trouble is trouble


@pytest.mark.parametrize(
    ("script", "seconds", "trouble"),
    [
        ("exec sleep 1000", 0.5, Trouble.NO_ANSWER),
        (f"exec head -c {MOST_BYTES + 5} /dev/zero", 60.0, Trouble.TOO_LONG),
        ("echo Operation not permitted >&2; exit 1", 60.0, Trouble.NOT_ALLOWED),
    ],
    ids=["hangs", "never ends to speak", "refuses"],
)
async def test_a_py_spy_that_does_not_do_its_work(
    tmp_path: Path, script: str, seconds: float, trouble: Trouble
) -> None:
    program = tmp_path / "py-spy"
    program.write_text(f"#!/bin/sh\n{script}\n")
    program.chmod(0o755)
    seen = Seen(os.getpid(), "", "", True, "", "S", 0)
    assert (await PySpy(str(program), seconds=seconds).take(seen)).trouble is trouble


@pytest.mark.parametrize(
    ("name", "signal"),
    [("47", 47), ("64", 64), ("34", 34), ("33", None), ("9", None), ("65", None), ("", None), ("x", None)],
)
def test_only_a_real_time_signal_is_sent(name: str, signal: int | None) -> None:
    assert read_signal(FILE + name) == signal


def test_a_signal_is_caught_where_its_bit_is_set() -> None:
    assert is_caught(0x0000400100000000, 47)  # SigCgt of a Python with the module
    assert not is_caught(0x0000400100000000, 46) and not is_caught(0, 47)


def test_the_module_and_the_node_mean_the_same_file() -> None:
    assert paddock_stacks.FILE == FILE


def test_a_process_decides_not_how_much_of_it_is_read(tmp_path: Path) -> None:
    """A process can make its command line and its environment as long as its memory."""
    (tmp_path / "7").mkdir()
    (tmp_path / "7/exe").symlink_to("/usr/bin/python3")
    for name, text in (("cmdline", b"python\0train.py\0"), ("environ", b"RANK=3\0"), ("maps", b"")):
        with (tmp_path / "7" / name).open("wb") as file:
            file.write(text)
            file.truncate(2**40)  # more than there is memory: sparse
    seen = Processes(tmp_path).look(7)
    assert (seen.command, seen.rank, seen.python) == ("python train.py", "3", True)
