"""Commands that Paddock prints and that no other test types: each in a state in which it is printed."""

from __future__ import annotations

import pytest

from e2e.commands import Cluster
from e2e.manifests import build_light_job
from support.sandboxes import ONE_SANDBOX

pytestmark = [ONE_SANDBOX]


def test_the_runs_of_a_name_stand_side_by_side(shared: Cluster) -> None:
    for words in ("echo one", "echo two"):
        assert shared.paddock("run", shared.write(build_light_job("sided", words))).code == 0
    compared = shared.paddock("compare", "sided")
    assert compared.code == 0 and compared.lines[0].split() == ["sided:1", "sided:2"], str(compared)
    assert any("echo one" in line and "echo two" in line for line in compared.lines)
    refused = shared.paddock("compare", "sided:1", "sided:1")
    assert refused.code == 2 and "`paddock history sided` lists them" in refused.err


def test_a_job_that_is_not_there_is_not_watched(shared: Cluster) -> None:
    for words in (("get", "jobs", "nope"), ("get", "jobs", "nope", "-w")):
        refused = shared.paddock(*words)
        assert refused.code == 2 and "there is no job 'nope' here" in refused.err.lower(), str(refused)


def test_for_how_long_logs_are_kept_is_set_while_the_cluster_is_up(shared: Cluster) -> None:
    for limits in ("30d", "30d,20GiB"):
        assert shared.paddock("up", "--keep-logs", limits).code == 0


def test_limits_of_memory_are_enforced_or_not_while_the_cluster_is_up(shared: Cluster) -> None:
    for option in ("--enforce-limits", "--no-enforce-limits"):
        asked = shared.paddock("up", option)
        assert asked.code == 0 and "containers above their memory limit are" in asked.err, str(asked)


def test_the_machine_and_another_host_are_looked_at(shared: Cluster) -> None:
    looked = shared.paddock("doctor", "--host", "--peer", "127.0.0.1")
    assert looked.code in (0, 1) and "this machine: " in looked.out, str(looked)


@pytest.mark.parametrize(
    "words",
    [
        ("init", "--help"),
        ("init", "--image", "python:3", "--", "python", "-c", "print()"),
        ("manifests", "--datasets", "--image", "example.org/paddock:1"),
        ("manifests", "all", "--image", "example.org/paddock:1"),
        pytest.param(("manifests", "console", "--image", "example.org/paddock:1"), marks=pytest.mark.slow),
        pytest.param(("manifests", "crd"), marks=pytest.mark.slow),
        pytest.param(("manifests", "crd", "--datasets"), marks=pytest.mark.slow),
        pytest.param(("manifests", "crd", "--kinds", "paddlejobs.batch.paddlepaddle.org"), marks=pytest.mark.slow),
        pytest.param(("manifests", "operator", "--image", "example.org/paddock:1"), marks=pytest.mark.slow),
        pytest.param(
            ("manifests", "operator", "--datasets", "--image", "example.org/paddock:1"), marks=pytest.mark.slow
        ),
        pytest.param(
            ("manifests", "operator", "--image", "example.org/paddock:1", "--jobs-in", "team-a"), marks=pytest.mark.slow
        ),
        pytest.param(("manifests", "operator", "--image", "example.org/paddock:1", "-A"), marks=pytest.mark.slow),
    ],
    ids=" ".join,
)
def test_what_a_cluster_gets_is_printed(shared: Cluster, words: tuple[str, ...]) -> None:
    more = ("-o", str(shared.directory / f"made-{len(words)}.yaml")) if words[:2] == ("init", "--image") else ()
    options = (*words[: words.index("--")], *more, *words[words.index("--") :]) if more else words
    printed = shared.paddock(*options)
    assert printed.code == 0 and (printed.out or more), str(printed)
