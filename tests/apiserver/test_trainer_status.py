"""Kubeflow Trainer's path on the embedded API: its own tokens, its own bound, and never an error of the server's."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from apiserver.embedded import Http
from paddock.apiserver.http.server import Server
from paddock.apiserver.http.trainer_status import MOST_BYTES
from paddock.apiserver.objects.in_process import LocalApi
from paddock.kube.errors import NotFound, Unauthorized
from paddock.kube.trainer_status import TrainerStatus, build_path

PATH = build_path("default", "demo")
OWN = {"Authorization": "Bearer pod"}


class Kept:
    """Knows one token."""

    def __init__(self) -> None:
        self.reports: list[tuple[str, TrainerStatus]] = []
        self.gone = False

    def authorize(self, namespace: str, name: str, authorization: str) -> str:
        if authorization != "Bearer pod":
            raise Unauthorized("Unauthorized")
        return f"{namespace}/{name}"

    async def keep(self, grant: str, status: TrainerStatus) -> None:
        if self.gone:
            raise NotFound(f"{grant} is not there any more")
        self.reports.append((grant, status))


@pytest.fixture
def kept() -> Kept:
    return Kept()


@pytest.fixture
async def http(api: LocalApi, kept: Kept, tmp_path: Path) -> AsyncIterator[Http]:
    server = Server(api, tmp_path / "cluster", reports=kept)
    await server.start()
    client = Http(server)
    yield client
    await client.session.close()
    await server.stop()


async def test_a_report_is_kept_and_answered_with_200(http: Http, kept: Kept) -> None:
    body = {"trainerStatus": {"progressPercentage": 45, "metrics": [{"name": "loss", "value": "0.5"}]}}
    status, answer, _ = await http.ask("POST", PATH, body, headers=OWN)
    assert (status, answer) == (200, body)
    assert kept.reports == [("default/demo", TrainerStatus(45, metrics={"loss": 0.5}))]
    status, answer, _ = await http.ask("POST", PATH, {}, headers=OWN)
    assert (status, answer, len(kept.reports)) == (200, {}, 1), "one without a report is accepted, as Trainer does"


@pytest.mark.parametrize(
    ("data", "code"),
    [
        (b"", 400), (b"{", 400), (b"\xff", 400), (b"[" * 60_000, 400), (b"[]", 422), (b"NaN", 400),
        (b'{"trainerStatus": {"progressPercentage": 1e99}}', 422), (b'{"trainerStatus": 5}', 422),
        (b" " * (MOST_BYTES + 1), 413),
    ],
)  # fmt: skip
async def test_wrong_bodies_are_refused_with_a_sentence(http: Http, kept: Kept, data: bytes, code: int) -> None:
    status, answer, _ = await http.ask("POST", PATH, data=data, headers=OWN)
    assert (status, answer["kind"], answer["status"]) == (code, "Status", "Failure")
    assert answer["message"] and not kept.reports


async def test_the_job_may_be_gone(http: Http, kept: Kept) -> None:
    kept.gone = True
    status, answer, _ = await http.ask("POST", PATH, {"trainerStatus": {}}, headers=OWN)
    assert (status, answer["message"]) == (404, "default/demo is not there any more")


async def test_each_token_opens_its_own_paths_alone(http: Http, kept: Kept) -> None:
    """The cluster's token tells nothing of a job, and that of a pod reads nothing."""
    status, _, _ = await http.ask("POST", PATH, {"trainerStatus": {}})
    assert (status, kept.reports) == (401, [])
    for method, path in (
        ("GET", PATH),
        ("PUT", PATH),
        ("GET", "/api/v1/pods"),
        ("POST", PATH + "/x"),
        ("GET", "/apis"),
    ):
        status, _, _ = await http.ask(method, path, headers=OWN)
        assert status == 401, (method, path)


async def test_no_other_host_is_served(http: Http) -> None:
    status, _, _ = await http.ask("POST", PATH, {}, headers={**OWN, "Host": "evil.example"})
    assert status == 403
