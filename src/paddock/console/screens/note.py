"""The note and the tags of a run, in a form. On a laptop they are kept with the run, also of a job that is gone; on a
cluster they are annotations of the job, written with the reader's own rights.

/jobs/NAMESPACE/KIND/NAME/note?run=3        without a number the last run of the name
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from paddock.console.addresses import JOB, address_of_job, read_whole
from paddock.console.api_errors import say_error
from paddock.console.backend import Runs
from paddock.console.heads import build_head, find_job, list_job_topics, tell_missing
from paddock.console.page_context import Missing, PageContext, Redirect, Screen
from paddock.console.screens.run_rows import find_view
from paddock.history.note_files import RunGone, Stale
from paddock.history.notes import (
    MOST_CHARACTERS,
    Note,
    clean_text,
    explain_tags,
    explain_text,
    read_note,
    read_tags,
    write_annotations,
)
from paddock.kube.errors import ApiError, Conflict, Forbidden, NotFound
from paddock.kube.meta import Manifest, Resource, annotations_of, metadata, uid_of
from paddock.views.runs import RunView
from paddock.words.phrases import Foreign, Phrase, phrase

_MOST_TYPED = 10 * MOST_CHARACTERS
"""Characters of a field that come back to who typed too many."""
_MOST_TRIES = 5
"""Of a save that a status, which is no note, came in between."""


@dataclass(frozen=True, slots=True)
class Typed:
    """What the form shows. `seen`: the digest of the note that it was made of."""

    text: str
    tags: str
    seen: str


@dataclass(frozen=True, slots=True)
class Refused:
    """Why nothing was written, by field; `now`: what somebody else has written meanwhile."""

    text: Phrase | None = None
    tags: Phrase | None = None
    other: Phrase | None = None
    now: Note | None = None


async def build(page: PageContext) -> Mapping[str, Any]:
    run, note = await _find(page)
    return await _show(page, run, Typed(note.text, ", ".join(note.tags), note.digest), Refused())


async def receive(page: PageContext, posted: Mapping[str, str]) -> Mapping[str, Any] | Redirect:
    typed = Typed(
        posted.get("text", "")[:_MOST_TYPED], posted.get("tags", "")[:_MOST_TYPED], posted.get("seen", "")[:64]
    )
    note = Note(clean_text(typed.text), read_tags(clean_text(typed.tags)))
    try:
        run, _ = await _find(page)
    except (Missing, ApiError) as error:  # what was typed stays
        said = error.said if isinstance(error, Missing) else say_error(error)
        return await _show(page, None, typed, Refused(other=said))
    refused = Refused(explain_text(note.text), explain_tags(note.tags))
    if refused == Refused():
        refused = await _save(page, run, note, typed.seen)
    if refused == Refused():
        resource, _ = find_job(page)
        return Redirect(f"{address_of_job(resource, page.path['namespace'], page.path['name'])}/runs")
    if refused.now is not None:  # what is saved next is meant to overwrite, as the page shows what it overwrites
        typed = Typed(typed.text, typed.tags, refused.now.digest)
    return await _show(page, run, typed, refused)


def _keeps_notes(page: PageContext) -> bool:
    """On a cluster, whose runs may be kept too, many readers have rights of their own, which the API knows of jobs."""
    return page.backend.local and page.backend.runs is not None


async def _find(page: PageContext) -> tuple[RunView | None, Note]:
    """The run that the address names, and its note; no run of a job of a cluster. Raises `Missing`, `ApiError`."""
    resource, _ = find_job(page)
    if not _keeps_notes(page):
        return None, await _fetch_note(page, resource)
    assert page.backend.runs is not None
    listed = await page.backend.runs(page.identity).read(page.path["namespace"], page.path["name"])
    asked = page.query.get("run", "")
    number = read_whole(asked) or 0
    found = find_view(listed, resource, number) if number or not asked else None
    if found is None:
        raise _tell_no_run(page, asked) if asked and listed.runs else tell_missing(page)
    return found, found.note


def _tell_no_run(page: PageContext, number: str) -> Missing:
    return Missing(phrase("no run {run} of {job} is kept", run=number, job=page.path["name"]))


async def _fetch_note(page: PageContext, resource: Resource) -> Note:
    try:
        job = await page.api.get(resource, page.path["namespace"], page.path["name"])
    except NotFound:
        raise tell_missing(page) from None
    return read_note(annotations_of(job))


async def _save(page: PageContext, run: RunView | None, note: Note, seen: str) -> Refused:
    """Why it is not saved; empty if it is."""
    try:
        if page.backend.runs is not None and _keeps_notes(page):
            await _keep(page.backend.runs(page.identity), run, note, seen)
        else:
            await _annotate(page, note, seen)
    except Stale as stale:
        said = phrase("somebody has written another note meanwhile: saving again overwrites it")
        return Refused(other=said, now=stale.now)
    except RunGone:
        return Refused(other=phrase("this run is not kept any more, so nothing was written"))
    except OSError as error:
        return Refused(other=phrase("the note was not written: {why}", why=Foreign(error.strerror or str(error))))
    except ApiError as error:
        return Refused(other=say_error(error))
    return Refused()


async def _keep(runs: Runs, run: RunView | None, note: Note, seen: str) -> None:
    if run is None or run.record is None:
        raise RunGone
    await runs.write_note(run.record, note, seen)


async def _annotate(page: PageContext, note: Note, seen: str) -> None:
    """Writes the annotations of the job as it is now. Raises `Stale`, `Missing`, `ApiError`."""
    resource, _ = find_job(page)
    namespace, name = page.path["namespace"], page.path["name"]
    for attempt in range(_MOST_TRIES):
        try:
            job = await page.api.get(resource, namespace, name)
        except NotFound:
            raise tell_missing(page) from None
        now = read_note(annotations_of(job))
        if now.digest not in (seen, note.digest):
            raise Stale(now)
        version = metadata(job).get("resourceVersion")
        head = {"uid": uid_of(job), "resourceVersion": version, "annotations": write_annotations(note)}
        try:
            await page.api.patch(resource, namespace, name, {"metadata": head})
            return
        except Conflict:
            if attempt == _MOST_TRIES - 1:
                raise


def _find_shown(page: PageContext) -> tuple[Resource, Manifest | None]:
    """What the head shows: who may not see the job any more still has what they typed. Raises `Missing`."""
    try:
        return find_job(page)
    except Forbidden:
        (topic,) = list_job_topics(page.path, page.query)
        return topic.resource, None


async def _show(page: PageContext, run: RunView | None, typed: Typed, refused: Refused) -> Mapping[str, Any]:
    resource, job = _find_shown(page)
    return {
        "head": await build_head(page, resource, job),
        "number": run.number if run else 0,
        "typed": typed,
        "most": MOST_CHARACTERS,
        "wrong_text": page.say(refused.text) if refused.text else "",
        "wrong_tags": page.say(refused.tags) if refused.tags else "",
        "refused": page.say(refused.other) if refused.other else "",
        "theirs": refused.now,
        "kept": _keeps_notes(page),
        "may": _keeps_notes(page) or await page.may("patch", resource, page.path["namespace"]),
        "back": f"{address_of_job(resource, page.path['namespace'], page.path['name'])}/runs",
    }


SCREEN = Screen("note", f"{JOB}/note", phrase("Note"), list_job_topics, build, live=False, receive=receive)
