"""One environment: what it is made of, what its build printed so far, who uses it; building it and removing it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from paddock.console.addresses import ENVIRONMENT
from paddock.console.feed import Topic
from paddock.console.page_context import Missing, PageContext, Screen
from paddock.console.screens.environments import ONLY_HERE, TOPICS, build_row, list_users, say_message, show_user
from paddock.kube.meta import ENVIRONMENTS, Manifest, name_of
from paddock.kube.nearness import nearest
from paddock.manifests.edits import write_document
from paddock.preflight import without_server_fields
from paddock.views.environments import read_environment_row
from paddock.words.phrases import Phrase, phrase

SECONDS = 1.0
"""Between two looks at the log of a build that runs."""
MOST_USERS = 100


def list_topics(_path: Mapping[str, str], _query: Mapping[str, str]) -> Sequence[Topic]:
    return TOPICS  # the nearest name, and who uses it, take all of them


async def build(page: PageContext) -> Mapping[str, Any]:
    if page.backend.read_build_log is None:
        raise Missing(ONLY_HERE)
    known, name = page.objects(Topic(ENVIRONMENTS)), page.path["name"]
    found = next((each for each in known if name_of(each) == name), None)
    if found is None:
        raise Missing(explain_absence(name, list(map(name_of, known))))
    row, users = read_environment_row(found), list_users(page, known).get(name, [])
    return {
        "row": build_row(page, row, []),
        "said": page.say(say_message(row)) if row.message else "",
        "users": [show_user(each) for each in users[:MOST_USERS]],
        "more": max(0, len(users) - MOST_USERS),
        "manifest": write_document(hide_addresses(without_server_fields(found))),
        "log": await page.backend.read_build_log(found),
        "unbuilt": await _explain_no_build(page, row.phase),
        "may_change": await page.may("update", ENVIRONMENTS, ""),
        "may_delete": await page.may("delete", ENVIRONMENTS, ""),
        "again": SECONDS if row.phase == "Building" else 0.0,
    }


async def _explain_no_build(page: PageContext, phase: str) -> str:
    """Why there is nothing to build; empty where there is."""
    if phase == "Ready":
        return page.say(phrase("it is built: a change builds it anew"))
    if phase == "Building":
        return page.say(phrase("it is being built"))
    if not await page.may("patch", ENVIRONMENTS, ""):
        return page.say(phrase("you may not build it: the cluster's rights say so"))
    return ""


def explain_absence(name: str, known: Sequence[str]) -> Phrase:
    near = nearest(name, known)
    if near:
        return phrase("there is no environment {name}; did you mean {near}?", name=name, near=near)
    return phrase("there is no environment {name}", name=name)


def hide_addresses(manifest: Mapping[str, Any]) -> Manifest:
    """The manifest without the values of what may hold a password: the addresses of package indexes."""
    spec = dict(manifest.get("spec") or {})
    if spec.get("indexURL"):
        spec["indexURL"] = "…"
    if spec.get("extraIndexURLs"):
        spec["extraIndexURLs"] = ["…" for _ in spec["extraIndexURLs"]]
    return {**manifest, "spec": spec}


SCREEN = Screen("environment", ENVIRONMENT, phrase("Environment"), list_topics, build)
