"""An existing job in the form: what an edit changes, what it costs, and saving it where nobody was faster."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

from paddock.console.addresses import JOB, address_of_job, find_kind
from paddock.console.feed import Topic
from paddock.console.forms.changes import (
    diff,
    diff_texts,
    explain_cost,
    explain_stale,
    find_moved,
    merge_edit,
    take_editable,
)
from paddock.console.forms.checking import MOST_CHARACTERS
from paddock.console.forms.choices import TOPICS, find_choices
from paddock.console.forms.editor import (
    Draft,
    Note,
    list_said,
    read_posted,
    read_text,
    show_draft,
)
from paddock.console.page_context import Missing, PageContext, Redirect, Screen
from paddock.console.reader_locks import work_to_the_end
from paddock.kube.errors import ApiError, Conflict, NotFound
from paddock.kube.meta import Manifest, Resource
from paddock.manifests.edits import write_document
from paddock.preflight import explain_problem
from paddock.views.stored import read_stored
from paddock.webhook.immutable import find_changed
from paddock.words.phrases import Foreign, Phrase, phrase

_MOST_TRIES = 5
"""Of a save that a status, which is no edit, came in between."""


def list_topics(_path: Mapping[str, str], _query: Mapping[str, str]) -> Sequence[Topic]:
    return TOPICS


async def build(page: PageContext) -> Mapping[str, Any]:
    resource, stored = await _fetch(page)
    choices = await find_choices(page, page.path["namespace"], begins=True)
    draft = await work_to_the_end(lambda: read_text(write_document(take_editable(stored)), choices))
    return await _show(page, resource, stored, draft, draft.text)


async def receive(page: PageContext, posted: Mapping[str, str]) -> Mapping[str, Any] | Redirect:
    choices = await find_choices(page, page.path["namespace"])
    draft = await work_to_the_end(partial(read_posted, posted, choices))
    try:
        resource, stored = await _fetch(page)
    except (Missing, ApiError) as error:  # what was typed stays
        said = error.said if isinstance(error, Missing) else _explain_api(error)
        notes = [Note(page.say(said), refuses=True)]
        return {
            **show_draft(page, draft, notes),
            **_names(page),
            "base": posted.get("base", "")[:MOST_CHARACTERS],
            "may": True,
        }
    base, now = posted.get("base", "")[:MOST_CHARACTERS], write_document(take_editable(stored))
    if base != now:
        # The next save is meant to overwrite, as the page then shows what it overwrites; a check alone is not seen.
        is_save = posted.get("do") == "save"
        return await _show(page, resource, stored, draft, now if is_save else base, base)
    edited = _find_edited(draft)
    if posted.get("do") != "save" or edited is None or _refuse(page, edited, stored):
        return await _show(page, resource, stored, draft, base)
    try:
        saved = await _save(page, resource, stored, edited)
    except ApiError as error:
        return await _show(page, resource, stored, draft, base, refused=_tell_refused(page, error))
    if saved is not None:
        return await _show(page, resource, saved, draft, write_document(take_editable(saved)), base)
    return Redirect(address_of_job(resource, page.path["namespace"], page.path["name"]))


async def _fetch(page: PageContext) -> tuple[Resource, Manifest]:
    resource = find_kind(page.path["kind"])
    try:
        if resource is None:
            raise NotFound("")
        return resource, await page.api.get(resource, page.path["namespace"], page.path["name"])
    except NotFound:
        said = phrase("there is no job {name} in {namespace}", name=page.path["name"], namespace=page.path["namespace"])
        raise Missing(said) from None


async def _save(page: PageContext, resource: Resource, stored: Manifest, edited: Manifest) -> Manifest | None:
    """None if it is saved; else the job as somebody changed it meanwhile."""
    seen, who = take_editable(stored), await page.fetch_who()
    for attempt in range(_MOST_TRIES):
        try:
            await page.api.replace(resource, merge_edit(stored, edited, who), strict=True)
            return None
        except Conflict:
            if attempt == _MOST_TRIES - 1:
                raise
            _, stored = await _fetch(page)
            if take_editable(stored) != seen:
                return stored
    return None


async def _ask(page: PageContext, resource: Resource, stored: Manifest, edited: Manifest) -> list[Note]:
    """What the server says of it (a dry run)."""
    try:
        await page.api.replace(resource, merge_edit(stored, edited), strict=True, dry_run=True)
    except Conflict:
        return []  # the status changed in between
    except ApiError as error:
        return _tell_refused(page, error)
    return [Note(page.say(phrase("the server takes it (dry run)")), good=True)]


def _explain_api(error: ApiError) -> Phrase:
    return phrase("the cluster's API answered: {why}", why=Foreign(error.message))


def _names(page: PageContext) -> Mapping[str, Any]:
    namespace, name = page.path["namespace"], page.path["name"]
    resource = find_kind(page.path["kind"])
    return {
        "name": name,
        "namespace": namespace,
        "address": address_of_job(resource, namespace, name) if resource else "/",
        "lines": [],
        "theirs": [],
    }


def _tell_refused(page: PageContext, error: ApiError) -> list[Note]:
    return [
        Note(page.say(phrase("the server refuses it: {why}", why=Foreign(said))), refuses=True, path=path)
        for path, said in list_said(error)
    ]


def _find_edited(draft: Draft) -> Manifest | None:
    """The job of the text as it would be saved; None while it has errors, or is not one manifest."""
    return draft.objects[0].manifest if len(draft.objects) == 1 else None


def _refuse(page: PageContext, edited: Manifest, stored: Manifest) -> list[str]:
    """What no edit may change."""
    moved = find_moved(stored, edited)
    problems = find_changed(edited, stored)
    return [*([page.say(moved)] if moved else []), *(explain_problem(each, page.language) for each in problems)]


async def _show(
    page: PageContext,
    resource: Resource,
    stored: Manifest,
    draft: Draft,
    base: str,
    before: str = "",
    refused: Sequence[Note] = (),
) -> Mapping[str, Any]:
    """`base`: the job's text that the reader knows; `before`: the one that was known until somebody changed it;
    `refused`: what a save was refused for."""
    notes: list[Note] = [Note(page.say(explain_stale(stored)), refuses=True)] if before else []
    edited = _find_edited(draft)
    lines = await work_to_the_end(lambda: diff(take_editable(stored), take_editable(edited)) if edited else [])
    if edited is not None and lines:
        kept = _refuse(page, edited, stored)
        notes += [Note(each, refuses=True) for each in kept]
        if not kept:
            notes += await _ask(page, resource, stored, edited)
            notes += _tell_cost(page, resource, stored, draft)
    theirs = partial(diff_texts, before, write_document(take_editable(stored)))
    return {
        **show_draft(page, draft, refused or notes),
        **_names(page),
        "base": base,
        "lines": lines,
        "theirs": await work_to_the_end(theirs) if before else [],
        "may": await page.may("update", resource, page.path["namespace"]),
    }


def _tell_cost(page: PageContext, resource: Resource, stored: Manifest, draft: Draft) -> list[Note]:
    before = read_stored(resource, stored)
    (after,) = draft.objects
    if before.job is None or after.job is None:
        return []
    goes_on = not before.status.phase.terminal
    return [Note(page.say(each), good=goes_on) for each in explain_cost(before.job, after.job, before.status)]


SCREEN = Screen("edit", f"{JOB}/edit", phrase("Edit"), list_topics, build, live=False, receive=receive)
