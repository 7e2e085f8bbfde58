"""Parts of a manifest that only the local cluster supports, or only others: reported before anything is sent, with an
alternative.

A manifest for a laptop should also train on a cluster, so harmless parts (an annotation that only the laptop reads) are
notices; parts that cannot work are refused. Pure.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from paddock.datasets.manifests import find_unreachable
from paddock.jobs.labels import (
    IDLE_ANNOTATION,
    OUTPUTS_ANNOTATION,
    RESUME_ANNOTATION,
    SILENT_ANNOTATION,
    WORKING_DIRECTORY_ANNOTATION,
)
from paddock.jobs.model import Job
from paddock.kube.environments import ENVIRONMENT_ANNOTATION
from paddock.kube.gpu_shares import GPU, SHARE_ANNOTATION
from paddock.kube.held_pods import HOLD_ANNOTATION
from paddock.kube.meta import DATASETS, ENVIRONMENTS, annotations_of
from paddock.kube.unhonoured import Unhonoured, explain_idle, find_unhonoured
from paddock.submission.devices import read_devices
from paddock.submission.documents import Checked
from paddock.submission.reading import Reading
from paddock.views.gpus import shares_gpus
from paddock.views.manager import explain_manager
from paddock.views.outputs import trained_container
from paddock.words.phrases import Phrase, phrase
from paddock.words.sentences import told
from paddock.words.unhonoured import explain_effect

_OUTPUT_VARIABLES = re.compile(r"PADDOCK_(?:OUTPUT|CHECKPOINT)_DIR")


def find_place_reasons(each: Checked, *, is_local: bool) -> Iterator[Phrase]:
    """Why one document cannot work where it would be sent."""
    return find_local_reasons(each) if is_local else find_reasons(each)


def find_reasons(each: Checked) -> Iterator[Phrase]:
    """Why one document cannot work on any remote cluster."""
    if each.resource == ENVIRONMENTS:
        yield phrase(
            "an Environment stands for an image on the local cluster alone; on a cluster the image itself is run: "
            "leave it out"
        )
    if each.resource == DATASETS and (said := find_unreachable(_read_address(each.manifest))):
        yield said
    if each.is_job and (directory := annotations_of(each.manifest).get(WORKING_DIRECTORY_ANNOTATION)):
        yield phrase(
            "the annotation {name} names a directory of this machine, which a cluster's nodes do not have: remove it, "
            "and --workdir {directory} sends the directory",
            name=WORKING_DIRECTORY_ANNOTATION, directory=directory,
        )  # fmt: skip


def _read_address(dataset: Mapping[str, Any]) -> str:
    return str(((dataset.get("spec") or {}).get("source") or {}).get("uri") or "")


def find_local_reasons(each: Checked) -> Iterator[Phrase]:
    """Why one document cannot work on the local cluster."""
    if each.is_job and (manager := explain_manager(each.manifest)):
        yield phrase(
            "the job is {manager}, and nobody else runs jobs on the local cluster: remove spec.runPolicy.managedBy",
            manager=manager,
        )
    if each.job is not None:
        of_one_pod = replace(each.job, roles=tuple(replace(role, replicas=1) for role in each.job.roles))
        for name in (name for name, amount in read_devices([of_one_pod]).items() if amount.denominator != 1):
            yield phrase(
                "{name} is asked for in fractions, which Huawei's CCE takes and this cluster does not: write a whole "
                "number, or leave it out with --without {name}",
                name=name,
            )  # fmt: skip


def find_unhonoured_fields(checked: Iterable[Checked], uid: int) -> list[tuple[Checked, Unhonoured]]:
    """What has no effect on the local cluster: each kind of field once a document. `uid`: of the user of the cluster,
    whose API warns of the same."""
    return [
        (each, found)
        for each in checked
        if not explain_idle(each.resource)
        for found in find_unhonoured(each.resource, each.manifest, uid)
    ]


def with_local_warnings(reading: Reading, uid: int, unmountable: Iterable[tuple[Checked, Phrase]] = ()) -> Reading:
    """The reading with a warning for each kind of field that the local cluster does not honour, and for each volume
    that not all ranks could mount on this machine. `uid`: see above."""
    added = [
        replace(
            told(found.path, explain_effect(found, uid), severity="warning"),
            line=each.document.position_of(found.path).line,
            column=each.document.position_of(found.path).column,
        )
        for each, found in find_unhonoured_fields(reading.placed, uid)
    ]
    added += [
        replace(told("", phrase("on this machine: {why}", why=why), severity="warning"), line=each.document.line)
        for each, why in unmountable
    ]
    return replace(reading, problems=(*reading.problems, *added)) if added else reading


def find_notices(checked: Sequence[Checked]) -> list[Phrase]:
    """What works, but differently from the local cluster."""
    return [said for each in checked if each.job for said in _notices(each.job)]


def _notices(job: Job) -> Iterator[Phrase]:
    resume = job.annotations.get(RESUME_ANNOTATION, "")
    if (resume == "true" or resume.isdecimal()) and not job.outputs:
        yield phrase(
            "nothing keeps the checkpoints of a job's earlier runs on a cluster unless it names a claim for them: "
            "{option}, or the annotation {name}",
            option="--outputs CLAIM", name=OUTPUTS_ANNOTATION,
        )  # fmt: skip
    if job.silence is not None:
        yield phrase(
            "the annotation {name} does nothing on a cluster unless its operator may read logs: nobody else there sees "
            "that no rank prints. `{command}` prints a Role that allows it; without it an event of the job says so "
            "(SilenceUnseen)",
            name=SILENT_ANNOTATION,
            command="paddock manifests logs",
        )
    if job.idle is not None:
        yield phrase(
            "the annotation {name} does nothing on a cluster unless its operator is told a Prometheus that knows what "
            "GPUs do (--prometheus, by NVIDIA's dcgm-exporter); without one an event of the job says so (IdleUnknown)",
            name=IDLE_ANNOTATION,
        )
    if shares_gpus(job):
        yield phrase(
            "the annotation {name} does nothing on a cluster, where each rank takes a whole {resource}: several share "
            "one only where NVIDIA's device plugin divides it, by time slicing (sharing.timeSlicing in its "
            "configuration)",
            name=SHARE_ANNOTATION, resource=GPU,
        )  # fmt: skip
    if job.hold is not None:
        yield phrase(
            "--hold (the annotation {name}) does nothing on a cluster: no kubelet keeps a container that has failed. "
            "`kubectl debug POD --copy-to=COPY -it --container=CONTAINER -- sh` starts a copy of its pod with a shell",
            name=HOLD_ANNOTATION,
        )
    for role in job.roles:
        metadata = role.template.get("metadata") or {}
        own = (metadata.get("annotations") or {}).get(ENVIRONMENT_ANNOTATION)
        if named := own or job.annotations.get(ENVIRONMENT_ANNOTATION):
            yield phrase(
                "{role}: the environment {name} is one of the local cluster; here the image {image} itself is run, "
                "which must have the same packages",
                role=role.name, name=named, image=str(trained_container(job, role).get("image")),
            )  # fmt: skip
    trained = [trained_container(job, role) for role in job.roles if not job.outputs]
    if any(_OUTPUT_VARIABLES.search(text) for each in trained for text in _texts(each)):
        yield phrase(
            "PADDOCK_OUTPUT_DIR and PADDOCK_CHECKPOINT_DIR are not set on a cluster unless the job names a claim for "
            "what it writes: {option}, or the annotation {name}",
            option="--outputs CLAIM", name=OUTPUTS_ANNOTATION,
        )  # fmt: skip


def _texts(container: Mapping[str, Any]) -> Iterator[str]:
    yield from map(str, (*(container.get("command") or ()), *(container.get("args") or ())))
    yield from (str(entry.get("value") or "") for entry in container.get("env") or ())
