"""The environments of this machine: what is built, of which packages, and which jobs use it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from paddock.console.addresses import address_of_environment, address_of_job
from paddock.console.feed import Topic
from paddock.console.page_context import PageContext, Screen
from paddock.jobs.apis.registry import KINDS
from paddock.kube.meta import ENVIRONMENTS, PODS, Manifest, name_of
from paddock.kube.quantities import format_bytes
from paddock.views.environment_users import User, count_users, read_plan, read_users
from paddock.views.environments import EnvironmentRow, read_environment_row
from paddock.words.phrases import Foreign, Phrase, phrase

TOPICS: Sequence[Topic] = [Topic(ENVIRONMENTS), Topic(PODS), *map(Topic, KINDS)]
SHOWN_USERS = 3
ONLY_HERE = phrase("environments are of a local cluster; here a pod runs in the image that its manifest names")


def list_topics(_path: Mapping[str, str], _query: Mapping[str, str]) -> Sequence[Topic]:
    return TOPICS


async def build(page: PageContext) -> Mapping[str, Any]:
    if page.backend.read_build_log is None:
        return {"elsewhere": page.say(ONLY_HERE), "rows": []}
    found = sorted(page.objects(Topic(ENVIRONMENTS)), key=name_of)
    users = list_users(page, found)
    rows = [build_row(page, read_environment_row(each), users.get(name_of(each), [])) for each in found]
    return {"elsewhere": "", "rows": rows}


def list_users(page: PageContext, environments: Sequence[Manifest]) -> dict[str, list[User]]:
    """The users of each Environment, by its name: the jobs, and the pods of no job."""
    jobs = [plan for kind in KINDS for plan in page.read(Topic(kind), read_plan)]
    read = read_users(environments, jobs, page.objects(Topic(PODS)), page.now)
    return {name: count_users(users, jobs) for name, users in read.items()}


def build_row(page: PageContext, row: EnvironmentRow, users: Sequence[User]) -> Mapping[str, Any]:
    return {
        "name": row.name,
        "address": address_of_environment(row.name),
        "phase": row.phase,
        "progress": row.progress if row.phase == "Building" else None,
        "said": page.say(say_message(row)) if row.phase in ("Building", "Failed") else "",
        "python": row.python,
        "torch": page.say(phrase("{said}", said=Foreign(row.torch))) if row.torch else "",
        "packages": row.requirements,
        "images": row.images,
        "size": format_bytes(row.size) if row.size else "",
        "created": row.created,
        "users": [show_user(each) for each in users[:SHOWN_USERS]],
        "more": max(0, len(users) - SHOWN_USERS),
    }


def say_message(row: EnvironmentRow) -> Phrase:
    """The builder's own, in the reader's language as far as its form is known."""
    return phrase("{said}", said=Foreign(row.message))


def show_user(user: User) -> Mapping[str, str]:
    address = "" if user.resource is PODS else address_of_job(user.resource, *user.key)
    return {"name": user.key.name, "namespace": user.key.namespace, "kind": user.resource.kind, "address": address}


SCREEN = Screen("environments", "/environments", phrase("Environments"), list_topics, build, in_menu=True)
