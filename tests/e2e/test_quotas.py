"""A job waits for a quota of its namespace, says why, and runs as it is raised."""

from __future__ import annotations

import pytest

from e2e.commands import Cluster, until
from e2e.manifests import build_light_job

pytestmark = pytest.mark.slow


def test_a_job_waits_for_a_quota_with_numbers_and_runs_as_it_is_raised(cluster: Cluster, kubectl: None) -> None:
    assert cluster.kubectl("create", "quota", "team", "--hard=pods=1").code == 0
    file = cluster.write(build_light_job("demo", "echo done", workers=2))
    refused = cluster.paddock("submit", file)
    assert refused.code == 2 and "by the quota team of default it can never start" in refused.err, str(refused)
    assert cluster.kubectl("create", "-f", file).code == 0  # as GitOps, before the quota is raised
    until("it says why", lambda: "quota team" in cluster.paddock("explain", "demo").out)
    explained = cluster.paddock("explain", "demo").out
    assert "has no room for 2 pods together: 2 pods, with 1 of 1 left" in explained, explained
    assert "raise it, or ask for less" in explained and "kubectl describe quota" in explained, explained
    queued = cluster.paddock("queue", "-o", "json").out
    assert '"QuotaExceeded"' in queued, queued
    assert not cluster.pods("demo"), "no half of a gang"
    raised = cluster.kubectl("patch", "quota", "team", "-p", '{"spec":{"hard":{"pods":"2"}}}')
    assert raised.code == 0, str(raised)
    until("it has run", lambda: cluster.phase("demo") == "Completed")
    described = cluster.kubectl("describe", "quota", "team").out
    assert ["pods", "0", "2"] in [line.split() for line in described.splitlines()], described
