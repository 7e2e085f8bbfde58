"""What a container leaves to its next run, and what no run inherits from the daemon."""

from __future__ import annotations

import itertools
import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from node.cluster import PYTHON, Cluster, container, open_cluster, pod, shell
from paddock.kube.meta import Manifest, uid_of
from paddock.node.runtime import processes
from paddock.node.runtime.sandbox import choose_sandbox
from support.waiting import until


async def test_what_is_two_runs_old_is_removed(cluster: Cluster) -> None:
    """With a clock that leaps: a container that ran for long is restarted at once."""
    await cluster.drop()
    ticks = itertools.count(1_700_000_000, 1000)
    cluster.start(lambda: next(ticks))
    count = cluster.directory / "count"
    script = f"echo run >>{count}; touch file; test $(wc -l <{count}) -ge 3 && exec sleep 60; exit 1"
    made = await cluster.create(pod(shell(script), policy="Always"))
    scratch, logs = cluster.directory / "scratch" / uid_of(made), cluster.directory / "pods"
    await cluster.see("p", lambda found: statuses(found)[0]["restartCount"] == 2)
    assert sorted(path.name for path in scratch.glob("main-*")) == [
        f"main-{number}{ending}" for number in (1, 2) for ending in ("", ".exit", ".message")
    ]
    assert sorted(path.name for path in logs.glob("*/main/*.log")) == ["1.log", "2.log"]


async def test_what_containers_that_end_together_left_is_ended(tmp_path: Path) -> None:
    """The orphan processes of the first are searched 20 ms after it was reaped; the others end at about that time."""
    reaped, left = tmp_path / "reaped", tmp_path / "left"
    begin = f"test -e {left}-$0 && exec sleep 60; setsid sleep 61 & echo $! >{left}-$0"
    first = f"{begin}; sleep 0.1; echo $PPID >{reaped}.new; mv {reaped}.new {reaped}; exit 1"
    wait = f"while ! test -e {reaped}; do sleep 0.01; done; read pid <{reaped}; while kill -0 $pid; do :; done"
    mains = [container("/bin/sh", "-c", first, "first", name="first")]
    for delay in (16, 18, 20, 22, 24, 26):
        script = f"{begin}; {wait}; sleep 0.0{delay}; exit 1"
        mains.append(container("/bin/sh", "-c", script, f"after-{delay}", name=f"after-{delay}"))
    async with open_cluster(tmp_path, choose_sandbox("none")) as cluster:
        await cluster.create(pod(*mains, policy="OnFailure"))
        await cluster.see("p", lambda found: [it["restartCount"] for it in statuses(found)] == [1] * len(mains))
        strays = [int(Path(f"{left}-{main['name']}").read_text()) for main in mains]
        await until(lambda: not [pid for pid in strays if processes.read_birth(pid) is not None])


def statuses(found: Manifest) -> list[Manifest]:
    return found["status"].get("containerStatuses") or [{"restartCount": None}]


@pytest.fixture
def private() -> Iterator[None]:
    """The umask of the daemon: its own files are for its user only."""
    before = os.umask(0o077)
    yield
    os.umask(before)


@pytest.mark.usefixtures("private")
async def test_files_that_a_program_makes_are_as_in_a_container(cluster: Cluster) -> None:
    script = "import os; open('x', 'w'); print(oct(os.stat('x').st_mode))"
    assert await cluster.log(await cluster.run(pod(container(PYTHON, "-c", script)))) == "0o100644\n"
