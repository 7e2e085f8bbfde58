"""A job whose Secret nobody makes is refused on the local cluster, before anything is submitted."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from cli.views import RESOURCE, build_manifest
from paddock.apiserver.objects.in_process import LocalApi
from paddock.app.home import Home
from paddock.app.kinds import apply_crds, build_crds
from paddock.cli.cluster.errors import UserError
from paddock.cli.cluster.places import Local
from paddock.cli.submit.checks import SECRETS as MISSING
from paddock.cli.submit.checks import Submission, refuse
from paddock.cli.submit.submitter import submit
from paddock.cli.submit.why_not import Answer, build_answer
from paddock.jobs.model import Job
from paddock.kube.meta import SECRETS, Key
from paddock.preflight import Document
from paddock.submission.documents import Checked, build_checked
from paddock.submission.missing_secrets import (
    explain_missing,
    find_missing,
    find_missing_secrets,
    goes_with,
)
from paddock.views.stored import read_stored


def reference(secret: str, name: str = "API_KEY", **more: Any) -> dict[str, Any]:
    return {"name": name, "valueFrom": {"secretKeyRef": {"name": secret, "key": name.lower(), **more}}}


def build(**container: Any) -> list[Checked]:
    manifest = build_manifest(workers=2)
    manifest["metadata"] |= {"name": "train", "namespace": "default"}
    manifest["spec"]["worker"]["template"]["spec"]["containers"][0] |= container
    return [build_checked("job.yaml", Document(manifest), manifest, RESOURCE)]


def job(**container: Any) -> Job:
    found = build(**container)[0].job
    assert found is not None
    return found


@pytest.mark.parametrize(
    ("container", "there", "expected"),
    [
        ({"env": [reference("a"), reference("a", "USER")]}, (), [("a", ["API_KEY", "USER"])]),
        ({"envFrom": [{"secretRef": {"name": "b"}}]}, (), [("b", ["envFrom"])]),
        ({"env": [reference("a")]}, ("a",), []),
        ({"env": [reference("a", optional=True)], "envFrom": [{"secretRef": {"name": "b", "optional": True}}]}, (), []),
        ({"env": [{"name": "A", "value": "x"}], "envFrom": [{"configMapRef": {"name": "c"}}]}, (), []),
    ],
)  # fmt: skip
def test_the_secrets_that_are_missing(container: dict[str, Any], there: tuple[str, ...], expected: list[Any]) -> None:
    found = find_missing([job(**container)], [Key("default", name) for name in there])
    assert [(each.secret.name, list(each.variables)) for each in found] == expected


@pytest.mark.parametrize(
    ("container", "sentence"),
    [
        (
            {"env": [reference("train-env"), reference("train-env", "USER")]},
            "there is no Secret train-env for API_KEY, USER: --env-file or --secret of `paddock run` makes it",
        ),
        (
            {"env": [reference("hub")]},
            "there is no Secret hub for API_KEY: `KUBECONFIG=$(paddock kubeconfig) kubectl create secret "
            "generic hub --from-literal=api_key=…` makes it",
        ),
    ],
)
def test_the_sentence_says_what_makes_it(container: dict[str, Any], sentence: str) -> None:
    (missing,) = find_missing([job(**container)], ())
    assert str(explain_missing(missing)) == sentence


@pytest.fixture
async def api(tmp_path: Path) -> AsyncIterator[LocalApi]:
    opened = await LocalApi.open(tmp_path / "api")
    await apply_crds(opened, build_crds())
    yield opened
    await opened.close()


async def test_run_submits_nothing_until_the_secret_is_there(api: LocalApi, tmp_path: Path) -> None:
    place = Local(Home(tmp_path / "home", tmp_path / "cache"))
    checked = build(env=[reference("train-env")], command=["true"])
    with pytest.raises(UserError, match=r"PaddleJob default/train: there is no Secret train-env(.|\n)*nothing was sub"):
        await submit(Submission(api, place, checked, lambda _: None, runs=True))
    assert (await api.list(RESOURCE)).items == []
    secret = {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "train-env", "namespace": "default"}}
    brought = build_checked("job.yaml", Document(secret), secret, SECRETS)
    await refuse(Submission(api, place, [brought, *checked], lambda _: None), [MISSING])
    await api.create(SECRETS, secret)
    await refuse(Submission(api, place, checked, lambda _: None), [MISSING])


async def test_why_a_job_would_be_refused_names_the_job_once(api: LocalApi) -> None:
    (missing,) = await find_missing_secrets(api, [job(env=[reference("train-env")])], (), ())
    (line,) = build_answer(Answer(missing.job, refused=[explain_missing(missing)]), "job.yaml", "en")
    assert line.startswith("PaddleJob default/train would be refused: there is no Secret train-env for ")


async def test_a_secret_that_goes_with_the_job_that_is_replaced_is_not_there(api: LocalApi, tmp_path: Path) -> None:
    place = Local(Home(tmp_path / "home", tmp_path / "cache"))
    checked = build(env=[reference("train-env")], command=["true"])
    before = read_stored(RESOURCE, await api.create(RESOURCE, checked[-1].manifest))
    owners = [{"apiVersion": RESOURCE.api_version, "kind": "PaddleJob", "name": "train", "uid": before.uid}]
    meta = {"name": "train-env", "namespace": "default", "ownerReferences": owners}
    await api.create(SECRETS, {"apiVersion": "v1", "kind": "Secret", "metadata": meta})
    await refuse(Submission(api, place, checked, lambda _: None), [MISSING])
    with pytest.raises(UserError, match="there is no Secret train-env for"):
        await refuse(Submission(api, place, checked, lambda _: None, there=[(checked[-1], before)]), [MISSING])


@pytest.mark.parametrize(
    ("owners", "goes"), [((), False), (("a",), True), (("a", "b"), True), (("a", "other"), False), (("other",), False)]
)
def test_an_object_goes_with_the_last_of_its_owners(owners: tuple[str, ...], goes: bool) -> None:
    references = [{"uid": uid} for uid in owners]
    assert goes_with({"metadata": {"ownerReferences": references}}, {"a", "b"}) is goes
    assert not goes_with({"metadata": {}}, {"a"})
