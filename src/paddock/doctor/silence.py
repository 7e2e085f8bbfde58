"""Silent for long: which rank waits for whom?

A launcher waits for its peers without a limit. In a collective each rank waits for the slowest, so all of them stop
printing together, and the one that stopped first, or did fewer steps, is the one to look at. Trainers whose parameter
server is cut off are silent without an end (PaddlePaddle 3.0.0: not a line in 90 seconds).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from paddock.doctor import signs
from paddock.doctor.asked import RankSeen
from paddock.doctor.case import Case, list_places, place
from paddock.doctor.findings import Finding, Severity, Where
from paddock.doctor.launch_block import LaunchLog
from paddock.kube.times import format_duration
from paddock.logs.stack_sentences import tell_places, tell_waiting
from paddock.logs.stacks import find_suspects, list_labels, natural
from paddock.words.phrases import Names, Phrase, counted, phrase

SILENT = "silent-for-long"
_QUIET, _UNSEEN, _COMPUTES = 120.0, 600.0, 1800.0
"""Seconds without a line that are not long: for a program that does nothing, for one of which nobody knows what it
does, and for one that computes on all ranks."""
_LINES = 30
"""A rank is silent if it has printed nothing for so many times its usual pause."""
_GAP = 60.0
"""Seconds between two lines of a log that did not end well."""
_SOON = 30.0
"""Seconds in which the ranks of a job begin."""
_BUSY, _IDLE = 0.5, 0.05
"""Cores."""
_TOGETHER = 1.0
"""Seconds between the last lines of ranks that stopped together."""
_SHOWN = 80
"""Characters of a last line that are shown."""


def check_silence(case: Case) -> Iterator[Finding]:
    yield from _check_waiting(case)
    yield from _check_ended(case)
    yield from _check_quiet(case)
    yield from _check_gap(case)


def _check_waiting(case: Case) -> Iterator[Finding]:
    """Launchers that wait for their peers."""
    waiting = [(name, log) for name, log in case.logs.items() if log.waits_since and log.exit_code is None]
    fresh = [case.ranks[name] for name, _ in waiting if name in case.ranks and _is_fresh(case.ranks[name])]
    if not waiting or fresh:
        return
    log = waiting[0][1]
    absent = [
        rank for rank in _list_ranks(case) if rank not in {each for each, _ in waiting} and _is_absent(case, rank)
    ]
    nodes = log.job.most if log.job and not log.job.elastic else log.job.least if log.job else case.nodes
    yield Finding(
        "waits-for-peers",
        Severity.WRONG,
        list_places([place(each, found.waits_since) for each, found in waiting[:4]]),
        _tell_waiting(case, absent, nodes, len(waiting)),
        phrase("the launcher waits for its peers without a limit, and prints `Watching Pod` when all are there"),
        phrase("see why {ranks} has not started", ranks=Names(tuple(absent)))
        if absent
        else phrase("start the launcher on each host, with the same --master, --nnodes and --job_id"),
        case.asked.logs.replace("paddock logs", "paddock explain").replace(" --raw", ""),
    )


def _is_fresh(seen: RankSeen) -> bool:
    return seen.begun is not None and seen.begun < _SOON


def _is_absent(case: Case, rank: str) -> bool:
    seen = case.ranks.get(rank)
    return rank not in case.logs or (seen is not None and not seen.running)


def _list_ranks(case: Case) -> list[str]:
    return [f"{role.name}-{index}" for role in case.asked.roles if role.trains for index in range(role.ranks)]


def _tell_waiting(case: Case, absent: list[str], nodes: int, count: int) -> Phrase:
    why = next((seen.waits for rank in absent if (seen := case.ranks.get(rank)) and seen.waits), None)
    if absent and why is not None:
        return phrase("{count} of {nodes} launchers wait for {ranks}: {why}",
                      count=count, nodes=nodes, ranks=Names(tuple(absent)), why=why)  # fmt: skip
    if absent:
        return phrase("{count} of {nodes} launchers wait for {ranks}, which does not run",
                      count=count, nodes=nodes, ranks=Names(tuple(absent)))  # fmt: skip
    if count >= nodes:
        return phrase("all {nodes} launchers wait, and do not see each other", nodes=nodes)
    return phrase("{count} of {nodes} launchers wait, and nothing is known of the others", count=count, nodes=nodes)


def _check_ended(case: Case) -> Iterator[Finding]:
    """A rank has failed, and others run on, which wait for it."""
    ended = [name for name, seen in case.ranks.items() if seen.code not in (None, 0)]
    running = [name for name, seen in case.ranks.items() if seen.running]
    if not case.ranks:
        ended = [name for name, log in case.logs.items() if log.exit_code not in (None, 0) or log.sign(signs.FAILED)]
        running = [name for name, log in case.logs.items() if name not in ended and log.exit_code is None and name]
        if any(log.sign(signs.COMPLETED) for log in case.logs.values()):
            return
    elif any((case.ranks[name].quiet or 0) < _QUIET for name in running):
        return
    if ended and running:
        yield Finding(
            "waits-for-ended-rank",
            Severity.WRONG,
            ", ".join(running[:4]),
            phrase("{waiting} has printed no end, and {ended} has failed",
                   waiting=Names(tuple(running)), ended=Names(tuple(ended))),
            phrase("a rank in a collective may wait for a failed peer for minutes, or for ever"),
            phrase("look why {ended} failed; end the other ranks and start all again", ended=Names(tuple(ended))),
            case.asked.logs.replace("--raw", "--first-error"),
        )  # fmt: skip


def _check_quiet(case: Case) -> Iterator[Finding]:
    """Ranks that run, and print nothing."""
    running = {name: seen for name, seen in case.ranks.items() if seen.running}
    quiet = {name: seen.quiet for name, seen in running.items() if seen.quiet is not None}
    training = {name: each for name, each in quiet.items() if (role := case.asked.role_of(name)) and role.trains}
    cores = {name: seen.cores for name, seen in running.items() if name in training and seen.cores is not None}
    busy = [name for name, each in cores.items() if each >= _BUSY]
    idle = [name for name, each in cores.items() if each <= _IDLE]
    least = _UNSEEN if not cores else _COMPUTES if len(busy) == len(training) else _QUIET
    # Its own limit has passed (`paddock.dev/silent`); the stacks that were written then look like lines.
    is_told = case.cause is not None and case.cause.reason == "JobSilent"
    if not training or not (is_told or all(_is_long(case, name, each, least) for name, each in training.items())):
        return
    if any(log.waits_since for log in case.logs.values()):
        return
    explained = _explain_quiet(busy, idle, is_known=bool(cores))
    first = _choose_slowest(case, training)
    if case.stacks.groups:
        yield _tell_places(case, min(training.values()), explained)
    elif first is None:
        yield _tell_together(case, training, explained)
    else:
        yield _tell_first(case, first, min(training.values()), explained)


def _tell_places(case: Case, quiet: float, explained: Phrase) -> Finding:
    """Where the ranks are is known, so none is accused for what it printed."""
    suspects = find_suspects(case.stacks.groups)
    return Finding(
        "silent-for-long",
        Severity.RISK,
        _name_ranks(suspects),
        phrase("no rank has printed for {time}: {places}",
               time=format_duration(quiet), places=tell_places(case.stacks.groups)),
        tell_waiting(case.stacks.groups) or explained,
        phrase("look at the line of {ranks}: why does it not go on?", ranks=Names(suspects))
        if len(suspects) < len(list_labels(case.stacks.groups))
        else phrase("look at that line, and at what it waits for"),
        case.asked.stacks,
    )  # fmt: skip


def _tell_first(case: Case, first: str, quiet: float, explained: Phrase) -> Finding:
    return Finding(
        "silent-for-long",
        Severity.RISK,
        first,
        phrase("no rank has printed for {time}; {rank} stopped first, after {lines}",
               time=format_duration(quiet), rank=first,
               lines=counted("{count} line", "{count} lines",
                             count=case.logs[first].lines if first in case.logs else 0))
        if len(case.ranks) > 1
        else phrase("{rank} has printed nothing for {time}", rank=first, time=format_duration(quiet)),
        explained,
        phrase("look at the last lines of {rank}, and at its machine and network", rank=first),
        case.asked.stacks or _show_last(case, first),
    )  # fmt: skip


def _tell_together(case: Case, quiet: dict[str, float], explained: Phrase) -> Finding:
    """All stopped at once, so none is to be accused."""
    time, names = format_duration(min(quiet.values())), tuple(sorted(quiet, key=natural))
    lasts = {case.logs[name].last_text.strip() for name in names if name in case.logs}
    last = min(lasts)[:_SHOWN] if len(lasts) == 1 else ""
    command = case.asked.logs.replace(" --raw", " --tail 5") if case.asked.job else ""
    return Finding(
        "silent-for-long",
        Severity.RISK,
        _name_ranks(names),
        phrase("no rank has printed for {time}; all stopped after {line}", time=time, line=repr(last))
        if last
        else phrase("no rank has printed for {time}; all stopped at the same time", time=time),
        explained,
        phrase("look where each rank is") if case.asked.stacks else phrase("look at the last lines of each rank"),
        case.asked.stacks or command,
    )


def _name_ranks(names: Sequence[str]) -> Where:
    return ", ".join(names[:4]) + (f", +{len(names) - 4}" if len(names) > 4 else "")


def _explain_quiet(busy: list[str], idle: list[str], *, is_known: bool) -> Phrase:
    if busy and idle:
        return phrase("{idle} wait idle for {busy}, which computes", idle=Names(tuple(idle)), busy=Names(tuple(busy)))
    if is_known and not busy:
        return phrase("all ranks are idle: each waits for something, such as a peer, a lock or a download")
    return phrase("in a collective all ranks wait for the slowest, or for one that is cut off")


def _show_last(case: Case, rank: str) -> str:
    role, _, index = rank.rpartition("-")
    return case.asked.logs.replace(" --raw", f" --role {role} --rank {index} --tail 20") if role else ""


def _is_long(case: Case, name: str, quiet: float, least: float) -> bool:
    """By what is usual for this program: an epoch may take an hour."""
    seen, log = case.ranks[name], case.logs.get(name, LaunchLog())
    printed = max((seen.begun or 0) - quiet, 0)
    return quiet >= max(least, _LINES * printed / max(log.lines, 1))


def _choose_slowest(case: Case, quiet: dict[str, float]) -> str | None:
    """The one with the fewest steps, then the longest silence. None where all did as many, and stopped in one second:
    who was a microsecond earlier says nothing."""

    def order(name: str) -> tuple[int, int, float]:
        found = case.logs[name].progress if name in case.logs else None
        return (found.epoch or 0 if found else 0, found.step or 0 if found else 0, -quiet[name])

    first = min(quiet, key=order)
    others = [name for name in quiet if name != first]
    alike = all(order(name)[:2] == order(first)[:2] and quiet[first] - quiet[name] <= _TOGETHER for name in others)
    return None if others and alike else first


def _check_gap(case: Case) -> Iterator[Finding]:
    """Finds, in a log alone with times, a long time without a line before an end that was not good."""
    if case.ranks or any(log.sign(signs.COMPLETED) or log.exit_code == 0 for log in case.logs.values()):
        return
    found = [(name, log) for name, log in case.logs.items() if log.gap >= _GAP and log.gap_line >= log.last_line - 1]
    if found and len(found) == len(case.logs):
        name, log = min(found, key=lambda each: each[1].gap_line)
        yield Finding(
            "silent-for-long",
            Severity.RISK,
            place(name, log.gap_line),
            phrase("nothing was printed for {time} before this line, by any of {count} sources",
                   time=format_duration(log.gap), count=len(found)),
            phrase("in a collective all ranks wait for the slowest, or for one that is cut off"),
            phrase("look whether each host reaches the others, and which of them was silent first"),
            "paddock doctor --host --peer OTHER_HOST",
        )  # fmt: skip
