"""Two commands that submit a job of one name at the same time, each with values of its own in a Secret."""

from __future__ import annotations

import asyncio
import base64
from dataclasses import replace
from itertools import product
from pathlib import Path

import pytest

from paddock.cli.cluster.errors import UserError
from paddock.cli.submit.script.requests import build_documents
from paddock.cli.submit.sent_directories import create_with_maps
from paddock.jobs.apis.registry import KINDS
from paddock.kube.api import Api
from paddock.kube.meta import SECRETS, Manifest, metadata, uid_of
from paddock.script.request import ScriptRequest
from paddock.submission.documents import Checked
from paddock.words.phrases import Phrase
from support.operator_seam import Seam
from support.worlds import World, create_namespace, open_embedded

VALUES = ("first", "second")


def build(value: str, namespace: str) -> list[Checked]:
    """A job that prints the value's owner, so that it is known whose job is there."""
    request = ScriptRequest(["echo", value], name="demo", namespace=namespace, secrets=[("TOKEN", value)])
    return build_documents(request)


def ignore(_: Phrase) -> None:
    """A notice."""


async def submit(api: Api, value: str, namespace: str) -> str:
    """What was said against it."""
    try:
        await create_with_maps(api, build(value, namespace), ignore, update=True)
    except UserError as error:
        return str(error)
    return ""


class Paused:
    """A client that waits before the request of this number until `on` is set; `there`: it waits, or is done."""

    def __init__(self, world: World, number: int) -> None:
        self.api, self.there, self.on = Seam(world.api, world.namespace), asyncio.Event(), asyncio.Event()
        self.api.before = self._wait
        self._number, self._requests = number, 0

    async def _wait(self, _: object) -> None:
        self._requests += 1
        if self._requests == self._number:
            self.there.set()
            await self.on.wait()

    async def submit(self, value: str, namespace: str) -> str:
        said = await submit(self.api, value, namespace)
        self.there.set()
        return said


async def run_between(world: World, moments: tuple[int, int]) -> tuple[str, str]:
    """The first command pauses before a request, the second one before one of its own; then the first goes on to its
    end, and then the second. What was said against each."""
    commands = [Paused(world, moment) for moment in moments]
    async with asyncio.TaskGroup() as group:
        tasks = []
        for command, value in zip(commands, VALUES, strict=True):
            tasks.append(group.create_task(command.submit(value, world.namespace)))
            await command.there.wait()
        for command, task in zip(commands, tasks, strict=True):
            command.on.set()
            await asyncio.wait([task])
    return tasks[0].result(), tasks[1].result()


@pytest.mark.parametrize("left", [False, True], ids=["nothing was there", "a Secret was there"])
async def test_a_job_has_the_values_of_its_own_command(tmp_path: Path, left: bool) -> None:
    """A command sends at most six requests."""
    async with open_embedded(tmp_path) as world:
        for moments in product(range(1, 8), range(1, 8)):
            place = replace(world, namespace=await create_namespace(world.api))
            if left:
                (secret, _) = build("of a command that was killed", place.namespace)
                await world.api.create(SECRETS, secret.manifest)
            await check(place, moments, await run_between(place, moments))


async def check(world: World, moments: tuple[int, int], said: tuple[str, str]) -> None:
    where = f"before requests {moments}: {said}"
    jobs: list[Manifest] = []
    for kind in KINDS:
        jobs += (await world.api.list(kind, world.namespace)).items
    assert [bool(each) for each in said].count(False) == len(jobs) <= 1, where
    assert all("another command submits PaddleJob" in each for each in said if each), where
    secrets = (await world.api.list(SECRETS, world.namespace)).items
    if not jobs:
        return
    winner = VALUES[said.index("")]
    assert winner in str(jobs[0]["spec"]), where
    assert [read_token(secret) for secret in secrets] == [winner], where
    owners = [owner["uid"] for owner in metadata(secrets[0])["ownerReferences"]]
    assert owners == [uid_of(jobs[0])], where


def read_token(secret: Manifest) -> str:
    return base64.b64decode(secret["data"]["TOKEN"]).decode()
