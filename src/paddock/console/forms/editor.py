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
from paddock.console.forms.field_errors import Places, build_places, find_errors, find_field
from paddock.console.forms.fields import CannotWrite, Field, JobForm, find_changed, read_document, write_what_can_be
from paddock.console.forms.rows import TITLES, Group
from paddock.console.forms.values import Column, Form
from paddock.console.page_context import PageContext
from paddock.kube.errors import ApiError
from paddock.manifests.documents import count_values
from paddock.manifests.edits import CannotEdit
from paddock.submission.documents import Checked
from paddock.submission.reading import Reading
from paddock.views.ranks import total_asked
from paddock.words.phrases import counted, phrase, render
from paddock.words.problems import Problem

_PLACES = ("directory", "datasets", "storage", "namespace", "shm")
"""In the form's order; the others are in that of `forms.rows`."""
_MOST_ROWS = 12
"""Of a table; more are lines of a text, as a page may be sent with 1,000 inputs (`bounds.MOST_FIELDS`)."""
_MOST_WRITTEN = 20_000
"""Values of a text, times the fields that are written into it: two seconds."""


@dataclass(frozen=True, slots=True)
class Note:
    """What the place says of a draft without errors, in the reader's language."""

    said: str
    good: bool = False
    refuses: bool = False
    """Nothing is created, or saved, for it."""
    address: str = ""
    """Of what it is about."""
    field: str = ""
    """The id of the field that it is about, or the `path` of its value."""
    path: str = ""


@dataclass(frozen=True, slots=True)
class Draft:
    """A text that is being edited, with its form."""

    text: str
    report: Reading
    form: JobForm
    choices: Choices
    typed: Mapping[str, str] = field(default_factory=dict)
    """Inputs that could not be written into the text, which are shown as they were typed; the others are in it."""
    unwritten: Sequence[CannotEdit] = ()
    """Why they could not be written: a `CannotWrite` where it is about one field."""
    objects: Sequence[Checked] = ()
    """The documents as they are sent, in their order; none while the text has errors or lacks such an input."""

    @property
    def ready(self) -> bool:
        return bool(self.objects)


def read_posted(posted: Mapping[str, str], choices: Choices) -> Draft:
    """Takes seconds for the largest text. A `file` stands in the place of all that was typed."""
    if file := posted.get("file"):
        return read_text(file, choices)
    text, changed = posted.get("text", ""), find_changed(posted)
    unwritten: Sequence[CannotEdit] = ()
    if len(text) <= MOST_CHARACTERS:
        try:
            _refuse_many(text, changed)
            text, unwritten = write_what_can_be(text, changed, choices.labelled)
        except CannotEdit as error:
            unwritten = [error]
        if posted.get("do", "").startswith("fix:"):
            text = mend(text, posted["do"].removeprefix("fix:"))
    whole = any(not isinstance(each, CannotWrite) for each in unwritten)  # nothing was written
    kept = {each.field_id for each in unwritten if isinstance(each, CannotWrite)}
    typed = {name: each for name, each in changed.items() if whole or name in kept}
    return read_text(text, choices, typed, unwritten)


def _refuse_many(text: str, changed: Mapping[str, str]) -> None:
    """Raises `CannotEdit`. The text is read anew for each field that is written."""
    if changed and count_values(text, BOUNDS) * len(changed) > _MOST_WRITTEN:
        raise CannotEdit(phrase("the text is too long for so many fields at once: edit the text, or fewer fields"))


def read_text(
    text: str, choices: Choices, typed: Mapping[str, str] | None = None, unwritten: Sequence[CannotEdit] = ()
) -> Draft:
    report = check_text(text)
    form = read_document(report.documents[0], choices.labelled) if len(report.documents) == 1 else JobForm()
    is_ready = not unwritten and not report.wrong
    objects = report.placed if is_ready else ()
    return Draft(text, report, form, choices, typed or {}, unwritten, objects)


def show_draft(page: PageContext, draft: Draft, notes: Sequence[Note] = ()) -> Mapping[str, Any]:
    """The names of the template. `notes`: what the place says of it."""
    form, places = draft.form, build_places(draft.form.fields)
    own = _find_errors(page, draft, places, notes)
    problems = [_show_problem(draft, places, each, page.language) for each in draft.report.problems[:MOST_PROBLEMS]]
    shown = {each.id: _show_field(each, draft, page, own.get(each.id, ())) for each in form.fields}
    in_order = sorted(form.job, key=lambda each: _PLACES.index(each.id) if each.id in _PLACES else 0)
    by_group = {group: [shown[each.id] for each in in_order if each.group is group] for group in Group}
    return {
        "text": draft.text,
        "fields": by_group[Group.FIRST],
        "places": by_group[Group.PLACE],
        "groups": [_show_group(page, group, by_group[group]) for group in TITLES] if form.job else [],
        "roles": {name: [shown[each.id] for each in fields] for name, fields in form.roles.items()},
        "replicas": form.replicas,
        "asked": _sum_asked(draft, page.language),
        "kind": form.kind,
        "problems": problems,
        "more": max(0, len(draft.report.problems) - MOST_PROBLEMS),
        "wrong": draft.report.wrong,
        "said": [page.say(each.said) for each in draft.unwritten],
        "notes": [_show_note(each) for each in notes],
        "verdict": _judge(page, draft, notes),
        "choices": _offer(draft),
    }


def _find_errors(page: PageContext, draft: Draft, places: Places, notes: Sequence[Note]) -> Mapping[str, Sequence[str]]:
    """Field id -> the sentences under it: of the text, of what could not be written, of the place."""
    errors = {name: list(map(page.say, said)) for name, said in find_errors(places, draft.report.problems).items()}
    for each in draft.unwritten:
        if isinstance(each, CannotWrite):
            errors.setdefault(each.field_id, []).append(page.say(each.why))
    for note in notes:
        field = find_field(places, note.path) if note.path else None
        name = field.id if field else note.field
        if name:
            errors.setdefault(name, []).append(note.said)
    return errors


def _judge(page: PageContext, draft: Draft, notes: Sequence[Note]) -> Mapping[str, Any]:
    """The one sentence beside the button."""
    count = sum(each.severity == "error" for each in draft.report.problems) + len(draft.unwritten)
    if count:
        said = counted("{count} error: nothing is sent", "{count} errors: nothing is sent", count=count)
        return {"good": False, "bad": True, "said": page.say(said)}
    shown = [each for each in notes if each.refuses][:1] or notes[-1:]
    return _show_note(shown[0]) if shown else {}


def _show_note(note: Note) -> Mapping[str, Any]:
    return {"good": note.good, "bad": note.refuses, "said": note.said, "address": note.address}


def _offer(draft: Draft) -> Mapping[str, Sequence[str]]:
    shown = {each.id: each.shown for each in draft.form.job}
    by_label = [each.id for each in draft.form.job if each.paths[0][:2] == ("metadata", "labels")]
    return draft.choices.offer(shown.get("namespace") or DEFAULT_NAMESPACE, by_label)


def _sum_asked(draft: Draft, language: str) -> str:
    """总资源: what all pods ask for together; empty while the text has errors."""
    jobs = [each.job for each in draft.objects]
    return total_asked(jobs[0], language) if len(jobs) == 1 and jobs[0] is not None else ""


def _show_field(each: Field, draft: Draft, page: PageContext, wrong: Sequence[str]) -> Mapping[str, Any]:
    value = draft.typed.get(each.id, each.shown or "")
    columns = [_show_column(column, page) for column in each.form.columns]
    is_long = bool(columns) and max(value.count("\n"), (each.shown or "").count("\n")) >= _MOST_ROWS
    about = page.say(each.help) if each.help else ""
    if is_long:
        line = each.form.join([str(column["label"]) for column in columns])
        about = page.say(phrase("{line} on each line", line=line))
    return {
        "id": each.id,
        "label": page.say(each.label),
        "input": "words" if is_long else each.form.input,
        "was": each.shown or "",
        "value": value,
        "in_text": each.shown is None,
        "options": each.form.options,
        "help": about,
        "unit": page.say(each.unit) if each.unit else "",
        "wrong": wrong,
        "steps": each.id.endswith(".replicas"),
        "columns": columns,
        "rows": _split_rows(each.form, value) if columns else [],
        "was_rows": _split_rows(each.form, each.shown or "") if columns else [],
    }


def _show_column(column: Column, page: PageContext) -> Mapping[str, Any]:
    options = [(written, page.say(called)) for written, called in column.options]
    return {"label": page.say(column.label), "offers": column.offers, "options": options}


def _split_rows(form: Form, value: str) -> list[list[str]]:
    """A row for each line, and an empty one."""
    return [*(form.split(line) for line in value.split("\n") if line.strip()), [""] * len(form.columns)]


def _show_group(page: PageContext, group: Group, fields: Sequence[Mapping[str, Any]]) -> Mapping[str, Any]:
    """Open where something stands in it."""
    return {
        "name": str(group),
        "title": page.say(TITLES[group]),
        "fields": fields,
        "open": any(each["value"] or each["in_text"] or each["wrong"] for each in fields),
    }


def _show_problem(draft: Draft, places: Places, problem: Problem, language: str) -> Mapping[str, Any]:
    mended, field = find_mended(draft.text, problem), find_field(places, problem.path)
    return {
        "line": problem.line or 1,
        "place": f"{problem.line}:{problem.column}",
        "path": problem.path,
        "field": field.id if field and field.shown is not None else "",
        "label": _name_field(field, language) if field else "",
        "said": render(problem.said or problem.message, language),
        "severity": problem.severity,
        "fix": str(problem.suggestion) if mended is not None else "",
    }


def _name_field(field: Field, language: str) -> str:
    if not field.role:
        return render(field.label, language)
    return render(phrase("{role}: {what}", role=field.role, what=field.label), language)


def list_said(error: ApiError) -> Iterator[tuple[str, str]]:
    """What a server refuses: the path of each field where it names them, and a sentence that names it too."""
    for each in error.causes:
        yield each.field, f"{each.field}: {each.message}" if each.field else each.message
    if not error.causes:
        yield "", error.message
