"""A new environment, of a requirements.txt that is typed or pasted."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from paddock.console.addresses import address_of_environment
from paddock.console.feed import Topic
from paddock.console.page_context import Missing, PageContext, Redirect, Screen
from paddock.console.screens.environments import ONLY_HERE
from paddock.environments.manifests import PYTHONS, Settings, build_manifest, find_problems, with_request
from paddock.environments.requirement_files import read_requirements
from paddock.kube.errors import AlreadyExists, ApiError
from paddock.kube.meta import ENVIRONMENTS
from paddock.words.phrases import Foreign, phrase

_BUILD = "build"
_FILE = "requirements.txt"


@dataclass(frozen=True, slots=True)
class WantedEnvironment:
    """What somebody typed."""

    name: str
    python: str = ""
    """One of `PYTHONS`, or empty."""
    requirements: str = ""
    """A requirements.txt."""
    images: tuple[str, ...] = ()
    """Patterns."""


def list_topics(_path: Mapping[str, str], _query: Mapping[str, str]) -> Sequence[Topic]:
    return []


async def build(page: PageContext) -> Mapping[str, Any]:
    return _show(page, WantedEnvironment(""), True, [])


async def receive(page: PageContext, posted: Mapping[str, str]) -> Mapping[str, Any] | Redirect:
    wanted, at_once = read_wanted(posted), posted.get(_BUILD) == "1"
    problems = await _create(page, wanted, at_once)
    return _show(page, wanted, at_once, problems) if problems else Redirect(address_of_environment(wanted.name))


def read_wanted(posted: Mapping[str, str]) -> WantedEnvironment:
    """Image patterns stand on lines, or between commas or spaces."""
    images = tuple(each for each in re.split(r"[\s,]+", posted.get("images", "")) if each)
    return WantedEnvironment(
        posted.get("name", "").strip(), posted.get("python", ""), posted.get("requirements", ""), images
    )


async def _create(page: PageContext, wanted: WantedEnvironment, at_once: bool) -> list[str]:
    """What is wrong; nothing if it is created."""
    read = [read_requirements(_FILE, partial(_read_file, wanted))]
    settings = _read_settings(wanted)
    problems = [page.say(each) for each in find_problems(read, settings)]
    if not wanted.name:
        problems.insert(0, page.say(phrase("a name is wanted, as in team-3.12")))
    if problems:
        return problems
    found = build_manifest(wanted.name, read, settings)
    if at_once:
        found = with_request(found, page.now)
    try:
        await page.api.create(ENVIRONMENTS, found, strict=True)
    except AlreadyExists:
        return [page.say(phrase("environment {name} exists already: give this one another name", name=wanted.name))]
    except ApiError as error:
        return [page.say(phrase("the server refuses it: {why}", why=Foreign(error.message)))]
    return []


def _read_file(wanted: WantedEnvironment, file: str) -> str:
    """What is typed in a browser reads no file of this machine."""
    if file != _FILE:
        raise FileNotFoundError(2, "", file)
    return wanted.requirements


def _read_settings(wanted: WantedEnvironment) -> Settings:
    return Settings(images=wanted.images, python=f"=={wanted.python}.*" if wanted.python else "")


def _show(page: PageContext, wanted: WantedEnvironment, at_once: bool, problems: Sequence[str]) -> Mapping[str, Any]:
    if page.backend.read_build_log is None:
        raise Missing(ONLY_HERE)
    return {"wanted": wanted, "at_once": at_once, "problems": problems, "pythons": PYTHONS}


SCREEN = Screen(
    "new_environment", "/new-environment", phrase("New environment"), list_topics, build, live=False, receive=receive
)
