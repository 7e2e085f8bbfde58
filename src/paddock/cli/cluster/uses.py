"""What the clusters of this user's homes need of the disk. None is started for it: one that is down is read from its
files."""

from __future__ import annotations

import json
import time
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from itertools import starmap
from pathlib import Path
from typing import TYPE_CHECKING

from paddock.app import home as homes
from paddock.app import launch
from paddock.app.at_rest import open_at_rest
from paddock.app.cleaning.uses import Needs, Uses, find_other_homes, find_running
from paddock.app.home import Home, HomeError
from paddock.cli.cluster.lookup import fetch_all
from paddock.cli.cluster.places import Local
from paddock.cli.cluster.session import connect
from paddock.environments.seeding import is_as_seeded
from paddock.jobs.apis.registry import KINDS
from paddock.kube.errors import ApiError, NotFound
from paddock.kube.held_pods import is_live
from paddock.kube.meta import ENVIRONMENTS, PODS, Manifest, Resource, controller_of, key_of, name_of, uid_of
from paddock.kube.times import Moment
from paddock.views.environment_users import name_users, read_plan, read_users
from paddock.words.phrases import Phrase

if TYPE_CHECKING:
    from paddock.kube.api import Api


@asynccontextmanager
async def reach(home: Home, *, wait: bool = True) -> AsyncIterator[Api | None]:
    """The API of a home, by its cluster if that is up, else from its files; None where no cluster has ever been. Who
    reads files holds the home's lock, so no other home is asked meanwhile. `wait`: for a cluster that is starting, and
    for another command that reads."""
    running = homes.find_running(home)
    if wait and homes.may_answer(home):
        running = launch.wait_until_ready(home, time.monotonic())
    if running is not None:
        async with connect(Local(home)) as client:
            yield client
    else:
        async with open_at_rest(home, wait=wait) as api:
            yield api


async def fetch_all_needs(home: Home) -> Needs:
    """What this home needs, and all others that use its cache."""
    asked = [await _ask(home), *[await _ask(other, wait=False) for other in find_other_homes(home)]]
    own, *others = [each if isinstance(each, Uses) else Uses() for each in asked]
    unknown = tuple(each for each in asked if not isinstance(each, Uses))
    return Needs(own, tuple(others), unknown, find_running(home.cache))


async def _ask(home: Home, *, wait: bool = True) -> Uses | tuple[Path, Phrase | str]:
    """What one home needs, or why that is not known."""
    try:
        async with reach(home, wait=wait) as api:
            return await fetch_uses(api) if api is not None else Uses()
    except (ApiError, OSError, HomeError, launch.StartError) as error:
        return home.root, _say(error)


def _say(error: Exception) -> Phrase | str:
    return error.args[0] if error.args and isinstance(error.args[0], Phrase) else str(error)


async def fetch_uses(api: Api) -> Uses:
    try:
        environments = (await api.list(ENVIRONMENTS)).items
    except NotFound:  # a cluster that was killed at its first start
        environments = []
    return read_uses(environments, await fetch_all(api, KINDS, ""), (await api.list(PODS)).items, time.time())


def read_uses(
    environments: Sequence[Manifest], jobs: Sequence[tuple[Resource, Manifest]], pods: Sequence[Manifest], now: Moment
) -> Uses:
    """Pure."""
    keys = {name_of(each): str((each.get("status") or {}).get("key") or "") for each in environments}
    users = read_users(environments, starmap(read_plan, jobs), pods, now)
    unfinished = [job for kind, job in jobs if not KINDS[kind].read_status(job).phase.terminal]
    live = [pod for pod in pods if is_live(pod, now)]
    owners = {str((controller_of(pod) or {}).get("uid") or "") for pod in live}
    busy = [*unfinished, *(job for _, job in jobs if uid_of(job) in owners)]
    return Uses(
        built={key: tuple(n for n, each in keys.items() if each == key) for key in filter(None, keys.values())},
        seeded=frozenset(name_of(each) for each in environments if is_as_seeded(each)),
        used={keys[name]: name_users(found) for name, found in users.items() if keys.get(name)},
        listed=frozenset(uid_of(job) for _, job in jobs),
        active=frozenset({*map(uid_of, (*busy, *live)), *owners} - {""}),
        names=frozenset((key.namespace, key.name) for key in map(key_of, busy)),
        manifests=json.dumps(busy, ensure_ascii=False),
    )
