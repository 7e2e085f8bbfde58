"""Which job gives way to a new one of its name, over the embedded API."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from paddock.apiserver.objects.in_process import LocalApi
from paddock.app.home import Home
from paddock.app.kinds import apply_crds, build_crds
from paddock.cli.cluster.errors import UserError
from paddock.cli.cluster.places import Local
from paddock.cli.submit.checks import NAMES, Submission, refuse
from paddock.cli.submit.replacing import delete_replaced
from paddock.cli.submit.script.requests import build_documents
from paddock.jobs.apis.registry import KINDS
from paddock.jobs.model import Phase, Status
from paddock.kube.errors import NotFound
from paddock.script.request import ScriptRequest
from paddock.submission.documents import Checked
from paddock.views.stored import StoredJob
from paddock.words.phrases import Phrase


@pytest.fixture
async def api(tmp_path: Path) -> AsyncIterator[LocalApi]:
    opened = await LocalApi.open(tmp_path / "api")
    await apply_crds(opened, build_crds())
    yield opened
    await opened.close()


def build(framework: str) -> Checked:
    (job,) = build_documents(ScriptRequest(["true"], framework, name="train", namespace="default"))
    return job


async def find_replaced(api: LocalApi, job: Checked, *, typed: bool = False) -> list[tuple[Checked, StoredJob]]:
    submission = Submission(api, Local(Home(Path("home"), Path("cache"))), [job], lambda _: None, typed=typed)
    await refuse(submission, [NAMES])
    return submission.there


async def test_a_job_of_another_kind_has_the_name_as_well(api: LocalApi) -> None:
    paddle, torch = build("paddle"), build("pytorch")
    created = await api.create(paddle.resource, paddle.manifest)
    with pytest.raises(UserError, match=r"PaddleJob train exists already, Pending(.|\n)*--name train-2"):
        await find_replaced(api, torch, typed=True)
    written = KINDS[paddle.resource].write_status(created, Status(Phase.COMPLETED), 1e9)
    await api.patch(paddle.resource, *paddle.key, {"status": written}, subresource="status")
    found = await find_replaced(api, torch)
    said: list[Phrase] = []
    await delete_replaced(api, found, said.append)
    assert str(said[0]).startswith("replacing PaddleJob train, Completed (")
    with pytest.raises(NotFound):
        await api.get(paddle.resource, *paddle.key)
    assert await find_replaced(api, torch) == []
