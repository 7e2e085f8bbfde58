"""A job that finds what is in a claim, whatever its image says of paths."""

from __future__ import annotations

from typing import Any

import pytest

from paddock.app.filled_claims.mounts import find_taken, list_claims, mount_packages, set_search_paths
from paddock.kube.meta import Manifest
from paddock.submission.templates import change_templates

REPORT = {"path": "/opt/conda/bin:/usr/bin", "pythonpath": "/app"}
ENV = "/paddock/packages/env"


def build(*env: Manifest, **spec: Any) -> Manifest:
    container = {"name": "paddle", "image": "i", **({"env": list(env)} if env else {})}
    template = {"spec": {"containers": [container, {"name": "other"}], **spec}}
    return {"kind": "PaddleJob", "spec": {"worker": {"replicas": 2, "template": template}}}


def mount(job: Manifest) -> Manifest:
    mounted: Manifest = change_templates(job, lambda template: mount_packages(template, 0, "env-1"))
    return mounted


def read_env(job: Manifest) -> dict[str, Any]:
    (container, other) = job["spec"]["worker"]["template"]["spec"]["containers"]
    assert other == {"name": "other"}
    return {each["name"]: each.get("value", each) for each in container.get("env") or ()}


def test_the_main_container_has_the_packages_read_only() -> None:
    job = build(volumes=[{"name": "data", "emptyDir": {}}])
    mounted = mount(job)
    spec = mounted["spec"]["worker"]["template"]["spec"]
    assert spec["containers"][0]["volumeMounts"] == [
        {"name": "paddock-packages", "mountPath": "/paddock/packages", "readOnly": True}
    ]
    assert spec["volumes"][1:] == [{"name": "paddock-packages", "persistentVolumeClaim": {"claimName": "env-1"}}]
    assert job == build(volumes=[{"name": "data", "emptyDir": {}}]), "the argument is as it was"
    assert list_claims(mounted) == {"env-1"} and list_claims(job) == set()


@pytest.mark.parametrize(
    ("env", "path", "pythonpath"),
    [
        ([], f"{ENV}/bin:/opt/conda/bin:/usr/bin", f"{ENV}/packages:/app"),
        ([{"name": "PATH", "value": "/mine"}], f"{ENV}/bin:/mine", f"{ENV}/packages:/app"),
        ([{"name": "PYTHONPATH", "value": ""}], f"{ENV}/bin:/opt/conda/bin:/usr/bin", f"{ENV}/packages"),
        ([{"name": "PYTHONPATH", "value": "/src"}], f"{ENV}/bin:/opt/conda/bin:/usr/bin", f"{ENV}/packages:/src"),
    ],
)
def test_its_programs_are_found_before_those_of_the_image(env: list[Manifest], path: str, pythonpath: str) -> None:
    told = read_env(set_search_paths(mount(build(*env)), {"env-1": REPORT}))
    assert (told["PATH"], told["PYTHONPATH"]) == (path, pythonpath)


def test_a_path_from_elsewhere_stays_as_it_is() -> None:
    entry = {"name": "PATH", "valueFrom": {"configMapKeyRef": {"name": "c", "key": "k"}}}
    assert read_env(set_search_paths(mount(build(entry)), {"env-1": REPORT}))["PATH"] == entry


def test_a_job_that_mounts_no_packages_stays_as_it_is() -> None:
    job = build()
    assert set_search_paths(job, {"env-1": REPORT}) == job
    assert set_search_paths(mount(job), {}) == mount(job)


@pytest.mark.parametrize(
    ("container", "volumes", "taken"),
    [
        ({}, [], ""),
        ({"volumeMounts": [{"name": "x", "mountPath": "/data"}]}, [{"name": "x"}], ""),
        ({"volumeMounts": [{"name": "x", "mountPath": "/paddock/packages/"}]}, [],
         "volumeMounts[0].mountPath /paddock/packages"),
        ({}, [{"name": "paddock-packages"}], "volumes[0].name paddock-packages"),
        ({"env": [{"name": "A"}, {"name": "PYTHONPATH", "valueFrom": {}}]}, [], "env[1] PYTHONPATH (valueFrom)"),
    ],
)  # fmt: skip
def test_what_is_in_the_way_is_named_by_its_field(container: Manifest, volumes: list[Manifest], taken: str) -> None:
    assert find_taken(container, volumes) == taken
