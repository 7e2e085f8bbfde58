"""Kubeflow Trainer's protocol on the local cluster: who gets the variables, what a token is good for, what is kept."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

from node.cluster import PYTHON, Cluster, container, open_cluster, pod, terminated
from paddock.apiserver.http.server import Server
from paddock.app import trainer_reports
from paddock.app.kinds import apply_crds, build_crds
from paddock.app.trainer_reports import TrainerReports, pass_by_proxy, read_grant, wants_reports
from paddock.jobs.apis.registry import KUBEFLOW_PYTORCH
from paddock.jobs.labels import ATTEMPT_LABEL, SPARE_LABEL
from paddock.jobs.model import JobProgress
from paddock.kube.errors import Conflict, Forbidden, NotFound, Unauthorized
from paddock.kube.meta import Manifest, Resource, owner_reference, uid_of
from paddock.kube.trainer_status import TrainerStatus
from paddock.node.runtime.containers import Provision
from paddock.node.runtime.sandbox import Sandbox
from support.sandboxes import SANDBOXES, need_sandbox

JOBS = KUBEFLOW_PYTORCH.resource
URL = "https://127.0.0.1:6443"


def job(name: str = "demo", uid: str = "u") -> Manifest:
    return {
        "apiVersion": JOBS.api_version, "kind": JOBS.kind,
        "metadata": {"name": name, "namespace": "default", "uid": uid},
        "spec": {"pytorchReplicaSpecs": {"Worker": {"replicas": 1}}},
    }  # fmt: skip


def pod_of(owner: Manifest, attempt: str = "0", **labels: str) -> Manifest:
    metadata = {
        "name": f"{owner['metadata']['name']}-worker-0", "namespace": "default", "uid": "pod",
        "labels": {ATTEMPT_LABEL: attempt, **labels},
        "ownerReferences": [owner_reference(owner) | {"controller": True}],
    }  # fmt: skip
    return {"metadata": metadata}


def build(directory: Path, *there: Manifest, url: str = URL) -> TrainerReports:
    certificate = directory / "ca.crt"
    certificate.write_text("PEM")
    named = {each["metadata"]["name"]: each for each in there}

    async def get(resource: Resource, namespace: str, name: str) -> Manifest:
        if name not in named:
            raise NotFound(name)
        return named[name]

    return TrainerReports(get, directory, url=lambda: url, certificate=certificate)


def token_of(reports: TrainerReports, of: Manifest) -> str:
    return "Bearer " + reports.provide(of, {}, Path("/p")).files["token"].decode()


def test_a_pod_of_a_job_gets_the_variables_and_two_files(tmp_path: Path) -> None:
    found = build(tmp_path).provide(pod_of(job()), {"PATH": "/bin"}, Path("/own"))
    assert dict(found.variables) == {
        "KUBEFLOW_TRAINER_SERVER_URL": URL
        + "/apis/trainer.kubeflow.org/v1alpha1/namespaces/default/trainjobs/demo/status",
        "KUBEFLOW_TRAINER_SERVER_CA_CERT": "/own/ca.crt",
        "KUBEFLOW_TRAINER_SERVER_TOKEN": "/own/token",
    }
    assert found.files["ca.crt"] == b"PEM" and len(found.files["token"]) > 64


@pytest.mark.parametrize(
    ("of", "environment", "url"),
    [
        ({"metadata": {"name": "p", "namespace": "default", "uid": "p"}}, {}, URL),
        (pod_of({"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": "j", "uid": "j"}}), {}, URL),
        (pod_of(job(), **{SPARE_LABEL: "true"}), {}, URL),
        (pod_of(job(), attempt="x"), {}, URL),
        (pod_of(job()), {}, ""),
        (pod_of(job()), {"KUBEFLOW_TRAINER_SERVER_URL": "https://elsewhere"}, URL),
        (pod_of(job()), {"KUBEFLOW_TRAINER_SERVER_TOKEN": ""}, URL),
        (pod_of(job()), {"DISABLE_KUBEFLOW_INTEGRATION": "true"}, URL),
    ],
)  # fmt: skip
def test_others_get_nothing(tmp_path: Path, of: Manifest, environment: Mapping[str, str], url: str) -> None:
    assert build(tmp_path, url=url).provide(of, environment, Path("/own")) == Provision()


def test_the_variable_that_disables_them_is_read_as_transformers_reads_it() -> None:
    assert wants_reports({"DISABLE_KUBEFLOW_INTEGRATION": "0"})
    assert not wants_reports({"DISABLE_KUBEFLOW_INTEGRATION": "TRUE"})


def test_without_its_files_a_pod_trains_without_reports(tmp_path: Path) -> None:
    reports = build(tmp_path)
    (tmp_path / "ca.crt").unlink()
    assert reports.provide(pod_of(job()), {}, Path("/own")) == Provision()


@pytest.mark.parametrize(
    ("environment", "added"),
    [
        ({}, {}),
        ({"http_proxy": "http://p"}, {}),
        ({"https_proxy": "http://p"}, {"no_proxy": "127.0.0.1", "NO_PROXY": "127.0.0.1"}),
        ({"HTTPS_PROXY": "http://p", "NO_PROXY": "a, b"}, {"NO_PROXY": "a,b,127.0.0.1"}),
        (
            {"HTTPS_PROXY": "http://p", "NO_PROXY": "a", "no_proxy": "b"},
            {"NO_PROXY": "a,127.0.0.1", "no_proxy": "b,127.0.0.1"},
        ),
        ({"all_proxy": "http://p", "no_proxy": "localhost,127.0.0.1"}, {}),
        ({"https_proxy": "http://p", "no_proxy": "*"}, {}),
    ],
)  # fmt: skip
def test_a_proxy_is_not_asked_for_this_machine(environment: Mapping[str, str], added: Mapping[str, str]) -> None:
    assert pass_by_proxy(environment) == added


def test_a_token_is_good_for_its_job_and_stays_good(tmp_path: Path) -> None:
    bearer = token_of(build(tmp_path), pod_of(job(), attempt="2"))
    grant = build(tmp_path).authorize("default", "demo", bearer)
    assert grant == read_grant(pod_of(job(), attempt="2")) and grant.attempt == 2, "also in the next process"
    for namespace, name in (("default", "other"), ("other", "demo")):
        with pytest.raises(Forbidden, match="default/demo"):
            build(tmp_path).authorize(namespace, name, bearer)
    (tmp_path / "other").mkdir()
    content, _, mark = bearer.removeprefix("Bearer ").rpartition(".")
    wrong = ["", "Bearer", "Bearer ", "Bearer .", f"Basic {content}.{mark}", f"Bearer {content}", f"Bearer {content}.",
             f"Bearer A{content}.{mark}", f"Bearer {content}.{mark[:-2]}", "Bearer \udcff.x"]  # fmt: skip
    for each in wrong:
        with pytest.raises(Unauthorized):
            build(tmp_path).authorize("default", "demo", each)
    with pytest.raises(Unauthorized):
        build(tmp_path / "other").authorize("default", "demo", bearer)


async def test_the_newest_report_of_the_attempt_is_kept(tmp_path: Path) -> None:
    reports = build(tmp_path, job())
    first, second = (read_grant(pod_of(job(), attempt=each)) for each in ("0", "1"))
    assert first is not None and second is not None
    await reports.keep(first, TrainerStatus(10, 90, {"loss": 0.5}))
    await reports.keep(first, TrainerStatus(20, metrics={"a" * 64: 1.0, "b": 2.0}))
    assert reports.read("u", 0) == JobProgress(20, None, {"b": 2.0})
    await reports.keep(second, TrainerStatus(1))
    assert (reports.read("u", 0), reports.read("u", 1)) == (None, JobProgress(1))
    with pytest.raises(Conflict):
        await reports.keep(first, TrainerStatus(30))
    assert reports.read("u", 1) == JobProgress(1)
    reports.forget("u")
    assert reports.read("u", 1) is None


@pytest.mark.parametrize("there", [(), (job(uid="made again"),)])
async def test_of_a_job_that_is_gone_nothing_is_kept(tmp_path: Path, there: tuple[Manifest, ...]) -> None:
    grant = read_grant(pod_of(job()))
    assert grant is not None
    with pytest.raises(NotFound):
        await build(tmp_path, *there).keep(grant, TrainerStatus(10))


async def test_reports_of_many_jobs_take_no_room_without_end(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(trainer_reports, "MOST_JOBS", 2)
    there = [job(name, uid=name) for name in "abc"]
    reports = build(tmp_path, *there)
    for each in there:
        grant = read_grant(pod_of(each))
        assert grant is not None
        await reports.keep(grant, TrainerStatus(10))
    assert [reports.read(name, 0) for name in "abc"] == [None, JobProgress(10), JobProgress(10)]


# With the node, in both sandboxes


@pytest.fixture(params=SANDBOXES)
def sandbox(request: pytest.FixtureRequest) -> Sandbox:
    return need_sandbox(request.param)


class Served:
    """A node whose pods report to the API server."""

    def __init__(self, cluster: Cluster, reports: TrainerReports, before: list[Callable[[Path], None]]) -> None:
        self.cluster, self.reports, self.before = cluster, reports, before


@pytest.fixture
async def served(tmp_path: Path, sandbox: Sandbox) -> AsyncIterator[Served]:
    given: list[TrainerReports] = []
    before: list[Callable[[Path], None]] = []

    def provide(*words: Any) -> Provision:
        for each in before:
            each(words[2])
        return given[0].provide(*words)

    async with open_cluster(tmp_path, sandbox, provide=provide, hidden=(tmp_path,)) as cluster:
        directory = tmp_path / "api"
        given.append(
            TrainerReports(cluster.api.get, directory, url=lambda: server.url, certificate=directory / "ca.crt")
        )
        server = Server(cluster.api, directory, reports=given[0])
        await server.start()
        await apply_crds(cluster.api, build_crds())
        yield Served(cluster, given[0], before)
        await server.stop()


PROGRAM = """
import json, os, ssl, stat, urllib.error, urllib.request

def post(url, body):
    context = ssl.create_default_context(cafile=os.environ["KUBEFLOW_TRAINER_SERVER_CA_CERT"])
    with open(os.environ["KUBEFLOW_TRAINER_SERVER_TOKEN"]) as file:
        headers = {"Authorization": "Bearer " + file.read()}
    request = urllib.request.Request(url, data=json.dumps(body).encode(), headers=headers)
    try:
        with urllib.request.urlopen(request, context=context) as answer:
            return answer.status
    except urllib.error.HTTPError as error:
        return error.code

url = os.environ["KUBEFLOW_TRAINER_SERVER_URL"]
report = {"trainerStatus": {"progressPercentage": 45, "metrics": [{"name": "loss", "value": "0.32"}]}}
mode = stat.S_IMODE(os.stat(os.environ["KUBEFLOW_TRAINER_SERVER_TOKEN"]).st_mode)
print(post(url, report), post(url.replace("/demo/", "/other/"), report), post(url, {"trainerStatus": 5}), oct(mode))
"""


async def test_a_program_reports_by_the_files_that_it_is_given(served: Served) -> None:
    cluster = served.cluster
    made = await cluster.api.create(JOBS, job())
    manifest = pod(container(PYTHON, "-c", PROGRAM))
    manifest["metadata"] |= pod_of(made, attempt="3")["metadata"] | {"name": "p", "uid": None}
    ended = await cluster.run(manifest)
    said = await cluster.log(ended)
    assert (terminated(ended)["exitCode"], said) == (0, "200 403 422 0o600\n")
    assert served.reports.read(uid_of(made), 3) == JobProgress(45, None, {"loss": 0.32})


async def test_the_pod_of_no_job_finds_no_such_variable(served: Served) -> None:
    program = "import os; print(sorted(name for name in os.environ if 'KUBEFLOW' in name))"
    ended = await served.cluster.run(pod(container(PYTHON, "-c", program)))
    assert await served.cluster.log(ended) == "[]\n"


async def test_what_cannot_be_written_for_a_pod_holds_it_not_up(served: Served) -> None:
    """A program of no sandbox may put a link in the place of its directory; a disk may be full."""
    cluster = served.cluster
    made = await cluster.api.create(JOBS, job())
    manifest = pod(container(PYTHON, "-c", "import os; print(os.environ.get('KUBEFLOW_TRAINER_SERVER_URL'))"))
    manifest["metadata"] |= pod_of(made)["metadata"] | {"name": "p", "uid": None}
    elsewhere = cluster.directory / "elsewhere"
    elsewhere.mkdir(parents=True)

    def lead_out(directory: Path) -> None:
        directory.parent.mkdir(parents=True, exist_ok=True)
        directory.symlink_to(elsewhere)

    served.before.append(lead_out)
    ended = await cluster.run(manifest)
    assert (terminated(ended)["exitCode"], await cluster.log(ended)) == (0, "None\n")
    assert list(elsewhere.iterdir()) == []
