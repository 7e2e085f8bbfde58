"""What the address of a page of logs names: the job, the attempt, the ranks; and one look at them.

?at=1&rank=worker-1,worker-0     the attempt, and the ranks that are opened side by side
&line=5120  or  #rank=worker-1&line=5120
&q=TEXT&regex=1&level=error      what is searched for; only=1: the other lines are left out, by the script
&after=worker-1:5120             in this rank alone, behind this line
&merged=1                        all ranks, or those that are named, as one log by time
&echoes=1                        with those that only lost a peer
&bare=1                          the page without its lines, for the script, which has them
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any
from urllib.parse import urlencode

from paddock.console.addresses import address_of_job, find_kind, read_whole
from paddock.console.backend import KeptRun, Logs
from paddock.console.feed import Topic
from paddock.console.logs.attempts import find_culprits
from paddock.console.logs.lanes import MOST_OPEN, Lane
from paddock.console.logs.levels import LEVELS
from paddock.console.logs.look import Look, look
from paddock.console.logs.wanted import Wanted
from paddock.console.page_context import Missing, PageContext
from paddock.jobs.causes import NEW_ATTEMPT_REASONS
from paddock.jobs.model import Rank, Status
from paddock.kube.meta import Manifest, name_of, uid_of
from paddock.views.stored import StoredJob, read_stored
from paddock.words.phrases import phrase

_KEPT = ("at", "rank", "q", "regex", "level", "only", "merged", "echoes")
"""What a link to another part of the page keeps of its address."""


def list_topics(path: Mapping[str, str], _query: Mapping[str, str]) -> Sequence[Topic]:
    """The job that an address names, alone."""
    kind = find_kind(path["kind"])
    return [Topic(kind, path["namespace"], fields=f"metadata.name={path['name']}")] if kind else []


@dataclass(frozen=True, slots=True)
class Looked:
    """The logs of the job that a page's address names."""

    source: Logs
    manifest: Manifest | None  # None of a job that is gone
    seen: Look


async def look_at_logs(page: PageContext, *, errors: bool = False) -> Looked:
    """`errors`: with the first error of each rank. Raises `Missing` where neither the job nor a log of it is there."""
    topics = list_topics(page.path, page.query)
    name, namespace = page.path["name"], page.path["namespace"]
    missing = Missing(
        phrase("there is no job {name} in {namespace}, and no log of one", name=name, namespace=namespace)
    )
    if not topics:
        raise missing
    if page.backend.logs is None:
        raise Missing(phrase("this console keeps no logs"))
    manifest = next((each for each in page.objects(topics[0]) if name_of(each) == name), None)
    job = read_stored(topics[0].resource, manifest) if manifest else None
    logs = page.backend.logs(page.identity)
    run = await logs.find(topics[0].resource, namespace, name, uid_of(manifest) if manifest else "")
    if run is None and job is None:
        raise missing
    return Looked(logs, manifest, await _look(page, logs, _add_start(run or KeptRun(), job), job, errors))


async def _look(page: PageContext, logs: Logs, run: KeptRun, job: StoredJob | None, errors: bool) -> Look:
    at, current = read_number(page.query.get("at", "")), job.status.attempt if job else None
    failed = find_culprits(job.status) if job else {}
    return await look(logs, run, at, current, _list_ranks(job), failed, read_open_ranks(page), errors)


def _add_start(run: KeptRun, job: StoredJob | None) -> KeptRun:
    """Why the job's last attempt was started, which its status may know before it is recorded of its run."""
    status = job.status if job else Status()
    if status.cause is None or status.cause.reason not in NEW_ATTEMPT_REASONS or status.cause.args.get("alone"):
        return run
    return replace(run, causes={status.attempt: status.cause, **run.causes})


def _list_ranks(job: StoredJob | None) -> tuple[Rank, ...]:
    return tuple(rank for role in job.job.roles for rank in role.ranks()) if job and job.job else ()


# -- the address


def is_merged(page: PageContext) -> bool:
    return page.query.get("merged") == "1"


def read_ranks(page: PageContext) -> list[str]:
    """All that the address names."""
    return [rank for rank in page.query.get("rank", "").split(",") if rank]


def read_open_ranks(page: PageContext) -> list[str]:
    """Those of `read_ranks` that one page opens."""
    return read_ranks(page)[: None if is_merged(page) else MOST_OPEN]


def read_number(text: str) -> int | None:
    """None for what is no number, or none that a log has."""
    number = read_whole(text.removeprefix("-"), 15)
    return -number if number is not None and text.startswith("-") else number


def read_wanted(page: PageContext) -> Wanted:
    level = page.query.get("level", "")
    return Wanted(page.query.get("q", ""), page.query.get("regex") == "1", level if level in LEVELS else "")


def find_lane(page: PageContext, seen: Look) -> Lane:
    """The one that the address names, else the one that is opened first. Raises `Missing`."""
    ranks = read_open_ranks(page)
    lane = seen.lanes.find(ranks[0]) if ranks else seen.lanes.first
    if lane is None:
        raise Missing(phrase("{job} has no rank {rank}", job=page.path["name"], rank=ranks[0] if ranks else "?"))
    return lane


def address_of_logs(page: PageContext) -> str:
    kind = find_kind(page.path["kind"])
    assert kind is not None
    return address_of_job(kind, page.path["namespace"], page.path["name"]) + "/logs"


def link(page: PageContext, changes: Mapping[str, Any]) -> str:
    """This page with another part of its query; what places it in a log is dropped with the log."""
    kept = {name: text for name, text in page.query.items() if name in _KEPT}
    query = {name: text for name, text in {**kept, **changes}.items() if text not in ("", None)}
    return address_of_logs(page) + (f"?{urlencode(query, safe=',')}" if query else "")


def tell_state(page: PageContext, seen: Look) -> dict[str, Any]:
    """How the attempt and the job are, in each answer; and `silent`, where the API of a cluster does not answer."""
    silent = {"silent": True} if page.silent_since is not None else {}
    return {"over": seen.is_over, "live": seen.is_live, "newest": seen.newest, **silent}
