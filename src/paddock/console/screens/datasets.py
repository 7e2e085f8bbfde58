"""The list of datasets: what is there, how far the others are, and who uses each; those with trouble first."""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from paddock.console.addresses import address_of_dataset
from paddock.console.feed import Cache, Topic
from paddock.console.page_context import PageContext, Screen
from paddock.console.screens.listed import link_to
from paddock.datasets.sources import show_source
from paddock.datasets.users import User, find_holding, find_users, read_pod
from paddock.jobs.apis.registry import KINDS
from paddock.kube.datasets import Phase, format_size
from paddock.kube.errors import ApiError, Forbidden, NotFound
from paddock.kube.meta import DATASETS, PODS, Key
from paddock.views.datasets import (
    DatasetRow,
    order_datasets,
    read_dataset_row,
    read_use,
    say_amount,
)
from paddock.views.listing import choose_part, cut_part
from paddock.words.phrases import Foreign, Phrase, phrase

ON_A_PAGE = 100


def list_topics(_path: Mapping[str, str], query: Mapping[str, str]) -> Sequence[Topic]:
    return list_topics_of(query.get("namespace", ""))


def list_topics_of(namespace: str) -> list[Topic]:
    """The datasets, and the jobs and pods that may use them. `namespace`: empty for all."""
    return [Topic(DATASETS, namespace), Topic(PODS, namespace), *(Topic(each, namespace) for each in KINDS)]


async def build(page: PageContext) -> Mapping[str, Any]:
    namespace, text = page.query.get("namespace", ""), page.query.get("q", "")
    error = error_of(page, namespace)
    found = page.read(Topic(DATASETS, namespace), read_dataset_row)
    shown = order_datasets(row for row in found if text.lower() in f"{row.key.namespace}/{row.key.name}".lower())
    part = choose_part(page.query.get("page", ""), len(shown), ON_A_PAGE)
    users = list_users(page, shown, namespace)
    hidden = isinstance(error, Forbidden)
    return {
        "rows": [build_row(page, row, users.get(row.key, [])) for row in cut_part(shown, part)],
        "total": len(shown),
        "part": part,
        "link": link_to(page.query),
        "text": text,
        "namespace": namespace,
        "namespaces": sorted({row.key.namespace for row in found}),
        "filtered": bool(namespace or text),
        "hidden": hidden,
        "error": page.say(explain_error(page, error)) if error and not hidden else "",
        "command": f"paddock dataset create{page.backend.options} NAME --from URL",
    }


def error_of(page: PageContext, namespace: str) -> ApiError | None:
    """Why no dataset is shown."""
    return page.caches.get(Topic(DATASETS, namespace), Cache()).error


def explain_error(page: PageContext, error: ApiError) -> Phrase:
    if not isinstance(error, NotFound):
        return phrase("datasets are not shown: {why}", why=Foreign(error.message))
    command = f"paddock manifests --datasets --image IMAGE | {page.backend.kubectl} apply -f -"
    return phrase("this cluster has no datasets; an administrator adds them: {command}", command=command)


def list_users(page: PageContext, rows: Iterable[DatasetRow], namespace: str) -> Mapping[Key, Sequence[User]]:
    """By dataset, of the jobs and pods that this reader may see."""
    jobs = [use for kind in KINDS for use in page.read(Topic(kind, namespace), read_use)]
    return find_users((row.status for row in rows), jobs, page.read(Topic(PODS, namespace), read_pod))


def build_row(page: PageContext, row: DatasetRow, users: Sequence[User]) -> Mapping[str, Any]:
    status, source, holding = row.status, show_source(row.uri), find_holding(users)
    return {
        "name": status.name,
        "namespace": status.namespace,
        "address": address_of_dataset(status.namespace, status.name),
        "phase": name_phase(row),
        "percent": status.percent if status.phase is Phase.FETCHING and (status.total or status.percent) else None,
        "amount": page.say(say_amount(status)),
        "said": page.translate(status.message) if status.deleting or status.phase is not Phase.READY else "",
        "source": source.address,
        "kind": source.kind,
        "size": format_size(row.size) if row.size else "",
        "files": status.files or None,
        "created": row.created,
        "jobs": sum(each.resource is not PODS for each in holding),
        "pods": sum(each.resource is PODS for each in holding),
    }


def name_phase(row: DatasetRow) -> str:
    """The phase as the API has it; for one that is being deleted, that."""
    return "Terminating" if row.status.deleting else str(row.status.phase)


def write_command(page: PageContext, verb: str, row: DatasetRow) -> str:
    """`paddock dataset rm --context prod imagenet -n team`."""
    place = "" if page.backend.local and row.key.namespace == "default" else f" -n {shlex.quote(row.key.namespace)}"
    return f"paddock dataset {verb}{page.backend.options} {shlex.quote(row.key.name)}{place}"


SCREEN = Screen("datasets", "/datasets", phrase("Datasets"), list_topics, build, in_menu=True)
