"""The CRDs of the local cluster, the connection of environments to the kubelet, and the errors of a failed start."""

from __future__ import annotations

import asyncio
import errno
import json
from contextlib import suppress
from pathlib import Path

import pytest

from apiserver.embedded import widget_crd
from paddock.apiserver.objects.in_process import LocalApi
from paddock.app.images import EnvironmentImages
from paddock.app.kinds import apply_crds, build_crds, keep_crds
from paddock.app.local import build_settings, explain_failure
from paddock.environments import answers
from paddock.environments.seeding import seed
from paddock.jobs.apis.registry import KUBEFLOW_PYTORCH
from paddock.kube.errors import AlreadyExists, NotFound, Unavailable
from paddock.kube.meta import CRDS, ENVIRONMENTS, POD_GROUPS, VOLCANO_POD_GROUPS, name_of, uid_of
from paddock.node.runtime import images
from support.waiting import until


@pytest.mark.parametrize(
    ("error", "said"),
    [
        (OSError(errno.EADDRINUSE, "port 80 is taken"), "port 80 is taken"),
        (OSError(errno.ENOSPC, "No space left on device", "/h/api"), "/h/api: No space left on device"),
        (OSError("bwrap does not start"), "bwrap does not start"),
        (Unavailable("the disk is full"), "the disk is full"),
        (KeyError("x"), "KeyError: 'x' (a bug of Paddock; see cluster.log)"),
    ],
)
def test_the_error_of_a_failed_start_is_one_sentence(error: Exception, said: str) -> None:
    assert explain_failure(error) == said


def test_a_laptop_places_every_job_as_a_gang_and_replaces_commands_that_cannot_work() -> None:
    settings = build_settings(Path("/outputs"))
    assert (settings.pod_groups, settings.gang_scheduler) == (POD_GROUPS, ""), "a gang whatever scheduler a job names"
    assert (settings.shared_network, settings.output_root, settings.substitutes) == (True, "/outputs", True)


async def test_crds_are_installed_and_updated(tmp_path: Path) -> None:
    api = await LocalApi.open(tmp_path)
    try:
        await apply_crds(api, build_crds())
        names = {name_of(crd) for crd in (await api.list(CRDS)).items}
        assert {name_of(crd) for crd in build_crds()} == names
        assert {"paddlejobs.batch.paddlepaddle.org", "environments.paddock.dev"} <= names
        older = await api.get(CRDS, "", "podgroups.scheduling.volcano.sh")
        older["spec"]["versions"][0]["additionalPrinterColumns"] = []
        await api.replace(CRDS, older)
        await apply_crds(api, build_crds())
        newer = await api.get(CRDS, "", "podgroups.scheduling.volcano.sh")
        assert newer["spec"]["versions"][0]["additionalPrinterColumns"]
        version = newer["metadata"]["resourceVersion"]
        await apply_crds(api, build_crds())
        again = await api.get(CRDS, "", "podgroups.scheduling.volcano.sh")
        assert again["metadata"]["resourceVersion"] == version, "a CRD that is up to date is not written again"
    finally:
        await api.close()


async def test_a_definition_that_is_there_is_created_once_more(tmp_path: Path) -> None:
    """The order of a tutorial: `kubectl create -f` of the definitions comes first."""
    api = await LocalApi.open(tmp_path)
    try:
        await apply_crds(api, build_crds())
        objects = api.objects
        objects.own_definitions = frozenset(map(name_of, build_crds()))
        served, crd = objects.served(CRDS), next(crd for crd in build_crds() if "pytorchjobs" in name_of(crd))
        before = await api.get(CRDS, "", name_of(crd))
        answer = await objects.create(served, crd)
        assert answer.created and json.loads(answer.body) == before
        assert answer.warnings == (
            "pytorchjobs.kubeflow.org is there already, as this cluster brings it itself: nothing was changed",
        )
        other = json.loads(json.dumps(crd))
        del other["spec"]["versions"][0]["additionalPrinterColumns"]
        with pytest.raises(AlreadyExists):
            await objects.create(served, other)
        await api.create(CRDS, widget_crd())
        with pytest.raises(AlreadyExists):
            await objects.create(served, widget_crd())
    finally:
        await api.close()


async def test_a_definition_that_was_deleted_comes_back_without_its_jobs(tmp_path: Path) -> None:
    api, resource = await LocalApi.open(tmp_path), KUBEFLOW_PYTORCH.resource
    keeping = asyncio.create_task(keep_crds(api, build_crds()))
    try:
        await apply_crds(api, build_crds())
        await api.create(CRDS, widget_crd())
        before = await api.get(CRDS, "", resource.qualified)
        job = {"metadata": {"name": "j", "namespace": "default"}, "spec": {"pytorchReplicaSpecs": {"Worker": {}}}}
        await api.create(resource, job | {"apiVersion": resource.api_version, "kind": resource.kind})
        for name in (resource.qualified, "widgets.example.org"):
            await api.delete(CRDS, "", name)

        async def is_back() -> bool:
            with suppress(NotFound):
                return (await api.get(CRDS, "", resource.qualified))["metadata"]["uid"] != before["metadata"]["uid"]
            return False

        await until(is_back)
        assert (await api.list(resource)).items == []
        with pytest.raises(NotFound):
            await api.get(CRDS, "", "widgets.example.org")
    finally:
        keeping.cancel()
        await asyncio.gather(keeping, return_exceptions=True)
        await api.close()


async def test_environments_come_back_with_their_definition(tmp_path: Path) -> None:
    api = await LocalApi.open(tmp_path)
    keeping = asyncio.create_task(keep_crds(api, build_crds()))
    try:
        await apply_crds(api, build_crds())
        await seed(api)
        before = {name_of(each): uid_of(each) for each in (await api.list(ENVIRONMENTS)).items}
        await api.delete(CRDS, "", ENVIRONMENTS.qualified)

        async def are_back() -> bool:
            with suppress(NotFound):
                now = {name_of(each): uid_of(each) for each in (await api.list(ENVIRONMENTS)).items}
                return now.keys() == before.keys() and not set(now.values()) & set(before.values())
            return False

        assert before
        await until(are_back)
    finally:
        keeping.cancel()
        await asyncio.gather(keeping, return_exceptions=True)
        await api.close()


async def test_a_job_of_an_older_paddock_has_the_defaults_of_the_new_definition(tmp_path: Path) -> None:
    """As on a cluster, whose server sets them whenever it reads an object."""
    api, resource = await LocalApi.open(tmp_path), KUBEFLOW_PYTORCH.resource
    try:
        await apply_crds(api, build_crds())
        older = await api.get(CRDS, "", resource.qualified)
        schema = older["spec"]["versions"][0]["schema"]["openAPIV3Schema"]
        del schema["properties"]["spec"]["properties"]["runPolicy"]["default"]
        await api.replace(CRDS, older)
        job = {
            "apiVersion": resource.api_version,
            "kind": resource.kind,
            "metadata": {"name": "old", "namespace": "default"},
            "spec": {"pytorchReplicaSpecs": {"Worker": {"replicas": 1}}},
        }
        assert "runPolicy" not in (await api.create(resource, job))["spec"]
        await apply_crds(api, build_crds())
        assert (await api.get(resource, "default", "old"))["spec"]["runPolicy"] == {"suspend": False}
        assert (await api.list(resource)).items[0]["spec"]["runPolicy"] == {"suspend": False}
    finally:
        await api.close()


@pytest.mark.parametrize("resource", [POD_GROUPS, VOLCANO_POD_GROUPS])
async def test_the_pod_group_crds_of_both_projects_preserve_unknown_fields(tmp_path: Path, resource: object) -> None:
    api = await LocalApi.open(tmp_path)
    try:
        await apply_crds(api, build_crds())
        group = {
            "apiVersion": resource.api_version,  # type: ignore[attr-defined]
            "kind": "PodGroup",
            "metadata": {"name": "gang", "namespace": "default"},
            "spec": {"minMember": 4, "queue": "research"},
        }
        made = await api.create(resource, group, strict=True)  # type: ignore[arg-type]
        assert made["spec"] == {"minMember": 4, "queue": "research"}
    finally:
        await api.close()


class Answering:
    """Environments with one fixed answer."""

    def __init__(self, answer: answers.Answer) -> None:
        self._answer = answer

    def resolve(self, container: object, pod: object) -> answers.Answer:
        return self._answer

    async def changed(self) -> None:
        await asyncio.sleep(0)


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        (answers.Ready({"A": "b"}, ("run",), None), images.Image("busybox", {"A": "b"}, ("run",), None)),
        (answers.Ready(notice="the default"), images.Image("busybox", notice="the default")),
        (answers.Preparing("building", "the default"), images.Preparing("building", notice="the default")),
        (answers.Unavailable("no"), images.Unavailable("no")),
        (answers.Unavailable("no", "Failed", "the default"), images.Unavailable("no", "Failed", "the default")),
    ],
)
def test_the_kubelet_gets_the_answer_of_the_environments(answer: answers.Answer, said: object) -> None:
    assert EnvironmentImages(Answering(answer)).resolve({"image": "busybox"}, {}) == said  # type: ignore[arg-type]
