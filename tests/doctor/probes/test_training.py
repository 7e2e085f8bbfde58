"""What doctor says of names, against real training: its command makes a run that would wait for ever."""

from __future__ import annotations

import asyncio
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from socket import create_server

import pytest

from doctor.probes.looking import command, read
from paddock.doctor.host.peers import Answer
from paddock.doctor.probes.ports import probe_port
from places.manifests import PROGRAMS
from support.machines import Machine, Names, open_machines

pytestmark = [pytest.mark.paddle]
STORES = {
    "paddle": "from paddle.base.core import TCPStore; s = TCPStore('127.0.0.1', port, True, 1, 60)",
    "pytorch": "from torch.distributed import TCPStore; s = TCPStore('127.0.0.1', port, 1, True)",
}


def find_command(machine: Machine, peer: str) -> str:
    done = machine.run(*command(peer), env={"VIRTUAL_ENV": "/usr"})
    [finding] = read(done.stdout)
    return finding.command


@pytest.mark.parametrize("names", ["debian", "unresolvable"])
def test_the_command_of_a_name_lets_launch_meet(tmp_path: Path, python_of: Callable[[str], str], names: Names) -> None:
    """Of a machine whose name is 127.0.1.1, or stands for nothing."""
    with open_machines(tmp_path / "bench", 2, names=names) as bench:
        launch = (
            f"exec {python_of('paddle')} -u -m paddle.distributed.launch --master {bench[0].address}:6170 --nnodes 2 "
            f"{PROGRAMS}/collective.py 3 0.1"
        )
        runs = []
        for index, machine in enumerate(bench.machines):
            mend = find_command(machine, bench[1 - index].address)
            line = f"{mend} && {launch.replace('--nnodes', f'--rank {index} --nnodes')}"
            folder = tmp_path / machine.name
            folder.mkdir()
            runs.append(machine.start("bash", "-c", line, cwd=folder))
        said = [run.communicate(timeout=120) for run in runs]
        assert [run.returncode for run in runs] == [0, 0], said
        assert "step 2 of rank 0: sum 2" in said[0][0] + said[0][1]


@pytest.mark.parametrize("framework", STORES)
def test_a_store_goes_on_after_its_port_was_tried(framework: str, python_of: Callable[[str], str]) -> None:
    """Nothing is sent to the port of a rendezvous, so a job that runs is not disturbed."""
    script = (
        f"import sys, socket\nport = int(sys.argv[1])\n{STORES[framework]}\ns.set('a', 'x'); print('up', flush=True)\n"
        "sys.stdin.readline(); s.set('b', 'y'); print(s.get('a'), s.get('b'))\n"
    )
    with create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
    words = [python_of(framework), "-c", script, str(port)]
    with subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=sys.stderr, text=True) as store:
        assert store.stdout is not None
        assert any(line == "up\n" for line in store.stdout)
        for _ in range(5):
            assert asyncio.run(probe_port("127.0.0.1", port)).answer is Answer.OPEN
        said, _ = store.communicate("\n", timeout=60)
    assert "b'x' b'y'" in said and store.returncode == 0
