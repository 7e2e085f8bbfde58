"""The Datasets of jobs that are about to be submitted: --data, and whether what a job names is there.

A Dataset that --data names must exist. One that a manifest names may be created later, by somebody else: the job waits
for it, and that is told.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from paddock.cli.cluster.datasets import advise, explain_no_datasets, fetch_dataset
from paddock.cli.cluster.errors import UserError
from paddock.cli.cluster.places import ClusterChoice
from paddock.datasets.changes import is_same_spec
from paddock.jobs.mounts import BadMount, extend_mounts, read_mount
from paddock.kube.datasets import MOUNTS_ANNOTATION
from paddock.kube.errors import Forbidden, NotFound
from paddock.kube.meta import DATASETS, Key, annotations_of
from paddock.submission.documents import Checked
from paddock.words.phrases import Phrase, phrase

if TYPE_CHECKING:
    from paddock.kube.api import Api


def read_data(manifest: Mapping[str, Any], data: Sequence[str]) -> str:
    """The annotation of a job with what --data adds to it. Raises `UserError`."""
    try:
        return extend_mounts(manifest, data)
    except BadMount as bad:
        raise UserError(phrase("{option}: {problem}", option="--data", problem=bad.said)) from None


def with_data(checked: Sequence[Checked], data: Sequence[str]) -> list[Checked]:
    """The documents, with --data for each job among them. Raises `UserError`."""
    if not data:
        return list(checked)
    if not any(each.is_job for each in checked):
        raise UserError(phrase("--data is for jobs, and there is none here: leave it out"))
    return [_with_data(each, data) if each.is_job else each for each in checked]


def _with_data(each: Checked, data: Sequence[str]) -> Checked:
    notes = {**annotations_of(each.manifest), MOUNTS_ANNOTATION: read_data(each.manifest, data)}
    metadata = {**each.manifest["metadata"], "annotations": notes}
    return each.with_manifest({**each.manifest, "metadata": metadata})


async def check_datasets(
    api: Api, place: ClusterChoice, checked: Sequence[Checked], data: Sequence[str], notify: Callable[[Phrase], None]
) -> None:
    """Raises `UserError` for a Dataset of --data that does not exist; tells of any other that the jobs wait for it.
    Reads only."""
    typed = {read_mount(entry).dataset for entry in data}
    brought = {each.key for each in checked if each.resource == DATASETS}
    named = (Key(each.key.namespace, mount.dataset) for each in checked if each.job for mount in each.job.mounts)
    for key in dict.fromkeys(named):
        if key in brought:
            continue
        try:
            if key.name in typed:
                await fetch_dataset(api, place, *key)
            else:
                await api.get(DATASETS, *key)
        except Forbidden:  # whoever may submit jobs may not see Datasets: the job tells what it waits for
            return
        except NotFound as missing:
            notify(_explain_waiting(key, place) if missing.name else explain_no_datasets(place))


async def fetch_kept(
    api: Api, place: ClusterChoice, checked: Sequence[Checked]
) -> tuple[list[Checked], list[tuple[Checked, Phrase]]]:
    """The Datasets that are there already as they are written, so that a file with a job and its data can be submitted
    again; and those that exist with another spec, each with its sentence: jobs may read what they have."""
    kept: list[Checked] = []
    others: list[tuple[Checked, Phrase]] = []
    for each in checked:
        if each.resource != DATASETS or not each.key.name:
            continue
        try:
            stored = await api.get(DATASETS, *each.key)
        except (Forbidden, NotFound):  # the create says it better
            continue
        if is_same_spec(each.manifest, stored):
            kept.append(each)
        else:
            others.append((each, _explain_other(each, place)))
    return kept, others


def _explain_other(each: Checked, place: ClusterChoice) -> Phrase:
    return phrase(
        "{file}: dataset {name} exists already, with another spec: `{command}` removes it if nothing uses it",
        file=each.file, name=each.key.name, command=advise(place, each.key.namespace, "rm", each.key.name),
    )  # fmt: skip


def _explain_waiting(key: Key, place: ClusterChoice) -> Phrase:
    command = f"paddock dataset create {key.name}{place.flags.of(key.namespace)} --from URL"
    return phrase("the job waits for dataset {name}, which does not exist: {command}", name=key.name, command=command)
