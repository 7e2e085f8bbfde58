"""The sentences at the end of a job that ran on machines. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from paddock.jobs.model import Exit, Rank
from paddock.jobs.policies.root_cause import Death
from paddock.logs.endings import read_ending
from paddock.places.bare.remote import SILENT_SECONDS
from paddock.places.bare.watch import End
from paddock.places.rendering import Request
from paddock.words.phrases import Names, Phrase, counted, phrase


def build_completed(request: Request, logs: Path) -> Phrase:
    return counted(
        "{job} completed on {count} machine; logs: {logs}",
        "{job} completed on {count} machines; logs: {logs}",
        job=request.name, count=len(request.hosts), logs=str(logs),
    )  # fmt: skip


def build_lost(host: str, ranks: Sequence[Rank]) -> Phrase:
    names = Names(tuple(map(str, ranks)))
    return counted(
        "{host} has not answered for some time (at most {seconds} s): {ranks} is missing",
        "{host} has not answered for some time (at most {seconds} s): {ranks} are missing",
        host=host, seconds=SILENT_SECONDS, ranks=names, count=len(ranks),
    )  # fmt: skip


def build_failed(deaths: Sequence[Death], host_of: Mapping[Rank, str], ends: Sequence[End], logs: Path) -> list[Phrase]:
    """Sentences about the ranks that failed first, with what their logs say. A lost machine was told already
    (`build_lost`)."""
    tails = {end.rank: end.tail for end in ends}
    codes = {end.rank: end.code for end in ends}
    said: list[Phrase] = []
    for death in deaths:
        code = codes.get(death.rank)
        if code is None:
            continue
        error = read_ending(tails.get(death.rank, ""), killed=Exit(code).signal is not None).error
        rank, host, log = str(death.rank), host_of[death.rank], str(logs / f"{death.rank}.log")
        if death.server:
            said.append(
                phrase("{rank} on {host}, a parameter server, ended before the workers, with exit code {code}; its log "
                       "is {log}", rank=rank, host=host, code=code, log=log)
            )  # fmt: skip
        elif error:
            said.append(
                phrase("{rank} on {host} failed first, with exit code {code}: {error}; its log is {log}",
                       rank=rank, host=host, code=code, error=error, log=log)
            )  # fmt: skip
        else:
            said.append(
                phrase("{rank} on {host} failed first, with exit code {code}; its log is {log}",
                       rank=rank, host=host, code=code, log=log)
            )  # fmt: skip
    return said
