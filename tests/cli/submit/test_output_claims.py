"""The claims for outputs, before a job is sent."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any

import pytest

from cli.views import RESOURCE, build_manifest
from jobs.gangs import build_job
from paddock.cli.submit.output_claims import doubt, explain_missing, fetch_notes, fetch_refused, find_named, judge
from paddock.kube.errors import Forbidden, NotFound
from paddock.kube.meta import CLAIMS, Manifest, Resource
from paddock.preflight import Document
from paddock.submission.documents import Checked, build_checked
from paddock.views.flags import Flags

FLAGS = Flags(" --context prod", kubectl="kubectl --context prod")


def build_claim(modes: Sequence[str] = ("ReadWriteMany",), name: str = "results", **status: Any) -> Manifest:
    return {"metadata": {"name": name}, "spec": {"accessModes": list(modes)}, "status": status}


@pytest.mark.parametrize(
    ("modes", "workers", "refused", "doubted"),
    [
        (["ReadWriteMany"], 4, "", ""),
        ([], 4, "", ""),
        (["ReadWriteOnce"], 1, "", ""),
        (["ReadWriteOnce"], 2, "", "one node at a time may have the claim results (ReadWriteOnce), and the job has 2"),
        (["ReadWriteOnce", "ReadWriteMany"], 2, "", ""),
        (["ReadWriteOncePod"], 1, "", ""),
        (["ReadWriteOncePod"], 2, "only one pod at a time may have the claim results", ""),
        (["ReadOnlyMany"], 1, "can be read only", ""),
    ],
)
def test_modes(modes: list[str], workers: int, refused: str, doubted: str) -> None:
    job, claim = build_job(outputs="results", workers=workers), build_claim(modes)
    said = judge(job, claim)
    assert refused in str(said) if refused else said is None
    if not refused:
        notes = [str(each) for each in doubt(job, claim)]
        assert len(notes) == bool(doubted) and all(doubted in each for each in notes)


def test_what_a_claim_is_bound_with_counts_not_what_it_asked_for() -> None:
    claim = build_claim(["ReadWriteMany"], accessModes=["ReadWriteOncePod"])
    assert judge(build_job(outputs="results"), claim) is not None


def test_one_that_goes_and_one_that_is_lost_are_refused() -> None:
    job = build_job(outputs="results")
    gone = build_claim()
    gone["metadata"]["deletionTimestamp"] = "2026-11-30T00:00:00Z"
    assert "is being deleted" in str(judge(job, gone))
    assert "has lost its volume" in str(judge(job, build_claim(phase="Lost")))


@pytest.mark.parametrize(
    ("there", "said"),
    [
        (["data", "result"], "; did you mean result?"),
        (["zzz", "data"], "; there are data and zzz"),
        ([], "`kubectl --context prod get storageclass` lists them"),
    ],
)
def test_one_that_is_not_there_is_told_with_those_that_are(there: list[str], said: str) -> None:
    found = str(explain_missing(build_job(outputs="results"), there, FLAGS))
    assert found.startswith("there is no claim results in namespace team") and said in found


def check(*manifests: tuple[Manifest, Resource]) -> list[Checked]:
    return [build_checked("job.yaml", Document(manifest), manifest, resource) for manifest, resource in manifests]


def build_document(claim: str = "results") -> tuple[Manifest, Resource]:
    manifest = build_manifest(workers=2)
    manifest["metadata"]["annotations"] = {"paddock.dev/outputs": claim}
    return manifest, RESOURCE


def test_a_claim_that_the_documents_bring_is_not_asked_for() -> None:
    manifest, resource = build_document()
    claim = {**build_claim(), "apiVersion": "v1", "kind": "PersistentVolumeClaim"}
    claim["metadata"]["namespace"] = manifest["metadata"].get("namespace") or "default"
    assert [job.outputs for _, job in find_named(check((manifest, resource)))] == ["results"]
    assert list(find_named(check((claim, CLAIMS), (manifest, resource)))) == []


class Claims:
    """An API that has these claims, or lets nobody read any."""

    def __init__(self, *claims: Manifest, hidden: bool = False) -> None:
        self._claims, self._hidden = {each["metadata"]["name"]: each for each in claims}, hidden

    async def get(self, resource: Resource, namespace: str, name: str) -> Manifest:
        if self._hidden:
            raise Forbidden("no")
        if name not in self._claims:
            raise NotFound("no")
        return self._claims[name]

    async def list(self, resource: Resource, namespace: str) -> Any:
        raise Forbidden("no")


def test_who_may_not_read_claims_is_not_kept_from_sending_the_job() -> None:
    documents, hidden = check(build_document()), Claims(hidden=True)
    assert asyncio.run(fetch_refused(hidden, documents, FLAGS)) == []  # type: ignore[arg-type]
    assert asyncio.run(fetch_notes(hidden, documents)) == []  # type: ignore[arg-type]


def test_a_job_whose_claim_is_not_there_is_refused_whether_or_not_others_may_be_listed() -> None:
    ((each, said),) = asyncio.run(fetch_refused(Claims(), check(build_document()), FLAGS))  # type: ignore[arg-type]
    assert each.is_job and str(said).startswith("there is no claim results")


def test_a_claim_of_one_node_is_told_of_with_the_job() -> None:
    claims = Claims(build_claim(["ReadWriteOnce"]))
    (said,) = asyncio.run(fetch_notes(claims, check(build_document())))  # type: ignore[arg-type]
    assert "one node at a time may have the claim results" in str(said)
