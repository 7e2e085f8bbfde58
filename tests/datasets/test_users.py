"""Who uses a Dataset is answered alike by the command line, by the console, and by the controller for what it knows."""

from __future__ import annotations

import html
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from cli.views import RESOURCE, build_manifest
from paddock.cli.cluster.datasets import fetch_holding
from paddock.datasets.pod_listings import PodListings
from paddock.datasets.users import find_holding, find_users, read_pod
from paddock.jobs.apis.last_valid import encode_spec
from paddock.kube.datasets import LABEL, read_status
from paddock.kube.meta import DATASETS, PODS, Key, Manifest
from paddock.views.datasets import read_use
from support.places import serve_place


def build_dataset(name: str, uri: str = "https://data.example/x.tar") -> Manifest:
    return {
        "apiVersion": DATASETS.api_version, "kind": DATASETS.kind, "spec": {"source": {"uri": uri}},
        "metadata": {"name": name, "namespace": "default", "uid": f"uid-{name}", "generation": 1},
    }  # fmt: skip


WORDS = build_dataset("words")
OWN = build_dataset("own", "claim://nfs")
ALIAS = build_dataset("alias", "claim://dataset-words")


def build_job(name: str, mounts: str = "", claim: str = "", phase: str = "Running", **more: Any) -> Manifest:
    job = build_manifest()
    job["metadata"] |= {"name": name, "uid": f"uid-{name}", "annotations": {"paddock.dev/datasets": mounts}} | more
    if claim:
        job["spec"]["worker"]["template"]["spec"]["volumes"] = [mount(claim)]
    return {**job, "status": {"phase": phase}}


def build_pod(
    name: str, claim: str = "dataset-words", owner: str = "", phase: str = "Running", **more: Any
) -> Manifest:
    owners = [{"kind": "PaddleJob", "name": owner, "uid": f"uid-{owner}", "controller": True}] if owner else []
    return {
        "apiVersion": "v1", "kind": "Pod", "spec": {"containers": [], "volumes": [mount(claim)]},
        "metadata": {"name": name, "namespace": "default", "uid": f"uid-{name}", "ownerReferences": owners} | more,
        "status": {"phase": phase},
    }  # fmt: skip


def mount(claim: str) -> Manifest:
    return {"name": "data", "persistentVolumeClaim": {"claimName": claim, "readOnly": True}}


def invalid(job: Manifest) -> Manifest:
    job["spec"]["worker"]["replicas"] = -1
    return job


def edited(job: Manifest) -> Manifest:
    """An edit that is not valid names no claim any more; the operator goes on by the spec before it."""
    status = {"phase": "Running", "lastValidSpec": encode_spec(job["spec"])}
    return {**job, "spec": {"worker": {}}, "status": status}


A, OLD, NOTEBOOK = "PaddleJob default/a", "PaddleJob default/old", "pod default/notebook"
CASES: Sequence[tuple[str, Manifest, list[Manifest], list[Manifest], list[str], list[str]]] = [
    # what is there, dataset, jobs, pods, users that hold it, users that have ended
    ("nobody", WORDS, [build_job("a", "other:/x")], [build_pod("p", "other")], [], []),
    ("a running job", WORDS, [build_job("a", "words:/data")], [], [A], []),
    ("a job that waits", WORDS, [build_job("a", "words:/data", phase="Pending")], [], [A], []),
    ("a finished job", WORDS, [build_job("old", "words:/data", phase="Completed")], [], [], [OLD]),
    ("a failed job", WORDS, [build_job("old", "words:/data", phase="Failed")], [], [], [OLD]),
    ("a claim that is mounted directly", WORDS, [build_job("a", claim="dataset-words")], [], [A], []),
    ("a bare pod", WORDS, [], [build_pod("notebook")], [NOTEBOOK], []),
    ("a pod that waits", WORDS, [], [build_pod("notebook", phase="Pending")], [NOTEBOOK], []),
    ("a pod that has ended", WORDS, [], [build_pod("p", phase="Succeeded"), build_pod("q", phase="Failed")], [], []),
    ("a pod that fills the claim", WORDS, [], [build_pod("p", labels={LABEL: "words"})], [], []),
    ("a job with its pods", WORDS, [build_job("a", "words:/data")], [build_pod("a-0", owner="a")], [A], []),
    ("a pod of a finished job", WORDS, [build_job("old", "words:/data", phase="Completed")],
     [build_pod("old-0", owner="old")], ["pod default/old-0"], [OLD]),
    ("a pod of a job that names no dataset", WORDS, [build_job("a")], [build_pod("a-0", owner="a")],
     ["pod default/a-0"], []),
    ("a pod of no kind of job", WORDS, [], [build_pod("web-0", owner="web")], ["pod default/web-0"], []),
    ("another namespace", WORDS, [build_job("a", "words:/data", namespace="team")],
     [build_pod("notebook", namespace="team")], [], []),
    ("a job and a pod", WORDS, [build_job("old", "words:/d", phase="Failed"), build_job("a", "words:/d")],
     [build_pod("notebook")], [A, NOTEBOOK], [OLD]),
    ("a claim of somebody's own, by the name of the dataset", OWN, [build_job("a", "own:/data")], [], [A], []),
    ("a claim of somebody's own, by its own name", OWN, [build_job("a", claim="nfs")], [build_pod("notebook", "nfs")],
     [A, NOTEBOOK], []),
    ("a claim of another dataset", ALIAS, [build_job("a", "words:/data")], [], [A], []),
    ("a job that is not valid", WORDS, [invalid(build_job("a", "words:/data"))], [], [A], []),
    ("a job whose last edit is not valid", WORDS, [edited(build_job("a", claim="dataset-words"))], [], [A], []),
]  # fmt: skip
of_each_case = pytest.mark.parametrize(
    ("dataset", "jobs", "pods", "holding", "ended"), [case[1:] for case in CASES], ids=[case[0] for case in CASES]
)


@of_each_case
def test_the_rule(
    dataset: Manifest, jobs: list[Manifest], pods: list[Manifest], holding: list[str], ended: list[str]
) -> None:
    read = [read_use(RESOURCE, each) for each in jobs], [read_pod(PODS, each) for each in pods]
    found = find_users([read_status(dataset)], *read)
    users = found.get(Key("default", dataset["metadata"]["name"]), [])
    assert [str(each) for each in users] == holding + ended
    assert [str(each) for each in find_holding(users)] == holding
    assert bool(found) == bool(users), "a dataset that nobody uses has no entry"


@of_each_case
async def test_all_who_ask_give_one_answer(
    dataset: Manifest, jobs: list[Manifest], pods: list[Manifest], holding: list[str], ended: list[str], tmp_path: Path
) -> None:
    name = dataset["metadata"]["name"]
    async with serve_place({DATASETS: [dataset], RESOURCE: of(jobs), PODS: of(pods)}, tmp_path) as place:
        assert [str(each) for each in await fetch_holding(place.api, dataset)] == holding, "the command line"
        page = await place.read(f"/datasets/default/{name}")
        held = await PodListings(place.api).find_users("default", read_status(dataset).claim)
    assert list_shown(page) == [shorten(each) for each in holding + ended], "the console"
    why = re.search(r"it is used by (.*?): end or delete what uses it first", html.unescape(page))
    assert (why[1] if why else "") == " and ".join(shorten(each) for each in holding), "the console's button"
    told = {each.removeprefix("pod default/") for each in holding if each.startswith("pod ")}
    made = {"a-0"} if jobs and pods and holding == [A] else set()
    assert set(held) == told | made, "the controller: pods, also those of the jobs"


def of(objects: list[Manifest]) -> list[Manifest]:
    """Those of the namespace, as a list of it has them."""
    return [each for each in objects if each["metadata"].get("namespace", "default") == "default"]


def shorten(user: str) -> str:
    """As a page of the namespace names it."""
    return user.replace(" default/", " ")


def list_shown(page: str) -> list[str]:
    """`PaddleJob a` of each line below "Used by"."""
    section = page[page.index('id="users"') : page.index("Change</h2>")]
    lines = [" ".join(html.unescape(re.sub(r"<[^>]+>", " ", each)).split()) for each in section.split("<li>")[1:]]
    return [f"{kind.replace('Pod', 'pod')} {name}" for name, kind, *_ in map(str.split, lines)]
