"""`paddock history`, `logs --run`, `compare` with --context: what the console of a cluster keeps, as on a laptop."""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass
from pathlib import Path

import pytest
import yaml
from aiohttp import web
from aiohttp.test_utils import TestServer
from click.testing import CliRunner
from yarl import URL

from paddock.app.history import History
from paddock.app.home import Home
from paddock.cli.follow.kept_runs import Which
from paddock.cli.follow.print_logs import Request, print_kept
from paddock.cli.follow.wanted_lines import Wanted
from paddock.cli.main import cli
from paddock.history.records import Attempt, RunRecord, write_record
from paddock.install.console import VISITOR
from paddock.kube.meta import Manifest
from paddock.kube.rbac import ROLE_BINDINGS, ROLES
from support import fork_server
from support.kept import CONSOLE, READS_LOGS, SEES_JOBS, Kept, Ports, list_runs, open_cluster, write_kubeconfig
from support.operator_seam import JOBS
from support.printed import fill_in, take_printed
from support.waiting import until


@pytest.fixture
async def cluster(tmp_path: Path) -> AsyncIterator[Kept]:
    async with open_cluster(tmp_path) as made:
        yield made


@dataclass(frozen=True, slots=True)
class Ended:
    exit_code: int
    stdout: str
    stderr: str

    @property
    def output(self) -> str:
        """Without the line breaks of a terminal."""
        return " ".join(f"{self.stdout}\n{self.stderr}".split())


async def type_(kubeconfig: Path, *words: str, variables: Mapping[str, str] | None = None) -> Ended:
    """The command of a reader with this kubeconfig."""
    environment = {**os.environ, "PADDOCK_HOME": str(kubeconfig.parent / "home"), "COLUMNS": "200", **(variables or {})}
    typed = [*words, "--kubeconfig", str(kubeconfig)]
    ended = await asyncio.to_thread(fork_server.run, typed, environment, 120.0, str(kubeconfig.parent))
    return Ended(ended.returncode, ended.stdout, ended.stderr)


def take_grant(asked: Ended) -> list[Manifest]:
    """The Role and its binding of the command that is the first thing to be done."""
    said, _, rest = asked.stderr.partition("kubectl apply -f - <<'END'\n")
    assert "Who administers the cluster can allow what paddock needs there" in said, asked.stderr
    return list(yaml.safe_load_all(rest.partition("\nEND\n")[0]))


async def have_past(cluster: Kept, url: str, token: str) -> None:
    """A job that was restarted, and is deleted; and a second run of its name."""
    for lines in (["Traceback", "ValueError: 1"], ["step 2 loss: 0.5"]):
        job = await cluster.have_job()
        for attempt, line in enumerate(lines):
            pod = await cluster.have_pod(job, "worker-0", line, attempt=attempt)
            await cluster.end(pod)

            async def is_kept(line: str = line) -> bool:
                return any(line.encode() in each.read_bytes() for each in cluster.directory.glob("node/pods/*/*/0.log"))

            await until(is_kept)
            await cluster.remove(pod)
        await cluster.api.delete(JOBS, "default", "demo")

        async def is_recorded(count: int = 1 if len(lines) == 2 else 2) -> bool:
            runs = (await list_runs(url, token, name="demo")).runs
            return len(runs) == count and runs[-1].deleted is not None

        await until(is_recorded)


async def test_the_history_of_a_deleted_job_and_the_log_of_each_attempt_are_told(cluster: Kept, tmp_path: Path) -> None:
    token = await cluster.have_reader("ann", [SEES_JOBS, READS_LOGS])
    mine = write_kubeconfig(cluster, token, tmp_path / "ann")
    async with cluster.console(await cluster.have_keeper()) as url:
        await have_past(cluster, url, token)
        console = ("--console", url)
        listed = await type_(mine, "history", "demo", *console)
        assert listed.exit_code == 0, listed.output
        assert [line.split()[:2] for line in listed.stdout.splitlines() if line.startswith("demo  ")] == [
            ["demo", "1"], ["demo", "2"],
        ]  # fmt: skip
        first = await type_(mine, "logs", "demo", "--run", "1", "--attempt", "0", *console)
        assert (first.exit_code, first.stdout) == (0, "Traceback\n"), first.output
        second = await type_(mine, "logs", "demo", "--run", "1", *console)
        assert second.stdout == "ValueError: 1\n"
        last = await type_(mine, "logs", "demo", variables={"PADDOCK_CONSOLE": url})
        assert last.stdout == "step 2 loss: 0.5\n", last.output
        compared = await type_(mine, "compare", "demo", *console)
        assert compared.exit_code == 0 and "demo:1" in compared.output and "demo:2" in compared.output
        none = await type_(mine, "logs", "demo", "--run", "7", *console)
        assert (none.exit_code, none.stderr.strip()) == (2, "demo has no run 7; kept are 1, 2")
        other = await type_(mine, "logs", "other", "--run", "1", *console)
        assert other.exit_code == 2 and "no run of 'other' is kept in namespace default" in other.output


async def test_who_may_see_nothing_is_told_so_and_who_has_no_token_what_to_do(cluster: Kept, tmp_path: Path) -> None:
    token = await cluster.have_reader("ann", [SEES_JOBS, READS_LOGS])
    nothing = write_kubeconfig(cluster, await cluster.have_reader("eve", []), tmp_path / "eve")
    bare = write_kubeconfig(cluster, "", tmp_path / "bare")
    async with cluster.console(await cluster.have_keeper()) as url:
        await have_past(cluster, url, token)
        for words in (["history"], ["history", "demo"], ["logs", "demo", "--run", "1"], ["compare", "demo"]):
            asked = await type_(nothing, *words, "--console", url)
            assert asked.exit_code == 1 and "you may not see the jobs of default" in asked.output, asked.output
            role = take_grant(asked)[0]
            assert role["metadata"]["namespace"] == "default" and "paddlejobs" in role["rules"][0]["resources"]
        asked = await type_(bare, "history", "--console", url)
        assert asked.exit_code == 2
        assert "PADDOCK_CONSOLE_TOKEN" in asked.output and "create token NAME" in asked.output
        asked = await type_(bare, "history", "--console", url, variables={"PADDOCK_CONSOLE_TOKEN": token})
        assert asked.exit_code == 0 and "demo" in asked.output


@pytest.mark.parametrize(
    ("console", "said"),
    [
        ("http://console.example.org", "your token would go there unencrypted"),
        pytest.param("ftp://localhost", "your token would go there unencrypted", marks=pytest.mark.slow),
        pytest.param("http://[", "your token would go there unencrypted", marks=pytest.mark.slow),
        pytest.param("Not A Name", "is neither an address (https://…) nor a namespace", marks=pytest.mark.slow),
    ],
)
async def test_a_token_is_sent_to_no_address_where_others_could_read_it(
    cluster: Kept, tmp_path: Path, console: str, said: str
) -> None:
    asked = await type_(write_kubeconfig(cluster, "token", tmp_path / "ann"), "history", "--console", console)
    assert asked.exit_code == 2 and said in asked.output, asked.output


async def test_a_token_follows_no_redirect(cluster: Kept, tmp_path: Path) -> None:
    seen = list[str]()

    async def take(request: web.Request) -> web.Response:
        seen.append(request.path)
        raise web.HTTPFound("/elsewhere")

    application = web.Application()
    application.router.add_get("/{path:.*}", take)
    async with TestServer(application) as server:
        mine = write_kubeconfig(cluster, "token", tmp_path / "ann")
        asked = await type_(mine, "history", "--console", str(server.make_url("/")))
    assert asked.exit_code == 1 and "HTTP 302" in asked.output, asked.output
    assert seen == ["/kept/v1/namespaces/default/runs"]


async def test_where_no_console_keeps_it_is_said_what_an_administrator_installs_and_that_can_be_typed(
    cluster: Kept, tmp_path: Path
) -> None:
    mine = write_kubeconfig(cluster, cluster.server.token, tmp_path / "ann")
    for words in (["history"], ["history", "demo"], ["logs", "demo", "--run", "1"]):
        asked = await type_(mine, *words)
        assert asked.exit_code == 1 and "no console runs in namespace paddle-console" in asked.output, asked.output
    command = take_printed(asked.output, "paddock manifests console --image IMAGE --keep CLAIM")
    typed = fill_in(command, {"IMAGE": "example/paddock:1", "CLAIM": "kept"})
    printed = CliRunner().invoke(cli, typed.split()[1:])
    assert printed.exit_code == 0 and "claimName: kept" in printed.output


@pytest.mark.slow
async def test_a_tenant_with_few_rights_reaches_the_console_by_a_port_that_is_forwarded_to_its_pod(
    tmp_path: Path,
) -> None:
    ports = Ports()
    async with open_cluster(tmp_path, ports) as cluster:
        token = await cluster.have_reader("ann", [SEES_JOBS, READS_LOGS])
        mine = write_kubeconfig(cluster, token, tmp_path / "ann")
        async with cluster.console(await cluster.have_keeper()) as url:
            ports.url = URL(url)
            await have_past(cluster, url, token)
            await cluster.have_consoles_pod()
            listed = await type_(mine, "history", "demo")
            assert listed.exit_code == 0 and "demo run 2" in listed.output, listed.output
            first = await type_(mine, "logs", "demo", "--run", "1", "--attempt", "0")
            assert (first.exit_code, first.stdout) == (0, "Traceback\n"), first.output
            await cluster.api.delete(ROLE_BINDINGS, CONSOLE, VISITOR)
            listed = await type_(mine, "history", "demo")
            assert listed.exit_code == 1, listed.output
            assert "installs one by `paddock manifests console" in listed.output
            role, binding = take_grant(listed)
            assert [(*rule["resources"], *rule["verbs"]) for rule in role["rules"]] == [
                ("pods", "get", "list"), ("pods/portforward", "get", "create"),
            ]  # fmt: skip
            await cluster.api.create(ROLES, {**role, "rules": role["rules"][:1]})
            await cluster.api.create(ROLE_BINDINGS, binding)
            for words in (["history", "demo"], ["logs", "demo", "--run", "1"], ["compare", "demo"]):
                listed = await type_(mine, *words)
                assert listed.exit_code == 1 and "may not get pods/portforward in namespace paddle-console" in (
                    listed.output
                ), listed.output
                assert take_grant(listed)[0]["rules"] == role["rules"]
            await cluster.api.patch(ROLES, CONSOLE, role["metadata"]["name"], {"rules": role["rules"]})
            listed = await type_(mine, "history", "demo")
            assert listed.exit_code == 0, listed.output


@pytest.mark.slow
async def test_who_may_see_jobs_and_no_logs_is_told_the_history_without_ranks(cluster: Kept, tmp_path: Path) -> None:
    token = await cluster.have_reader("ann", [SEES_JOBS, READS_LOGS])
    few = write_kubeconfig(cluster, await cluster.have_reader("bob", [SEES_JOBS]), tmp_path / "bob")
    async with cluster.console(await cluster.have_keeper()) as url:
        await have_past(cluster, url, token)
        listed = await type_(few, "history", "demo", "--console", url)
        assert listed.exit_code == 0 and "demo run 1" in listed.output and "worker-0" not in listed.output
        assert "you may not read the logs of pods in default (get pods/log)" in listed.output
        asked = await type_(few, "logs", "demo", "--run", "1", "--console", url)
        assert asked.exit_code == 1 and asked.stdout == ""
        assert asked.stderr.startswith("system:serviceaccount:default:bob may not get pods/log in namespace default")
        take_grant(asked)


@pytest.mark.parametrize("whole", [True, pytest.param(False, marks=pytest.mark.slow)])
def test_of_a_log_that_lacks_something_it_is_not_said_that_nothing_was_printed(
    whole: bool, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """What it lacks is told instead."""
    home = Home(tmp_path, tmp_path / "cache")
    run = RunRecord(JOBS.api_version, JOBS.kind, "default", "demo", "u", 1, 1000.0, ended=1100.0, finished=True,
                    phase="Completed", attempts=(Attempt(0, 1000.0),))  # fmt: skip
    write_record(home.history, run)
    request = Request(Which(), Wanted())
    assert print_kept(History(home), "default", "demo", request, numbered=True, whole=whole) == 0
    assert ("run 1 of demo printed nothing" in capsys.readouterr().err) is whole
