"""How far a job is: from the line that it prints to `paddock get`, while it trains and once it has ended."""

from __future__ import annotations

from typing import Any

from e2e.commands import Cluster, until
from e2e.manifests import build_light_job

WAIT = "until [ -e $PADDOCK_OUTPUT_DIR/go ]; do sleep 0.1; done"
SCRIPT = f"echo step 30/100 loss 0.5; {WAIT}; echo step 100/100 loss 0.1"


def read(cluster: Cluster, name: str) -> dict[str, Any]:
    found: dict[str, Any] = cluster.job(name).get("status", {}).get("progress") or {}
    return found


def test_a_job_says_how_far_it_is_and_how_far_it_came(shared: Cluster) -> None:
    submitted = shared.paddock("submit", shared.write(build_light_job("far", SCRIPT, workers=1)))
    assert submitted.code == 0, str(submitted)
    until("the progress", lambda: read(shared, "far") == {"percent": 30, "metrics": {"loss": 0.5}})
    header, row = shared.paddock("get", "jobs", "far", "-o", "wide").lines
    assert "PROGRESS" in header.split()
    assert "30 %, loss 0.5" in row
    described = shared.paddock("describe", "far").out
    assert "Progress:  30 %" in described and "Metrics:   loss 0.5" in described, described
    (shared.output("far") / "go").touch()
    until("the end", lambda: shared.phase("far") == "Completed")
    assert read(shared, "far") == {"percent": 100, "metrics": {"loss": 0.1}}
