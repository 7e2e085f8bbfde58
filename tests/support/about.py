"""Which rooms of the product each long tier of tests is about: a row for each tier.

Tests of these tiers start all of Paddock, so by imports each change would run all of them. A change of another room
than those of its row runs, of such a tier, the test files that import what has changed themselves, and the samples.
All tests of all tiers run at least once a week (`.ci/run`).
"""

from __future__ import annotations

from collections.abc import Mapping

ROOMS: Mapping[str, tuple[str, ...]] = {
    "browser": ("app/consoles", "console", "datasets", "doctor", "jobs/sentences", "locale", "logs",
                "node/scheduler/queue.py", "views", "words"),
    "kubernetes": ("app/claimed", "app/cluster.py", "app/cluster_datasets.py", "app/filled_claims", "app/pod_tokens.py",
                   "app/webhook.py", "cli/cluster", "client", "controllers", "datasets", "images", "install", "jobs",
                   "kube", "operator", "submission", "webhook"),
    "training": ("apiserver", "app/local.py", "app/launch.py", "cli/follow", "cli/submit", "controllers", "datasets",
                 "environments", "jobs", "kube", "launches", "logs", "node", "operator", "script", "sdk", "submission"),
}  # fmt: skip
"""Folders and files of src/paddock, by the tier's name. A screen shows what other rooms say of a job, in both
languages, so the browser's tests are about the sentences too, and about the catalogues."""


def concerns(path: str, rooms: tuple[str, ...]) -> bool:
    """Whether a change of `path`, a file of this repository, is about one of `rooms`. A file that is none of the
    product may be about any."""
    inside = path.removeprefix("src/paddock/")
    return inside == path or any(inside == room or inside.startswith(f"{room}/") for room in rooms)
