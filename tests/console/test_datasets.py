"""The pages of datasets: what they show of objects, what their form makes, and what their buttons do to a real API."""

from __future__ import annotations

import asyncio
import html
import json
import re
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest

from cli.views import RESOURCE, build_manifest
from console.test_pages import text_of
from paddock.console.backend import Backend
from paddock.kube.api import Api, Event
from paddock.kube.calls import Create
from paddock.kube.errors import Forbidden, NotFound
from paddock.kube.meta import DATASETS, EVENTS, PODS, Manifest, Resource
from paddock.views.datasets import read_names, read_use
from support.demo import Demo, serve_demo
from support.places import serve_place
from support.readers import Reader, reading

SCRIPT = "<script>alert(1)</script>"
GB = 1_000_000_000
LATE = 180.0


def build_dataset(
    name: str, status: Mapping[str, Any] | None = None, uri: str = "https://data.example/x.tar", **more: Any
) -> Manifest:
    namespace, source = more.pop("namespace", "default"), more.pop("source", {})
    return {
        "apiVersion": DATASETS.api_version, "kind": DATASETS.kind,
        "metadata": {"name": name, "namespace": namespace, "uid": f"uid-{name}", "generation": 1,
                     "creationTimestamp": "2026-01-01T00:00:00Z"} | more.pop("metadata", {}),
        "spec": {"source": {"uri": uri, **source}, **more},
        "status": {"observedGeneration": 1, **status} if status else {},
    }  # fmt: skip


FETCHING = build_dataset("imagenet", {
    "phase": "Fetching", "progress": 41, "bytesDone": 32 * GB // 10, "bytesTotal": 78 * GB // 10, "files": 412,
    "filesTotal": 1000, "message": "fetching, 41 %, 3.2 of 7.8 GB, 12 MB/s, 6 min left"})  # fmt: skip
READY = build_dataset("words", {
    "phase": "Ready", "progress": 100, "bytesDone": 48_000_000, "bytesTotal": 48_000_000, "files": 1, "filesTotal": 1,
    "message": "48 MB in 1 file", "path": "/home/me/datasets/words/data", "revision": "5f2a", "round": 2,
    "finishedAt": "2026-01-01T01:00:00Z"}, round=2, source={"sha256": "0" * 64})  # fmt: skip
FAILED = build_dataset("faces", {"phase": "Failed", "message": "404 Not Found: nobody is there", "fault": "source"})


def build_job(name: str = "demo", mounts: str = "", claim: str = "", phase: str = "Running") -> Manifest:
    job = build_manifest()
    job["metadata"] |= {"name": name, "uid": f"uid-{name}"}
    if mounts:
        job["metadata"]["annotations"] = {"paddock.dev/datasets": mounts}
    if claim:
        volume = {"name": "data", "persistentVolumeClaim": {"claimName": claim, "readOnly": True}}
        job["spec"]["worker"]["template"]["spec"]["volumes"] = [volume]
    return {**job, "status": {"phase": phase}}


def button_of(page: str, name: str) -> str:
    found = re.search(rf"<button[^>]*>{name}</button>", page)
    assert found is not None
    return found[0]


@asynccontextmanager
async def open_demo(directory: Path, **options: Any) -> AsyncIterator[tuple[Demo, Reader]]:
    """A console on a real API, whose datasets are those of `support.demo`."""
    async with serve_demo(directory, **options) as demo, reading(demo.url, headers={"Origin": demo.url}) as session:
        await session.enter(demo.sign_in)
        yield demo, session


async def read(session: Reader, address: str) -> str:
    async with session.get(address) as answer:
        return await answer.text()


async def post(session: Reader, address: str, **typed: str) -> tuple[int, str]:
    async with session.post(address, data=typed, allow_redirects=False) as answer:
        return answer.status, answer.following if answer.status == 303 else html.unescape(await answer.text())


# -- the list


async def test_the_list_shows_trouble_first_how_far_a_fetch_is_and_who_uses_what(tmp_path: Path) -> None:
    jobs = [
        build_job("a", "imagenet:/data, words:/data/words"), build_job("b", claim="dataset-imagenet"),
        build_job("c", "imagenet:/data", phase="Completed"), build_job("d", "imagenetty:/x"),
    ]  # fmt: skip
    async with serve_place({DATASETS: [READY, FETCHING, FAILED], RESOURCE: jobs}, tmp_path) as place:
        page = await place.read("/datasets")
    said = text_of(page)
    assert said.index("faces") < said.index("imagenet") < said.index("words")
    assert "Failed 404 Not Found: nobody is there" in said
    assert "Fetching 41 %, 3.2 of 7.8 GB https://data.example/x.tar 7.8 GB 412 2 jobs" in said
    assert 'max="100" value="41"' in page and page.count("<progress") == 1
    assert "Ready https://data.example/x.tar 48 MB 1 1 job" in said
    assert 'href="/datasets/default/imagenet"' in page
    assert '<a href="/datasets" data-key="" aria-current="page">Datasets</a>' in page, "it is in the menu"


@pytest.mark.parametrize(
    ("query", "shown"),
    [("", {"a", "b"}), ("?namespace=team", {"b"}), ("?q=A", {"a", "b"}), ("?q=t/a", {"a"}), ("?namespace=none", set())],
)
async def test_the_list_is_filtered_by_namespace_and_name(tmp_path: Path, query: str, shown: set[str]) -> None:
    datasets = [build_dataset("a"), build_dataset("b", namespace="team")]
    async with serve_place({DATASETS: datasets}, tmp_path) as place:
        page = await place.read(f"/datasets{query}")
    assert set(re.findall(r'data-key="Enter">(\w+)<', page)) == shown
    assert ("No dataset fits" in page) == (not shown)


async def test_a_list_of_many_has_pages(tmp_path: Path) -> None:
    async with serve_place({DATASETS: [build_dataset(f"d-{number:03}") for number in range(150)]}, tmp_path) as place:
        first, second = await place.read("/datasets"), await place.read("/datasets?page=2")
    assert first.count("data-row") == 100 and second.count("data-row") == 50
    assert "101 to 150 of 150" in text_of(second)


@pytest.mark.parametrize(
    ("status", "said"),
    [
        ({"phase": "Fetching", "message": "listing what is there"}, "Fetching listing what is there"),
        ({"phase": "Fetching", "bytesDone": 32 * GB // 10, "message": "fetching, 3.2 GB"}, "Fetching 3.2 GB"),
        ({"phase": "Fetching", "progress": 7, "files": 7, "filesTotal": 100}, "Fetching 7 %"),
        ({"phase": "Fetching", "bytesDone": 900_000_000, "bytesTotal": 78 * GB // 10, "progress": 11},
         "Fetching 11 %, 900 MB of 7.8 GB"),
        ({"phase": "Pending", "message": "waiting for other datasets"}, "Pending waiting for other datasets"),
        ({"phase": "Ready", "observedGeneration": 0, "message": "old"}, "Pending"),
        ({"phase": "Strange", "progress": "x", "bytesDone": -1, "files": None}, "Pending"),
        (None, "Pending"),
    ],
)  # fmt: skip
async def test_each_state_has_its_words(tmp_path: Path, status: Mapping[str, Any] | None, said: str) -> None:
    async with serve_place({DATASETS: [build_dataset("one", status)]}, tmp_path) as place:
        shown = text_of(await place.read("/datasets"))
    assert f"Age one {said} https:" in shown


# -- one of them


async def test_a_page_shows_all_that_is_known_of_one(tmp_path: Path) -> None:
    jobs = [build_job("a", "words:/data"), build_job("old", claim="dataset-words", phase="Completed")]
    event = {
        "apiVersion": "v1", "kind": "Event", "metadata": {"name": "e", "namespace": "default"}, "reason": "Bound",
        "involvedObject": {"kind": "PersistentVolumeClaim", "name": "dataset-words", "namespace": "default"},
        "message": "the claim has its volume", "lastTimestamp": "2026-01-01T00:00:00Z",
    }  # fmt: skip
    other = {**event, "metadata": {"name": "f", "namespace": "default"}, "message": "not this one",
             "involvedObject": {"kind": "Pod", "name": "words"}}  # fmt: skip
    objects = {DATASETS: [READY], RESOURCE: jobs, EVENTS: [event, other]}
    async with serve_place(objects, tmp_path) as place:
        page = await place.read("/datasets/default/words")
    said = text_of(page)
    for each in (
        "Ready 48 MB in 1 file", "Source https://data.example/x.tar http", f"Checksum {'0' * 64}", "Size 48 MB 1 file",
        "Revision 5f2a", "Claim dataset-words what pods mount", "Directory /home/me/datasets/words/data", "Round 2",
        "paddock run job.yaml --data words:/data", "a PaddleJob Running old PaddleJob Completed",
        "the claim has its volume", "paddock dataset rerun words", "paddock dataset rm words",
    ):  # fmt: skip
        assert each in said, each
    assert "not this one" not in said
    assert 'href="/jobs/default/paddlejobs.batch.paddlepaddle.org/a"' in page


@pytest.mark.parametrize(
    ("local", "said"), [(True, "Pods that run keep the files"), (False, "files in the claim are replaced")]
)
async def test_fetching_again_says_what_becomes_of_those_who_read(tmp_path: Path, local: bool, said: str) -> None:
    async with serve_place({DATASETS: [READY]}, tmp_path, local=local) as place:
        assert said in await place.read("/datasets/default/words")


async def test_a_page_of_one_that_is_fetched_says_each_number_once(tmp_path: Path) -> None:
    async with serve_place({DATASETS: [FETCHING]}, tmp_path) as place:
        page = await place.read("/datasets/default/imagenet")
    said = text_of(page)
    assert "Fetching 41 %, 3.2 of 7.8 GB · 12 MB/s, 6 min left Source" in said
    assert "412 of 1000 files" in said
    assert "disabled" in button_of(page, "Fetch again") and "it is being fetched" in said
    assert "disabled" not in button_of(page, "Delete")


async def test_an_address_shows_no_password_on_any_page(tmp_path: Path) -> None:
    one = build_dataset("one", READY["status"], uri="https://me:secret@host/x.tar?signature=secret")
    bad = build_dataset("bad", {"phase": "Failed"}, uri="odd+://me:secret@host/x#secret")
    bad["spec"]["source"]["endpoint"] = "https://me:secret@minio.example"
    job = build_job("demo", "one:/data")
    async with serve_place({DATASETS: [one, bad], RESOURCE: [job]}, tmp_path) as place:
        for address in ("/datasets", "/datasets/default/one", "/datasets/default/bad",
                        "/jobs/default/paddlejobs.batch.paddlepaddle.org/demo"):  # fmt: skip
            assert "secret" not in (await place.read(address)).replace("secretName", ""), address


async def test_what_was_written_by_others_is_text_and_breaks_no_page(tmp_path: Path) -> None:
    status = {"phase": "Failed", "message": SCRIPT, "revision": SCRIPT, "path": SCRIPT, "fetchedBy": SCRIPT}
    one = build_dataset("one", status, uri=f"https://host/{SCRIPT}", source={"revision": SCRIPT, "include": [SCRIPT]})
    odd = build_dataset('o"d<i>', {"phase": "Fetching", "message": SCRIPT, "filesTotal": [1], "finishedAt": 7})
    rest: list[Manifest] = [
        {**build_dataset("two"), "spec": None, "status": {"phase": SCRIPT, "progress": SCRIPT}},
        {**build_dataset("three"), "spec": {"source": [], "round": "x"}, "status": []},
    ]
    async with serve_place({DATASETS: [one, odd, *rest]}, tmp_path) as place:
        for name in ("", "/default/one", "/default/two", "/default/three", "/default/o%22d%3Ci%3E"):
            async with place.session.get(f"/datasets{name}") as answer:
                page = await answer.text()
                assert answer.status == 200, name
            assert SCRIPT not in page and '"o"d' not in page and "<i>" not in page, name


async def test_a_wrong_name_is_answered_with_the_nearest(tmp_path: Path) -> None:
    async with serve_place({DATASETS: [READY]}, tmp_path) as place:
        async with place.session.get("/datasets/default/wordz") as answer:
            assert answer.status == 404
            assert "there is no dataset wordz in default; did you mean words?" in await answer.text()
        assert "there is no dataset words in team" in await place.read("/datasets/team/words")


async def test_one_of_a_claim_is_not_fetched_again_and_its_users_mount_that_claim(tmp_path: Path) -> None:
    one = build_dataset("one", {"phase": "Ready"}, uri="claim://nas")
    users = [build_job("a", claim="nas"), build_job("b", claim="dataset-one"), build_job("c", "one:/data")]
    async with serve_place({DATASETS: [one], RESOURCE: users}, tmp_path) as place:
        page = await place.read("/datasets/default/one")
    assert "Claim nas what pods mount" in text_of(page)
    assert set(re.findall(r'/paddlejobs[^/]*/(\w)"', page)) == {"a", "c"}
    assert "disabled" in button_of(page, "Fetch again") and "nothing is fetched" in page


async def test_a_job_that_has_ended_keeps_no_dataset(tmp_path: Path) -> None:
    ended = [build_job(phase.lower(), "words:/data", phase=phase) for phase in ("Completed", "Failed")]
    async with serve_place({DATASETS: [READY], RESOURCE: ended}, tmp_path) as place:
        page = await place.read("/datasets/default/words")
    assert "disabled" not in button_of(page, "Delete") and "completed PaddleJob Completed" in text_of(page)


async def test_what_is_known_of_an_older_spec_is_not_shown(tmp_path: Path) -> None:
    stale = build_dataset("words", {**READY["status"], "observedGeneration": 0})
    async with serve_place({DATASETS: [stale]}, tmp_path) as place:
        said = text_of(await place.read("/datasets/default/words"))
    assert "words default · Datasets Pending Source" in said and "5f2a" not in said and "/home/me" not in said


async def test_one_that_is_being_deleted_says_so(tmp_path: Path) -> None:
    status = {"phase": "Ready", "message": "deleted when no pod mounts it any more: demo-0"}
    one = build_dataset("one", status, metadata={"deletionTimestamp": "2026-01-01T00:00:00Z"})
    async with serve_place({DATASETS: [one]}, tmp_path) as place:
        assert "Terminating deleted when no pod mounts it any more: demo-0" in text_of(await place.read("/datasets"))
        page = await place.read("/datasets/default/one")
    assert "disabled" in button_of(page, "Fetch again") and "it is being deleted" in page


async def test_the_page_of_a_job_links_its_datasets_with_their_states(tmp_path: Path) -> None:
    job = build_job("demo", "imagenet:/data, gone:/x", claim="dataset-words")
    async with serve_place({DATASETS: [FETCHING, READY, FAILED], RESOURCE: [job]}, tmp_path) as place:
        page = await place.read("/jobs/default/paddlejobs.batch.paddlepaddle.org/demo")
    said = text_of(page)
    assert "Datasets gone is not there New dataset , imagenet Fetching 41 %, 3.2 of 7.8 GB , words Ready" in said
    assert 'href="/datasets/default/imagenet"' in page and "faces" not in said
    assert 'href="/new-dataset?name=gone&amp;namespace=default"' in page


# -- places without the kind, without rights


@dataclass
class Refusing(Api):
    """An API that refuses datasets, and has nothing else."""

    error: Exception

    async def send(self, call: Any) -> Any:
        raise self.error

    async def follow(
        self, resource: Resource, namespace: str = "", *, labels: str = "", fields: str = ""
    ) -> AsyncIterator[Event]:
        if resource is DATASETS:
            raise self.error
        yield Event("SYNCED", {})
        await asyncio.Event().wait()


async def read_refused(directory: Path, error: Exception, address: str) -> tuple[int, str]:
    api = Refusing(error)
    async with (
        open_demo(directory, backend=lambda backend: replace(backend, connect=lambda _: api, local=False)) as (
            _,
            session,
        ),
        session.get(address) as answer,
    ):
        return answer.status, html.unescape(await answer.text())


@pytest.mark.parametrize(
    ("address", "status"), [("/datasets", 200), ("/datasets/default/x", 404), ("/new-dataset", 200)]
)
async def test_a_cluster_without_the_kind_says_how_to_install_it(tmp_path: Path, address: str, status: int) -> None:
    error = NotFound("the server could not find the requested resource")
    found, page = await read_refused(tmp_path, error, address)
    assert found == status
    assert "this cluster has no datasets" in page and "paddock manifests --datasets --image IMAGE | " in page
    assert "There is no dataset yet" not in page


async def test_who_may_not_look_into_all_namespaces_names_one(tmp_path: Path) -> None:
    found, page = await read_refused(tmp_path, Forbidden("no"), "/datasets")
    assert found == 200 and "You may not look into all namespaces" in page and "There is no dataset yet" not in page


# -- the form


async def test_the_form_makes_a_dataset_of_all_that_is_typed(tmp_path: Path) -> None:
    typed = {
        "name": " glue ", "namespace": "team", "uri": "s3://bucket/glue", "endpoint": "https://s3.example",
        "region": "r1", "include": "*.parquet, *.json\nREADME", "secret": "keys",
    }  # fmt: skip
    async with serve_place({DATASETS: []}, tmp_path) as place:
        assert await post(place.session, "/new-dataset", **typed) == (303, "/datasets/team/glue")
        (call,) = place.api.calls
    assert isinstance(call, Create) and call.strict
    assert call.manifest["metadata"] == {"name": "glue", "namespace": "team"}
    assert call.manifest["spec"] == {"source": {
        "uri": "s3://bucket/glue", "endpoint": "https://s3.example",
        "region": "r1", "include": ["*.parquet", "*.json", "README"], "secretName": "keys"}}  # fmt: skip


WELL = {"name": "x", "namespace": "default", "uri": "https://host/x.tar"}


@pytest.mark.parametrize(
    ("typed", "field", "said"),
    [
        ({"name": "A b"}, "name", "is not a valid name for a dataset"),
        ({"name": "x" * 250}, "name", "245 are allowed"),
        ({"namespace": "A"}, "namespace", "the name of a namespace is wanted"),
        ({"uri": ""}, "uri", "begins with no scheme"),
        ({"uri": "/data/words"}, "uri", "is file:///data/words"),
        ({"uri": "oss://bucket/x"}, "uri", "write s3://bucket/x and the endpoint"),
        ({"uri": "ftp://host/x"}, "uri", "allowed: https://"),
        ({"uri": "https://host/"}, "uri", "names no file"),
        ({"sha256": "abc"}, "sha256", "64 hexadecimal digits"),
        ({"revision": "main"}, "revision", "means nothing for https://host/x.tar"),
        ({"region": "r"}, "region", "it is for s3://"),
        ({"include": "*.x"}, "include", "it is for s3://, hf://"),
        ({"uri": "file:///data", "secret": "keys"}, "secret", "means nothing for file:///data"),
        ({"uri": "s3://bucket/x", "endpoint": "oss.example"}, "endpoint", "begins with https://"),
    ],
)
async def test_a_problem_stands_at_its_field_and_what_was_typed_stays(
    tmp_path: Path, typed: dict[str, str], field: str, said: str
) -> None:
    async with serve_place({DATASETS: []}, tmp_path) as place:
        status, page = await post(place.session, "/new-dataset", **{**WELL, **typed})
        assert status == 200 and not place.api.calls
    box = rf'<input id="{field}"[^>]*aria-describedby="{field}-wrong">.*?<div id="{field}-wrong">(.*?)</div>'
    found = re.search(box, page, re.DOTALL)
    assert found is not None and said in found[1]
    for name, value in {**WELL, **typed}.items():
        assert f'name="{name}" value="{value}"' in page
    assert page.count('aria-invalid="true"') == 1 and "1 problem: nothing was created" in page


async def test_a_cluster_takes_no_directory_of_a_machine_and_asks_for_the_claim(tmp_path: Path) -> None:
    async with serve_place({DATASETS: []}, tmp_path, local=False) as place:
        status, page = await post(place.session, "/new-dataset", **{**WELL, "uri": "file:///data", "size": "much"})
        assert status == 200 and not place.api.calls
    assert "pods of a cluster cannot mount it" in page and "'much' is no size" in page
    assert "file:///DIRECTORY" not in page and 'name="storage_class"' in page


async def test_what_the_api_refuses_stands_at_its_field_too(tmp_path: Path) -> None:
    """By the schema of the kind, as the embedded API checks it."""
    async with open_demo(tmp_path) as (demo, session):
        status, page = await post(session, "/new-dataset", **{**WELL, "uri": "s3://bucket/x", "region": "r" * 64})
        assert status == 200 and re.search(r'<div id="region-wrong"><p class="bad">[^<]*63', page)
        status, page = await post(session, "/new-dataset", **{**WELL, "name": "words"})
        assert "dataset words exists already" in page
        status, page = await post(session, "/new-dataset", **{**WELL, "namespace": "nowhere"})
        assert "the server refuses it" in page and "nowhere" in page
        assert await post(session, "/new-dataset", **WELL) == (303, "/datasets/default/x")
        assert (await demo.api.get(DATASETS, "default", "x"))["spec"]["source"] == {"uri": WELL["uri"]}


async def test_a_link_to_the_form_may_name_the_dataset(tmp_path: Path) -> None:
    async with serve_place({DATASETS: []}, tmp_path) as place:
        page = await place.read("/new-dataset?name=glue&namespace=team")
    assert 'name="name" value="glue"' in page and 'name="namespace" value="team"' in page


# -- the buttons, on a real API


async def test_fetching_again_adds_one_round_however_often_the_page_is_sent(tmp_path: Path) -> None:
    async with open_demo(tmp_path) as (demo, session):
        page = await read(session, "/datasets/default/words")
        assert 'name="round" value="0"' in page and "disabled" not in button_of(page, "Fetch again")
        for _ in range(2):
            done = await post(session, "/datasets/default/words/rerun", round="0")
            assert done == (303, "/datasets/default/words")
        assert (await demo.api.get(DATASETS, "default", "words"))["spec"]["round"] == 1
        status, said = await post(session, "/datasets/default/none/rerun", round="0")
        assert status == 404 and "there is no dataset none" in said


async def test_one_that_an_unfinished_job_uses_is_not_deleted_and_the_job_is_named(tmp_path: Path) -> None:
    async with open_demo(tmp_path) as (demo, session):
        page = await read(session, "/datasets/default/imagenet")
        assert "disabled" in button_of(page, "Delete") and "it is used by PyTorchJob bert-large" in page
        status, said = await post(session, "/datasets/default/imagenet/delete", name="imagenet")
        assert status == 409 and "it is used by PyTorchJob bert-large: end or delete what uses it first" in said
        assert 'href="/datasets/default/imagenet"' in said, "the way back"
        await demo.api.get(DATASETS, "default", "imagenet")


async def test_the_list_counts_jobs_and_pods_of_no_job(tmp_path: Path) -> None:
    def build_pod(name: str, claim: str, **more: Any) -> Manifest:
        volumes = [{"name": "data", "persistentVolumeClaim": {"claimName": claim}}]
        head = {"name": name, "namespace": "default", "uid": f"uid-{name}"} | more
        return {"apiVersion": "v1", "kind": "Pod", "metadata": head, "spec": {"volumes": volumes}}

    owners = [{"kind": "PaddleJob", "name": "demo", "uid": "uid-demo", "controller": True}]
    pods = [
        build_pod("one", "dataset-words"), build_pod("two", "dataset-words"), build_pod("three", "dataset-faces"),
        build_pod("demo-0", "dataset-words", ownerReferences=owners),
    ]  # fmt: skip
    jobs = [build_job("demo", "words:/data")]
    async with serve_place({DATASETS: [READY, FAILED], RESOURCE: jobs, PODS: pods}, tmp_path) as place:
        said = text_of(await place.read("/datasets"))
    assert "48 MB 1 1 job, 2 pods" in said
    assert "https://data.example/x.tar 1 pod" in said


async def test_one_that_a_pod_of_no_job_mounts_is_not_deleted(tmp_path: Path) -> None:
    volumes = [{"name": "data", "persistentVolumeClaim": {"claimName": "dataset-faces"}}]
    spec = {"containers": [{"name": "main", "image": "x"}], "volumes": volumes}
    async with open_demo(tmp_path) as (demo, session):
        head = {"name": "notebook", "namespace": "default"}
        await demo.api.create(PODS, {"apiVersion": "v1", "kind": "Pod", "metadata": head, "spec": spec})
        page = await read(session, "/datasets/default/faces")
        assert "disabled" in button_of(page, "Delete") and "notebook Pod Pending" in text_of(page)
        status, said = await post(session, "/datasets/default/faces/delete", name="faces")
        assert status == 409 and "it is used by pod notebook: end or delete what uses it first" in said
        await demo.api.patch(PODS, "default", "notebook", {"status": {"phase": "Succeeded"}}, subresource="status")
        assert (await post(session, "/datasets/default/faces/delete", name="faces"))[0] == 303


async def test_one_is_deleted_by_its_typed_name_and_never_another_of_that_name(tmp_path: Path) -> None:
    async with open_demo(tmp_path) as (demo, session):
        page = await read(session, "/datasets/default/faces")
        uid = (await demo.api.get(DATASETS, "default", "faces"))["metadata"]["uid"]
        assert "Type faces to delete it" in page and f'value="{uid}"' in page
        for typed, why in (("", "type faces"), ("words", "type faces")):
            status, said = await post(session, "/datasets/default/faces/delete", name=typed, uid=uid)
            assert status == 409 and why in said
        status, said = await post(session, "/datasets/default/faces/delete", name="faces", uid="another")
        assert status == 409 and "this is another dataset of the same name" in said
        assert await post(session, "/datasets/default/faces/delete", name="faces", uid=uid) == (303, "/datasets")
        with pytest.raises(NotFound):
            await demo.api.get(DATASETS, "default", "faces")


async def test_buttons_are_grey_with_the_reason_for_who_may_only_look(tmp_path: Path) -> None:
    class Viewer:
        async def may(self, verb: str, resource: Resource, namespace: str, subresource: str = "") -> bool:
            return verb in ("get", "list", "watch")

    def limit(backend: Backend) -> Backend:
        return replace(backend, rights=lambda _: Viewer())

    async with open_demo(tmp_path, backend=limit) as (_, session):
        page = await read(session, "/datasets/default/faces")
    assert "disabled" in button_of(page, "Fetch again") and "disabled" in button_of(page, "Delete")
    assert "you may not patch datasets.paddock.dev in namespace default" in page


# -- while somebody looks


async def read_until(stream: Any, wanted: str) -> str:
    """What the stream sent until it said this."""
    sent = b""
    async with asyncio.timeout(LATE):
        while wanted not in (text := html.unescape(re.sub(r"<[^>]+>", " ", sent.decode()))):
            sent += await stream.content.readline()
    return text


@pytest.mark.parametrize("address", ["/datasets", "/datasets/default/imagenet", "/jobs/default/pytorchjobs/bert-large"])
async def test_progress_moves_without_a_reload(tmp_path: Path, address: str) -> None:
    more = {"progress": 53, "bytesDone": 41 * GB // 10}
    async with open_demo(tmp_path) as (demo, session), session.get(f"/live{address}") as stream:
        await read_until(stream, "41 %, 3.2 of 7.8 GB")
        await demo.api.patch(DATASETS, "default", "imagenet", {"status": more}, subresource="status")
        await read_until(stream, "53 %, 4.1 of 7.8 GB")


async def test_chinese_readers_get_their_page(tmp_path: Path) -> None:
    async with open_demo(tmp_path) as (_, session):
        page = await read(session, "/datasets?lang=zh")
    assert '<html lang="zh"' in page and "41%" in page


def test_what_a_job_mounts_is_read_as_json_has_it() -> None:
    """A manifest may be of any shape below `spec`."""
    assert read_names("a:/x, b : /y,,c,:/z, ") == ["a", "b", "c"]
    odd = json.loads('{"persistentVolumeClaim": {"claimName": 7}, "x": [{"persistentVolumeClaim": []}]}')
    job = build_job("demo", claim="dataset-a")
    job["spec"]["worker"]["template"]["spec"]["odd"] = odd
    assert read_use(RESOURCE, job).claims == {"dataset-a"}
