"""`LocalSupplier` over the embedded API: what it removes, and what it leaves."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from paddock.apiserver.objects.in_process import LocalApi
from paddock.datasets.definition import Definition, read_definition
from paddock.datasets.directories import Directory, Record, build_key
from paddock.datasets.local import LocalSupplier
from paddock.datasets.volumes import owner_of
from paddock.kube.errors import NotFound
from paddock.kube.meta import CLAIMS, Manifest


def define(uri: str) -> Definition:
    metadata = {"name": "words", "namespace": "default", "uid": "u1"}
    return read_definition({"metadata": metadata, "spec": {"source": {"uri": uri}}})


def claim(*owners: Manifest) -> Manifest:
    return {
        "apiVersion": "v1",
        "kind": "PersistentVolumeClaim",
        "metadata": {"name": "dataset-words", "namespace": "default", "ownerReferences": list(owners)},
        "spec": {"accessModes": ["ReadOnlyMany"], "resources": {"requests": {"storage": "1"}}},
    }


@pytest.fixture
async def api(tmp_path: Path) -> AsyncIterator[LocalApi]:
    opened = await LocalApi.open(tmp_path / "api")
    yield opened
    await opened.close()


async def test_the_claim_of_a_dataset_goes_with_it(api: LocalApi, tmp_path: Path) -> None:
    dataset = define("https://host.example/words.txt")
    await api.create(CLAIMS, claim(owner_of(dataset)))
    await LocalSupplier(api, tmp_path / "datasets").remove(dataset)
    with pytest.raises(NotFound):
        await api.get(CLAIMS, "default", "dataset-words")


async def test_a_claim_of_somebody_else_that_has_its_name_stays(api: LocalApi, tmp_path: Path) -> None:
    await api.create(CLAIMS, claim())
    await LocalSupplier(api, tmp_path / "datasets").remove(define("https://host.example/words.txt"))
    assert await api.get(CLAIMS, "default", "dataset-words")


async def test_files_of_an_earlier_source_go_also_where_the_last_one_is_not_copied(
    api: LocalApi, tmp_path: Path
) -> None:
    before, root = define("https://host.example/words.txt"), tmp_path / "datasets"
    place = Directory(root, before.uid, build_key(before))
    (place.prepare() / "words.txt").write_text("words")
    place.publish(Record(5, 1))
    own = tmp_path / "own"
    own.mkdir()
    await LocalSupplier(api, root).remove(define(f"file://{own}"))
    assert not list(root.iterdir())
    assert own.is_dir()
