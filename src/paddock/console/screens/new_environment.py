"""A new environment, of a requirements.txt that is typed or pasted."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from paddock.console.addresses import address_of_environment
from paddock.console.feed import Topic
from paddock.console.screens.environments import ONLY_HERE
from paddock.console.visit import Go, Missing, Screen, Visit
from paddock.console.world import WantedEnvironment
from paddock.kube.errors import AlreadyExists, ApiError
from paddock.kube.meta import ENVIRONMENTS
from paddock.words.phrases import Foreign, phrase

_BUILD = "build"


def list_topics(_path: Mapping[str, str], _query: Mapping[str, str]) -> Sequence[Topic]:
    return []


async def build(visit: Visit) -> Mapping[str, Any]:
    return _show(visit, WantedEnvironment(""), True, [])


async def receive(visit: Visit, posted: Mapping[str, str]) -> Mapping[str, Any] | Go:
    wanted, at_once = read_wanted(posted), posted.get(_BUILD) == "1"
    problems = await _create(visit, wanted, at_once)
    return _show(visit, wanted, at_once, problems) if problems else Go(address_of_environment(wanted.name))


def read_wanted(posted: Mapping[str, str]) -> WantedEnvironment:
    """Image patterns stand on lines, or between commas or spaces."""
    images = tuple(each for each in re.split(r"[\s,]+", posted.get("images", "")) if each)
    return WantedEnvironment(
        posted.get("name", "").strip(), posted.get("python", ""), posted.get("requirements", ""), images
    )


async def _create(visit: Visit, wanted: WantedEnvironment, at_once: bool) -> list[str]:
    """What is wrong; nothing if it is created."""
    assert visit.world.environments is not None
    found = visit.world.environments.read(wanted)
    problems = [] if isinstance(found, Mapping) else [visit.say(each) for each in found]
    if not wanted.name:
        problems.insert(0, visit.say(phrase("a name is wanted, as in team-3.12")))
    if problems or not isinstance(found, Mapping):
        return problems
    if at_once:
        request = visit.world.environments.request_build(visit.now)
        found = {**found, "metadata": {**found["metadata"], **request["metadata"]}}
    try:
        await visit.api.create(ENVIRONMENTS, found, strict=True)
    except AlreadyExists:
        return [visit.say(phrase("environment {name} exists already: give this one another name", name=wanted.name))]
    except ApiError as error:
        return [visit.say(phrase("the server refuses it: {why}", why=Foreign(error.message)))]
    return []


def _show(visit: Visit, wanted: WantedEnvironment, at_once: bool, problems: Sequence[str]) -> Mapping[str, Any]:
    if visit.world.environments is None:
        raise Missing(ONLY_HERE)
    pythons = visit.world.environments.pythons
    return {"wanted": wanted, "at_once": at_once, "problems": problems, "pythons": pythons}


SCREEN = Screen(
    "new_environment", "/new-environment", phrase("New environment"), list_topics, build, live=False, receive=receive
)
