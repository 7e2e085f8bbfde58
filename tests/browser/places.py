"""The addresses that checks of every page visit: each screen of the registry, and the pages that are none.

A new screen is visited without a line here, unless its path has variables of its own."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Protocol
from urllib.parse import urlsplit

from paddock.console.addresses import put_below
from paddock.console.screens.registry import SCREENS
from support.demo import address
from support.written_outputs import BOARD

if TYPE_CHECKING:
    from playwright.async_api import Page

FAILED = address("gpt-moe")
TORN = address("resnet50")
COMPARED = "/compare?job=default/pytorchjobs/gpt-moe&job=default/pytorchjobs/resnet50"

_NAMED: Mapping[str, str] = {
    "board": f"{FAILED}/boards/{BOARD}",
    "charts": f"{TORN}/charts",
    "chosen": "/chosen/delete",
    "compare": COMPARED,
    "dataset": "/datasets/default/imagenet",
    "environment": "/environments/demo-packages",
    "environment_edit": "/environments/demo-packages/edit",
}
"""Screens that show more elsewhere than on the job that failed, or have a path of their own."""


class SignIn(Protocol):
    """A console; `sign_in` is a link that works once."""

    @property
    def sign_in(self) -> str: ...


def list_addresses() -> Mapping[str, str]:
    """Name -> address, of the places of `support.demo`."""
    found = {screen.name: _NAMED.get(screen.name, _fill(screen.path)) for screen in SCREENS}
    more = {
        "dataset-failed": "/datasets/default/faces",
        "dataset-ready": "/datasets/default/words",
        "new-form": "/new?template=pytorch-distributed",
        "outputs-table": f"{FAILED}/outputs?path=history.csv",
        "outputs-text": f"{FAILED}/outputs?path=result.json",
        "job-waiting": address("bert-large"),
        "job-suspended": address("night-run"),
        "list-filtered": "/?q=no-such-job",
        "missing": address("gpt-moe").replace("gpt-moe", "no-such-job"),
        "sign-in": "/sign-in",
    }
    return {**found, **more}


async def enter(page: Page, served: SignIn) -> str:
    """Signs in; where the session has its pages."""
    await page.goto(served.sign_in)
    return page.url.rstrip("/")


def locate(url: str, place: str) -> str:
    """The address of a place, of the session at `url`."""
    parts = urlsplit(url)
    return f"{parts.scheme}://{parts.netloc}{put_below(parts.path, place)}"


def _fill(path: str) -> str:
    return path.replace("/jobs/{namespace}/{kind}/{name}", FAILED)
