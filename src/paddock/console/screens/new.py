"""A new job: its type, then the form and the text side by side, checked as it is typed, and created.

/new                              the types
/new?template=pytorch-single      the form, beginning with that template
/new?from=NAMESPACE/KIND/NAME     the form, beginning with an existing job: its clone
    &again=1                      the same, to be run once more as it was: Submit is what is left to do
    &without=nvidia.com/gpu       the same without requests and limits for a resource; it may stand several times,
                                  with commas between them
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from paddock.console.addresses import address_of_job, find_kind
from paddock.console.feed import Topic
from paddock.console.forms.checking import DEFAULT_NAMESPACE
from paddock.console.forms.choices import TOPICS, find_choices
from paddock.console.forms.editor import (
    Draft,
    Note,
    list_said,
    read_posted,
    read_text,
    show_draft,
)
from paddock.console.forms.templates import TEMPLATES
from paddock.console.page_context import Missing, PageContext, Redirect, Screen
from paddock.console.reader_locks import work_to_the_end
from paddock.jobs.sentences.explain import explain
from paddock.kube.errors import AlreadyExists, ApiError, NotFound
from paddock.kube.meta import NAMESPACES, PRIORITY_CLASSES, Key, Resource, name_of, namespace_of
from paddock.kube.validation.names import DNS_LABEL, DNS_SUBDOMAIN
from paddock.manifests.edits import write_document
from paddock.submission.devices import read_asked
from paddock.submission.documents import Checked
from paddock.submission.dry_run import explain_left_out, fetch_refusal, is_awaited
from paddock.submission.local_only import find_place_reasons, find_unhonoured_fields
from paddock.submission.missing_classes import explain_missing_class, find_missing_classes
from paddock.submission.missing_secrets import explain_missing, find_missing_secrets, read_brought
from paddock.submission.prepared import Prepared
from paddock.submission.room import Judgement, fetch_judgements
from paddock.submission.signed import sign
from paddock.views.clones import build_clone, leave_out_resources, name_clone
from paddock.views.flags import Flags
from paddock.views.stored import read_stored
from paddock.words.phrases import Foreign, Phrase, counted, phrase
from paddock.words.unhonoured import explain_unhonoured


def list_topics(_path: Mapping[str, str], query: Mapping[str, str]) -> Sequence[Topic]:
    return TOPICS


async def build(page: PageContext) -> Mapping[str, Any]:
    begun = await _begin(page)
    if begun is None:
        return {"types": _show_types(page), "text": "", **_name_page(page)}
    text, notes = begun
    choices = await find_choices(page, _find_namespace(page), begins=True)
    draft = await work_to_the_end(partial(read_text, text, choices))
    return {"types": [], **_name_page(page), **show_draft(page, draft, [*notes, *await _ask(page, draft)])}


async def receive(page: PageContext, posted: Mapping[str, str]) -> Mapping[str, Any] | Redirect:
    choices = await find_choices(page, posted.get("f:namespace") or _find_namespace(page))
    draft = await work_to_the_end(partial(read_posted, posted, choices))
    notes: Sequence[Note] = ()
    if (
        posted.get("do") == "create"
        and draft.ready
        and not (notes := await _refuse_ahead(page, prepared := await _prepare(page, draft, creates=True)))
    ):
        found = await _create(page, prepared.checked)
        if isinstance(found, Redirect):
            return found
        notes = found
    return {"types": [], **_name_page(page), **show_draft(page, draft, notes or await _ask(page, draft))}


def _name_page(page: PageContext) -> Mapping[str, Any]:
    """The job that is run once more, empty where it is another page."""
    name = page.query.get("from", "").rpartition("/")[2] if page.query.get("again") else ""
    return {"again": name}


def _find_namespace(page: PageContext) -> str:
    """The namespace of a clone's original, else the one in which a job without a namespace is created."""
    return page.query.get("from", "").partition("/")[0] or DEFAULT_NAMESPACE


async def _begin(page: PageContext) -> tuple[str, list[Note]] | None:
    """The text to begin with, and what is told of it; None for the choice of a type."""
    if source := page.query.get("from"):
        return await _clone(page, source)
    template = TEMPLATES.get(page.query.get("template", ""))
    return (template.write(page.language, on_laptop=page.backend.local), []) if template else None


async def _clone(page: PageContext, source: str) -> tuple[str, list[Note]]:
    namespace, _, rest = source.partition("/")
    kind, _, name = rest.partition("/")
    resource = find_kind(kind)
    try:
        if resource is None or not DNS_LABEL.allows(namespace) or not DNS_SUBDOMAIN.allows(name):
            raise NotFound("")
        found = await page.api.get(resource, namespace, name)
    except NotFound:
        said = phrase("there is no job {name} in {namespace}", name=name or source, namespace=namespace)
        raise Missing(said) from None
    job = read_stored(resource, found).job
    asked = read_asked([job] if job is not None else [])
    wanted = list(filter(None, page.query.get("without", "").split(",")))
    unasked = [each for each in wanted if each not in asked]
    notes: list[Note] = [
        Note(page.say(phrase("the job does not ask for {resource}", resource=each))) for each in unasked
    ]
    clone = build_clone(found, await _find_free(page, resource, namespace, name))
    return write_document(leave_out_resources(clone, [each for each in wanted if each in asked])), notes


async def _find_free(page: PageContext, resource: Resource, namespace: str, name: str) -> str:
    """The next name that no job of the kind has; of who may not list them, the next one."""
    try:
        taken = [name_of(each) for each in (await page.api.list(resource, namespace)).items]
    except ApiError:
        taken = []
    return name_clone(name, {name, *taken})


def _show_types(page: PageContext) -> list[Mapping[str, str]]:
    return [
        {"name": name, "title": page.say(each.title), "about": page.say(each.about)} for name, each in TEMPLATES.items()
    ]


async def _ask(page: PageContext, draft: Draft) -> list[Note]:
    """What refuses a draft without errors: the place, or the server (a dry run). Then whether it would start now."""
    if not draft.ready:
        return []
    prepared = await _prepare(page, draft, creates=False)
    asked = await _ask_server(page, prepared.checked)
    told: list[Note] = [Note(page.say(each)) for each in prepared.told]
    if refused := [*await _refuse_ahead(page, prepared), *asked.refused]:
        return [*refused, *told, *asked.left_out]
    notes = [*told, *asked.left_out, Note(page.say(phrase("the server takes it (dry run)")), good=True)]
    notes += _tell_unhonoured(page, asked.taken)
    notes += await _tell_classes(page, asked.taken)
    notes += [Note(page.say(said)) for _, judged in await _judge_room(page, asked.taken) for said in judged.told]
    return notes + [note for each in asked.taken for note in await _foresee(page, each)]


async def _prepare(page: PageContext, draft: Draft, *, creates: bool) -> Prepared:
    """The documents as they are sent."""
    if page.backend.prepare is None:
        return Prepared(tuple(draft.objects))
    return await page.backend.prepare(page.api, draft.objects, creates)


def _tell_unhonoured(page: PageContext, taken: Sequence[Checked]) -> list[Note]:
    """What a laptop does not honour, once a job."""
    uid = os.getuid()
    found = find_unhonoured_fields(taken, uid) if page.backend.local else []
    return [Note(page.say(explain_unhonoured(each, uid))) for _, each in found]


async def _tell_classes(page: PageContext, taken: Sequence[Checked]) -> list[Note]:
    """The PriorityClasses that jobs name and that are not there."""
    flags = Flags(page.backend.options, kubectl=page.backend.kubectl)
    try:
        missing = await find_missing_classes(
            page.api, [each.job for each in taken if each.job], read_brought(taken, PRIORITY_CLASSES)
        )
    except ApiError:  # an API that does not answer: the dry run tells that
        return []
    said = (explain_missing_class(name, flags, is_local=page.backend.local) for name in missing)
    return [Note(page.say(each)) for each in said]


@dataclass(frozen=True, slots=True)
class _Asked:
    """What a server says of the objects of a text that it is shown."""

    taken: Sequence[Checked]
    """What is to be created, in this order: a namespace before all that lies in it."""
    refused: Sequence[Note]
    left_out: Sequence[Note]
    """What a laptop does not run, and is not created there."""


async def _ask_server(page: PageContext, objects: Sequence[Checked]) -> _Asked:
    brought = read_brought(objects, NAMESPACES)
    taken: list[Checked] = []
    refused: list[Note] = []
    left_out: list[Note] = []
    for each in objects:
        try:
            error = await fetch_refusal(page.api, each)
        except ApiError as raised:
            error = raised
        if said := explain_left_out(each, error, is_local=page.backend.local):
            left_out.append(Note(page.say(said)))
            continue
        taken.append(each)
        if error is not None and not is_awaited(error, brought):
            refused += await _refuse(page, each, error)
    return _Asked(sorted(taken, key=lambda each: each.resource != NAMESPACES), refused, left_out)


async def _refuse_ahead(page: PageContext, prepared: Prepared) -> list[Note]:
    """What the place does not support, and on the local cluster a script that is nowhere and a Secret that nobody
    makes: the checks of `paddock run` of which a server knows nothing."""
    is_local, objects = page.backend.local, prepared.checked
    found = [(each.label, why) for each in objects for why in find_place_reasons(each, is_local=is_local)]
    jobs = [each.job for each in objects if each.job] if is_local else []
    try:
        secrets = await find_missing_secrets(page.api, jobs, read_brought(objects), ())
    except ApiError:  # whoever may not see Secrets, or an API that does not answer: the dry run tells that
        secrets = []
    for missing in secrets:
        label = f"{missing.job.resource.kind} {missing.job.key}"
        found.append((label, explain_missing(missing, Flags(page.backend.options, kubectl=page.backend.kubectl))))
    for each, judged in await _judge_room(page, objects):
        found += [(each.label, why) for why in judged.refused]
    said = (phrase("{job} would be refused: {why}", job=label, why=why) for label, why in found)
    unplaced: list[Note] = [Note(page.say(each.why), refuses=True, field="directory") for each in prepared.refused]
    return [*unplaced, *(Note(page.say(each), refuses=True) for each in said)]


async def _judge_room(page: PageContext, objects: Sequence[Checked]) -> list[tuple[Checked, Judgement]]:
    """What the quotas and LimitRanges of its namespace do to each job."""
    try:
        return await fetch_judgements(page.api, objects)
    except ApiError:  # an API that does not answer: the dry run tells that
        return []


async def _foresee(page: PageContext, each: Checked) -> list[Note]:
    if page.backend.why_not is None or each.job is None:
        return []
    job = each.job
    if not job.key.name:
        job = replace(job, key=Key(job.key.namespace, "generated"))
    try:
        waits = await page.backend.why_not(page.api, job, page.now)
    except ApiError as error:
        said = phrase("whether it would start is not known: {why}", why=Foreign(error.message))
        return [Note(page.say(said))]
    if not waits and not page.backend.local:
        said = counted(
            "its {count} pod would fit now; whether the cluster can pull its image is not known here",
            "all of its {count} pods would fit now; whether the cluster can pull their images is not known here",
            count=job.size,
        )
        return [Note(page.say(said), good=True)]
    if not waits:
        said = counted(
            "it would start now: its {count} pod fits", "it would start now: all of its {count} pods fit",
            count=job.size,
        )  # fmt: skip
        return [Note(page.say(said), good=True)]
    return [Note(page.say(phrase("it would wait: {why}", why=explain(cause, page.language)))) for cause in waits]


async def _create(page: PageContext, objects: Sequence[Checked]) -> list[Note] | Redirect:
    """Creates namespaces, then the others in the order of the text, after a dry run of all; what refuses is said."""
    asked = await _ask_server(page, objects)
    if asked.refused:
        return [*asked.refused, *asked.left_out]
    made: list[str] = []
    address = "/"
    for each in sign(asked.taken, await page.fetch_who()):
        try:
            stored = await page.api.create(each.resource, each.manifest, strict=True)
        except ApiError as error:
            return [*await _refuse(page, each, error), *_count_made(page, made)]
        made.append(each.label)
        if each.job is not None:
            address = address_of_job(each.resource, namespace_of(stored), name_of(stored))
    return Redirect(address)


def _count_made(page: PageContext, made: Sequence[str]) -> list[Note]:
    if not made:
        return []
    return [Note(page.say(phrase("created before it: {names}", names=", ".join(made))))]


async def _refuse(page: PageContext, each: Checked, error: ApiError) -> list[Note]:
    if isinstance(error, AlreadyExists):
        address = address_of_job(each.resource, *_key(each)) if each.job else ""
        free = await _find_free(page, each.resource, *_key(each))
        said = page.say(_taken(each, free))
        return [Note(said, refuses=True, address=address, field="name" if each.job else "")]
    return [
        Note(page.say(phrase("the server refuses it: {why}", why=Foreign(said))), refuses=True, path=path)
        for path, said in list_said(error)
    ]


def _taken(each: Checked, free: str) -> Phrase:
    return phrase(
        "{object} exists already: give this one another name ({name}), or delete that one first",
        object=each.label, name=free,
    )  # fmt: skip


def _key(each: Checked) -> tuple[str, str]:
    return namespace_of(each.manifest), name_of(each.manifest)


SCREEN = Screen("new", "/new", phrase("New job"), list_topics, build, live=False, in_menu=True, receive=receive)
