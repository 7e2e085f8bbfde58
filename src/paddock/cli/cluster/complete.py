"""Shell completion of names from the running local cluster, or from the cluster that the command line names.

Completion never starts the local cluster, asks and prints nothing, and gives up after `_SECONDS`.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

import click
from click.shell_completion import CompletionItem

if TYPE_CHECKING:
    from paddock.cli.cluster.places import ClusterChoice

_SECONDS = 1.5


def complete_jobs(context: click.Context, parameter: click.Parameter, start: str) -> list[CompletionItem]:
    """Jobs of the chosen namespace, with their phase where the shell shows it."""
    found = _fetch(context, "jobs")
    taken = context.params.get(parameter.name or "") or ()
    return [CompletionItem(name, help=phase) for name, phase in found if name.startswith(start) and name not in taken]


def complete_objects(context: click.Context, parameter: click.Parameter, start: str) -> list[CompletionItem]:
    """Names of objects of the kind that the command line names."""
    found = _fetch(context, str(context.params.get("kind") or "jobs"))
    return [CompletionItem(name, help=phase) for name, phase in found if name.startswith(start)]


def complete_ranks(context: click.Context, parameter: click.Parameter, start: str) -> list[CompletionItem]:
    """The pods of the job that the command line names, as `--rank` takes them: worker-0."""
    begin = f"{str(context.params.get('job') or '').rpartition('/')[2]}-"
    found = [(name.removeprefix(begin), phase) for name, phase in _fetch(context, "pods") if name.startswith(begin)]
    return [CompletionItem(name, help=phase) for name, phase in found if name.startswith(start)]


def complete_environments(context: click.Context, parameter: click.Parameter, start: str) -> list[CompletionItem]:
    """Environments, with their phase where the shell shows it."""
    return [
        CompletionItem(name, help=phase) for name, phase in _fetch(context, "environments") if name.startswith(start)
    ]


def complete_datasets(context: click.Context, parameter: click.Parameter, start: str) -> list[CompletionItem]:
    """Datasets of the chosen namespace, with their phase where the shell shows it."""
    return [CompletionItem(name, help=phase) for name, phase in _fetch(context, "datasets") if name.startswith(start)]


def _fetch(context: click.Context, kind: str) -> list[tuple[str, str]]:
    """(name, phase) of each object; empty on any error, as a message would damage the line that is typed."""
    from paddock.app.home import is_up
    from paddock.cli.cluster.session import choose_place

    try:
        place = choose_place(context)
        if place.home is not None and not is_up(place.home):
            return []
        namespace = str(context.params.get("namespace") or place.flags.namespace)
        return asyncio.run(asyncio.wait_for(_list(place, kind, namespace), _SECONDS))
    except Exception:
        return []


async def _list(place: ClusterChoice, kind: str, namespace: str) -> list[tuple[str, str]]:
    from paddock.cli.cluster.kinds import KINDS_BY_WORD
    from paddock.cli.cluster.lookup import fetch_all
    from paddock.cli.cluster.session import connect
    from paddock.kube.meta import name_of
    from paddock.kube.printable import show_line

    async with connect(place, interactive=False) as client:
        found = await fetch_all(client, KINDS_BY_WORD.get(kind, ()), namespace)
    return [
        (show_line(name_of(item)), show_line(str((item.get("status") or {}).get("phase") or ""))) for _, item in found
    ]
