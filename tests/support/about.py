"""Which rooms of the product each long tier of tests is about: a row for each tier.

Tests of these tiers start all of Paddock, so by imports each change would run all of them. A change of another room
than those of its row runs, of such a tier, the test files that import what has changed themselves, and the samples.
All tests of all tiers run at least once a week (`.ci/passed`).
"""

from __future__ import annotations

from collections.abc import Mapping

ROOMS: Mapping[str, tuple[str, ...]] = {
    "browser": ("console", "app/consoles", "views"),
    "kubernetes": ("app/claimed", "app/cluster.py", "app/filled_claims", "app/webhook.py", "client", "controllers",
                   "images", "install", "jobs", "kube", "operator", "submission", "webhook"),
    "training": ("apiserver", "app/local.py", "app/launch.py", "controllers", "datasets", "environments", "jobs",
                 "kube", "launches", "node", "operator", "script", "sdk"),
}  # fmt: skip
"""Folders and files of src/paddock, by the tier's name."""


def concerns(path: str, rooms: tuple[str, ...]) -> bool:
    """Whether a change of `path`, a file of this repository, is about one of `rooms`. A file that is none of the
    product may be about any."""
    inside = path.removeprefix("src/paddock/")
    return inside == path or any(inside == room or inside.startswith(f"{room}/") for room in rooms)
