"""A job is deleted where its name is typed: what goes with it, what is kept, and the commands that do the same."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from paddock.console.addresses import JOB
from paddock.console.feed import Topic
from paddock.console.heads import build_head, find_job, list_job_topics, list_pod_topics, tell_missing
from paddock.console.page_context import PageContext, Redirect, Screen
from paddock.kube.errors import Conflict, NotFound
from paddock.kube.meta import is_controlled_by
from paddock.views.commands import list_commands
from paddock.views.stored import StoredJob, read_stored
from paddock.words.phrases import Phrase, counted, phrase


def list_topics(path: Mapping[str, str], query: Mapping[str, str]) -> Sequence[Topic]:
    return [*list_job_topics(path, query), *list_pod_topics(path)]


async def build(page: PageContext) -> Mapping[str, Any]:
    return await _show(page, _find(page))


async def receive(page: PageContext, posted: Mapping[str, str]) -> Mapping[str, Any] | Redirect:
    """Deletes the job by the UID that the reader has looked at: a new job of the name is not meant."""
    job = _find(page)
    typed, uid = posted.get("name", "").strip(), posted.get("uid", "")
    if typed != job.key.name:
        return await _show(page, job, explain_other(job.key.name, typed))
    try:
        await page.api.delete(job.resource, *job.key, uid=uid or job.uid)
    except NotFound:
        pass
    except Conflict:
        said = phrase("nothing was deleted: this is another job of the same name, made while you looked at the first")
        return await _show(page, job, said)
    return Redirect("/")


def _find(page: PageContext) -> StoredJob:
    resource, manifest = find_job(page)
    if manifest is None:
        raise tell_missing(page)
    return read_stored(resource, manifest)


async def _show(page: PageContext, job: StoredJob, refused: Phrase | None = None) -> Mapping[str, Any]:
    pods = [pod for topic in list_pod_topics(page.path) for pod in page.objects(topic)]
    alive = [pod for pod in pods if is_controlled_by(pod, job.uid)]
    may = await page.may("delete", job.resource, job.key.namespace)
    return {
        "head": await build_head(page, job.resource, job.manifest),
        "name": job.key.name,
        "uid": job.uid,
        "refused": page.say(refused) if refused else "",
        "may": may,
        "goes": [page.say(each) for each in list_deleted(job, len(alive))],
        "stays": [page.say(each) for each in list_kept(local=page.backend.local, logs=page.backend.logs is not None)],
        "command": next(
            each for each in list_commands(job, page.backend.kubectl, page.backend.options) if each.name == "delete"
        ),
    }


def explain_other(name: str, typed: str) -> Phrase:
    if not typed:
        return phrase("nothing was deleted: type {name} to delete it", name=name)
    return phrase("nothing was deleted: found {typed}, and the job is called {name}", name=name, typed=repr(typed))


def list_deleted(job: StoredJob, pods: int) -> list[Phrase]:
    ended = job.status.phase.terminal
    found = [phrase("the job, with its status and events")]
    if pods:
        found.append(counted("{count} pod", "{count} pods", count=pods))
    if pods and not ended:
        found.append(phrase("what it has trained since its last checkpoint: the job has not ended"))
    return found


def list_kept(*, local: bool, logs: bool) -> list[Phrase]:
    found = [phrase("its outputs and checkpoints")] if local else [phrase("what it wrote to volumes")]
    return [*found, phrase("its logs, for a time")] if logs else found


SCREEN = Screen("delete", f"{JOB}/delete", phrase("Delete"), list_topics, build, live=False, receive=receive)
