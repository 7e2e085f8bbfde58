"""What `paddock explain --why-not FILE` lists and reads of a cluster for a file of several jobs."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from console.test_nodes import build_node, build_pod
from jobs.samples import read_text
from paddock.cli.submit import why_not
from paddock.cli.submit.checks import Refusal
from paddock.kube.meta import NODES, PODS, Manifest, Resource
from paddock.views.flags import LOCAL
from paddock.views.rooms import LIVE_PODS, read_rooms

JOBS = 3
SEEN: dict[Resource, list[Manifest]] = {
    NODES: [build_node("one")],
    PODS: [build_pod("big-0", "one", "big", cpu="8")],
}
SEEN[NODES][0]["status"]["allocatable"] |= {"pods": "4"}


class Cluster:
    """A client that keeps what was listed."""

    def __init__(self) -> None:
        self.listed: list[tuple[str, str]] = []

    async def list(self, resource: Resource, namespace: str = "", *, fields: str = "") -> Any:
        self.listed.append((resource.plural, fields))
        return SimpleNamespace(items=SEEN.get(resource, []))


def test_nodes_and_pods_are_listed_and_read_once_for_all_jobs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    cluster, read = Cluster(), list[int]()

    async def refuse_nothing(_: object) -> list[Refusal]:
        return []

    def run(work: Callable[[Any, Any], Coroutine[Any, Any, Any]]) -> Any:
        return asyncio.run(work(cluster, SimpleNamespace(home=None)))

    def look(*args: Any) -> Any:
        read.append(1)
        return read_rooms(*args)

    monkeypatch.setattr(why_not, "choose_place", lambda: SimpleNamespace(flags=LOCAL))
    monkeypatch.setattr(why_not, "find_refusals", refuse_nothing)
    monkeypatch.setattr(why_not, "run_with_client", run)
    monkeypatch.setattr(why_not, "read_rooms", look)
    text = read_text("wide_and_deep")
    jobs = [text.replace("name: wide-ande-deep", f"name: job{number}", 1) for number in range(JOBS)]
    file = tmp_path / "jobs.yaml"
    file.write_text("\n---\n".join(jobs))
    assert why_not.explain_file(str(file), "default", "en") == 1
    said = capsys.readouterr().out
    assert said.count("big holds 1") == JOBS, said
    assert len(read) == 1
    assert [each for each in cluster.listed if each[0] in ("nodes", "pods")] == [("nodes", ""), ("pods", LIVE_PODS)]
