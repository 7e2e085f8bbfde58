"""What becomes of the jobs that a reader has ticked in the list: done at once, or asked for first where it cannot be
taken back; then which were done, and why the others were not.

POST /chosen/VERB with `job:NAMESPACE/KIND/NAME=MARK` for each. `actions.bulk` does it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any
from urllib.parse import urlencode

from paddock.console.actions.bulk import FIELD, MOST, Chosen, Outcome, fetch, perform, read_chosen
from paddock.console.addresses import address_of_job
from paddock.console.feed import Topic
from paddock.console.heads import explain_right
from paddock.console.page_context import Missing, PageContext, Redirect, Screen
from paddock.history.comparison import FEWEST
from paddock.history.comparison import MOST as MOST_COMPARED
from paddock.kube.times import read_time
from paddock.views.commands import explain_why_not
from paddock.views.phases import show_phase
from paddock.views.stored import StoredJob
from paddock.words.phrases import Phrase, counted, phrase

PATH = "/chosen/{verb}"
_ASKED = ("cancel", "delete")
"""What cannot be taken back."""
_VERBS = ("suspend", "resume", *_ASKED)


def list_topics(_path: Mapping[str, str], _query: Mapping[str, str]) -> Sequence[Topic]:
    return []


async def build(page: PageContext) -> Mapping[str, Any]:
    return _show(page, refused=phrase("no job is chosen: tick some in the list of jobs"))


async def receive(page: PageContext, posted: Mapping[str, str]) -> Mapping[str, Any] | Redirect:
    """Raises `Missing` for a verb that there is not."""
    verb, chosen = page.path["verb"], read_chosen(posted)
    if verb == "compare":
        return _compare(page, chosen)
    if verb not in _VERBS:
        raise Missing(phrase("there is no such page"))
    if not chosen:
        return await build(page)
    if len(chosen) > MOST:
        said = phrase(
            "{count} jobs are chosen, and at most {most} go at once: nothing was done", count=len(chosen), most=MOST
        )
        return _show(page, refused=said)
    typed = posted.get("count")
    if verb in _ASKED and (typed is None or typed.strip() != str(len(chosen))):
        return await _ask(page, verb, chosen, typed)
    outcomes = await perform(page, verb, chosen)
    return _show(page, verb=verb, outcomes=outcomes)


def _compare(page: PageContext, chosen: Sequence[Chosen]) -> Mapping[str, Any] | Redirect:
    if not FEWEST <= len(chosen) <= MOST_COMPARED:
        return _show(
            page,
            refused=phrase(
                "choose {fewest} to {most} jobs in the list to compare them", fewest=FEWEST, most=MOST_COMPARED
            ),
        )
    return Redirect("/compare?" + urlencode([("job", each.field.removeprefix(FIELD)) for each in chosen]))


async def _ask(page: PageContext, verb: str, chosen: Sequence[Chosen], typed: str | None) -> Mapping[str, Any]:
    """The page that names what would be done, and asks for the number of jobs."""
    right = "delete" if verb == "delete" else "patch"
    places = {(each.resource, each.namespace) for each in chosen}
    refused = {place: explain_right(right, *place) for place in places if not await page.may(right, *place)}
    fetched = await fetch(page, chosen)
    found = [refused.get((each.resource, each.namespace), job) for each, job in zip(chosen, fetched, strict=True)]
    rows = [_build_row(page, verb, *each) for each in zip(chosen, found, strict=True)]
    may = [row for row in rows if not row["why_not"]]
    return _show(page, verb=verb, rows=rows, count=len(may), typed=typed)


def _build_row(page: PageContext, verb: str, each: Chosen, job: StoredJob | Phrase) -> Mapping[str, Any]:
    """`why_not`: why it is left out."""
    row = {**_name(each), "phase": "", "created": None, "runs": False}
    if isinstance(job, Phrase):
        return {**row, "why_not": page.say(job)}
    why_not = explain_why_not(verb, job) if verb == "cancel" else None
    created = read_time(job.manifest["metadata"].get("creationTimestamp"))
    return {
        **row,
        "phase": show_phase(job.shown_status),
        "created": created,
        "runs": not job.status.phase.terminal,
        "why_not": page.say(why_not) if why_not else "",
    }


def _name(each: Chosen) -> Mapping[str, Any]:
    return {
        "name": each.name,
        "namespace": "" if each.namespace == "default" else each.namespace,
        "kind": each.resource.kind,
        "address": address_of_job(each.resource, each.namespace, each.name),
        "field": each.field,
        "mark": each.mark,
    }


def _show(
    page: PageContext,
    *,
    verb: str = "",
    refused: Phrase | None = None,
    rows: Sequence[Mapping[str, Any]] = (),
    count: int = 0,
    typed: str | None = None,
    outcomes: Sequence[Outcome] = (),
) -> Mapping[str, Any]:
    """`typed`: what was typed in place of the number."""
    done = [each for each in outcomes if each.refused is None]
    return {
        "verb": verb,
        "refused": page.say(refused) if refused else "",
        "rows": rows,
        "count": count,
        "typed": typed or "",
        "done": [_name(each.chosen) for each in done],
        "left": [{**_name(each.chosen), "why": page.say(each.refused)} for each in outcomes if each.refused],
        "said": page.say(_tell(verb, len(done), len(outcomes))) if outcomes else "",
    }


def _tell(verb: str, done: int, asked: int) -> Phrase:
    """`2 of 3 jobs suspended`."""
    if done == asked:
        return {
            "suspend": counted("{count} job suspended", "{count} jobs suspended", count=done),
            "resume": counted("{count} job resumed", "{count} jobs resumed", count=done),
            "cancel": counted("{count} job cancelled", "{count} jobs cancelled", count=done),
            "delete": counted("{count} job deleted", "{count} jobs deleted", count=done),
        }[verb]
    return {
        "suspend": phrase("{count} of {all} jobs suspended", count=done, all=asked),
        "resume": phrase("{count} of {all} jobs resumed", count=done, all=asked),
        "cancel": phrase("{count} of {all} jobs cancelled", count=done, all=asked),
        "delete": phrase("{count} of {all} jobs deleted", count=done, all=asked),
    }[verb]


SCREEN = Screen("chosen", PATH, phrase("The chosen jobs"), list_topics, build, live=False, receive=receive)
