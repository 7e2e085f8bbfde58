"""Names that the shell completes from what the running cluster has.

Silent and short: a cluster that is not up is not started for it, and one that does not answer is not waited for.
"""

from __future__ import annotations

import asyncio
import os

import click
from click.shell_completion import CompletionItem

_SECONDS = 1.5


def complete_jobs(context: click.Context, parameter: click.Parameter, start: str) -> list[CompletionItem]:
    """Jobs of the chosen namespace, with their phase where the shell shows it."""
    found = _fetch("jobs", str(context.params.get("namespace") or "default"))
    taken = context.params.get(parameter.name or "") or ()
    return [CompletionItem(name, help=phase) for name, phase in found if name.startswith(start) and name not in taken]


def complete_objects(context: click.Context, parameter: click.Parameter, start: str) -> list[CompletionItem]:
    """Names of the kind that `paddock get KIND` names."""
    found = _fetch(str(context.params.get("kind") or "jobs"), str(context.params.get("namespace") or "default"))
    return [CompletionItem(name, help=phase) for name, phase in found if name.startswith(start)]


def complete_environments(context: click.Context, parameter: click.Parameter, start: str) -> list[CompletionItem]:
    """Environments, with their phase where the shell shows it."""
    return [CompletionItem(name, help=phase) for name, phase in _fetch("environments", "") if name.startswith(start)]


def _fetch(kind: str, namespace: str) -> list[tuple[str, str]]:
    """(name, phase) of each object; empty for whatever goes wrong, as nobody reads messages while typing."""
    from paddock.app.home import is_up, read_home

    place = read_home(os.environ)
    try:
        return asyncio.run(asyncio.wait_for(_list(kind, namespace), _SECONDS)) if is_up(place) else []
    except Exception:
        return []


async def _list(kind: str, namespace: str) -> list[tuple[str, str]]:
    from paddock.cli.find import fetch_all
    from paddock.cli.get import KINDS_BY_WORD
    from paddock.cli.session import connect, home
    from paddock.kube.meta import name_of

    async with connect(home()) as client:
        found = await fetch_all(client, KINDS_BY_WORD.get(kind, ()), namespace)
    return [(name_of(item), str((item.get("status") or {}).get("phase") or "")) for _, item in found]
