"""What a page offers a reader of a cluster, by their rights: who may only look has no button, but the reason."""

from __future__ import annotations

from pathlib import Path

import pytest

from cli.views import RESOURCE, build_manifest
from console.test_nodes import build_pod
from console.test_pages import text_of
from paddock.jobs.labels import JOB_LABEL
from paddock.kube.meta import PODS, Manifest, Resource
from support.places import serve_place

VIEWER = ("create", "patch", "delete", "create exec")
JOB = "/jobs/team/paddlejobs.batch.paddlepaddle.org"
NO_GPUS = "0/1 nodes are available: 1 Insufficient nvidia.com/gpu (needs 8, 0 of 0 free)."


def build_objects() -> dict[Resource, list[Manifest]]:
    """A job that asks for GPUs which are not there, and one that runs."""
    waits, runs = build_manifest(), build_manifest()
    waits["metadata"] |= {"name": "waits", "namespace": "team", "uid": "waits-uid"}
    args = {"pods": 1, "wanted": 1, "message": NO_GPUS}
    waits["status"] = {"phase": "Pending", "cause": {"reason": "WaitingForScheduler", "args": args}}
    runs["metadata"] |= {"name": "runs", "namespace": "team", "uid": "runs-uid"}
    runs["status"] = {"phase": "Running"}
    pod = build_pod("runs-worker-0", "one", "runs-uid")
    pod["metadata"]["namespace"] = "team"
    pod["metadata"].setdefault("labels", {})[JOB_LABEL] = "runs"
    return {RESOURCE: [waits, runs], PODS: [pod]}


@pytest.mark.parametrize(("denied", "offers"), [((), True), (VIEWER, False)], ids=["who may change", "who may look"])
async def test_the_list_offers_what_the_reader_may_do(tmp_path: Path, denied: tuple[str, ...], offers: bool) -> None:
    async with serve_place(build_objects(), tmp_path, local=False, denied=denied) as place:
        page = await place.read("/")
    for verb in ("suspend", "resume", "cancel", "delete"):
        assert (f'formaction="/chosen/{verb}"' in page) is offers, verb
    assert ("Run without GPUs" in page) is offers
    assert 'formaction="/chosen/compare"' in page, "which only shows something"


@pytest.mark.parametrize(("denied", "offers"), [((), True), (VIEWER, False)], ids=["who may change", "who may look"])
async def test_the_page_of_a_job_offers_what_the_reader_may_do(
    tmp_path: Path, denied: tuple[str, ...], offers: bool
) -> None:
    async with serve_place(build_objects(), tmp_path, local=False, denied=denied) as place:
        page = await place.read(f"{JOB}/waits")
        running = await place.read(f"{JOB}/runs")
    assert ("Run without GPUs" in page) is offers
    assert "--without nvidia.com/gpu" in page, "somebody else may type the command"
    assert ("paddock exec" in running) is offers


async def test_jobs_that_the_reader_may_not_delete_are_left_out_before_the_number_is_asked_for(tmp_path: Path) -> None:
    async with serve_place(build_objects(), tmp_path, local=False, denied=VIEWER) as place:
        posted = {f"job:{JOB.removeprefix('/jobs/')}/waits": "waits-uid"}
        async with place.session.post("/chosen/delete", data=posted) as answer:
            page = text_of(await answer.text())
    assert "you may not delete paddlejobs.batch.paddlepaddle.org in namespace team" in page
    assert "There is nothing to do." in page and not place.api.calls


async def test_who_may_run_no_command_in_a_pod_is_told_so_and_not_that_there_is_no_pod(tmp_path: Path) -> None:
    objects = build_objects()
    template = objects[RESOURCE][1]["spec"]["worker"]["template"]["spec"]
    template["volumes"] = [{"name": "out", "persistentVolumeClaim": {"claimName": "results"}}]
    template["containers"][0]["volumeMounts"] = [{"name": "out", "mountPath": "/out"}]
    async with serve_place(objects, tmp_path, local=False, denied=VIEWER) as place:
        page = text_of(await place.read(f"{JOB}/runs/outputs"))
    assert "you may not run commands in the pods of team (create pods/exec)" in page
    assert "No pod of the job runs now" not in page and "paddock shell" not in page


async def test_who_may_not_list_nodes_is_told_the_right_and_who_gives_it(tmp_path: Path) -> None:
    async with serve_place({}, tmp_path, local=False, allowed=[]) as place:
        page = text_of(await place.read("/nodes"))
    assert "you lack the right `list nodes`, which an administrator of the cluster grants" in page
    assert "cannot list" not in page


async def test_a_note_that_was_typed_stays_when_the_reader_may_not_see_the_job_any_more(tmp_path: Path) -> None:
    async with serve_place(build_objects(), tmp_path, local=False, allowed=[], denied=VIEWER) as place:
        async with place.session.post(f"{JOB}/runs/note", data={"text": "typed for long", "seen": ""}) as answer:
            page = await answer.text()
        async with place.session.get(f"{JOB}/runs/note") as shown:
            assert shown.status == 403, "who opens the page then sees nothing of the job"
    assert ">\ntyped for long</textarea>" in page and "cannot list paddlejobs" in page
