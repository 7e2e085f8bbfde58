"""The addresses that checks of every page visit: each screen of the registry, and the pages that are none.

A new screen is visited without a line here, unless its path has variables of its own."""

from __future__ import annotations

from collections.abc import Mapping

from paddock.console.screens.registry import SCREENS
from support.demo import address

FAILED = address("gpt-moe")
TORN = address("resnet50")
COMPARED = "/compare?job=default/pytorchjobs/gpt-moe&job=default/pytorchjobs/resnet50"

_NAMED: Mapping[str, str] = {
    "charts": f"{TORN}/charts",
    "compare": COMPARED,
    "dataset": "/datasets/default/imagenet",
    "environment": "/environments/demo-packages",
}
"""Screens that show more elsewhere than on the job that failed, or have a path of their own."""


def list_places() -> Mapping[str, str]:
    """Name -> address, of the places of `support.demo`."""
    found = {screen.name: _NAMED.get(screen.name, _fill(screen.path)) for screen in SCREENS}
    more = {
        "dataset-failed": "/datasets/default/faces",
        "dataset-ready": "/datasets/default/words",
        "new-form": "/new?template=pytorch-distributed",
        "job-waiting": address("bert-large"),
        "job-suspended": address("night-run"),
        "list-filtered": "/?q=no-such-job",
        "missing": address("gpt-moe").replace("gpt-moe", "no-such-job"),
        "sign-in": "/sign-in",
    }
    return {**found, **more}


def _fill(path: str) -> str:
    return path.replace("/jobs/{namespace}/{kind}/{name}", FAILED)
