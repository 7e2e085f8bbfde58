"""`paddock env`: the object that is made, its row, and who keeps it from being removed.

With a cluster it is in test_commands.
"""

from __future__ import annotations

from typing import Any

import pytest

from cli.views import RESOURCE, build_manifest
from paddock.cli.cluster.environment_users import find_users
from paddock.cli.cluster.errors import UserError
from paddock.cli.output.rows import build_environment_list_cells
from paddock.cli.submit.environments import build_environment, explain_python
from paddock.cli.submit.requirements import Requirements
from paddock.environments.crd import build_crd
from paddock.jobs.views.environments import read_environment_row
from paddock.kube.meta import Manifest

TINY: Manifest = {"metadata": {"name": "tiny"}, "spec": {"images": ["*/team/tiny:*"], "requirements": ["tiny==1.0"]}}


def build(*, index_url: str = "", env: tuple[str, ...] = (), python: str = "", **read: Any) -> Manifest:
    found = Requirements(**{"packages": ["tiny==1.0"], **read})
    return build_environment("tiny", [found], ["*/team/tiny:*"], index_url, (), env, python)


def test_the_object_has_the_given_options_and_nothing_else() -> None:
    assert build() == {"apiVersion": "paddock.dev/v1alpha1", "kind": "Environment", **TINY}
    spec = build(
        env=("A=1", "B=x=y", "A=2"), python=">=3.9", index_url="https://one/", extra_index_urls=["https://two/"]
    )["spec"]
    assert spec["env"] == [{"name": "A", "value": "2"}, {"name": "B", "value": "x=y"}]
    assert (spec["python"], spec["indexURL"], spec["extraIndexURLs"]) == (">=3.9", "https://one/", ["https://two/"])
    allowed = build_crd()["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"]["spec"]["properties"]
    assert set(spec) <= set(allowed)


def test_an_option_wins_over_the_file() -> None:
    found = Requirements(["tiny"], "https://file/", ["https://more/"])
    assert build_environment("t", [found], (), "", (), (), "")["spec"]["indexURL"] == "https://file/"
    spec = build_environment("t", [found], (), "https://option/", ("https://other/",), (), "")["spec"]
    assert (spec["indexURL"], spec["extraIndexURLs"]) == ("https://option/", ["https://other/"])


def test_all_problems_are_reported_at_once() -> None:
    with pytest.raises(UserError) as caught:
        build(problems=["r.txt:1: found -e"], env=("3x=1", "novalue"), python="3.11", index_url="ftp://x")
    lines = str(caught.value).splitlines()
    assert [line.split(":")[0] for line in lines] == [
        "r.txt", "--index-url", "--env", "--env", "--python", "nothing was created",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("specifier", "said"),
    [("", ""), (">=3.9,<3.13", ""), ("3.11", "did you mean ==3.11.*?"), ("newest", '"newest" is no version specifier')],
)
def test_which_python(specifier: str, said: str) -> None:
    found = str(explain_python(specifier) or "")
    assert said in found and bool(said) == bool(found)


@pytest.mark.parametrize(
    ("status", "row"),
    [
        ({}, ["tiny", "Pending", "", "", "", "*/team/tiny:*", "tiny==1.0"]),
        (
            {"phase": "Ready", "progress": 100, "python": "3.11.7", "sizeBytes": 29_000, "message": "tiny 1.0, 29 kB"},
            ["tiny", "Ready", "100 %", "3.11.7", "28 KiB", "*/team/tiny:*", "tiny==1.0"],
        ),
        (
            {"phase": "Failed", "progress": 0, "message": "no package index\nhas tiny"},
            ["tiny", "Failed", "0 %", "", "", "*/team/tiny:*", "no package index has tiny"],
        ),
    ],
)
def test_a_row_shows_the_status(status: dict[str, Any], row: list[str]) -> None:
    assert build_environment_list_cells(read_environment_row({**TINY, "status": status})) == row


def build_pod(phase: str, image: str = "registry.example/team/tiny:v1", **annotations: str) -> Manifest:
    return {
        "metadata": {"name": "p", "namespace": "default", "annotations": annotations},
        "spec": {"containers": [{"name": "a", "image": image}]},
        "status": {"phase": phase},
    }


NAMED = {"paddock.dev/environment": "tiny"}


@pytest.mark.parametrize(
    ("pod", "users"),
    [
        (build_pod("Running"), ["pod default/p"]),
        (build_pod("Pending", "busybox", **NAMED), ["pod default/p"]),
        (build_pod("Succeeded"), []),
        (build_pod("Failed", "busybox", **NAMED), []),
        (build_pod("Running", "busybox"), []),
    ],
)
def test_a_pod_that_has_not_ended_uses_its_environment(pod: Manifest, users: list[str]) -> None:
    assert find_users("tiny", [TINY], [], [pod]) == users


@pytest.mark.parametrize(("phase", "users"), [("Restarting", ["PaddleJob default/demo"]), ("Completed", [])])
def test_an_unfinished_job_needs_it_for_its_next_pods(phase: str, users: list[str]) -> None:
    job = build_manifest()
    job["metadata"]["annotations"] = NAMED
    job["status"] = {"phase": phase}
    assert find_users("tiny", [TINY], [(RESOURCE, job)], []) == users
    assert find_users("tiny", [TINY], [(RESOURCE, {"metadata": {"name": "broken"}, "spec": {}})], []) == []
