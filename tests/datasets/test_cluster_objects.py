"""The claim and the Job of a Dataset on a cluster, for each source; what cannot be fetched there."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest
import yaml

from paddock.apiserver.objects.in_process import LocalApi
from paddock.datasets.claims import build_claim, explain_foreign, explain_leaving, explain_missing, explain_pending
from paddock.datasets.definition import Definition, read_definition
from paddock.datasets.fetch_jobs import FetchPod, build_job, build_job_name, explain_unfetchable
from paddock.datasets.fetch_pods import explain_end, explain_waiting, read_end, read_last_report
from paddock.datasets.fetching import Failed, Fault, Fetched, Progress, Request, build_line
from paddock.datasets.labels import build_label
from paddock.datasets.sources import COPIED
from paddock.kube.datasets import LABEL, read_mounted
from paddock.kube.meta import CLAIMS, PODS, Manifest
from support.fetch_jobs import build_dataset

POD = FetchPod("registry.example/paddock:1")


def define(uri: str = "https://host.example/words.tar", *, name: str = "words", **spec: Any) -> Definition:
    manifest = build_dataset(name, "team", uri, **spec)
    manifest["metadata"] |= {"uid": "0c6f1a2e-1111-2222-3333-444455556666", "generation": 1}
    return read_definition(manifest)


DATASETS = {
    "http": define(sha256="a" * 64),
    "http_secret": define(secretName="words-login", round=2),
    "s3": define("s3://bucket/pre/fix", endpoint="https://oss.example", region="cn", include=["*.parquet"],
                 secretName="keys",
                 storage={"size": "2Ti", "storageClassName": "nas", "accessModes": ["ReadWriteOnce"]}),
    "git": define("git+https://host.example/words.git", revision="v1"),
    "hub": define("hf://datasets/owner/words", exclude=["*.bin"]),
}  # fmt: skip


@pytest.mark.parametrize("name", DATASETS)
def test_the_objects_of_each_source(name: str, match_golden: Callable[[str, str], None]) -> None:
    dataset = DATASETS[name]
    pair = [build_claim(dataset), build_job(dataset, "claim-uid", POD)]
    match_golden(f"cluster_{name}.yaml", yaml.safe_dump_all(pair, sort_keys=False, width=120))


def container_of(job: Manifest) -> Manifest:
    (found,) = job["spec"]["template"]["spec"]["containers"]
    return dict(found)


@pytest.mark.parametrize("name", DATASETS)
def test_the_pod_gets_the_whole_request_and_nothing_of_the_secret(name: str) -> None:
    dataset = DATASETS[name]
    container = container_of(build_job(dataset, "", POD))
    (text,) = (each["value"] for each in container["env"] if each["name"] == "PADDOCK_FETCH")
    assert msgspec.json.decode(text, type=Request) == Request(
        uri=dataset.source.uri, target="/data", sha256=dataset.sha256, revision=dataset.revision,
        endpoint=dataset.endpoint, region=dataset.region, include=dataset.include, exclude=dataset.exclude,
        round=dataset.round,
    )  # fmt: skip
    secrets = [each["secretRef"]["name"] for each in container.get("envFrom", ())]
    assert secrets == ([dataset.secret] if dataset.secret else [])


def test_a_dollar_of_an_address_is_not_replaced_by_a_variable() -> None:
    """A kubelet replaces `$(HOME)` in the value of a variable; `$$` is a dollar."""
    container = container_of(build_job(define("s3://bucket/$(HOME)/$x"), "", POD))
    (text,) = (each["value"] for each in container["env"] if each["name"] == "PADDOCK_FETCH")
    assert '"s3://bucket/$$(HOME)/$$x"' in text


async def test_a_strict_server_knows_every_field_of_the_pod_and_the_claim(tmp_path: Path) -> None:
    api = await LocalApi.open(tmp_path)
    try:
        for dataset in DATASETS.values():
            template = build_job(dataset, "", POD)["spec"]["template"]
            metadata = {"name": "one", "namespace": "default", **template["metadata"]}
            pod = {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": template["spec"]}
            await api.create(PODS, pod, strict=True, dry_run=True)
            claim = build_claim(dataset)
            claim["metadata"]["namespace"] = "default"
            await api.create(CLAIMS, claim, strict=True, dry_run=True)
    finally:
        await api.close()


def test_another_source_or_round_is_another_job_and_the_same_is_the_same() -> None:
    same = {build_job_name(define()) for _ in range(2)}
    others = {
        build_job_name(each)
        for each in (
            define(round=1), define(sha256="b" * 64), define("https://host.example/other.tar"),
            define(secretName="login"), define(name="word"),
            define("s3://bucket/a"), define("s3://bucket/a", region="a"),
        )
    }  # fmt: skip
    assert (len(same), len(others)) == (1, 7)
    assert not same & others
    assert build_job_name(define()) == build_job_name(define(storage={"size": "1Ti"})), "no reason to fetch again"


@pytest.mark.parametrize(
    "name", ["w", "words.of.books", "a" * 240, "a." * 110 + "a", "w" * 42, "w" * 43, "x-" * 20 + "y"]
)
def test_names_and_labels_are_short_enough_whatever_the_dataset_is_called(name: str) -> None:
    dataset = define(name=name)
    job = build_job(dataset, "", POD)
    assert re.fullmatch(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?", job["metadata"]["name"])
    # The Job controller appends five random characters, and makes the Job's name a label.
    assert len(job["metadata"]["name"]) <= 63
    assert re.fullmatch(r"[a-z0-9]([-a-z0-9.]*[a-z0-9])?", build_label(name))
    assert len(build_label(name)) <= 63


def test_two_long_names_are_two() -> None:
    one, two = "a" * 200 + "b", "a" * 200 + "c"
    assert build_label(one) != build_label(two)
    assert build_job_name(define(name=one)) != build_job_name(define(name=two))


@pytest.mark.parametrize(
    ("uri", "said"),
    [
        ("https://host.example/x.tar", ""),
        ("s3://bucket/x", ""),
        ("claim://photos", ""),
        ("file:///data/words", "file:///data/words is on one machine, and the pods of a cluster run on many: copy it "
                               "into a claim and name that, as claim://NAME, or into a bucket, as s3://BUCKET/PREFIX"),
        ("git+file:///srv/words.git", "git+file:///srv/words.git is on one machine"),
        ("git+https://host.example/x.git", "has not got git: the operator's option --datasets-image names one"),
        ("hf://datasets/a/b", "the image registry.example/paddock:1, in which datasets are fetched, has not got the "
                              "libraries of hubs"),
        ("modelscope://datasets/a/b", "has not got the libraries of hubs"),
    ],
)  # fmt: skip
def test_what_a_cluster_cannot_fetch_is_said_with_the_cure(uri: str, said: str) -> None:
    found = explain_unfetchable(define(uri), POD)
    assert said in found
    assert bool(said) is bool(found)


def test_an_image_that_somebody_chose_is_trusted_to_have_what_hubs_and_git_need() -> None:
    chosen = FetchPod("mine:1", COPIED)
    assert explain_unfetchable(define("hf://datasets/a/b"), chosen) == ""
    assert explain_unfetchable(define("git+https://h.example/x.git"), chosen) == ""
    assert explain_unfetchable(define("file:///data"), chosen) != ""


def build_claim_status(phase: str, **metadata: Any) -> Manifest:
    return {"metadata": {"name": "dataset-words", **metadata}, "spec": {}, "status": {"phase": phase}}


def test_a_claim_without_a_volume_is_explained_by_its_last_event() -> None:
    events = [
        {"reason": "Provisioning", "message": "provisioning"},
        {"reason": "ProvisioningFailed", "message": 'storageclass "nas" not found'},
    ]
    said = 'the claim dataset-words has no volume yet: storageclass "nas" not found'
    assert explain_pending(build_claim_status("Pending"), events) == said
    assert explain_pending(build_claim_status("Pending"), []) == "the claim dataset-words has no volume yet"
    assert explain_pending(build_claim_status("Bound"), events) == ""
    first = [{"reason": "WaitForFirstConsumer", "message": "waiting for first consumer to be created before binding"}]
    assert explain_pending(build_claim_status("Pending"), first) == "", "the pod that fetches is that consumer"


def test_a_claim_of_somebody_else_is_never_written_to() -> None:
    dataset = define()
    ours = build_claim(dataset)
    assert explain_foreign(dataset, ours) == explain_leaving(dataset, ours) == ""
    assert "was not made for this dataset" in explain_foreign(dataset, build_claim_status("Bound"))
    before = build_claim(dataset)
    before["metadata"]["ownerReferences"][0]["uid"] = "of-an-earlier-dataset"
    assert "of an earlier dataset is about to be removed" in explain_leaving(dataset, before)
    going = build_claim(dataset)
    going["metadata"]["deletionTimestamp"] = "2026-01-01T00:00:00Z"
    assert "is being removed" in explain_leaving(dataset, going)


@pytest.mark.parametrize(
    ("known", "said"),
    [
        ((), 'there is no claim "photos" in namespace team, and no other'),
        (("photo", "x"), 'there is no claim "photos" in namespace team: did you mean "photo"?'),
        (("b", "a"), 'there is no claim "photos" in namespace team; there are a, b'),
        (("a",), 'there is no claim "photos" in namespace team; there is a'),
        ("abcdefg", 'there is no claim "photos" in namespace team; there are a, b, c, d, e and 2 more'),
    ],
)
def test_a_claim_that_is_not_there_is_said_with_the_nearest(known: tuple[str, ...], said: str) -> None:
    assert explain_missing(define("claim://photos"), known) == said


def pod_with(state: Manifest, phase: str = "Pending", **status: Any) -> Manifest:
    return {"status": {"phase": phase, "containerStatuses": [{"state": state}], **status}}


UNPLACED = [{"type": "PodScheduled", "status": "False", "message": "0/3 nodes are available: 3 Insufficient memory."}]
UNMOUNTED = [
    {"type": "Normal", "message": "Scheduled"},
    {"type": "Warning", "message": "MountVolume failed: no server"},
]


@pytest.mark.parametrize(
    ("pod", "events", "said"),
    [
        (pod_with({"waiting": {"reason": "ImagePullBackOff", "message": 'Back-off pulling image "x"'}}), [],
         'its pod cannot start: Back-off pulling image "x"'),
        (pod_with({"waiting": {"reason": "CreateContainerConfigError", "message": 'secret "login" not found'}}), [],
         'its pod cannot start: secret "login" not found'),
        (pod_with({"waiting": {"reason": "ErrImagePull"}}), [], "its pod cannot start: ErrImagePull"),
        ({"status": {"phase": "Pending", "conditions": UNPLACED}}, [],
         "its pod has no place: 0/3 nodes are available: 3 Insufficient memory."),
        (pod_with({"waiting": {"reason": "ContainerCreating"}}), UNMOUNTED,
         "its pod cannot start yet: MountVolume failed: no server"),
        (pod_with({"waiting": {"reason": "ContainerCreating"}}), [], "its pod is starting"),
        ({}, [], "its pod is starting"),
    ],
)  # fmt: skip
def test_a_pod_that_does_not_start_is_explained(pod: Manifest, events: list[Manifest], said: str) -> None:
    assert explain_waiting(pod, events) == said


@pytest.mark.parametrize(
    ("pod", "said"),
    [
        (pod_with({"terminated": {"exitCode": 137, "reason": "OOMKilled"}}, "Failed"),
         "it used more memory than its limit"),
        (pod_with({"terminated": {"exitCode": 143, "reason": "Error"}}, "Failed"), "it was ended by signal 15"),
        (pod_with({}, "Failed", reason="Evicted", message="The node was low on resource: memory."),
         "Evicted: The node was low on resource: memory."),
        (pod_with({"terminated": {"exitCode": 1, "message": "Traceback\nModuleNotFoundError: aiohttp\n"}}, "Failed"),
         "it ended with exit code 1: ModuleNotFoundError: aiohttp"),
        (None, "it was deleted"),
    ],
)  # fmt: skip
def test_a_pod_that_ended_without_a_word_is_explained(pod: Manifest | None, said: str) -> None:
    assert explain_end(pod) == said


def test_the_last_report_is_found_among_what_libraries_print() -> None:
    text = build_line(Progress(phase="fetching", done=1)) + build_line(Progress(phase="fetching", done=2))
    assert read_last_report(text + b'a warning\n{"some": "json"}\n{"type":"progr') == Progress(phase="fetching", done=2)
    assert read_last_report(b"") is None


def test_the_end_is_in_the_termination_message_also_where_that_is_the_logs_end() -> None:
    failed = Failed(message="not found", fault=Fault.SOURCE)
    tail = build_line(Progress(phase="fetching")).decode()[20:] + build_line(failed).decode()
    assert read_end(pod_with({"terminated": {"exitCode": 1, "message": tail}}, "Failed")) == failed
    fetched = Fetched(size=3, files=1)
    assert read_end(pod_with({"terminated": {"message": build_line(fetched).decode()}}, "Succeeded")) == fetched
    unfinished = build_line(Progress(phase="fetching")).decode()
    assert read_end(pod_with({"terminated": {"exitCode": 137, "message": unfinished}}, "Failed")) is None


def test_the_pod_that_fills_a_claim_does_not_count_as_one_that_uses_it() -> None:
    """Else a dataset that is deleted while it is fetched would wait for its own end."""
    spec = build_job(define(), "", POD)["spec"]["template"]["spec"]
    user = {"metadata": {"labels": {}}, "spec": spec, "status": {"phase": "Running"}}
    assert read_mounted(user) == {"dataset-words"}
    assert not read_mounted(user | {"metadata": {"labels": {LABEL: "words"}}})
