"""A Python of an environment that Paddock builds tells its stacks if the node has set the variable, and only then."""

from __future__ import annotations

import os
import subprocess
import sys
import venv
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from paddock.environments.stacks.hook import add_stacks
from paddock.node.stacks.dumps import FILE, Faulthandler, is_caught, read_signal
from paddock.node.stacks.processes import Processes

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="files in memory are Linux's")
SLEEPS = "print('ready', flush=True)\nimport time\ntime.sleep(1000)"


@pytest.fixture(scope="module")
def python(tmp_path_factory: pytest.TempPathFactory) -> str:
    directory = tmp_path_factory.mktemp("environment")
    venv.create(directory, symlinks=True)
    add_stacks(directory)
    return str(directory / "bin/python")


@contextmanager
def started(python: str, *words: str, **variables: str) -> Iterator[int]:
    program = subprocess.Popen([python, *words], stdout=subprocess.PIPE, env={"PATH": os.environ["PATH"], **variables})
    try:
        assert program.stdout is not None and program.stdout.readline() == b"ready\n"
        yield program.pid
    finally:
        program.kill()
        program.communicate()


async def test_a_python_with_the_variable_tells_its_stack(python: str) -> None:
    processes = Processes()
    with started(python, "-c", SLEEPS, PADDOCK_STACKS="1") as pid:
        number, name = processes.find_file(pid, FILE) or (0, "")
        assert number >= 200
        signal = read_signal(name)
        assert signal is not None and is_caught(processes.look(pid).caught, signal)
        found = await Faulthandler(processes).take(processes.look(pid))
        assert [each.frames[-1].function for each in found.threads] == ["<module>"]


@pytest.mark.parametrize("variables", [{}, {"PADDOCK_STACKS": "0"}], ids=["without", "0"])
def test_without_the_variable_nothing_is_changed(python: str, variables: dict[str, str]) -> None:
    processes = Processes()
    with started(python, "-c", SLEEPS, **variables) as pid:
        assert processes.find_file(pid, FILE) is None
        assert not is_caught(processes.look(pid).caught, 47)


def test_a_signal_that_the_program_has_taken_is_left_to_it(python: str) -> None:
    site = Path(python).parents[1].glob("lib/python*/site-packages")
    # What is before `paddock_stacks.pth` in the order of names.
    first = next(site) / "a_first.pth"
    first.write_text("import signal; signal.signal(signal.SIGRTMIN + 13, lambda *_: None)\n")
    try:
        with started(python, "-c", SLEEPS, PADDOCK_STACKS="1") as pid:
            assert (Processes().find_file(pid, FILE) or (0, ""))[1] == f"{FILE}48"
    finally:
        first.unlink()


def test_a_program_of_few_files_starts(python: str) -> None:
    code = "import resource; resource.setrlimit(resource.RLIMIT_NOFILE, (64, 64)); import os, sys; " \
        "os.execv(sys.executable, [sys.executable, '-c', os.environ['SLEEPS']])"  # fmt: skip
    with started(python, "-c", code, PADDOCK_STACKS="1", SLEEPS=SLEEPS) as pid:
        found = Processes().find_file(pid, FILE)
        assert found is not None and found[0] < 64
