"""The annotation `paddock.dev/datasets`: what it may say, what is wrong in it, and what pods get of it."""

from __future__ import annotations

import re
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jobs.samples import SAMPLES, read_any, read_manifest
from paddock.jobs.model import Job, Mount, Rank, Settings
from paddock.jobs.mounts import MOST_MOUNTS, BadMount, extend_mounts, keep_readable, read_mount, write_mounts
from paddock.jobs.objects.pods import build_pod
from paddock.kube.datasets import MOUNTS_ANNOTATION
from paddock.kube.meta import Manifest
from paddock.kube.validation.pods import check_pod_spec
from paddock.words.problems import InvalidJob


def annotated(text: Any, name: str = "resnet", **spec: Any) -> Manifest:
    manifest = read_manifest(name)
    manifest["metadata"]["annotations"] = {MOUNTS_ANNOTATION: text}
    if spec:
        manifest["spec"]["worker"]["template"]["spec"] |= spec
    return manifest


def read(text: Any, **spec: Any) -> Job:
    return read_any(annotated(text, **spec))


GOOD: dict[str, list[tuple[str, str]]] = {
    "": [],
    "  ,": [],
    "imagenet:/data": [("imagenet", "/data")],
    "imagenet:/data, words:/data2": [("imagenet", "/data"), ("words", "/data2")],
    " imagenet : /data/ ,words:/data//words, ": [("imagenet", "/data"), ("words", "/data/words")],
    "imagenet:/a,imagenet:/b": [("imagenet", "/a"), ("imagenet", "/b")],
    "v1.2:/data": [("v1.2", "/data")],
    "imagenet:/数据": [("imagenet", "/数据")],
}


@pytest.mark.parametrize("text", GOOD)
def test_it_names_datasets_and_where_they_are_mounted(text: str) -> None:
    assert [(mount.dataset, mount.path) for mount in read(text).mounts] == GOOD[text]


BAD = {
    "imagenet": 'found "imagenet": write NAME:/PATH, as in imagenet:/data',
    ":/data": 'found ":/data": write NAME:/PATH, as in imagenet:/data',
    "imagenet:": 'found "imagenet:": write NAME:/PATH, as in imagenet:/data',
    "ImageNet:/data": (
        'found "ImageNet", which is no name of a Dataset: at most 245 of a-z 0-9 - and . are allowed, beginning and '
        'ending with a letter or digit; did you mean "imagenet"?'
    ),
    "../x:/data": (
        'found "../x", a path, where the name of a Dataset is wanted: on the local cluster programs read the '
        "directories of this machine where they are, so leave it out"
    ),
    "imagenet:data": 'found "data", which does not begin with /: write imagenet:/data',
    "imagenet:./data": 'found "./data", which does not begin with /: write imagenet:/data',
    "imagenet:/data/../etc": 'found "/data/../etc": ".." is not allowed; write the path that is meant',
    "imagenet:/": 'found "/", which would hide the whole image: write imagenet:/data',
    "imagenet:/.//": 'found "/.//", which would hide the whole image: write imagenet:/data',
    "imagenet:/data:ro": (
        'found "/data:ro": a Dataset is always mounted read-only, and a path has no colon; write imagenet:/data'
    ),
    "imagenet:/da\nta": 'found "/da\\nta": a path of at most 1024 printable characters is allowed',
    "imagenet:/data, words:/data/": "/data is the path of imagenet already: give each dataset a path of its own",
    "imagenet:/paddle/": (
        "/paddle is a path at which the job mounts a volume already "
        "(spec.worker.template.spec.containers[0].volumeMounts[0].mountPath): give imagenet another path"
    ),
}
MOUNTED = {"containers": [{"name": "paddle", "image": "i", "volumeMounts": [{"name": "v", "mountPath": "/paddle"}]}]}

PLAIN = {"containers": [{"name": "paddle", "image": "i"}]}


@pytest.mark.parametrize("text", BAD)
def test_what_is_wrong_in_it_is_told_at_the_annotation(text: str) -> None:
    with pytest.raises(InvalidJob) as refused:
        read(text, **MOUNTED)
    (problem,) = refused.value.problems
    assert problem.path == f"metadata.annotations[{MOUNTS_ANNOTATION}]"
    assert problem.message == BAD[text]


def test_all_that_is_wrong_is_told_at_once_and_once() -> None:
    with pytest.raises(InvalidJob) as refused:
        read("a, b:c, d:/e, d:/e, d:/e")
    assert [problem.found for problem in refused.value.problems] == ['"a"', '"b:c"', '"d:/e"']
    with pytest.raises(InvalidJob) as refused:
        read(7)
    assert "text" in refused.value.problems[0].message


@pytest.mark.parametrize("text", ["imagenet:/data, words:/data/words", "words:/data/words, imagenet:/data"])
def test_a_path_within_another_dataset_is_warned_of_as_that_one_is_read_only(text: str) -> None:
    job = read(text)
    (warning,) = [each for each in job.warnings if "imagenet" in each.message]
    mounts = build_pod(job, Rank("worker", 0), 0, None, Settings())["spec"]["containers"][0]["volumeMounts"]
    assert [mount["mountPath"] for mount in mounts[-2:]] == ["/data", "/data/words"], "the other order would hide words"
    assert warning.severity == "warning"
    assert "a pod starts only if imagenet has a directory at that place" in warning.message


def test_a_job_has_at_most_32_datasets() -> None:
    text = ",".join(f"d{number}:/d{number}" for number in range(MOST_MOUNTS + 1))
    with pytest.raises(InvalidJob, match="at most 32 datasets"):
        read(text)


@pytest.mark.parametrize("name", SAMPLES)
def test_every_rank_and_container_of_every_kind_mounts_it_read_only(name: str) -> None:
    job = read_any(annotated("imagenet:/data, words:/words", name))
    for rank in job.ranks():
        spec = build_pod(job, rank, 0, None, Settings())["spec"]
        for container in (*spec.get("initContainers", ()), *spec["containers"]):
            assert container["volumeMounts"][-2:] == [
                {"name": "dataset-imagenet", "mountPath": "/data", "readOnly": True},
                {"name": "dataset-words", "mountPath": "/words", "readOnly": True},
            ]
        assert not list(check_pod_spec(spec, ()))


def test_init_containers_mount_it_too_and_the_manifest_stays_as_it_was() -> None:
    container = {"name": "paddle", "image": "i"}
    manifest = annotated("imagenet:/data", initContainers=[{**container, "name": "first"}], containers=[container])
    before = str(manifest)
    spec = build_pod(read_any(manifest), Rank("worker", 0), 0, None, Settings())["spec"]
    assert spec["initContainers"][0]["volumeMounts"] == spec["containers"][0]["volumeMounts"]
    assert str(manifest) == before


@pytest.mark.parametrize(
    ("dataset", "volume"),
    [
        ("a" * 55, r"dataset-a{55}"),
        ("a" * 56, r"dataset-a{44}-[0-9a-f]{10}"),
        ("v1.2", r"dataset-v1-2-[0-9a-f]{10}"),
        ("taken", "dataset-taken-2"),
    ],
)
def test_the_volume_has_a_name_that_pods_allow_and_no_other_volume_has(dataset: str, volume: str) -> None:
    job = read(f"{dataset}:/data", **{**PLAIN, "volumes": [{"name": "dataset-taken", "emptyDir": {}}]})
    spec = build_pod(job, Rank("worker", 0), 0, None, Settings())["spec"]
    assert not list(check_pod_spec(spec, ()))
    names = [each["name"] for each in spec["volumes"]]
    assert len(names[-1]) <= 63
    assert re.fullmatch(volume, names[-1])
    assert spec["volumes"][-1]["persistentVolumeClaim"]["claimName"] == f"dataset-{dataset}"


names = st.from_regex(r"[a-z0-9]([-a-z0-9.]{0,8}[a-z0-9])?", fullmatch=True)
paths = st.from_regex(r"(/[A-Za-z0-9_-]{1,5}){1,4}", fullmatch=True)


@given(st.lists(st.builds(Mount, names, paths), max_size=8, unique_by=lambda mount: mount.path))
def test_what_is_written_is_read_as_it_was(mounts: list[Mount]) -> None:
    try:
        found = read(write_mounts(mounts)).mounts
    except InvalidJob:  # `a..b` is no name
        assert any(".." in mount.dataset or ".-" in mount.dataset or "-." in mount.dataset for mount in mounts)
        return
    assert list(found) == mounts


@given(st.text(max_size=60))
def test_any_text_is_read_or_refused_and_what_is_kept_of_it_is_valid(text: str) -> None:
    manifest = annotated(text)
    try:
        job = read_any(manifest)
    except InvalidJob as refused:
        assert all(problem.message for problem in refused.problems)
        job = read(keep_readable(text, manifest["spec"]))
    assert keep_readable(write_mounts(job.mounts), manifest["spec"]) == write_mounts(job.mounts)


def test_data_is_added_to_what_the_manifest_says() -> None:
    manifest = annotated("imagenet:/data")
    assert extend_mounts(manifest, ["words:/words"]) == "imagenet:/data, words:/words"
    assert extend_mounts(manifest, ["imagenet:/data/"]) == "imagenet:/data"
    with pytest.raises(BadMount, match="/data is the path of imagenet already"):
        extend_mounts(manifest, ["words:/data"])
    with pytest.raises(BadMount, match="write NAME:/PATH"):
        read_mount("words")
