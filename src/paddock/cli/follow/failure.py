"""The last log lines of a failed rank."""

from __future__ import annotations

from collections.abc import Collection
from typing import TYPE_CHECKING

from paddock.cli.cluster.lookup import fetch_pods
from paddock.cli.cluster.places import ClusterChoice
from paddock.cli.follow.hidden_files import explain_hidden
from paddock.cli.follow.missing_module import fetch_module_advice
from paddock.cli.follow.rank_log import fetch_log
from paddock.cli.output.log_lines import build_tail
from paddock.jobs.model import Exit, Status
from paddock.logs.endings import read_ending
from paddock.logs.torchrun import CHILD_FAILED
from paddock.views.pods import ended_message, rank_name
from paddock.views.stored import StoredJob
from paddock.words.phrases import Phrase, phrase

if TYPE_CHECKING:
    from paddock.client.client import Client

LINES = 15
_LONGEST = 64 * 2**10
"""Bytes at the end of a log that are searched for the last lines."""


async def fetch_failure(
    client: Client, place: ClusterChoice, job: StoredJob, status: Status, printed: Collection[str] = ()
) -> list[Phrase | str]:
    """The last lines of the rank that the cause names, with a heading; empty if the cause names no rank or has the
    message itself, or if they were just `printed`."""
    args = status.cause.args if status.cause else {}
    ranks = args.get("failed") or args.get("ranks")
    if not isinstance(ranks, list | tuple) or not ranks or args.get("message"):
        return []
    rank = str(ranks[0])
    pod = next((pod for pod in await fetch_pods(client, job) if rank_name(pod) == rank), None)
    unreadable: list[Phrase | str] = []
    log = await fetch_log(client, place, job, rank, pod, unreadable.append, most=_LONGEST) or b""
    if unreadable:
        return unreadable
    text = log.decode("utf-8", "replace")
    code = args.get("code")
    killed = isinstance(code, int) and Exit(code).signal is not None
    error = read_ending(text, killed=killed).error
    advice: list[Phrase | str] = [*build_untold(rank, str(args.get("error") or ""), error)]
    hidden = explain_hidden(job.job, error, text, local=place.home is not None)
    if hidden is not None:
        advice.append(hidden)
    elif error:
        advice += await fetch_module_advice(client, place, job, rank, error)
    if rank in printed:
        return advice
    return [*build_failure(rank, log, ended_message(pod or {}), bool(args.get("error")), killed=killed), *advice]


def build_untold(rank: str, told: str, error: str) -> list[Phrase]:
    """The program's own error where the cause has only torchrun's: the kubelet keeps 2048 bytes of a log, and those may
    be torchrun's own traceback. `told`: the cause's; `error`: that of the log. Pure."""
    if not told.startswith(CHILD_FAILED) or not error or CHILD_FAILED in error:
        return []
    return [phrase("{rank} says what went wrong: {line}", rank=rank, line=error)]


def build_failure(
    rank: str, log: bytes, message: str, is_told: bool = False, *, killed: bool = False
) -> list[Phrase | str]:
    """The end of the rank's log; the kubelet's message for a rank that never started. `is_told`: the cause has the
    error; `killed`: a signal ended it. Pure."""
    tail = build_tail(log, LINES)
    if tail:
        error = "" if is_told else read_ending(log.decode("utf-8", "replace"), killed=killed).error
        reason = [phrase("{rank} says what went wrong: {line}", rank=rank, line=error)] if error else []
        return [phrase("the last lines of {rank}:", rank=rank), *(f"    {line}" for line in tail), *reason]
    if message and not killed:  # of a rank that was killed it tells what the cause has
        return [phrase("{rank} was not started: {why}", rank=rank, why=message)]
    return [phrase("{rank} printed nothing", rank=rank)]
