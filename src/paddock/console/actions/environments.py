"""What the buttons of an environment's page do: build it now, remove it."""

from __future__ import annotations

from collections.abc import Mapping

from paddock.console.addresses import ENVIRONMENT, address_of_environment
from paddock.console.page_context import Action, Missing, PageContext, Redirect
from paddock.environments.manifests import build_request
from paddock.kube.errors import NotFound
from paddock.kube.meta import ENVIRONMENTS
from paddock.words.phrases import Phrase, phrase


async def build(page: PageContext, _posted: Mapping[str, str]) -> Redirect | Phrase:
    name = page.path["name"]
    if page.backend.read_build_log is None:
        return phrase("no environment is built here")
    try:
        await page.api.patch(ENVIRONMENTS, "", name, build_request(page.now))
    except NotFound:
        raise Missing(phrase("there is no environment {name}", name=name)) from None
    return Redirect(address_of_environment(name))


async def delete(page: PageContext, posted: Mapping[str, str]) -> Redirect | Phrase:
    """Its name is typed, as jobs may need it; what was built is kept for the next one of equal content."""
    name = page.path["name"]
    if posted.get("name", "").strip() != name:
        return phrase("nothing was removed: type {name}, the name of the environment, to remove it", name=name)
    try:
        await page.api.delete(ENVIRONMENTS, "", name)
    except NotFound:
        raise Missing(phrase("there is no environment {name}", name=name)) from None
    return Redirect("/environments")


ACTIONS = (Action("build", f"{ENVIRONMENT}/build", build), Action("delete", f"{ENVIRONMENT}/delete", delete))
