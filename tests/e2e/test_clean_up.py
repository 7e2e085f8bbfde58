"""What `cleanPodPolicy` leaves behind: all four values, at both ends of a job. Logs stay readable whatever goes."""

from __future__ import annotations

import pytest

from e2e.commands import Cluster, until
from e2e.manifests import build_light_job

_KEPT = {"ps-0": "Running", "worker-0": "Succeeded"}
_ENDED = {"worker-0": "Failed"}
LEFT = {
    ("Completed", "Always"): {},
    ("Completed", "OnCompletion"): {},
    ("Completed", "OnFailure"): _KEPT,
    ("Completed", "Never"): _KEPT,
    ("Failed", "Always"): {},
    ("Failed", "OnFailure"): {},
    ("Failed", "OnCompletion"): _ENDED,
    ("Failed", "Never"): _ENDED,
}


_SERVE = "touch $PADDOCK_OUTPUT_DIR/up; sleep 1000"
_WAIT = "until [ -e $PADDOCK_OUTPUT_DIR/up ]; do sleep 0.1; done; sleep 0.5"
"""A server that has not begun when the job ends is not kept: on a busy machine a worker can be that fast."""


def _name(end: str, policy: str) -> str:
    return f"{end}-{policy}".lower()


@pytest.fixture(scope="module")
def ended(served: Cluster) -> Cluster:
    """All eight jobs at once, each followed to its end."""
    files = []
    for end, policy in LEFT:
        code = {"Completed": 0, "Failed": 3}[end]
        job = build_light_job(
            _name(end, policy), f"{_WAIT}; echo the words of a worker; exit {code}", ps=_SERVE, clean=policy
        )
        files.append(served.write(job))
    submitted = served.paddock("submit", *files)
    assert submitted.code == 0, str(submitted)
    for end, policy in LEFT:
        until(f"{policy} {end}", lambda end=end, policy=policy: served.phase(_name(end, policy)) == end)
    return served


@pytest.mark.parametrize(("end", "policy"), LEFT)
def test_a_clean_up_policy_leaves_what_it_says(ended: Cluster, end: str, policy: str) -> None:
    def look() -> bool:
        found.clear()
        found.update({rank: pod["status"]["phase"] for rank, pod in ended.pods(_name(end, policy)).items()})
        return found == LEFT[end, policy]

    found: dict[str, str] = {}
    try:
        until(f"just these pods: {LEFT[end, policy]}", look)
    except AssertionError as error:
        raise AssertionError(f"{error}; there are {found}; {ended.paddock('describe', _name(end, policy))}") from None


@pytest.mark.parametrize(("end", "policy"), LEFT)
def test_logs_can_be_read_after_the_clean_up(ended: Cluster, end: str, policy: str) -> None:
    read = ended.paddock("logs", _name(end, policy), "--role", "worker", "--rank", "0")
    assert (read.code, read.out) == (0, "the words of a worker\n"), str(read)
