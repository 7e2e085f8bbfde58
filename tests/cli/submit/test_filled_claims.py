"""Claims are filled once, whoever asks for them, and what fails leaves nothing behind.

The API is the embedded one, in process; the test is the node: it says how the pod is, and what it has printed. The
whole way, with real pods, is in tests/e2e/test_filled_claims.py.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any, cast

import pytest

from cli.submit.test_sent_directories import Said, build_checked
from paddock.apiserver.objects.in_process import LocalApi
from paddock.app.filled_claims.manifests import build_used
from paddock.cli.cluster.errors import Failed, UserError
from paddock.cli.cluster.filled_claims import fetch_claims, find_stale, remove_claim, remove_stale
from paddock.cli.submit import filled_claims
from paddock.cli.submit.claim_directories import Fill, add_claims
from paddock.cli.submit.filled_claims import Filling, fill_claims, find_refusals
from paddock.cli.submit.storage import USUAL, Storage
from paddock.kube.errors import Forbidden
from paddock.kube.meta import CLAIMS, NAMESPACES, NODES, PODS, VOLUMES, Key, Manifest, name_of
from paddock.kube.times import read_time
from paddock.submission.documents import Checked
from paddock.views.flags import Flags
from support.waiting import until

FLAGS = Flags(" --context prod", "team", "kubectl --context prod")
REPORT = {"python": "3.11", "path": "/usr/bin", "pythonpath": "", "packages": 1, "bytes": 2**20}
NODE = {"apiVersion": "v1", "kind": "Node"}


def write(**what: object) -> str:
    return f"paddock-fill {json.dumps(what)}\n"


class Cluster:
    """An API whose pods do what the test says. `forbidden`: plurals of what may not be asked for."""

    def __init__(self, api: LocalApi) -> None:
        self.api, self.log, self.forbidden, self.asked = api, "", set[str](), list[tuple[str, str]]()

    def __getattr__(self, verb: str) -> Any:
        found = getattr(self.api, verb)

        async def call(resource: Any, *words: Any, **more: Any) -> Any:
            self.asked.append((verb, resource.plural))
            if resource.plural in self.forbidden:
                raise Forbidden(f"{resource.plural} is forbidden")
            return await found(resource, *words, **more)

        return call

    async def stream_log(self, *_: Any, **__: Any) -> AsyncIterator[bytes]:
        yield self.log.encode()

    async def pod(self) -> Manifest:
        """Once there is one."""
        await until(self._has_pod)
        return (await self.api.list(PODS, "team")).items[0]

    async def _has_pod(self) -> bool:
        return bool((await self.api.list(PODS, "team")).items)

    async def set_pod(self, phase: str, log: str = "", **status: Any) -> None:
        pod = await self.pod()
        self.log = log
        await self.api.patch(PODS, "team", name_of(pod), {"status": {"phase": phase, **status}}, subresource="status")

    async def claims(self) -> list[str]:
        return [name_of(each) for each in (await self.api.list(CLAIMS, "team")).items]


@pytest.fixture
async def cluster(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Cluster]:
    monkeypatch.setattr(filled_claims, "LOOK_SECONDS", 0.01)
    opened = await LocalApi.open(tmp_path / "api")
    await opened.create(NAMESPACES, {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "team"}})
    yield Cluster(opened)
    await opened.close()


@pytest.fixture
def work(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "work").mkdir()
    monkeypatch.chdir(tmp_path / "work")
    (tmp_path / "work" / "requirements.txt").write_text("six\n")
    return tmp_path / "work"


def build(storage: Storage = USUAL) -> tuple[list[Checked], Fill]:
    """A job of two ranks with packages, whose program is in the image."""
    checked = build_checked()
    checked.manifest["spec"]["worker"]["template"]["spec"]["containers"][0]["command"] = ["python", "-c", "1"]
    documents, fills = add_claims([checked.with_manifest(checked.manifest)], None, Path("requirements.txt"), storage,
                                  Said())  # fmt: skip
    return documents, fills[0]


def begin(cluster: Cluster, said: Said, storage: Storage = USUAL) -> asyncio.Task[list[Checked]]:
    documents, fill = build(storage)
    return asyncio.create_task(fill_claims(cast("Any", cluster), [fill], documents, FLAGS, said))


@pytest.mark.slow
async def test_the_second_run_finds_the_claim_and_makes_no_pod(cluster: Cluster, work: Path) -> None:
    said = Said()
    filling = begin(cluster, said)
    await cluster.set_pod("Running", write(step="install", tool="pip") + "Collecting six\n")
    await until(lambda: any("pip: Collecting six" in line for line in said))
    await cluster.set_pod("Succeeded", write(filled=REPORT))
    (job,) = await filling
    env = {
        each["name"]: each["value"]
        for each in job.manifest["spec"]["worker"]["template"]["spec"]["containers"][0]["env"]
    }
    assert env == {"PATH": "/paddock/packages/env/bin:/usr/bin", "PYTHONPATH": "/paddock/packages/env/packages"}
    assert not await cluster._has_pod(), "it has done its work"
    (claim,) = (await cluster.api.list(CLAIMS, "team")).items
    assert claim["spec"]["accessModes"] == ["ReadWriteMany"], "two ranks may be on two nodes"

    again = Said()
    assert (await begin(cluster, again))[0].manifest == job.manifest
    what = "1 package over those of the image (Python 3.11), 1.0 MiB of 10Gi"
    assert again == [f"the claim {name_of(claim)} has the packages of requirements.txt already: {what}"]
    assert not await cluster._has_pod()


async def test_two_commands_follow_one_pod(cluster: Cluster, work: Path) -> None:
    one, two = Said(), Said()
    first = begin(cluster, one)
    await cluster.pod()
    second = begin(cluster, two)
    await until(lambda: any("another command fills it already" in line for line in two))
    await cluster.set_pod("Succeeded", write(filled=REPORT))
    assert (await first)[0].manifest == (await second)[0].manifest
    assert len([each for each in cluster.asked if each == ("create", "pods")]) == 1, cluster.asked
    assert not any("ended from outside" in line for line in two), "the other command has removed it"


async def test_a_pod_that_another_command_has_removed_after_its_work_is_no_disruption(
    cluster: Cluster, work: Path
) -> None:
    said = Said()
    filling = begin(cluster, said)
    pod = await cluster.pod()
    (name,) = await cluster.claims()
    await cluster.api.patch(CLAIMS, "team", name, build_used("2026-11-30T00:00:00Z", REPORT))
    await cluster.api.delete(PODS, "team", name_of(pod), grace=0)
    await filling
    assert not any("ended from outside" in line for line in said) and not await cluster._has_pod()


async def test_what_cannot_be_installed_leaves_no_claim_and_no_pod(cluster: Cluster, work: Path) -> None:
    filling = begin(cluster, Said())
    failed = {"reason": "tool", "tool": "pip", "python": "3.11"}
    output = "ERROR: Could not find a version that satisfies the requirement six (from versions: none)\n"
    await cluster.set_pod("Failed", write(step="install", tool="pip") + output + write(failed=failed))
    with pytest.raises(
        Failed, match=r"(?s)requirements.txt cannot be installed on the cluster: .* no six .*nothing was sub"
    ):
        await filling
    assert await cluster.claims() == [] and not await cluster._has_pod()


async def test_a_pod_that_is_ended_from_outside_is_replaced_three_times(cluster: Cluster, work: Path) -> None:
    said = Said()
    filling = begin(cluster, said)
    for _ in range(2):
        before = (await cluster.pod())["metadata"]["uid"]
        await cluster.set_pod("Failed", reason="Evicted", message="the node was low on memory")
        await until(lambda before=before: _is_replaced(cluster, before))
    assert sum("was ended from outside (Evicted: the node was low on memory)" in line for line in said) == 2
    await cluster.set_pod("Failed", reason="Evicted", message="again")
    with pytest.raises(Failed, match="its pod was ended from outside 3 times: Evicted: again"):
        await filling


async def _is_replaced(cluster: Cluster, before: str) -> bool:
    pods = (await cluster.api.list(PODS, "team")).items
    return bool(pods) and pods[0]["metadata"]["uid"] != before


async def test_an_image_without_python_is_named(cluster: Cluster, work: Path) -> None:
    filling = begin(cluster, Said())
    ended = {"exitCode": 128, "message": 'exec: "python": executable file not found in $PATH'}
    await cluster.set_pod("Failed", containerStatuses=[
        {"name": "fill", "ready": False, "restartCount": 0, "image": "i", "imageID": "i",
         "state": {"terminated": ended}}
    ])  # fmt: skip
    with pytest.raises(Failed, match=r"has no python, by which the claim would be filled: .*executable file not found"):
        await filling


async def test_a_full_claim_is_made_anew_with_more(cluster: Cluster, work: Path) -> None:
    filling = begin(cluster, Said())
    await cluster.set_pod("Failed", write(failed={"reason": "full", "where": "claim"}))
    with pytest.raises(
        Failed, match="the claim, 10Gi, is full: type the command again with more, as in --storage 20Gi"
    ):
        await filling
    again = begin(cluster, Said(), Storage("20Gi"))
    await cluster.set_pod("Succeeded", write(filled=REPORT))
    await again
    (claim,) = (await cluster.api.list(CLAIMS, "team")).items
    assert claim["spec"]["resources"]["requests"]["storage"] == "20Gi"
    said = Said()
    await begin(cluster, said, Storage("30Gi"))
    told = (
        f"--storage and --storage-class are for a new claim, and {name_of(claim)}, of 20Gi, is there: `paddock env rm"
    )
    assert told in said[0], said


async def test_storage_on_a_node_s_own_disk_is_told(cluster: Cluster, work: Path) -> None:
    said = Said()
    filling = begin(cluster, said)
    await cluster.set_pod("Succeeded", write(filled=REPORT))
    await filling
    (name,) = await cluster.claims()
    terms = [{"matchExpressions": [{"key": "kubernetes.io/hostname", "operator": "In", "values": ["n1"]}]}]
    spec = {"capacity": {"storage": "10Gi"}, "accessModes": ["ReadWriteOnce"], "hostPath": {"path": "/x"}}
    volume = {"apiVersion": "v1", "kind": "PersistentVolume", "metadata": {"name": "v"}}
    await cluster.api.create(
        VOLUMES, volume | {"spec": spec | {"nodeAffinity": {"required": {"nodeSelectorTerms": terms}}}}
    )
    await cluster.api.patch(CLAIMS, "team", name, {"spec": {"volumeName": "v"}})
    again = Said()
    await begin(cluster, again)
    assert not any("alone" in line for line in again), "ReadWriteMany"
    await cluster.api.patch(CLAIMS, "team", name, {"status": {"accessModes": ["ReadWriteOnce"]}}, subresource="status")
    await begin(cluster, again)
    assert again[-1] == f"the volume of the claim {name} is on the node n1 alone, so the job runs there or waits"


@pytest.mark.slow
async def test_an_interrupt_leaves_the_pod_to_its_work_and_says_so(cluster: Cluster, work: Path) -> None:
    said = Said()
    filling = begin(cluster, said)
    await cluster.set_pod("Running", write(step="install", tool="pip"))
    await until(lambda: any("pip has begun" in line for line in said))
    filling.cancel()
    await asyncio.gather(filling, return_exceptions=True)
    assert "goes on filling the claim" in said[-1] and await cluster._has_pod()


async def test_a_claim_of_somebody_else_is_not_filled(cluster: Cluster, work: Path) -> None:
    _, fill = build()
    claim = {"apiVersion": "v1", "kind": "PersistentVolumeClaim",
             "metadata": {"name": fill.content.name, "namespace": "team"},
             "spec": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}}  # fmt: skip
    await cluster.api.create(CLAIMS, claim)
    ((_, why),) = await find_refusals(cast("Any", cluster), [fill], FLAGS, Said())
    assert "was made for something else, so nothing is written into it" in str(why)
    with pytest.raises(Failed, match="was made for something else"):
        await Filling(cast("Any", cluster), fill, FLAGS, Said()).run()


@pytest.mark.parametrize(
    ("nodes", "forbidden", "refused", "told"),
    [(1, (), False, False), (3, (), True, False), (3, ("nodes",), False, True), (3, ("storageclasses",), False, False)],
)
async def test_a_claim_of_one_node_is_refused_to_a_job_that_may_be_on_several(
    nodes: int, forbidden: tuple[str, ...], refused: bool, told: bool, cluster: Cluster, work: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    async def list_classes(api: Any) -> Any:
        return (
            None
            if "storageclasses" in cluster.forbidden
            else [filled_claims.StorageClass("local-path", "rancher.io/local-path", True)]
        )

    monkeypatch.setattr(filled_claims, "_list_classes", list_classes)
    for number in range(nodes):
        await cluster.api.create(NODES, {**NODE, "metadata": {"name": f"n{number}"}})
    cluster.forbidden = set(forbidden)
    said = Said()
    found = await find_refusals(cast("Any", cluster), [build()[1]], FLAGS, said)
    assert bool(found) is refused and bool(said) is told, (found, said)
    assert not refused or "paddock env rm env-" in str(found[0][1])
    assert await cluster.claims() == [], "nothing is made"


async def test_storage_that_gives_no_volume_is_not_waited_for_for_ever(
    cluster: Cluster, work: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(filled_claims, "PATIENCE_SECONDS", 0.05)
    said = Said()
    filling = begin(cluster, said)
    pod = await cluster.pod()
    (claim,) = (await cluster.api.list(CLAIMS, "team")).items
    involved = {
        "kind": "PersistentVolumeClaim",
        "name": name_of(claim),
        "namespace": "team",
        "uid": claim["metadata"]["uid"],
    }
    await cluster.api.create(filled_claims.EVENTS, {
        "apiVersion": "v1", "kind": "Event", "metadata": {"name": "e", "namespace": "team"}, "involvedObject": involved,
        "type": "Warning", "reason": "ProvisioningFailed", "message": "only ReadWriteOnce is supported",
    })  # fmt: skip
    with pytest.raises(Failed, match=r"(?s)only ReadWriteOnce is supported.*with --storage-class, or less of it"):
        await filling
    assert await cluster.claims() == [] and pod is not None


# Whose claims are there


async def make(cluster: Cluster, kind: str, name: str, used: str) -> None:
    await cluster.api.create(CLAIMS, {
        "apiVersion": "v1", "kind": "PersistentVolumeClaim",
        "metadata": {
            "name": name, "namespace": "team", "labels": {"paddock.dev/fill": kind},
            "annotations": {"paddock.dev/content": '{"digest": "d", "about": "six"}', "paddock.dev/used": used},
        },
        "spec": {"accessModes": ["ReadWriteMany"], "resources": {"requests": {"storage": "1Gi"}}},
    })  # fmt: skip


async def test_claims_of_code_that_no_job_mounts_go_after_an_hour(cluster: Cluster) -> None:
    now = read_time("2026-11-30T02:00:00Z") or 0
    for name, used in (("code-old", "2026-11-30T00:30:00Z"), ("code-new", "2026-11-30T01:30:00Z")):
        await make(cluster, "code", name, used)
    await make(cluster, "code", "code-untold", "")
    await make(cluster, "packages", "env-old", "2026-01-01T00:00:00Z")
    found = await fetch_claims(cast("Any", cluster), "team")
    assert [each.held.name for each in find_stale(found, now)] == ["code-old"]
    assert await remove_stale(cast("Any", cluster), "team", now) == ["code-old"]
    assert sorted(await cluster.claims()) == ["code-new", "code-untold", "env-old"]


async def test_who_may_not_list_claims_removes_none(cluster: Cluster) -> None:
    await make(cluster, "code", "code-old", "2020-01-01T00:00:00Z")
    cluster.forbidden = {"persistentvolumeclaims"}
    assert await remove_stale(cast("Any", cluster), "team", 2e9) == []


@pytest.mark.parametrize(
    ("name", "said"), [("env-odl", "did you mean 'env-old'"), ("mine", "there is no claim 'mine'")]
)
async def test_a_claim_that_is_not_there_is_named_with_the_nearest(cluster: Cluster, name: str, said: str) -> None:
    await make(cluster, "packages", "env-old", "")
    with pytest.raises(UserError, match=said):
        await remove_claim(cast("Any", cluster), Key("team", name))
    await remove_claim(cast("Any", cluster), Key("team", "env-old"))
    assert await cluster.claims() == []
