"""Which ranks `paddock logs` reads, and what it says where nothing is printed."""

from __future__ import annotations

from typing import Any

import pytest

from cli.views import RESOURCE, build_manifest
from paddock.cli.verbs.logs import explain_invalid, explain_silence, read_ranks
from paddock.jobs.labels import INDEX_LABEL, JOB_LABEL, ROLE_LABEL
from paddock.jobs.model import Rank
from paddock.views.stored import read_stored

FIRST, SECOND = Rank("worker", 0), Rank("worker", 1)


def build_pod(role: str, index: int) -> dict[str, Any]:
    labels = {JOB_LABEL: "demo", ROLE_LABEL: role, INDEX_LABEL: str(index)}
    return {"metadata": {"name": f"demo-{role}-{index}", "uid": f"{role}{index}", "labels": labels}}


def test_a_job_that_cannot_be_read_has_the_ranks_of_its_pods() -> None:
    assert read_stored(RESOURCE, build_manifest(workers=0)).job is None
    assert read_stored(RESOURCE, build_manifest()).job is not None
    pods = [build_pod("worker", 10), build_pod("worker", 9), build_pod("ps", 0), {"metadata": {"name": "other"}}]
    assert [str(rank) for rank in read_ranks(pods)] == ["ps-0", "worker-9", "worker-10"]


@pytest.mark.parametrize(
    ("printed", "said"),
    [
        (False, "demo has no pods: its manifest is wrong; `paddock explain demo -n team` says where"),
        (True, "demo cannot be followed: its manifest is wrong (`paddock explain demo -n team` says where); without "
               "-f its pods' output so far is printed"),
    ],
)  # fmt: skip
def test_an_invalid_job_is_refused_with_the_command_that_explains_it(printed: bool, said: str) -> None:
    assert str(explain_invalid("demo", " -n team", printed)) == said


CONSOLE = "paddock console --context prod"
KEEP = f": runPolicy.cleanPodPolicy (cleanPodPolicy) Never keeps pods, and `{CONSOLE}` copies logs while it runs"
COPY = f"; `{CONSOLE}` copies logs while it runs"
ONE_GONE = "the pod of worker-0 of demo is gone, and its log with it"
ALL_GONE = "the pods of demo are gone, and their logs with them"
NOT_YET = "demo has printed nothing yet"


@pytest.mark.parametrize(
    ("ranks", "pods", "gone", "keeps", "said"),
    [
        ([FIRST], ["worker-1"], True, False, ONE_GONE + KEEP),
        ([FIRST], ["worker-1"], True, True, ONE_GONE + COPY),
        ([FIRST, SECOND], [], True, False, ALL_GONE + KEEP),
        ([FIRST, SECOND], [], True, True, ALL_GONE + COPY),
        ([FIRST], ["worker-0"], True, False, NOT_YET),
        ([FIRST], [], False, False, NOT_YET),
    ],
)
def test_a_missing_log_is_explained_for_the_selected_ranks(
    ranks: list[Rank], pods: list[str], gone: bool, keeps: bool, said: str
) -> None:
    assert str(explain_silence("demo", ranks, pods, console=CONSOLE if gone else "", keeps=keeps)) == said
