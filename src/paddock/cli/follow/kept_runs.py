"""The runs of a job that the history has, and the logs of one of them: what `logs`, `wait` and `history` read of a
local cluster, whether it is up or not."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from paddock.app.history import Kept, read_job
from paddock.cli.cluster.errors import UserError
from paddock.cli.cluster.lookup import explain_two_kinds, is_pod_word, read_job_word
from paddock.cli.follow.ranks import Ranges, choose_ranks
from paddock.history.logs import LogFile, find_of_container, list_containers
from paddock.history.records import RunRecord
from paddock.jobs.model import Rank
from paddock.jobs.program_ranks import number_ranks
from paddock.kube.times import Moment
from paddock.words.phrases import Names, Phrase, phrase


@dataclass(frozen=True, slots=True)
class Which:
    """Which logs are asked for."""

    role: str = ""
    ranks: Ranges | None = None
    run: int | None = None
    """None for the last."""
    attempt: int | None = None
    """None for the last."""
    previous: bool = False
    """The attempt before it, or the last of the run before."""
    since: float | None = None
    """Only what was printed in the last so many seconds."""
    container: str = ""
    """Of this container of each pod; empty: of the one that trains."""


def find_kept(history: Kept, namespace: str, word: str) -> list[RunRecord]:
    """The runs of the job that `word` names, oldest first; empty if there are none, and for a pod (`pod/NAME`).

    Raises `UserError` if jobs of two kinds have the name, and both or neither are there now.
    """
    if is_pod_word(word):
        return []
    resources, name = read_job_word(word)
    kinds = {(each.api_version, each.kind): each for each in resources}
    runs = [each for each in history.read(namespace, name)[0] if (each.api_version, each.kind) in kinds]
    there = [each for each in runs if each.deleted is None] or runs
    found = {each.identity: kinds[each.api_version, each.kind] for each in there}
    if len(found) > 1:
        if "/" not in word:
            raise UserError(explain_two_kinds(namespace, name, found.values()))
        first = next(each for each in resources if each in found.values())
        there = [each for each in there if each.kind == first.kind and each.api_version == first.api_version]
    return [each for each in runs if there and each.identity == there[0].identity]


def _name_numbers(numbers: Sequence[int]) -> str:
    """`1-4, 7`, of many the last."""
    spans: list[list[int]] = []
    for number in sorted(numbers):
        if spans and number == spans[-1][-1] + 1:
            spans[-1].append(number)
        else:
            spans.append([number])
    return ", ".join(f"{each[0]}-{each[-1]}" if len(each) > 2 else ", ".join(map(str, each)) for each in spans[-8:])


def choose_run(word: str, runs: Sequence[RunRecord], number: int | None) -> RunRecord:
    """The run of this number, by default the last one. Raises `UserError`."""
    if number is None:
        return runs[-1]
    found = next((each for each in runs if each.run == number), None)
    if found is None:
        kept = _name_numbers([each.run for each in runs])
        raise UserError(phrase("{job} has no run {number}; kept are {numbers}", job=word, number=number, numbers=kept))
    return found


def choose_logs(
    history: Kept, word: str, runs: Sequence[RunRecord], which: Which, now: Moment
) -> tuple[RunRecord, list[LogFile], Phrase | None]:
    """The run, the logs of its ranks, without those that printed nothing in the time of --since, and what is to be said
    of these (`Selection.note`). Raises `UserError` where there is no such run, attempt or rank."""
    run = choose_run(word, runs, which.run)
    files = history.find_logs(run)
    attempts = sorted({file.place.attempt for file in files})
    wanted = attempts[-1] if attempts else 0
    if which.attempt is not None:
        wanted = which.attempt
        if wanted not in attempts:
            known = ", ".join(map(str, attempts)) or "-"
            raise UserError(
                phrase(
                    "run {run} of {job} has no logs of attempt {attempt}; it has those of {known}",
                    run=run.run, job=word, attempt=wanted, known=known,
                )
            )  # fmt: skip
    elif which.previous:
        # The newest attempt may have printed nothing yet: the record alone has it.
        before = [each for each in attempts if each < max(wanted, run.attempt)]
        if not before:
            return _choose_before(history, word, runs, run, which, now)
        wanted = before[-1]
    chosen, note = _choose(word, run, [file for file in files if file.place.attempt == wanted], which)
    if which.container:
        chosen = _choose_container(word, chosen, which.container)
    if which.since is not None:
        chosen = [file for file in chosen if file.modified >= now - which.since]
    return run, chosen, note


def _choose_before(
    history: Kept, word: str, runs: Sequence[RunRecord], run: RunRecord, which: Which, now: Moment
) -> tuple[RunRecord, list[LogFile], Phrase | None]:
    earlier = [each for each in runs if each.run < run.run]
    if not earlier:
        raise UserError(phrase("nothing is kept before run {run} of {job}", run=run.run, job=word))
    return choose_logs(history, word, earlier, replace(which, run=None, attempt=None, previous=False), now)


def _choose_container(word: str, files: Sequence[LogFile], container: str) -> list[LogFile]:
    """What this container has printed, of each pod that has it. Raises `UserError` where none has."""
    found = [other for file in files if (other := find_of_container(file, container)) is not None]
    if files and not found:
        names = tuple(dict.fromkeys(name for file in files for name in list_containers(file)))
        raise UserError(
            phrase("of {job} no log of a container {name} is kept; there are those of {names}",
                   job=word, name=repr(container), names=Names(names))
        )  # fmt: skip
    return found


def _choose(word: str, run: RunRecord, files: Sequence[LogFile], which: Which) -> tuple[list[LogFile], Phrase | None]:
    ranks = [Rank(file.place.role, file.place.index) for file in files]
    if not ranks:
        return [], None
    job = read_job(run) if which.ranks is not None else None
    chosen = choose_ranks(word, ranks, which.role, which.ranks, None, number_ranks(job) if job else None)
    return [file for file, rank in zip(files, ranks, strict=True) if chosen.shows(rank)], chosen.note
