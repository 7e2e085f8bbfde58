"""What stands side by side on the page that compares: jobs as they are now, and runs that are kept, each with what its
rank 0 printed and with the manifest by which it is compared."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from paddock.console.addresses import find_kind, read_whole
from paddock.console.backend import KeptRun, Logs
from paddock.console.charts.collect import Collected, collect, list_ranks
from paddock.console.charts.curves import RankAttempt
from paddock.console.charts.numbers import LogNumbers
from paddock.console.feed import Topic
from paddock.console.forms.changes import take_editable
from paddock.console.page_context import Missing, PageContext
from paddock.console.screens.run_rows import find_view
from paddock.history.settings import read_spec
from paddock.kube.code_annotation import CODE_ANNOTATION
from paddock.kube.described import NOTE_ANNOTATION, TAGS_ANNOTATION
from paddock.kube.meta import Manifest, Resource, annotations_of, name_of, uid_of
from paddock.kube.rehearsals import without_random_names
from paddock.views.runs import RunView, view_job
from paddock.views.stored import StoredJob, read_stored
from paddock.words.phrases import phrase

_OURS = "paddock.dev/"
_SHOWN_ELSEWHERE = (
    CODE_ANNOTATION,
    NOTE_ANNOTATION,
    TAGS_ANNOTATION,
    "paddock.dev/requirements-digest",
    "paddock.dev/working-directory",
)
"""Annotations that have rows of their own."""


@dataclass(frozen=True, slots=True)
class Wanted:
    """A job as the address names it, or one of its runs."""

    resource: Resource
    namespace: str
    name: str
    number: int = 0
    """Of the run; 0 for the job as it is now."""


@dataclass(frozen=True, slots=True)
class Run:
    """A job or a run with what it printed."""

    wanted: Wanted
    label: str
    view: RunView | None
    """None for a job that was deleted, of which nothing but logs is kept."""
    stored: StoredJob | None
    """The job as it is now; None for one that is gone, and where a run of it was named."""
    found: Collected
    """Of its rank 0, by attempt."""
    is_over: bool
    is_gone: bool
    """No job of its name exists."""

    @property
    def logs(self) -> Mapping[RankAttempt, LogNumbers]:
        return self.found.logs


def read_wanted(jobs: str, runs: str = "") -> list[Wanted]:
    """`ns/paddlejobs/a,ns/paddlejobs/b` and `ns/paddlejobs/a/3`, each once. What names no job is left out."""
    found = [_read_one(each, with_number=False) for each in jobs.split(",")]
    found += [_read_one(each, with_number=True) for each in runs.split(",")]
    return list(dict.fromkeys(each for each in found if each is not None))


def _read_one(text: str, *, with_number: bool) -> Wanted | None:
    parts = text.split("/")
    if len(parts) != 3 + with_number or not all(parts) or (resource := find_kind(parts[1])) is None:
        return None
    number = read_whole(parts[3]) if with_number else 0
    return None if number is None else Wanted(resource, parts[0], parts[2], number)


def name_jobs(wanted: Sequence[Wanted]) -> list[str]:
    """The jobs by name, runs with their number (`resnet:3`); with the namespace, and then the kind, where that is not
    enough."""
    for form in ("{0.name}", "{0.namespace}/{0.name}", "{0.namespace}/{0.resource.qualified}/{0.name}"):
        labels = [form.format(each) + (f":{each.number}" if each.number else "") for each in wanted]
        if len(set(labels)) == len(labels):
            break
    return labels


def find_topic(wanted: Wanted) -> Topic:
    return Topic(wanted.resource, wanted.namespace, fields=f"metadata.name={wanted.name}")


async def read_run(page: PageContext, wanted: Wanted, label: str) -> Run:
    job = next((each for each in page.objects(find_topic(wanted)) if name_of(each) == wanted.name), None)
    view = await _find_view(page, wanted, uid_of(job) if job else "")
    if wanted.number and view is None:
        raise Missing(phrase("no run {run} of {job} is kept", run=wanted.number, job=wanted.name))
    is_gone = job is None
    if wanted.number:
        job = None
    source = page.backend.logs(page.identity) if page.backend.logs else None
    kept = None
    if source:
        uid = view.uid if view else uid_of(job) if job else ""
        kept = await source.find(wanted.resource, wanted.namespace, wanted.name, uid)
    if job is None and view is None and kept is None:
        raise Missing(phrase("there is no job {name} in {namespace}", name=wanted.name, namespace=wanted.namespace))
    found = await asyncio.to_thread(_collect, source, kept) if source and kept else Collected({}, 0, 0)
    stored = read_stored(wanted.resource, job) if job else None
    return Run(wanted, label, _join(view, stored), stored, found, kept is None or kept.over, is_gone)


async def _find_view(page: PageContext, wanted: Wanted, uid: str) -> RunView | None:
    """The run of this number, of this job, or the last one of the name; None where none is kept."""
    if page.backend.runs is None:
        return None
    listed = await page.backend.runs(page.identity).read(wanted.namespace, wanted.name)
    return find_view(listed, wanted.resource, wanted.number, "" if wanted.number else uid)


def _join(view: RunView | None, stored: StoredJob | None) -> RunView | None:
    """A job as it is now, with what is recorded of its run."""
    if stored is None:
        return view
    return replace(view_job(stored), record=view.record, note=view.note) if view else view_job(stored)


def _collect(source: Logs, kept: KeptRun) -> Collected:
    ranks = list_ranks(kept.logs)[:1]
    return collect(source, kept, ranks) if ranks else Collected({}, 0, 0)


def list_manifests(runs: Sequence[Run]) -> list[Manifest | None]:
    """What is compared: whole manifests of jobs as they are now; where one is gone or a run is named, of all of them
    what a record has of a manifest. None of what nobody recorded."""
    stored = [run.stored for run in runs]
    if all(stored):
        return [take_editable(each.manifest) for each in stored if each]
    return [_reduce(run) for run in runs]


def _reduce(run: Run) -> Manifest | None:
    """The parts of a manifest that a record has, of a job as it is now too."""
    manifest = read_recorded_manifest(run)
    if manifest is None and run.stored is not None:
        stored = run.stored.manifest
        spec = stored.get("spec")
        known = without_random_names(run.wanted.name, spec) if isinstance(spec, Mapping) else spec
        manifest = {**stored, "spec": known}
    if manifest is None:
        return None
    annotations = {name: value for name, value in annotations_of(manifest).items() if name.startswith(_OURS)}
    shown = {name: value for name, value in annotations.items() if name not in _SHOWN_ELSEWHERE}
    return {
        "apiVersion": manifest.get("apiVersion"),
        "kind": manifest.get("kind"),
        **({"metadata": {"annotations": shown}} if shown else {}),
        "spec": manifest.get("spec"),
    }


def read_recorded_manifest(run: Run) -> Manifest | None:
    """The manifest of a run as it was recorded last; None where none was."""
    record = run.view.record if run.view else None
    if record is None or not record.spec:
        return None
    head = {"name": record.name, "namespace": record.namespace, "annotations": dict(record.annotations)}
    return {"apiVersion": record.api_version, "kind": record.kind, "metadata": head, "spec": dict(read_spec(record))}
