"""Facts parsed from messages, with the messages from the code that writes them."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path

import pytest

from jobs.samples import read_manifest
from paddock.app.why_not import explain_placement
from paddock.environments.definition import read_definition
from paddock.environments.images import explain_no_environment
from paddock.environments.progress import Progress
from paddock.environments.states import Building, build_answer
from paddock.jobs.apis.registry import PADDLEPADDLE
from paddock.jobs.model import Rank, Settings
from paddock.jobs.objects.pods import build_pod
from paddock.node.runtime.machine import Machine, build_node
from paddock.words.message_facts import (
    Shortage,
    read_environment,
    read_shortage,
    read_stage,
    read_unknown_image,
    split_progress,
)


def test_the_shortage_in_the_local_schedulers_message_is_parsed() -> None:
    manifest = read_manifest("wide_and_deep")
    manifest["metadata"] |= {"namespace": "default"}
    spec = manifest["spec"]["worker"]["template"]["spec"]
    spec["nodeSelector"] = {"accelerator": "p100"}
    spec["containers"][0]["resources"] = {"limits": {"nvidia.com/gpu": 1}}
    pod = build_pod(PADDLEPADDLE.read_job(manifest), Rank("worker", 0), 0, None, Settings())
    node = build_node(Machine("laptop", Fraction(8), 16 * 2**30), {}, 0.0, sandbox="none")
    (message,) = explain_placement([pod], [], [node], [], 0.0).values()
    assert read_shortage(message) == Shortage(("accelerator=p100",), ("nvidia.com/gpu",))


@pytest.mark.parametrize(
    ("message", "found"),
    [
        ("0/3 nodes are available: 3 Insufficient nvidia.com/gpu.", Shortage((), ("nvidia.com/gpu",))),
        (
            "0/3 nodes are available: 3 Insufficient cpu, 3 Insufficient a/b, 1 Insufficient a/b.",
            Shortage((), ("a/b",)),
        ),
        ("0/1 nodes are available: 1 node(s) had untolerated taint {x: }", Shortage()),
        ("", Shortage()),
    ],
)
def test_the_devices_in_kube_schedulers_message_are_parsed(message: str, found: Shortage) -> None:
    assert read_shortage(message) == found


def test_the_environment_and_its_progress_in_the_kubelets_message_are_parsed() -> None:
    definition = read_definition({"metadata": {"name": "mine"}, "spec": {"requirements": ["a==1"]}})
    progress = Progress("downloading", 61, "a 1", size=193_000_000, speed=12e6, left=9.0)
    message = build_answer(definition, Building(progress), "", Path()).message
    assert read_environment(message) == "mine"
    what, pace = split_progress(progress.explain())
    assert what.startswith("building (a 1, 1") and what.endswith(")")
    assert pace.endswith("/s, 9 s left")
    assert read_environment("no environment is named here") == ""


@pytest.mark.parametrize(
    ("progress", "stage"),
    [
        (Progress("downloading", 3, "a 1"), ""),
        (Progress("fetching", 3, "Python 3.13.9"), "fetching"),
        (Progress("retrying", 3, "building (a 1)", tries=(1, 3)), "try 2 of 3"),
    ],
)
def test_the_per_cent_are_of_a_stage(progress: Progress, stage: str) -> None:
    assert read_stage(split_progress(progress.explain())[0]) == stage


def test_an_image_without_an_environment_is_parsed() -> None:
    assert read_unknown_image(str(explain_no_environment("registry.example/team/tiny:v1", []))) == (
        "registry.example/team/tiny:v1"
    )
    assert read_unknown_image("pull access denied") == ""
