"""Gangs that each fit alone on this machine and not together: all of them train, one after the other."""

from __future__ import annotations

import os

from e2e.commands import Cluster, until
from e2e.manifests import build_light_job

MEET = 'mkdir -p $PADDOCK_OUTPUT_DIR/met; touch "$PADDOCK_OUTPUT_DIR/met/$PADDLE_TRAINER_ID"; ' \
    "until [ $(ls $PADDOCK_OUTPUT_DIR/met | wc -l) = 2 ]; do sleep 0.1; done"  # fmt: skip
"""Waits for its peer, as a rendezvous does. Half a gang would wait for ever, and hold its cores."""


def test_four_gangs_submitted_at_once_all_train_though_one_and_a_half_fit(cluster: Cluster) -> None:
    cores = os.cpu_count() or 1
    files = []
    for name in ("gang-a", "gang-b", "gang-c", "gang-d"):
        job = build_light_job(name, MEET, workers=2)
        (container,) = job["spec"]["worker"]["template"]["spec"]["containers"]
        container["resources"] = {"requests": {"cpu": f"{cores * 300}m"}}
        files.append(cluster.write(job))
    submitted = cluster.paddock("submit", *files)
    assert submitted.code == 0, str(submitted)
    for name in ("gang-a", "gang-b", "gang-c", "gang-d"):
        until(f"{name} has completed", lambda name=name: cluster.phase(name) == "Completed")
