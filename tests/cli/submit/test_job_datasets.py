"""--data, and what is said of datasets before a job is sent."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from jobs.samples import read_manifest
from paddock.apiserver.objects.in_process import LocalApi
from paddock.app.home import Home
from paddock.app.kinds import apply_crds, build_crds
from paddock.cli.cluster.errors import UserError
from paddock.cli.cluster.places import Local
from paddock.cli.submit.job_datasets import check_datasets, with_data
from paddock.cli.submit.script.options import ScriptOptions
from paddock.cli.submit.script.requests import build_documents, change_job
from paddock.datasets.changes import is_same_spec
from paddock.datasets.crd import build_crd
from paddock.kube.calls import Call, T
from paddock.kube.datasets import MOUNTS_ANNOTATION
from paddock.kube.errors import Forbidden
from paddock.kube.meta import CRDS, DATASETS, Manifest, annotations_of
from paddock.preflight import Document
from paddock.script.request import ScriptRequest
from paddock.submission.documents import Checked, place_document
from paddock.words.phrases import Phrase
from support.datasets import build_dataset
from support.operator_seam import Seam


@pytest.fixture
async def api(tmp_path: Path) -> AsyncIterator[LocalApi]:
    opened = await LocalApi.open(tmp_path / "api")
    await apply_crds(opened, build_crds())
    yield opened
    await opened.close()


@pytest.fixture
def place(tmp_path: Path) -> Local:
    return Local(Home(tmp_path / "home", tmp_path / "cache"))


def document(said: str = "", name: str = "resnet") -> Checked:
    manifest: Manifest = read_manifest(name)
    if said:
        manifest["metadata"]["annotations"] = {MOUNTS_ANNOTATION: said}
    return place_document("job.yaml", Document(manifest), "default")


def note(each: Checked) -> Any:
    return annotations_of(each.manifest).get(MOUNTS_ANNOTATION)


def test_data_adds_to_what_the_manifest_says_and_to_a_typed_command() -> None:
    options = ScriptOptions(data=("words:/words", "imagenet:/data"))
    (changed,) = change_job([document("imagenet:/data")], (), options, {})
    assert note(changed) == "imagenet:/data, words:/words"
    assert changed.job and len(changed.job.mounts) == 2
    (submitted,) = with_data([document()], ["words:/words"])
    assert note(submitted) == "words:/words"
    (typed,) = build_documents(ScriptRequest(["python", "train.py"], mounts="words:/words"))
    assert note(typed) == "words:/words"


@pytest.mark.parametrize(
    ("data", "said"),
    [
        ("words", '--data: found "words": write NAME:/PATH, as in imagenet:/data'),
        ("words:words", '--data: found "words", which does not begin with /: write words:/words'),
        ("words:/data", "--data: /data is the path of imagenet already: give each dataset a path of its own"),
    ],
)
def test_data_that_cannot_be_followed_is_told_by_the_options_name(data: str, said: str) -> None:
    for change in (
        lambda each: change_job(each, (), ScriptOptions(data=(data,)), {}),
        lambda each: with_data(each, [data]),
    ):
        with pytest.raises(UserError) as refused:
            change([document("imagenet:/data")])
        assert str(refused.value) == said


def test_data_without_a_job_is_refused() -> None:
    with pytest.raises(UserError, match="--data is for jobs"):
        with_data([], ["words:/data"])


async def look(api: Any, place: Local, checked: Checked, *data: str, more: tuple[Checked, ...] = ()) -> list[str]:
    said: list[Phrase] = []
    await check_datasets(api, place, [checked, *more], data, said.append)
    return list(map(str, said))


async def test_a_typed_dataset_must_be_there_and_a_written_one_may_come_later(api: LocalApi, place: Local) -> None:
    await api.create(CRDS, build_crd()) if not await has_kind(api) else None
    await api.create(DATASETS, build_dataset("imagenet"))
    with pytest.raises(UserError, match="there is no dataset 'imagnet' in namespace default; did you mean 'imagenet'"):
        await look(api, place, document("imagnet:/data"), "imagnet:/data")
    assert await look(api, place, document("imagnet:/data")) == [
        "the job waits for dataset imagnet, which does not exist: paddock dataset create imagnet --from URL"
    ]
    assert await look(api, place, document("imagenet:/data"), "imagenet:/data") == []
    brought = Checked("x.yaml", Document(build_dataset("words")), build_dataset("words"), DATASETS)
    assert await look(api, place, document("words:/data"), "words:/data", more=(brought,)) == [], "it comes with it"


async def has_kind(api: LocalApi) -> bool:
    return any(each["metadata"]["name"] == DATASETS.qualified for each in (await api.list(CRDS)).items)


async def test_a_place_without_the_kind_says_what_an_administrator_does(tmp_path: Path, place: Local) -> None:
    empty = await LocalApi.open(tmp_path / "empty")
    try:
        with pytest.raises(UserError, match="this cluster has no datasets; an administrator adds them"):
            await look(empty, place, document("words:/data"), "words:/data")
        (said,) = await look(empty, place, document("words:/data"))
        assert "this cluster has no datasets" in said
    finally:
        await empty.close()


class Blind(Seam):
    """Whoever asks may not see Datasets."""

    async def send(self, call: Call[T]) -> T:
        if call.resource == DATASETS:
            raise Forbidden("datasets.paddock.dev is forbidden")
        return await super().send(call)


async def test_who_may_not_see_datasets_may_submit_jobs_all_the_same(api: LocalApi, place: Local) -> None:
    assert await look(Blind(api), place, document("words:/data"), "words:/data") == []


@pytest.mark.parametrize(
    ("written", "stored", "same"),
    [
        ({"source": {"uri": "a"}}, {"source": {"uri": "a"}}, True),
        ({"source": {"uri": "a"}}, {"source": {"uri": "b"}}, False),
        ({"source": {"uri": "a"}}, {"source": {"uri": "a"}, "round": 3}, True),
        ({"source": {"uri": "a"}, "round": 2}, {"source": {"uri": "a"}, "round": 3}, False),
        ({"source": {"uri": "a"}, "round": 0}, {"source": {"uri": "a"}}, True),
        ({"source": {"uri": "a", "sha256": None}}, {"source": {"uri": "a"}, "storage": {}}, True),
        ({"source": {"uri": "a"}}, {"source": {"uri": "a"}, "storage": {"size": "1Gi"}}, False),
    ],
)
def test_a_dataset_that_is_written_as_it_is_stored_is_the_same(
    written: dict[str, Any], stored: dict[str, Any], same: bool
) -> None:
    assert is_same_spec({"spec": written}, {"spec": stored}) is same
