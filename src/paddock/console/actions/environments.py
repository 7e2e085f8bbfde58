"""What the buttons of an environment's page do: build it now, remove it."""

from __future__ import annotations

from collections.abc import Mapping

from paddock.console.addresses import ENVIRONMENT, address_of_environment
from paddock.console.visit import Action, Go, Missing, Visit
from paddock.kube.errors import NotFound
from paddock.kube.meta import ENVIRONMENTS
from paddock.words.phrases import Phrase, phrase


async def build(visit: Visit, _posted: Mapping[str, str]) -> Go | Phrase:
    name = visit.path["name"]
    if visit.world.environments is None:
        return phrase("no environment is built here")
    try:
        await visit.api.patch(ENVIRONMENTS, "", name, visit.world.environments.request_build(visit.now))
    except NotFound:
        raise Missing(phrase("there is no environment {name}", name=name)) from None
    return Go(address_of_environment(name))


async def delete(visit: Visit, posted: Mapping[str, str]) -> Go | Phrase:
    """Its name is typed, as jobs may need it; what was built is kept for the next one of equal content."""
    name = visit.path["name"]
    if posted.get("name", "").strip() != name:
        return phrase("nothing was removed: type {name}, the name of the environment, to remove it", name=name)
    try:
        await visit.api.delete(ENVIRONMENTS, "", name)
    except NotFound:
        raise Missing(phrase("there is no environment {name}", name=name)) from None
    return Go("/environments")


ACTIONS = (Action("build", f"{ENVIRONMENT}/build", build), Action("delete", f"{ENVIRONMENT}/delete", delete))
