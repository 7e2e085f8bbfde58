"""What is kept is everybody's, and each reader is shown what the API lets their own token see, and nothing else."""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from paddock.app.consoles.keeping.programs import KNOWN_SECONDS, Programs
from paddock.app.history import History
from paddock.app.home import Home
from paddock.client.kubeconfig import read_server
from paddock.history.answers import KeptFile
from paddock.kube.errors import Forbidden, Unauthorized
from paddock.kube.meta import NAMESPACES, SERVICE_ACCOUNTS
from paddock.kube.rbac import ROLE_BINDINGS
from support.kept import READS_LOGS, SEES_JOBS, Kept, ask, list_logs, list_runs, open_cluster
from support.operator_seam import JOBS
from support.readers import reading
from support.waiting import until

KEPT = "/kept/v1/namespaces"
FROM_HERE = {"Sec-Fetch-Site": "same-origin"}


@pytest.fixture
async def cluster(tmp_path: Path) -> AsyncIterator[Kept]:
    async with open_cluster(tmp_path) as made:
        await made.api.create(NAMESPACES, {"metadata": {"name": "theirs"}})
        yield made


async def have_kept(cluster: Kept, url: str, token: str, namespace: str = "default") -> KeptFile:
    """A job whose rank has failed; `token`: of who may see it."""
    job = await cluster.have_job("demo", namespace)
    pod = await cluster.have_pod(job, "worker-0", "loss: 0.25", "secret words")
    await cluster.end(pod, namespace=namespace)
    await cluster.until_kept(pod, b"loss: 0.25\nsecret words\n")

    async def listed() -> KeptFile | None:
        found = await ask(url, f"{KEPT}/{namespace}/logs?name=demo", token)
        assert found.status == 200, found
        logs = (await list_logs(url, token, "demo", namespace)).logs
        return logs[0] if logs else None

    found: KeptFile = await until(listed)
    return found


def where(file: KeptFile, namespace: str = "default") -> str:
    return f"{KEPT}/{namespace}/logs/{file.directory}/{file.container}/{file.file}"


async def test_a_log_is_read_by_who_may_read_logs_and_see_the_job_and_by_nobody_else(cluster: Kept) -> None:
    whole = await cluster.have_reader("whole", [SEES_JOBS, READS_LOGS])
    jobs = await cluster.have_reader("jobs", [SEES_JOBS])
    logs = await cluster.have_reader("logs", [READS_LOGS])
    nothing = await cluster.have_reader("nothing", [])
    theirs = await cluster.have_reader("theirs", [SEES_JOBS, READS_LOGS], "theirs")
    async with cluster.console(await cluster.have_keeper()) as url:
        file = await have_kept(cluster, url, whole)
        assert (await ask(url, where(file), whole)).body == b"loss: 0.25\nsecret words\n"
        assert [run.name for run in (await list_runs(url, jobs)).runs] == ["demo"]
        for token, answers in {jobs: (200, 403, 403), logs: (403, 200, 404), nothing: (403, 403, 403),
                               theirs: (403, 403, 403)}.items():  # fmt: skip
            paths = f"{KEPT}/default/runs", f"{KEPT}/default/logs?name=demo", where(file)
            asked = [await ask(url, path, token) for path in paths]
            assert tuple(each.status for each in asked) == answers
            assert not any(b"secret words" in each.body or b"demo-worker" in each.body for each in asked)
        assert (await list_logs(url, logs, "demo")).logs == ()


async def test_who_may_see_no_jobs_learns_no_names_of_jobs(cluster: Kept) -> None:
    whole = await cluster.have_reader("whole", [SEES_JOBS, READS_LOGS])
    nothing = await cluster.have_reader("nothing", [])
    logs = await cluster.have_reader("logs", [READS_LOGS])
    async with cluster.console(await cluster.have_keeper()) as url:
        await have_kept(cluster, url, whole)
        for what, token in itertools.product(("runs", "logs"), (nothing, logs)):
            there, absent = [await ask(url, f"{KEPT}/default/{what}?name={name}", token) for name in ("demo", "other")]
            assert (there.status, there.body) == (absent.status, absent.body)
        assert (await list_runs(url, whole, name="other")).runs == ()


async def test_without_a_token_with_a_wrong_one_and_with_the_keepers_own_nothing_is_shown(cluster: Kept) -> None:
    whole = await cluster.have_reader("whole", [SEES_JOBS, READS_LOGS])
    keeper = await cluster.have_keeper()
    async with cluster.console(keeper) as url:
        file = await have_kept(cluster, url, whole)
        for path in (f"{KEPT}/default/runs", f"{KEPT}/default/logs?name=demo", where(file)):
            for token in ("", "no.such.token"):
                assert ((answer := await ask(url, path, token)).status, answer.reason) == (401, "Unauthorized")
        # The keeper may list jobs, and not get them: its token is no key to what it keeps.
        assert (await ask(url, f"{KEPT}/default/runs", keeper.token)).status == 403


async def test_a_name_in_an_address_leads_to_no_other_file_and_to_no_other_namespace(cluster: Kept) -> None:
    whole = await cluster.have_reader("whole", [SEES_JOBS, READS_LOGS])
    theirs = await cluster.have_reader("theirs", [SEES_JOBS, READS_LOGS], "theirs")
    async with cluster.console(await cluster.have_keeper()) as url:
        file = await have_kept(cluster, url, whole)
        mine = where(file)
        for path in (
            where(file, "theirs"),
            mine.replace(file.file, ".owner.json"), mine.replace(file.file, "0.at"),
            mine.replace(f"{file.container}/{file.file}", "..%2F..%2F..%2Flock/0.log"),
            f"{KEPT}/theirs/logs/theirs_..%2F..%2Fhistory/default/0.log",
        ):  # fmt: skip
            for token in (whole, theirs):
                assert (await ask(url, path, token)).status in (403, 404), path


async def test_a_right_that_is_taken_away_ends_what_is_shown(cluster: Kept) -> None:
    whole = await cluster.have_reader("whole", [SEES_JOBS, READS_LOGS])
    async with cluster.console(await cluster.have_keeper()) as url:
        await have_kept(cluster, url, whole)
        now = [0.0]
        home = Home(cluster.directory, cluster.directory)
        programs = Programs(read_server(str(cluster.server.kubeconfig)), History(home), lambda: now[0])
        try:
            reader = await programs.enter(whole)
            assert len((await reader.list_runs("default", "", 9))[0]) == 1
            await cluster.api.delete(ROLE_BINDINGS, "default", "whole")
            now[0] += KNOWN_SECONDS
            assert programs.find(whole) is None
            again = await programs.enter(whole)
            for ask_again in (again.list_runs("default", "", 9), again.list_logs("default", "demo", "", 9)):
                with pytest.raises(Forbidden):
                    await ask_again
            await cluster.api.delete(SERVICE_ACCOUNTS, "default", "whole")
            now[0] += KNOWN_SECONDS
            with pytest.raises(Unauthorized):
                await programs.enter(whole)
        finally:
            await programs.close()


@pytest.mark.slow
async def test_a_reader_who_asks_no_more_is_forgotten_with_their_token(
    cluster: Kept, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = await cluster.have_reader("whole", [SEES_JOBS, READS_LOGS])
    now = [0.0]
    home = Home(cluster.directory, cluster.directory)
    programs = Programs(read_server(str(cluster.server.kubeconfig)), History(home), lambda: now[0])
    monkeypatch.setattr("paddock.app.consoles.keeping.programs.KNOWN_SECONDS", 0.01)
    await programs.enter(whole)
    running = asyncio.create_task(programs.run())
    try:
        assert programs._known
        now[0] += 60.0
        await until(lambda: not programs._known)
        assert programs._retired
        now[0] += 60.0
        await until(lambda: not programs._retired)
    finally:
        running.cancel()
        await programs.close()


async def test_a_token_is_not_taken_over_plain_http_from_elsewhere(cluster: Kept) -> None:
    whole = await cluster.have_reader("whole", [SEES_JOBS, READS_LOGS])
    async with cluster.console(await cluster.have_keeper()) as url:
        for headers in ({"Host": "console.example.org"}, {"Host": "paddock-console.localhost"}):
            answer = await ask(url, f"{KEPT}/default/runs", whole, headers=headers)
            assert answer.status == (421 if "example" in headers["Host"] else 200)


@pytest.mark.slow
async def test_pages_show_kept_runs_to_who_may_see_the_jobs_and_numbers_to_who_may_read_logs(cluster: Kept) -> None:
    whole = await cluster.have_reader("whole", [SEES_JOBS, READS_LOGS])
    jobs = await cluster.have_reader("jobs", [SEES_JOBS])
    theirs = await cluster.have_reader("theirs", [SEES_JOBS, READS_LOGS], "theirs")
    async with cluster.console(await cluster.have_keeper()) as url:
        await have_kept(cluster, url, whole)
        await cluster.remove("demo-worker-0")
        await cluster.api.delete(JOBS, "default", "demo")
        pages, logs = {}, {}
        for token in (whole, jobs, theirs):
            async with reading(url) as reader:
                form = {"token": token}
                async with reader.post("/sign-in", data=form, headers=FROM_HERE, allow_redirects=False) as answer:
                    assert answer.status == 303, await answer.text()
                    reader.begin(answer)
                async with reader.get("/runs") as answer:
                    pages[token] = await answer.text()
                async with reader.get(f"/jobs/default/paddlejobs.{JOBS.group}/demo/logs") as answer:
                    logs[token] = await answer.text()
        assert "demo" in pages[whole] and "demo" in pages[jobs]
        assert "demo" not in pages[theirs] and "Nothing has run yet." in pages[theirs]
        assert "secret words" in logs[whole]
        assert not any("secret words" in logs[token] for token in (jobs, theirs))
