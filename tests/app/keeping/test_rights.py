"""The keeper has the rights that it needs and no others: it keeps with the printed ClusterRole, and without any right
of it something is not kept, and is said not to be."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from paddock.install.rights import build_keeper_rights
from paddock.jobs.apis.registry import KINDS
from support.kept import READS_LOGS, SEES_JOBS, Kept, ask, list_runs, open_cluster
from support.waiting import until

RIGHTS = [
    (verb, f"{right.plural}.{right.resource.group}" if right.resource.group else right.plural)
    for right in build_keeper_rights(KINDS)
    for verb in right.verbs
]


@pytest.fixture
async def cluster(tmp_path: Path) -> AsyncIterator[Kept]:
    async with open_cluster(tmp_path) as made:
        yield made


async def test_with_the_printed_rights_everything_is_kept_and_nothing_was_refused(cluster: Kept) -> None:
    token = await cluster.have_reader("ann", [SEES_JOBS, READS_LOGS])
    async with cluster.console(await cluster.have_keeper()) as url:
        job = await cluster.have_job()
        runs_on = await cluster.have_pod(job, "worker-0", "one")
        ended = await cluster.have_pod(job, "worker-1", "two")
        await cluster.end(ended)
        await cluster.until_kept(runs_on, b"one\n")
        await cluster.until_kept(ended, b"two\n")

        async def recorded() -> bool:
            return len((await list_runs(url, token)).runs) == 1

        await until(recorded)
        assert (await ask(url, "/healthz")).body == b"ok\n"


@pytest.mark.parametrize(
    ("verb", "resource"),
    [pytest.param(*each, marks=() if number % 3 == 0 else pytest.mark.slow) for number, each in enumerate(RIGHTS)],
)
async def test_without_one_right_of_them_something_is_not_kept_and_that_is_said(
    cluster: Kept, verb: str, resource: str
) -> None:
    async with cluster.console(await cluster.have_keeper(without=(verb, resource))) as url:
        await cluster.have_pod(await cluster.have_job(), "worker-0", "one")

        async def said() -> bool:
            answer = await ask(url, "/healthz")
            return answer.status == 200 and b"its account may not" in answer.body

        await until(said)
