"""A server that fails is never Completed in silence, whatever the workers say."""

from __future__ import annotations

from typing import Any

import pytest

from e2e.commands import Cluster
from e2e.manifests import build_light_job

SERVER = '[ "$PADDLE_PSERVER_ID" = 0 ] && exec sleep 1000; {meanwhile}; exit 1'

# Its lock is held until its process is gone.
FAILS = 'exec 9>"$PADDOCK_OUTPUT_DIR/lock"; flock 9; touch "$PADDOCK_OUTPUT_DIR/failed"'
WAITS = 'while ! [ -e "$PADDOCK_OUTPUT_DIR/failed" ]; do sleep 0.05; done; flock "$PADDOCK_OUTPUT_DIR/lock" sleep 0.3'


def build(name: str, *, server: str, worker: str, clean: str) -> dict[str, Any]:
    """Two servers, of which the second fails, and a worker that does not need it and ends with 0."""
    job = build_light_job(name, worker, ps=SERVER.format(meanwhile=server), clean=clean)
    job["spec"]["ps"]["replicas"] = 2
    return job


@pytest.mark.parametrize("clean", ["Never", pytest.param("OnCompletion", marks=pytest.mark.slow)])
def test_a_server_that_fails_before_its_worker_fails_the_job(shared: Cluster, clean: str) -> None:
    job = build(f"before-{clean.lower()}", server=FAILS, worker=f"{WAITS}; sleep 3", clean=clean)
    ended = shared.paddock("run", shared.write(job))
    assert ended.code == 1, str(ended)
    assert "ps-1 ended with exit code 1" in str(ended)
    assert shared.phase(job["metadata"]["name"]) == "Failed"


@pytest.mark.parametrize("clean", ["Never", pytest.param("OnCompletion", marks=pytest.mark.slow)])
@pytest.mark.slow
def test_a_server_that_fails_with_the_end_of_its_worker_is_named_and_no_command_says_0(
    shared: Cluster, clean: str
) -> None:
    """The worker ends a moment after the server, so that the operator may see both at once: whichever verdict that
    gives, a reader learns of the server."""
    name = f"beside-{clean.lower()}"
    job = build(name, server=FAILS, worker=WAITS, clean=clean)
    ended = shared.paddock("run", shared.write(job))
    assert ended.code == 1, str(ended)
    assert "ps-1 ended with exit code 1" in str(ended)
    again = shared.paddock("wait", name)
    assert again.code == 1, str(again)
