"""A job's form: its fields as they stand in the text, and the text with other values in them. Pure.

The text is the truth; the form shows some of it. A field that is the same in all roles is one field and is written to
each of them; where roles differ, each has its own. The roles and their containers are found as preflight finds them, so
every kind of job has its form, an invalid one too. `forms.rows` has the table of the fields.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from paddock.console.forms import rows, values
from paddock.console.forms.lists import read_value, write_items, write_value, write_words
from paddock.console.forms.rows import Group, Labelled, Row
from paddock.console.forms.storage import show_claims, show_shm, write_claims, write_shm
from paddock.console.forms.values import Form
from paddock.jobs.frameworks.registry import FRAMEWORKS
from paddock.manifests.documents import read_documents
from paddock.manifests.edits import CannotEdit, Path, Step
from paddock.manifests.parts import Container, Part, read_parts
from paddock.manifests.yaml_nodes import Document
from paddock.preflight import find_api
from paddock.words.phrases import Phrase, phrase
from paddock.words.sentences import split_path


@dataclass(frozen=True, slots=True)
class Field:
    """One input of the form."""

    id: str
    """The id of the input in the page."""
    label: Phrase
    form: Form
    shown: str | None
    """What the input holds; None if the form cannot show the value, which then is in the text alone."""
    paths: tuple[Path, ...]
    """Where it is written."""
    role: str = ""
    """The role that it is of; empty for all."""
    group: Group = Group.FIRST
    help: Phrase | None = None
    unit: Phrase | None = None


class CannotWrite(CannotEdit):
    """What was typed in the field `field_id` cannot be written. `said` has its label, `why` the reason alone."""

    def __init__(self, field: Field, why: Phrase) -> None:
        super().__init__(phrase("{option}: {problem}", option=field.label, problem=why))
        self.field_id, self.why = field.id, why


@dataclass(frozen=True, slots=True)
class JobForm:
    """The form of a text. Without fields the text has no job, or more than one manifest."""

    kind: str = ""
    job: tuple[Field, ...] = ()  # fields of the whole job, in the form's order
    roles: Mapping[str, tuple[Field, ...]] = field(default_factory=dict)  # fields of each role
    replicas: int = 0  # of all roles together

    @property
    def fields(self) -> tuple[Field, ...]:
        return (*self.job, *(each for fields in self.roles.values() for each in fields))


def read_form(text: str, labelled: Collection[Labelled] = ()) -> JobForm:
    """The form of the only job of a text. Never raises."""
    documents = read_documents(text)
    return read_document(documents[0], labelled) if len(documents) == 1 else JobForm()


def read_document(document: Document, labelled: Collection[Labelled] = ()) -> JobForm:
    """`labelled`: see `rows.list_policies`."""
    manifest = document.manifest
    api = find_api(document)
    wanted = FRAMEWORKS[api.framework].container if api else ""
    chosen = [(part, found) for part in read_parts(manifest) if (found := _choose(part, wanted)) is not None]
    if not chosen or len({part.name for part, _ in chosen}) < len(chosen):
        return JobForm()
    directories = {_read(each.value, rows.DIRECTORY.path) for _, each in chosen}
    is_noted = directories == {None} and rows.is_noted(manifest, labelled)
    of_container = rows.OF_CONTAINER if is_noted else (rows.DIRECTORY, *rows.OF_CONTAINER)
    shared, own = _split_shared(chosen, of_container)
    roles = {
        part.name: (*_role_fields(manifest, part, each), *(each_own for each_own in own if each_own.role == part.name))
        for part, each in chosen
    }
    noted = [rows.NOTED_DIRECTORY] if is_noted else []
    of_job = _job_fields(manifest, [*rows.OF_JOB, rows.NAMESPACE, *noted, rows.DATASETS])
    job = (*of_job, *shared, *_job_fields(manifest, rows.list_policies(manifest, labelled)))
    return JobForm(str(manifest.get("kind")), job, roles, sum(part.replicas for part, _ in chosen))


def _split_shared(
    chosen: Sequence[tuple[Part, Container]], of_container: Sequence[Row]
) -> tuple[list[Field], list[Field]]:
    """The fields of the container: those that all roles have in common, and the others for each role."""
    shared: list[Field] = []
    own: list[Field] = []
    for row in of_container:
        found = [_read(each.value, row.path) for _, each in chosen]
        paths = [(*_steps(each.path), *row.path) for _, each in chosen]
        if all(each == found[0] for each in found):
            shared.append(_build(row, row.form.show(found[0]), *paths))
            continue
        for (part, _), value, path in zip(chosen, found, paths, strict=True):
            own.append(_build(row, row.form.show(value), path, role=part.name))
    for row, show in ((rows.STORAGE, show_claims), (rows.SHARED_MEMORY, show_shm)):
        # Their paths are pairs: of the pod's spec, and of the container.
        each_own = [
            _build(row, show(part.spec, each.value), _steps(part.spec_path), _steps(each.path), role=part.name)
            for part, each in chosen
        ]
        if all(each.shown == each_own[0].shown for each in each_own):
            places = tuple(path for each in each_own for path in each.paths)
            shared.append(replace(each_own[0], id=row.id, role="", paths=places))
        else:
            own += each_own
    return shared, own


def write_fields(text: str, changed: Mapping[str, str], labelled: Collection[Labelled] = ()) -> str:
    """The text with what was typed in these fields, id -> input. A field that the text no longer has is left out.
    Raises `CannotWrite`."""
    text, unwritten = write_what_can_be(text, changed, labelled)
    if unwritten:
        raise unwritten[0]
    return text


def write_what_can_be(
    text: str, changed: Mapping[str, str], labelled: Collection[Labelled] = ()
) -> tuple[str, list[CannotWrite]]:
    """As `write_fields`, and why others cannot be written."""
    unwritten: list[CannotWrite] = []
    fields = {each.id: each for each in read_form(text, labelled).fields} if changed else {}
    for field_id, typed in changed.items():
        field = fields.get(field_id)
        if field is None or field.shown is None:
            continue
        try:
            before, text = text, _write(text, field, field.form.parse(typed))
            if text != before:  # another field may stand elsewhere now, or not at all
                fields = {each.id: each for each in read_form(text, labelled).fields}
        except CannotEdit as error:
            unwritten.append(CannotWrite(field, error.said))
        except (TypeError, AttributeError, LookupError):  # a list of volumes may be of anything while somebody types
            said = phrase("the text has another kind of value there: edit the text")
            unwritten.append(CannotWrite(field, said))
    return text, unwritten


def find_changed(posted: Mapping[str, str]) -> dict[str, str]:
    """The fields that were typed in: `f:ID` differs from `was:ID`, which is what the page was sent with."""
    posted = {**_join_tables(posted), **posted}
    ids = [key.removeprefix("f:") for key in posted if key.startswith("f:")]
    return {each: posted[f"f:{each}"] for each in ids if posted[f"f:{each}"] != posted.get(f"was:{each}")}


def _join_tables(posted: Mapping[str, str]) -> dict[str, str]:
    """`f:ID` of the cells `t:ID:ROW:COLUMN`; rows in which nothing is typed are none."""
    cells: dict[str, dict[int, dict[int, str]]] = {}
    for key, value in posted.items():
        name, _, place = key.removeprefix("t:").partition(":")
        row, _, column = place.partition(":")
        if key.startswith("t:") and row.isdecimal() and column.isdecimal():
            cells.setdefault(name, {}).setdefault(int(row), {})[int(column)] = value
    joined: dict[str, str] = {}
    for name, lines in cells.items():
        form = rows.TABLES.get(name.rpartition(".")[2])
        if form is not None:
            typed = [[lines[row].get(place, "") for place in range(len(form.columns))] for row in sorted(lines)]
            joined[f"f:{name}"] = "\n".join(form.join(each) for each in typed if any(map(str.strip, each)))
    return joined


def _write(text: str, field: Field, value: Any) -> str:
    if field.form in _OF_TWO_LISTS:
        for spec, container in zip(field.paths[::2], field.paths[1::2], strict=True):
            text = _OF_TWO_LISTS[field.form](text, spec, container, value)
        return text
    for path in field.paths:
        if field.form in _OF_VARIABLES:
            text = _write_variables(text, path, value or (), _OF_VARIABLES[field.form])
        elif field.form in (values.WORDS, values.ARGUMENTS):
            text = write_words(text, path, value)
        elif field.form is values.LABELS:
            text = _write_labels(text, path, value or {})
        else:
            text = write_value(text, path, value)
    return text


_OF_TWO_LISTS = {values.CLAIMS: write_claims, values.SHARED_MEMORY: write_shm}


_OF_VARIABLES = {values.VARIABLES: values.is_plain, values.SECRETS: values.is_secret}


def _write_variables(
    text: str, path: Path, wanted: Sequence[Mapping[str, Any]], is_own: Callable[[Mapping[str, Any]], bool]
) -> str:
    """Those of one kind; the others stay where they are. Raises `CannotEdit` for a name that one of those has."""
    before = read_value(text, path) or []
    others = {each.get("name") for each in before if not is_own(each)}
    if taken := next((each["name"] for each in wanted if each["name"] in others), ""):
        raise CannotEdit(phrase("{name} stands twice", name=taken))
    new = {each["name"]: each for each in wanted}
    if not others or len(new) < len(wanted):
        return write_items(text, path, [*(each for each in before if not is_own(each)), *wanted], "name")
    kept = [new.pop(each["name"], None) if is_own(each) else each for each in before]
    return write_items(text, path, [*(each for each in kept if each is not None), *new.values()], "name")


def _write_labels(text: str, path: Path, wanted: Mapping[str, str]) -> str:
    before = _read(read_documents(text)[0].manifest, path) or {}
    if not wanted:
        return write_value(text, path, None)
    for name in {**before, **wanted}:
        text = write_value(text, (*path, name), wanted.get(name))
    return text


def _job_fields(manifest: Mapping[str, Any], found: Sequence[Row]) -> Iterator[Field]:
    for row in found:
        yield _build(row, row.form.show(_read(manifest, row.path)), row.path)


def _build(row: Row, shown: str | None, *paths: Path, role: str = "") -> Field:
    return Field(
        f"{role}.{row.id}" if role else row.id, row.label, row.form, shown, paths, role, row.group, row.help, row.unit
    )


def _role_fields(manifest: Mapping[str, Any], part: Part, container: Container) -> Iterator[Field]:
    for row in rows.OF_ROLE:
        path = (*_steps(part.path), *row.path)
        yield _build(row, row.form.show(_read(manifest, path)), path, role=part.name)
    for row in rows.OF_RESOURCES:
        path = (*_steps(container.path), "resources", *row.path)
        places = [path]
        shown = row.form.show(_read(manifest, path))
        other = (*_steps(container.path), "resources", "requests", row.path[-1])
        if row.id == "gpu" and (asked := _read(manifest, other)) is not None:
            # Kubernetes wants both alike.
            places.append(other)
            shown = shown if row.form.show(asked) == shown else None
        yield _build(row, shown, *places, role=part.name)
    row = rows.find_restart_policy(manifest)
    path = (*_steps(part.path), *row.path)
    yield _build(row, row.form.show(_read(manifest, path)), path, role=part.name)


def _choose(part: Part, wanted: str) -> Container | None:
    containers = part.containers()
    return next((each for each in containers if each.name == wanted), containers[0] if containers else None)


def _steps(path: str) -> tuple[Step, ...]:
    return tuple(int(step) if step.isdecimal() else step for step in split_path(path))


def _read(manifest: Any, path: Path) -> Any:
    for step in path:
        if isinstance(manifest, Mapping):
            manifest = manifest.get(step)
        elif isinstance(manifest, list) and isinstance(step, int) and step < len(manifest):
            manifest = manifest[step]
        else:
            return None
    return manifest
