"""What is advised after an environment that could not be built: by whose fault it is."""

from __future__ import annotations

import shlex
from dataclasses import dataclass, field
from typing import Any

import click
import pytest

from paddock.cli.cluster.flags import LOCAL, Flags
from paddock.cli.cluster.session import mask_words, typed_command
from paddock.cli.follow.failed_environment import fetch_steps
from paddock.jobs.apis.registry import PADDLEPADDLE
from paddock.jobs.model import CauseRecord
from paddock.jobs.text.phrases import render
from paddock.jobs.views.given_up import read_given_up, write_given_up
from paddock.jobs.views.stored import read_stored
from paddock.kube.errors import NotFound
from paddock.kube.meta import Manifest

CAUSE = CauseRecord("EnvironmentFailed", {"rank": "worker-0", "message": "environment mine: no wheel"}, 100.0)
JOB: Manifest = {"metadata": {"name": "demo", "namespace": "default"}}


@dataclass
class FakeClient:
    """At the seam of the API: one Environment, or none."""

    status: Manifest | None

    async def get(self, *_: Any) -> Manifest:
        if self.status is None:
            raise NotFound("no environment")
        return {"metadata": {"name": "mine"}, "status": self.status}


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
        ("network", [], ["next: paddock run 'a b.yaml'"]),
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
