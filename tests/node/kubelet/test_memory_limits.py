"""A container that takes more memory than its limit: ended where the system can bound it."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from node.cluster import PYTHON, Cluster, container, open_cluster, pod, terminated
from paddock.node.runtime.cgroups import Cgroups, find_cgroups
from paddock.node.runtime.sandbox import Sandbox
from support.programs import lack

LIMITED = {"resources": {"limits": {"memory": "64Mi"}}}
TAKES = "print('begun', flush=True); held = bytearray(256 << 20); print('ended')"
IN_CHILD = (
    "import os, sys\n"
    "if not os.fork(): held = bytearray(256 << 20)\n"
    "else: sys.exit(3 if os.waitstatus_to_exitcode(os.wait()[1]) == -9 else 0)"
)


@pytest.fixture
def groups(tmp_path: Path) -> Cgroups:
    found = find_cgroups(tmp_path / "node", 2)
    if not found.limits_memory:
        lack("cgroups", "this user may make no control groups here")
    return found


@pytest.fixture
async def bounded(tmp_path: Path, sandbox: Sandbox, groups: Cgroups) -> AsyncIterator[Cluster]:
    async with open_cluster(tmp_path, sandbox, cgroups=groups) as cluster:
        yield cluster
    assert not any(tree.path.exists() for tree in groups.trees), "the groups go with the kubelet"


async def test_more_than_the_limit_is_an_end_with_its_numbers(bounded: Cluster) -> None:
    found = await bounded.run(pod(container(PYTHON, "-c", TAKES, **LIMITED)))
    end = terminated(found)
    assert (end["exitCode"], end["reason"]) == (137, "OOMKilled"), end
    assert end["message"] == "used 64 MiB of its limit of 64 MiB"
    assert await bounded.log(found) == "begun\n", "nothing of ours is in its log"


async def test_a_program_that_ends_for_a_process_that_was_killed_ran_out_of_memory_too(
    bounded: Cluster, groups: Cgroups
) -> None:
    end = terminated(await bounded.run(pod(container(PYTHON, "-c", IN_CHILD, **LIMITED))))
    assert end["reason"] == "OOMKilled" and end["exitCode"] in (3, 137), end


async def test_one_without_a_limit_and_one_that_fails_are_as_they_were(bounded: Cluster) -> None:
    assert terminated(await bounded.run(pod(container(PYTHON, "-c", TAKES))))["reason"] == "Completed"
    end = terminated(
        await bounded.run(pod(container(PYTHON, "-c", "import os; os.kill(os.getpid(), 9)", **LIMITED), name="q"))
    )
    assert (end["exitCode"], end["reason"]) == (137, "Error")


async def test_an_end_that_no_kubelet_has_seen_is_told_by_the_next_one(bounded: Cluster, tmp_path: Path) -> None:
    gate = tmp_path / "gate"
    waits = f"import os, time\nwhile not os.path.exists({str(gate)!r}): time.sleep(0.01)\n{TAKES}"
    volumes = [{"name": "seen", "hostPath": {"path": str(tmp_path)}}]
    mounts = [{"name": "seen", "mountPath": str(tmp_path)}]
    made = pod(container(PYTHON, "-c", waits, volumeMounts=mounts, **LIMITED), volumes=volumes)
    await bounded.create(made)
    await bounded.see("p", lambda found: found["status"].get("phase") == "Running")
    await bounded.drop()
    gate.touch()
    bounded.start()
    end = terminated(await bounded.end())
    assert (end["exitCode"], end["reason"]) == (137, "OOMKilled"), end
