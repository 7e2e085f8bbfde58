"""The page with the form and the text side by side: what was sent -> what is shown. `screens.new` and `screens.edit`
create and save.

Both sides may have been typed in since the page was sent. The text is the truth: what was typed in the form is written
into it, field by field; so neither side loses anything, with scripts or without.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from paddock.console.forms.checking import (
    BOUNDS,
    DEFAULT_NAMESPACE,
    MOST_CHARACTERS,
    MOST_PROBLEMS,
    check_text,
    find_mended,
    mend,
)
from paddock.console.forms.choices import Choices
from paddock.console.forms.fields import Field, JobForm, find_changed, read_document, write_fields
from paddock.console.forms.rows import TITLES, Group
from paddock.console.page_context import PageContext
from paddock.kube.errors import ApiError
from paddock.manifests.documents import count_values
from paddock.manifests.edits import CannotEdit
from paddock.submission.documents import Checked
from paddock.submission.reading import Reading
from paddock.views.ranks import total_asked
from paddock.words.phrases import Phrase, phrase, render
from paddock.words.problems import Problem

_MOST_WRITTEN = 20_000
"""Values of a text, times the fields that are written into it: two seconds."""


@dataclass(frozen=True, slots=True)
class Draft:
    """A text that is being edited, with its form."""

    text: str
    report: Reading
    form: JobForm
    choices: Choices
    typed: Mapping[str, str] = field(default_factory=dict)
    """Inputs that could not be written into the text, which are shown as they were typed."""
    said: Phrase | None = None
    """Why they could not be written."""
    objects: Sequence[Checked] = ()
    """The documents as they are sent, in their order; none while the text has errors or lacks such an input."""

    @property
    def ready(self) -> bool:
        return bool(self.objects)


def read_posted(posted: Mapping[str, str], choices: Choices) -> Draft:
    """Takes seconds for the largest text. A `file` stands in the place of all that was typed."""
    if file := posted.get("file"):
        return read_text(file, choices)
    text, changed, said = posted.get("text", ""), find_changed(posted), None
    if len(text) <= MOST_CHARACTERS:
        try:
            _refuse_many(text, changed)
            text = write_fields(text, changed, choices.labelled)
        except CannotEdit as error:
            said = error.said
        if posted.get("do", "").startswith("fix:"):
            text = mend(text, posted["do"].removeprefix("fix:"))
    return read_text(text, choices, changed if said else {}, said)


def _refuse_many(text: str, changed: Mapping[str, str]) -> None:
    """Raises `CannotEdit`. The text is read anew for each field that is written."""
    if changed and count_values(text, BOUNDS) * len(changed) > _MOST_WRITTEN:
        raise CannotEdit(phrase("the text is too long for so many fields at once: edit the text, or fewer fields"))


def read_text(text: str, choices: Choices, typed: Mapping[str, str] | None = None, said: Phrase | None = None) -> Draft:
    report = check_text(text)
    form = read_document(report.documents[0], choices.labelled) if len(report.documents) == 1 else JobForm()
    is_ready = said is None and not report.wrong
    objects = report.placed if is_ready else ()
    return Draft(text, report, form, choices, typed or {}, said, objects)


def show_draft(page: PageContext, draft: Draft, notes: Sequence[Mapping[str, Any]] = ()) -> Mapping[str, Any]:
    """The names of the template. `notes`: what the server says of it, each with `good` and `said`."""
    problems = [_show_problem(draft.text, each, page.language) for each in draft.report.problems[:MOST_PROBLEMS]]
    return {
        "text": draft.text,
        "fields": [_show_field(each, draft, page) for each in draft.form.job if each.group is Group.FIRST],
        "groups": [_show_group(group, draft, page) for group in TITLES] if draft.form.job else [],
        "roles": {name: [_show_field(each, draft, page) for each in own] for name, own in draft.form.roles.items()},
        "replicas": draft.form.replicas,
        "asked": _sum_asked(draft, page.language),
        "kind": draft.form.kind,
        "problems": problems,
        "more": max(0, len(draft.report.problems) - MOST_PROBLEMS),
        "wrong": draft.report.wrong,
        "said": page.say(draft.said) if draft.said else "",
        "notes": notes,
        "choices": _offer(draft),
    }


def _offer(draft: Draft) -> Mapping[str, Sequence[str]]:
    shown = {each.id: each.shown for each in draft.form.job}
    by_label = [each.id for each in draft.form.job if each.paths[0][:2] == ("metadata", "labels")]
    return draft.choices.offer(shown.get("namespace") or DEFAULT_NAMESPACE, by_label)


def _sum_asked(draft: Draft, language: str) -> str:
    """总资源: what all pods ask for together; empty while the text has errors."""
    jobs = [each.job for each in draft.objects]
    return total_asked(jobs[0], language) if len(jobs) == 1 and jobs[0] is not None else ""


def _show_field(each: Field, draft: Draft, page: PageContext) -> Mapping[str, Any]:
    return {
        "id": each.id,
        "label": page.say(each.label),
        "input": each.form.input,
        "was": each.shown or "",
        "value": draft.typed.get(each.id, each.shown or ""),
        "in_text": each.shown is None,
        "options": each.form.options,
    }


def _show_group(group: Group, draft: Draft, page: PageContext) -> Mapping[str, Any]:
    """Open where something stands in it."""
    fields = [_show_field(each, draft, page) for each in draft.form.job if each.group is group]
    return {
        "name": str(group),
        "title": page.say(TITLES[group]),
        "fields": fields,
        "open": any(each["value"] or each["in_text"] for each in fields),
    }


def _show_problem(text: str, problem: Problem, language: str) -> Mapping[str, Any]:
    mended = find_mended(text, problem)
    return {
        "line": problem.line or 1,
        "place": f"{problem.line}:{problem.column}",
        "path": problem.path,
        "said": render(problem.said or problem.message, language),
        "severity": problem.severity,
        "fix": str(problem.suggestion) if mended is not None else "",
    }


def list_said(error: ApiError) -> Iterator[str]:
    """What a server refuses, a sentence for each field where it names them."""
    if error.causes:
        yield from (f"{each.field}: {each.message}" if each.field else each.message for each in error.causes)
    else:
        yield error.message
