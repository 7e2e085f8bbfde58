"""A cluster that is killed while it starts a program: the next one takes the program over, and never runs it again.

Real clusters, real programs, real kills.
"""

from __future__ import annotations

import asyncio
import itertools
import os
import signal
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from random import Random, randrange

import pytest
from hypothesis import settings

from node.cluster import open_cluster
from node.kubelet.dying_clusters import open_clusters
from paddock.kube.meta import PODS, Manifest
from paddock.node.runtime.orphans import end_leftovers
from paddock.node.runtime.records import Records
from paddock.node.runtime.run_files import is_held
from paddock.node.runtime.sandbox import Sandbox
from support.waiting import until

_STRIDE, _TRIES = (1, 14) if settings.default.max_examples >= 200 else (6, 3)
"""`make test` kills at every sixth step and at a few instants, others each time; `make test-all` at each step."""

SHORT = "echo start >>{shared}/runs-{pod}"
LONG = SHORT + "; while ! test -e {shared}/go; do sleep 0.02; done; exit 0"
FAILING = SHORT + "; test $(wc -l <{shared}/runs-{pod}) -gt 1"
"""Fails, and is started again by its restart policy."""
CLEARED = "exec env -i PATH=$PATH /bin/sh -c '" + LONG + "'"


def read_runs(directory: Path, number: int) -> int:
    """How often the program of this pod has been started."""
    path = directory / f"shared/runs-{number}"
    return path.read_text().count("start") if path.exists() else 0


async def finish(directory: Path, sandbox: Sandbox, scripts: list[str]) -> list[str]:
    """What is wrong with pods that the next cluster ends. Programs that wait may go on once each has run."""
    async with open_cluster(directory, sandbox) as cluster:
        # The first cluster was killed while it made them.
        every = range(len((await cluster.api.list(PODS)).items))
        await until(lambda: all(read_runs(directory, number) for number in every))
        (directory / "shared/go").touch()
        ended = [await cluster.end(f"p-{number}") for number in every]
    wrong = (explain(ended[number], read_runs(directory, number), scripts[number]) for number in every)
    return [problem for problem in wrong if problem]


def explain(found: Manifest, runs: int, script: str) -> str:
    """What is wrong: a program has to run as often as it would if nobody had been killed, and the pod says so."""
    status = found["status"]
    restarts = status["containerStatuses"][0]["restartCount"]
    told = (runs, restarts, status["phase"], status.get("reason", ""))
    expected = (2, 1, "Succeeded", "") if script == FAILING else (1, 0, "Succeeded", "")
    return "" if told == expected else f"runs, restarts, phase, reason: {told}"


# The steps are the same for both; that a program is found again which clears its environment is shown below as well.
@pytest.mark.parametrize(
    "script",
    [
        pytest.param(SHORT, id="which ends at once"),
        pytest.param(CLEARED, id="which clears its environment", marks=pytest.mark.slow),
    ],
)
async def test_at_whatever_step_of_a_start_a_cluster_is_killed_the_program_runs_once(
    tmp_path: Path, sandbox: Sandbox, script: str
) -> None:
    wrong: dict[int, list[str]] = {}
    async with open_clusters() as clusters:
        for step in itertools.count(1 + randrange(_STRIDE), _STRIDE):  # by the seed of the run
            directory = tmp_path / str(step)
            await clusters.begin(directory, sandbox, step, [script])
            if await clusters.wait() == 0:
                end_leftovers(directory / "node", 5.0)
                break
            if problems := await finish(directory, sandbox, [script]):
                wrong[step] = problems
    assert not wrong
    assert step > 20, "a start has more steps than that"


@pytest.mark.slow
async def test_clusters_that_are_killed_as_their_programs_start_run_none_of_them_twice(
    tmp_path: Path, sandbox: Sandbox
) -> None:
    """At an instant near the start of one of four programs. Two clear their environment, one is to run again."""
    chance, scripts = Random(randrange(10_000)), [CLEARED, LONG, FAILING, CLEARED]
    wrong: dict[int, list[str]] = {}
    async with open_clusters() as clusters:
        for number in range(_TRIES):
            directory = tmp_path / str(number)
            pid = await clusters.begin(directory, sandbox, 0, scripts)
            await until_files(directory, chance.randrange(len(scripts)) + 1)
            await asyncio.sleep(chance.choice([0, 0, 0.001, 0.003]))
            os.kill(pid, signal.SIGKILL)
            await clusters.wait()
            if problems := await finish(directory, sandbox, scripts):
                wrong[number] = problems
    assert not wrong


async def until_files(directory: Path, count: int) -> None:
    """Returns once so many runs have their files. Looks often: the start goes on meanwhile."""
    async with asyncio.timeout(180):
        while len(list(directory.glob("node/scratch/*/*.exit"))) < count:  # noqa: ASYNC110
            await asyncio.sleep(0)


async def test_what_a_killed_cluster_has_just_started_is_ended_without_a_new_one(
    tmp_path: Path, sandbox: Sandbox
) -> None:
    """As `paddock down` does, of a program that clears its environment and whose process no record tells."""
    async with open_clusters() as clusters:
        pid = await clusters.begin(tmp_path, sandbox, 0, [CLEARED])
        await until(lambda: read_runs(tmp_path, 0))
        os.kill(pid, signal.SIGKILL)
        await clusters.wait()
    records = Records(tmp_path / "node")
    (state,) = records.load().values()
    (run,) = state.running
    records.save(state.with_run(replace(run, pid=0, birth=0)))
    files = list((tmp_path / "node/scratch").glob("*/*.exit"))
    assert [is_held(file) for file in files] == [True]
    assert find_programs(tmp_path)
    assert await asyncio.to_thread(end_leftovers, tmp_path / "node", 5.0)
    assert find_programs(tmp_path) == []


def find_programs(directory: Path) -> list[int]:
    """The processes that name this directory in their command, other than this one."""
    found = []
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        with suppress(OSError):
            if str(directory / "shared").encode() in path.read_bytes():
                found.append(int(path.parent.name))
    return found
