"""What a failed rank said last."""

from __future__ import annotations

from typing import TYPE_CHECKING

from paddock.cli.find import fetch_pods
from paddock.cli.jobs_view import ended_message, rank_name
from paddock.cli.log_lines import build_tail
from paddock.cli.places import Place
from paddock.cli.rank_log import fetch_log
from paddock.jobs.complaints import find_complaint
from paddock.jobs.model import Status
from paddock.jobs.phrases import Phrase, phrase
from paddock.kube.meta import Manifest

if TYPE_CHECKING:
    from paddock.client.client import Client

LINES = 15
_LONGEST = 64 * 2**10
"""Bytes from the end of a log among which the last lines are looked for."""


async def fetch_failure(client: Client, place: Place, job: Manifest, status: Status) -> list[Phrase | str]:
    """The last lines of the rank that is to blame, with a head; nothing where no rank is, or where it was not started
    and the cause itself has the reason."""
    args = status.cause.args if status.cause else {}
    ranks = args.get("ranks")
    if not isinstance(ranks, list | tuple) or not ranks or args.get("message"):
        return []
    rank = str(ranks[0])
    pod = next((pod for pod in await fetch_pods(client, job) if rank_name(pod) == rank), None)
    unreadable: list[Phrase | str] = []
    log = await fetch_log(client, place, job, rank, pod, unreadable.append) or b""
    if unreadable:
        return unreadable
    return build_failure(rank, log[-_LONGEST:].decode("utf-8", "replace"), ended_message(pod or {}))


def build_failure(rank: str, text: str, message: str) -> list[Phrase | str]:
    """The end of its log; of a rank that never came to print, what the kubelet says of it. Pure."""
    tail = build_tail(text, LINES)
    if tail:
        complaint = find_complaint(text.splitlines())
        reason = [phrase("{rank} says what went wrong: {line}", rank=rank, line=complaint.text)] if complaint else []
        return [phrase("the last lines of {rank}:", rank=rank), *(f"    {line}" for line in tail), *reason]
    if message:
        return [phrase("{rank} was not started: {why}", rank=rank, why=message)]
    return [phrase("{rank} printed nothing", rank=rank)]
