"""How many jobs other namespaces have, whatever the size of the cluster."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, cast

import pytest

from paddock.cli.cluster.elsewhere import count_elsewhere, explain_elsewhere
from paddock.jobs.apis.registry import KINDS
from paddock.kube.errors import ApiError, Forbidden, NotFound
from paddock.words.phrases import phrase


class Cluster:
    """Of each kind of job the same number, or a refusal."""

    def __init__(self, *, jobs: int = 0, refusal: ApiError | None = None, tells_left: bool = True) -> None:
        self._jobs, self._refusal, self._tells_left = jobs, refusal, tells_left
        self.sent = 0

    async def fetch(self, path: str, query: Mapping[str, str], *, accept: str) -> Any:
        assert "PartialObjectMetadataList" in accept and path in {each.path() for each in KINDS}
        if self._refusal:
            raise self._refusal
        size = min(int(query["limit"]), self._jobs)
        self.sent += size
        meta: dict[str, Any] = {"continue": "more"} if size < self._jobs else {}
        if meta and self._tells_left and "labelSelector" not in query:
            meta["remainingItemCount"] = self._jobs - size
        return {"items": [{}] * size, "metadata": meta}


@pytest.mark.parametrize(
    ("labels", "cluster", "found"),
    [
        ("", Cluster(), (0, False)),
        ("", Cluster(jobs=10_000), (10_000, False)),
        ("", Cluster(jobs=10_000, tells_left=False), (1, True)),
        ("a=b", Cluster(jobs=7), (7, False)),
        ("a=b", Cluster(jobs=10_000), (500, True)),
        ("", Cluster(jobs=7, refusal=Forbidden("no")), (0, False)),
        ("", Cluster(jobs=7, refusal=NotFound("no")), (0, False)),
    ],
)
async def test_the_jobs_of_all_namespaces_are_counted_by_one_page_of_each_kind(
    labels: str, cluster: Cluster, found: tuple[int, bool]
) -> None:
    count, more = found
    assert await count_elsewhere(cast("Any", cluster), labels) == (count * len(KINDS), more)
    assert cluster.sent <= 500 * len(KINDS)


@pytest.mark.parametrize(
    ("count", "more", "said"),
    [
        (0, False, "none"),
        (3, False, "none; 3 in other namespaces: `c`"),
        (500, True, "none; 500+ in other namespaces: `c`"),
    ],
)
def test_what_lists_them_is_told_where_there_are_any(count: int, more: bool, said: str) -> None:
    assert str(explain_elsewhere(phrase("none"), count, "c", more=more)) == said
