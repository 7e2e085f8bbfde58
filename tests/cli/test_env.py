"""`paddock env`: the object that is made, its row, and who keeps it from being removed.

With a cluster it is in test_commands.
"""

from __future__ import annotations

from dataclasses import replace
from itertools import starmap
from typing import Any

import pytest

from cli.views import RESOURCE, build_manifest
from paddock.cli.cluster.errors import UserError
from paddock.cli.output.rows import build_environment_list_cells
from paddock.cli.verbs.env import build_environment, check_changes, is_unbuilt
from paddock.environments.changes import Changes, change_environment, find_differences, is_built_anew
from paddock.environments.crd import build_crd
from paddock.environments.defaults import build_defaults
from paddock.environments.from_files import with_files
from paddock.environments.manifests import Settings, explain_python
from paddock.environments.requirement_files import Requirements
from paddock.environments.seeding import plan_seeding
from paddock.environments.sources import Source, read_source
from paddock.kube.meta import PODS, Key, Manifest, Resource
from paddock.views.environment_users import Plan, User, count_users, read_plan, read_users
from paddock.views.environments import read_environment_row

TINY: Manifest = {"metadata": {"name": "tiny"}, "spec": {"images": ["*/team/tiny:*"], "requirements": ["tiny==1.0"]}}


def build(*, index_url: str = "", env: tuple[str, ...] = (), python: str = "", **read: Any) -> Manifest:
    found = Requirements(**{"packages": ["tiny==1.0"], **read})
    return build_environment("tiny", [found], Settings(("*/team/tiny:*",), index_url, (), env, python))


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
    assert build_environment("t", [found], Settings())["spec"]["indexURL"] == "https://file/"
    spec = build_environment("t", [found], Settings((), "https://option/", ("https://other/",)))["spec"]
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
    assert list_users([], [pod]) == users


@pytest.mark.parametrize(("phase", "users"), [("Restarting", ["PaddleJob default/demo"]), ("Completed", [])])
def test_an_unfinished_job_needs_it_for_its_next_pods(phase: str, users: list[str]) -> None:
    job = build_manifest()
    job["metadata"]["annotations"] = NAMED
    job["status"] = {"phase": phase}
    assert list_users([(RESOURCE, job)], []) == users
    assert list_users([(RESOURCE, {"metadata": {"name": "broken"}, "spec": {}})], []) == []


def test_a_job_whose_image_has_no_environment_uses_the_default_of_its_framework() -> None:
    job = build_manifest()
    container = job["spec"]["worker"]["template"]["spec"]["containers"][0]
    container |= {"image": "team.example/strange:v1", "command": ["python", "train.py"]}
    paddle = {**TINY, "metadata": {"name": "paddle"}}
    assert read_users([TINY, paddle], [read_plan(RESOURCE, job)], [], 0).keys() == {"paddle"}


def test_a_job_with_its_pods_counts_once() -> None:
    job, pod = User(RESOURCE, Key("default", "demo")), User(PODS, Key("default", "demo-worker-0"), "uid-1")
    other = User(PODS, Key("default", "mine"))
    jobs = [Plan(job, "uid-1", ())]
    assert count_users([job, pod, other], jobs) == [job, other]
    assert count_users([pod], []) == [pod]


def list_users(jobs: list[tuple[Resource, Manifest]], pods: list[Manifest]) -> list[str]:
    return list(map(str, read_users([TINY], starmap(read_plan, jobs), pods, 0).get("tiny", [])))


def read(*packages: str, **more: Any) -> list[Requirements]:
    places = [f"requirements.txt:{number}" for number, _ in enumerate(packages, 1)]
    return [Requirements(list(packages), places=places, **more)]


OF_FILE = with_files(TINY, read("tiny==1.0"), Source(("/p/requirements.txt",)), "2026-01-01T00:00:00Z")


@pytest.mark.parametrize(
    ("before", "found", "changes", "spec", "said"),
    [
        (OF_FILE, read("tiny==1.0"), Changes(), {}, []),
        (OF_FILE, read("tiny==2.0"), Changes(), {"requirements": ["tiny==2.0"]},
         ["requirements: +tiny==2.0, -tiny==1.0"]),
        (OF_FILE, read("tiny==1.0"), Changes(added=("six",)), {"requirements": ["tiny==1.0", "six"]},
         ["requirements: +six"]),
        (TINY, [], Changes(added=("tiny==2.0", "six")), {"requirements": ["tiny==2.0", "six"]},
         ["requirements: +tiny==2.0, +six, -tiny==1.0"]),
        (TINY, [], Changes(removed=("Tiny",)), {"requirements": []}, ["requirements: -tiny==1.0"]),
        (TINY, [], Changes(python=">=3.11", variables=("TOKEN=secret",)),
         {"python": ">=3.11", "env": [{"name": "TOKEN", "value": "secret"}]}, ["python: +>=3.11", "env: +TOKEN"]),
        (TINY, [], Changes(images=("other:*",), index_url="https://u:secret@index/"),
         {"images": ["other:*"], "indexURL": "https://u:secret@index/"},
         ["images: +other:*, -*/team/tiny:*", "indexURL: another one"]),
        (OF_FILE, read("tiny==1.0", index_url="https://file/"), Changes(), {"indexURL": "https://file/"},
         ["indexURL: another one"]),
        (OF_FILE, read("tiny==1.0", index_url="https://file/"), Changes(index_url="https://option/"),
         {"indexURL": "https://option/"}, ["indexURL: another one"]),
    ],
)  # fmt: skip
def test_an_update_changes_what_is_said_and_tells_it(
    before: Manifest, found: list[Requirements], changes: Changes, spec: dict[str, Any], said: list[str]
) -> None:
    source = read_source(before)
    check_changes(changes, found, source, before)
    after = change_environment(before, found, source, changes, "2026-01-02T00:00:00Z")
    assert after["spec"] == TINY["spec"] | spec
    assert list(map(str, find_differences(before["spec"], after["spec"]))) == said
    assert is_built_anew(before["spec"], after["spec"]) == bool(said)


def test_what_was_added_outlives_the_next_reading_of_the_file() -> None:
    added = change_environment(OF_FILE, read("tiny==1.0"), read_source(OF_FILE), Changes(added=("six==1",)), "")
    again = change_environment(added, read("tiny==2.0"), read_source(added), Changes(), "")
    assert again["spec"]["requirements"] == ["tiny==2.0", "six==1"]
    named = change_environment(again, read("tiny==2.0", "six==3"), read_source(again), Changes(), "")
    assert named["spec"]["requirements"] == ["tiny==2.0", "six==3"], "the file's own word wins"


def test_all_problems_of_an_update_are_reported_at_once() -> None:
    changes = Changes(added=("tiny==3", "six = 1"), removed=("gone",), python="3.11", variables=("3x",))
    with pytest.raises(UserError) as caught:
        check_changes(changes, read("tiny==1.0", problems=["requirements.txt:9: found -e"]), Source(()), TINY)
    lines = str(caught.value).splitlines()
    assert [line.split(":")[0] for line in lines] == [
        "requirements.txt", "--env", "--python", "--add tiny==3", "--add", "--remove gone", "nothing was changed",
    ]  # fmt: skip


def test_the_list_marks_an_environment_whose_file_has_changed() -> None:
    row = replace(read_environment_row(TINY), changed=True)
    assert build_environment_list_cells(row)[-1] == "requirements.txt changed since; the next run rebuilds it"


def test_what_comes_with_paddock_and_was_never_built_has_no_row_of_its_own() -> None:
    (seeded, *_), _ = plan_seeding((), build_defaults())
    ready, changed = seeded | {"status": {"phase": "Ready"}}, seeded | {"spec": {**seeded["spec"], "python": ">=3.11"}}
    assert [is_unbuilt(each) for each in (seeded, ready, changed, TINY)] == [True, False, False, False]
