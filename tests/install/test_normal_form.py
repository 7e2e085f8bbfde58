"""What an API server adds to the jobs of the documents is no difference for who compares them with a repository.

The rule is that of Argo CD and of `kubectl apply` for custom kinds, a three-way JSON merge patch: what was applied last
is what is wanted, so a field that the manifest does not name is the server's, and a list that it names is compared
whole. A default within a list would therefore differ for ever.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from paddock.jobs.apis.registry import KINDS
from paddock.kube.meta import Manifest, Resource
from support.documents import read_documents
from support.worlds import World

ROOT = Path(__file__).resolve().parents[2]
_OF_KIND = {(kind.group, kind.kind): kind for kind in KINDS}


def find_differences(wanted: Any, live: Any, path: str = "") -> Iterator[str]:
    """The fields of `wanted` that `live` lacks or has otherwise."""
    if isinstance(wanted, Mapping) and isinstance(live, Mapping):
        for name, each in wanted.items():
            if name in live:
                yield from find_differences(each, live[name], f"{path}.{name}")
            else:
                yield f"{path}.{name}"
    elif wanted != live:
        yield path


def list_jobs() -> list[tuple[str, Resource, Manifest]]:
    """Of each job of the repository's examples its file, its kind and its manifest."""
    found = [*(ROOT / "deploy" / "examples").glob("*.yaml"), *(ROOT / "examples").rglob("*.yaml")]
    return [
        (str(path.relative_to(ROOT)), _OF_KIND[key], document)
        for path in sorted(found)
        for document in read_documents(path.read_text())
        if (key := (document["apiVersion"].partition("/")[0], document["kind"])) in _OF_KIND
    ]


def test_a_difference_is_a_field_that_is_named_and_a_list_is_one_value() -> None:
    wanted = {"a": {"b": 1, "c": None}, "list": [{"name": "x"}]}
    assert list(find_differences(wanted, {"a": {"b": 1, "c": None, "more": 2}, "list": [{"name": "x"}], "d": 1})) == []
    live = {"a": {"b": 2}, "list": [{"name": "x", "protocol": "TCP"}]}
    assert list(find_differences(wanted, live)) == [".a.b", ".a.c", ".list"]


async def test_jobs_that_are_read_back_do_not_differ(world: World) -> None:
    jobs = list_jobs()
    assert {kind.group for _, kind, _ in jobs} == {"batch.paddlepaddle.org", "kubeflow.org"} and len(jobs) > 10
    for number, (path, kind, manifest) in enumerate(jobs):
        metadata = {**manifest["metadata"], "namespace": world.namespace, "name": f"job-{number}"}
        wanted = {**manifest, "metadata": metadata}
        await world.api.create(kind, wanted)
        # What the operator writes beside the spec.
        note = {"metadata": {"annotations": {"paddock.dev/halted": "yes"}}}
        await world.api.patch(kind, world.namespace, f"job-{number}", note)
        status = {"status": {"phase": "Running"}}
        await world.api.patch(kind, world.namespace, f"job-{number}", status, subresource="status")
        live = await world.api.get(kind, world.namespace, f"job-{number}")
        assert live["status"]["phase"] == "Running"
        assert (path, list(find_differences(wanted, live))) == (path, [])
