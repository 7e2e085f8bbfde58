"""What is advised after an environment that could not be built: by whose fault it is."""

from __future__ import annotations

import shlex
from dataclasses import dataclass, field
from typing import Any

import click
import pytest

from paddock.cli.cluster.session import mask_words, typed_command
from paddock.cli.follow.failed_environment import fetch_steps
from paddock.jobs.apis.registry import PADDLEPADDLE
from paddock.jobs.model import CauseRecord
from paddock.kube.errors import NotFound
from paddock.kube.meta import Manifest
from paddock.views.flags import LOCAL, Flags
from paddock.views.given_up import read_given_up, write_given_up
from paddock.views.stored import read_stored
from paddock.words.phrases import render

CAUSE = CauseRecord("EnvironmentFailed", {"rank": "worker-0", "message": "environment mine: no wheel"}, 100.0)
JOB: Manifest = {"metadata": {"name": "demo", "namespace": "default"}}


@dataclass
class FakeClient:
    """At the seam of the API: one Environment, or none."""

    status: Manifest | None
    annotations: Manifest = field(default_factory=dict)

    async def get(self, *_: Any) -> Manifest:
        if self.status is None:
            raise NotFound("no environment")
        return {"metadata": {"name": "mine", "annotations": self.annotations}, "status": self.status}


@dataclass
class FakePlace:
    others: list[str] = field(default_factory=list)
    flags: Flags = LOCAL

    def find_other_settings(self) -> list[str]:
        return self.others


@pytest.mark.parametrize(
    ("fault", "others", "steps"),
    [
        (
            "definition",
            ["HTTPS_PROXY"],
            [
                "next: paddock env update mine -r requirements.txt",
                "then: paddock run 'a b.yaml'",
            ],
        ),
        (
            "network",
            [],
            ["next: paddock run 'a b.yaml'  # when the network is there again: what was fetched is kept"],
        ),
        (
            "machine",
            ["HTTPS_PROXY", "XDG_CACHE_HOME"],
            [
                "next: paddock down  # the local cluster was started with other settings: HTTPS_PROXY, XDG_CACHE_HOME",
                "then: paddock run 'a b.yaml'",
            ],
        ),
    ],
)
async def test_the_steps_are_those_that_can_help(fault: str, others: list[str], steps: list[str]) -> None:
    client, place = FakeClient({"phase": "Failed", "fault": fault}), FakePlace(others)
    found = await fetch_steps(client, place, read_stored(PADDLEPADDLE.resource, JOB), CAUSE, "paddock run 'a b.yaml'")  # type: ignore[arg-type]
    assert [render(step, "en") for step in found] == steps


INSTALL = (
    "sql.h is missing; run `apt-get install unixodbc-dev` (Debian GNU/Linux 12), or choose a version that has a wheel"
)
AGAIN = "paddock run 'a b.yaml'"
MENDED = f"{AGAIN}  # after /p/requirements.txt is mended: it is read again"


@pytest.mark.parametrize(
    ("fault", "message", "steps"),
    [
        ("machine", f"pyodbc 5.1.0 has no wheel and does not compile: {INSTALL}",
         ["next: apt-get install unixodbc-dev", f"then: {AGAIN}"]),
        ("machine", "ujson 5.4.0 has to be compiled, and this machine has no compiler: run `apt-get install "
         "build-essential` (Debian GNU/Linux 12)", ["next: apt-get install build-essential", f"then: {AGAIN}"]),
        ("machine", "x 1 could not be built: its own build script failed; choose a version that has a wheel",
         [f"next: {MENDED}"]),
        ("machine", "the disk is full: free some space where /c is, or set XDG_CACHE_HOME to a directory with more",
         ["next: paddock clean --dry-run  # what may go, and how much comes free: `paddock clean` removes it",
          f"then: {AGAIN}"]),
        ("machine", "paddlepaddle needs at least 2 GiB on the disk, and 1 GiB are free where /c is: free some space",
         ["next: paddock clean --dry-run  # what may go, and how much comes free: `paddock clean` removes it",
          f"then: {AGAIN}"]),
        ("definition", "spec.requirements: there is no six==99: change the version; `pip index versions six` lists "
         "those that exist", ["next: pip index versions six", f"then: {MENDED}"]),
        ("definition", "spec.requirements: there is no six>99, only six<=1.17.0: change the version",
         [f"next: {MENDED}"]),
        ("definition", "spec.requirements: no package index here has cv2: check the name, or set spec.indexURL",
         ["did you mean opencv-python?", f"next: {MENDED}"]),
        ("definition", "spec.requirements: no package index here has my-own: check the name, or set spec.indexURL",
         [f"next: {MENDED}"]),
    ],
)  # fmt: skip
async def test_what_the_builder_says_decides_the_steps(fault: str, message: str, steps: list[str]) -> None:
    source = {"paddock.dev/requirements-source": '{"files": ["/p/requirements.txt"]}'}
    client = FakeClient({"phase": "Failed", "fault": fault, "message": message}, source)
    cause = CauseRecord("EnvironmentFailed", {"rank": "worker-0", "message": f"environment mine: {message}"}, 100.0)
    found = await fetch_steps(client, FakePlace(), read_stored(PADDLEPADDLE.resource, JOB), cause, AGAIN)  # type: ignore[arg-type]
    assert [render(step, "en") for step in found] == steps


async def test_what_the_environment_does_not_tell_in_time_is_said() -> None:
    client, job = FakeClient({"phase": "Building"}), read_stored(PADDLEPADDLE.resource, JOB)
    found = await fetch_steps(client, FakePlace(), job, CAUSE, "", wait=0.0)  # type: ignore[arg-type]
    assert str(found[0]) == "whose fault it is, is not recorded yet: paddock env list"


async def test_an_environment_that_is_gone_and_a_command_that_cannot_be_typed_again_leave_no_step() -> None:
    assert await fetch_steps(FakeClient(None), FakePlace(), read_stored(PADDLEPADDLE.resource, JOB), CAUSE, "") == []  # type: ignore[arg-type]


def test_the_command_is_quoted_for_a_shell() -> None:
    root = click.Context(click.Command("paddock"), obj=("run", "a b.yaml", "-n", "team"))
    with click.Context(click.Command("run"), parent=root):
        assert typed_command() == "paddock run 'a b.yaml' -n team"
    assert typed_command() == ""


@pytest.mark.parametrize(
    ("typed", "shown"),
    [
        ("run --on-end https://hooks.example/SECRET -- python a.py", "run --on-end *** -- python a.py"),
        ("run --on-end=https://hooks.example/SECRET job.yaml", "run --on-end=*** job.yaml"),
        ("run --env TOKEN=s3 --env=KEY=a=b -- python a.py", "run --env TOKEN=*** --env=KEY=*** -- python a.py"),
        ("run --on-end notify-send --env HOME -- x --env A=b", "run --on-end notify-send --env HOME -- x --env A=b"),
        ("run --env", "run --env"),
    ],
)
def test_an_advised_command_shows_no_secret(typed: str, shown: str) -> None:
    assert mask_words(typed.split()) == shown.split()
    root = click.Context(click.Command("paddock"), obj=tuple(typed.split()))
    with click.Context(click.Command("run"), parent=root):
        assert typed_command() == f"paddock {shlex.join(shown.split())}"


def test_why_run_gave_a_job_up_stays_with_it() -> None:
    job = {
        **JOB,
        "metadata": {**JOB["metadata"], "annotations": {"paddock.dev/timed-out": write_given_up(CAUSE)}},
        "status": {"phase": "Suspended", "attempt": 0},
    }
    assert read_stored(PADDLEPADDLE.resource, job).shown_status.cause == CAUSE
    resumed = {**job, "status": {"phase": "Running", "attempt": 1}}
    assert read_stored(PADDLEPADDLE.resource, resumed).shown_status.cause is None


@pytest.mark.parametrize("text", ["", "{", "[]", '{"reason": 1}', "null", "7"])
def test_another_text_in_the_annotation_is_no_cause(text: str) -> None:
    assert read_given_up({"metadata": {"annotations": {"paddock.dev/timed-out": text}}}) is None
