"""What bubblewrap promises of other programs of this machine, attacked by a program in a pod: their sockets, what /proc
tells of them, their memory and their descriptors. `test_isolation` has the files.

Each attack is tried outside first, where it succeeds: one that cannot succeed shows nothing.
"""

from __future__ import annotations

import asyncio
import ctypes
import os
import socket
import subprocess
import sys
import tempfile
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest

from node.cluster import PYTHON, Cluster, container, open_cluster, pod
from support.sandboxes import need_sandbox

pytestmark = pytest.mark.sandbox

TOKEN = "the-token-of-another-program"


@pytest.fixture
def runtime() -> Iterator[Path]:
    """The runtime directory of a user, outside of /tmp, which pods do not see in any case."""
    with tempfile.TemporaryDirectory(dir="/var/tmp") as name:
        yield Path(name)


@pytest.fixture
async def isolated(runtime: Path, tmp_path: Path) -> AsyncIterator[Cluster]:
    environment = {"XDG_RUNTIME_DIR": str(runtime), "PATH": os.environ["PATH"]}
    async with open_cluster(tmp_path / "state", need_sandbox("bubblewrap"), environment=environment) as cluster:
        yield cluster


@pytest.fixture
def victim() -> Iterator[int]:
    """The pid of another program of the same user, with a secret in its variables and arguments. Any process of the
    user may trace it, where the system lets one trace another at all."""
    allow = "import ctypes; ctypes.CDLL(None).prctl(0x59616d61, ctypes.c_ulong(-1), 0, 0, 0)"  # PR_SET_PTRACER, any
    program = f"{allow}; print(flush=True); input()"
    words = [sys.executable, "-c", program, TOKEN]
    with subprocess.Popen(words, env={"TOKEN": TOKEN}, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        process.stdout.readline()
        yield process.pid
        process.kill()


async def attack(cluster: Cluster, program: str, *given: object) -> tuple[str, str]:
    """What the program prints on this machine, and what in a pod. It prints what it got hold of."""
    words = ("-c", program, *map(str, given))
    outside = await asyncio.to_thread(
        subprocess.run, [sys.executable, *words], capture_output=True, text=True, check=True
    )
    found = await cluster.run(pod(container(PYTHON, *words)))
    assert found["status"]["phase"] == "Succeeded", await cluster.log(found)
    return outside.stdout.strip(), (await cluster.log(found)).strip()


async def test_a_socket_in_the_runtime_directory_is_not_reached(isolated: Cluster, runtime: Path) -> None:
    """As that of the session bus, which starts programs outside of any sandbox."""
    program = (
        "import socket, sys\n"
        "try:\n"
        "    socket.socket(socket.AF_UNIX).connect(sys.argv[1])\n"
        "    print('connected')\n"
        "except OSError as error:\n"
        "    print(type(error).__name__)\n"
    )
    with socket.socket(socket.AF_UNIX) as bus:
        bus.bind(str(runtime / "bus"))
        bus.listen()
        assert await attack(isolated, program, runtime / "bus") == ("connected", "FileNotFoundError")


async def test_proc_tells_of_no_other_program(isolated: Cluster, victim: int) -> None:
    program = (
        "import glob, sys\n"
        "found, secret = set(), sys.argv[1][::-1]\n"
        "for path in glob.glob('/proc/[0-9]*/environ') + glob.glob('/proc/[0-9]*/cmdline'):\n"
        "    try:\n"
        "        parts = open(path).read().split('\\0')\n"
        "    except OSError:\n"
        "        continue\n"
        "    if secret in parts or f'TOKEN={secret}' in parts:\n"
        "        found.add(path.rpartition('/')[2])\n"
        "print(*sorted(found))\n"
    )
    # Backwards, so that the program does not find itself.
    assert await attack(isolated, program, TOKEN[::-1]) == ("cmdline environ", "")


async def test_no_other_program_can_be_signalled_or_traced(isolated: Cluster, victim: int) -> None:
    program = (
        "import ctypes, os, sys\n"
        "pid, libc = int(sys.argv[1]), ctypes.CDLL(None, use_errno=True)\n"
        "def named():\n"
        "    os.kill(pid, 0)\n"
        "def traced():\n"
        "    if libc.ptrace(16, pid, None, None) != 0: raise OSError\n"  # PTRACE_ATTACH
        "    os.waitpid(pid, 0)\n"
        "    libc.ptrace(17, pid, None, None)\n"  # PTRACE_DETACH
        "def opened():\n"
        "    open(f'/proc/{pid}/mem', 'rb').close()\n"
        "for each in (named, traced, opened):\n"
        "    try:\n"
        "        each()\n"
        "        print(each.__name__)\n"
        "    except OSError:\n"
        "        pass\n"
    )
    outside, inside = await attack(isolated, program, victim)
    assert outside.split()[0] == "named"  # the rest is up to the system's ptrace_scope
    assert inside == ""


async def test_shared_memory_of_others_is_not_there(isolated: Cluster) -> None:
    program = (
        "import ctypes, os, sys\n"
        "libc = ctypes.CDLL(None)\n"
        "print('System V' if libc.shmget(int(sys.argv[1]), 0, 0) >= 0 else '-', os.path.exists(sys.argv[2]))\n"
    )
    libc, key = ctypes.CDLL(None), os.getpid()
    number = libc.shmget(key, 4096, 0o1600)  # IPC_CREAT
    try:
        with tempfile.NamedTemporaryFile(dir="/dev/shm") as file:
            assert await attack(isolated, program, key, file.name) == ("System V True", "- False")
    finally:
        libc.shmctl(number, 0, None)  # IPC_RMID


async def test_a_program_inherits_no_descriptor_but_its_three(isolated: Cluster) -> None:
    """A directory among them would be a way out of any mount."""
    program = (
        "import os\n"
        "for fd in range(4096):\n"
        "    try:\n"
        "        print(fd, os.readlink(f'/proc/self/fd/{fd}').partition(':')[0])\n"
        "    except OSError:\n"
        "        pass\n"
    )
    found = await isolated.run(pod(container(PYTHON, "-c", program)))
    said = [line.split(" ", 1) for line in (await isolated.log(found)).splitlines()]
    assert [number for number, _ in said] == ["0", "1", "2"]
    assert said[0][1] == "/dev/null"


async def test_the_kernels_switches_cannot_be_set(isolated: Cluster) -> None:
    """Root could, and would stop the machine."""
    program = (
        "import os\n"
        "for path in ('/proc/sysrq-trigger', '/proc/sys/kernel/core_pattern', '/proc/sys/vm/drop_caches'):\n"
        "    try:\n"
        "        os.close(os.open(path, os.O_WRONLY))\n"
        "        print(path)\n"
        "    except OSError:\n"
        "        pass\n"
    )
    found = await isolated.run(pod(container(PYTHON, "-c", program)))
    assert await isolated.log(found) == ""
