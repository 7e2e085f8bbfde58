"""Prints the logs of a run: from the files of the local cluster, or through the API of any."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from paddock.app.history import History, find_since, read_cause, read_chunks, read_size
from paddock.cli.cluster.lookup import split_pod
from paddock.cli.cluster.places import ClusterChoice
from paddock.cli.follow.kept_runs import Which, choose_logs, find_kept
from paddock.cli.follow.printed import Printed
from paddock.cli.follow.rank_log import fetch_log
from paddock.cli.follow.ranks import Ranges, Selection
from paddock.cli.follow.wanted_lines import Source, Wanted, build_json_line, find_last_lines, print_log, read_lines
from paddock.cli.output.language import readers_language
from paddock.cli.output.run_rows import explain_end
from paddock.cli.output.screen import Screen
from paddock.cli.output.streams import print_line
from paddock.history.logs import LogFile
from paddock.history.records import RunRecord
from paddock.jobs.exit_codes import read_exit_code
from paddock.jobs.model import Phase
from paddock.jobs.sentences.cause_args import items_of
from paddock.kube.meta import Manifest
from paddock.kube.times import Moment
from paddock.logs.first_error import find_last_resort
from paddock.logs.folding import Folding
from paddock.views.flags import LOCAL, Flags
from paddock.views.pods import rank_name
from paddock.views.stored import StoredJob
from paddock.words.os_errors import explain_unreadable, is_of_output
from paddock.words.phrases import Names, Phrase, phrase

if TYPE_CHECKING:
    from paddock.client.client import Client


@dataclass(frozen=True, slots=True)
class Request:
    """What `paddock logs` was asked for."""

    which: Which
    wanted: Wanted
    follow: bool = False
    as_json: bool = False
    raw: bool = False
    """Nothing is folded."""

    @property
    def folds(self) -> bool:
        """Whether chatter is left out. What is searched is searched as it was written."""
        return not (self.raw or self.as_json or self.wanted.first_error or self.wanted.include)

    @property
    def in_container(self) -> str:
        """The option with which the same container is read again."""
        return f" --container {self.which.container}" if self.which.container else ""

    @property
    def is_of_the_past(self) -> bool:
        """Whether a certain run or attempt is asked for, which may go on or not."""
        return self.which.run is not None or self.which.attempt is not None or self.which.previous


def name_one_rank(which: Which, role: str, index: int) -> Which:
    """The same of one rank alone."""
    return replace(which, role=role, ranks=Ranges(str(index), ((index, index),)))


class Printer:
    """Prints logs of ranks one after the other. `failed`: that one could not be read, and why was said. `read`: that
    one has a line, wanted or not."""

    def __init__(self, request: Request, names: Sequence[str]) -> None:
        self._request = request
        self._width = 0 if len(names) == 1 else max(map(len, names), default=0)
        self.screen = Screen(language=readers_language())
        self._folded = Printed(folds=True) if request.folds else None
        self.failed = False
        self.read = False
        self.printed = False

    def print(self, source: Source) -> None:
        try:
            folding = self._folded.open(source.rank) if self._folded else None
            show, raw = self._show(source), self._request.raw
            self.printed = print_log(source, self._request.wanted, show, folding, raw=raw) or self.printed
        except OSError as error:
            if is_of_output(error):
                raise
            self.note(phrase("the log of {pod} cannot be read: {why}", pod=source.rank, why=explain_unreadable(error)))

    def print_tail(self, source: Source, read: Callable[[int], Iterable[bytes]], size: int) -> None:
        """The last lines alone. `source`: without chunks; `read`: the last so many bytes of `size`."""
        tried = self._folded

        def open_folding() -> Folding | None:
            nonlocal tried
            # What other ranks have printed is known; not what was found in a part of this log that was too short.
            tried = deepcopy(self._folded)
            return tried.open(source.rank) if tried else None

        try:
            found = find_last_lines(read, size, self._request.wanted, open_folding, raw=self._request.raw)
        except OSError as error:
            self.note(phrase("the log of {pod} cannot be read: {why}", pod=source.rank, why=explain_unreadable(error)))
            return
        self._folded = tried
        if found:
            self._show(source)(found)
            self.printed = True

    def print_last(self, source: Source) -> None:
        """Of a rank that failed, and printed no error, what it logged as one, else what it printed last."""
        found = find_last_resort(str(line) for lines in read_lines(source) for line in lines)
        said = phrase("no line has the form of an error; the last lines of {rank}, which failed first:",
                      rank=source.rank)  # fmt: skip
        if found.logged:
            said = phrase("no line has the form of an error; what {rank}, which failed first, logged as one:",
                          rank=source.rank)  # fmt: skip
        if lines := found.logged or found.last:
            self.screen.notify(said)
            self._show(source)(lines)
            self.printed = True

    def explain_folded(self, command: str) -> None:
        """Says once what was left out; nothing where only the last lines were asked for."""
        if self._folded is not None and self._request.wanted.tail is None:
            for said in self._folded.explain(command, self.screen.language):
                self.screen.notify(said)

    def note(self, said: Phrase | str) -> None:
        self.failed = True
        self.screen.notify(said)

    def _show(self, source: Source) -> Callable[[list[str]], None]:
        if self._request.as_json:
            return lambda lines: print_line(
                "\n".join(build_json_line(source.run, source.attempt, source.rank, line) for line in lines)
            )
        return lambda lines: self.screen.rank_lines(source.rank, self._width, lines)


def print_kept(
    history: History,
    namespace: str,
    word: str,
    request: Request,
    current: str = "",
    flags: Flags = LOCAL,
    now: Moment | None = None,
    *,
    numbered: bool = False,
    whole: bool = True,
) -> int | None:
    """Prints the logs that the history has of the job, or of the pod, that `word` names, and returns the exit code.

    `current`: the UID of the job that the cluster has now, empty if it has none or is down. None if the API must be
    asked: the history has no such job, or not this one yet; it goes on and is to be followed, or it has printed nothing
    yet. `flags`: of the cluster whose history it is. `now`: of the machine if None. `numbered`: runs of a cluster are
    counted too, as a console keeps them. `whole`: nothing of these logs is missing; else the caller tells what is, and
    it is not said that nothing was printed. Raises `UserError`.
    """
    runs, which = find_kept(history, namespace, word), request.which
    if not runs and (pod := split_pod(word)):
        runs, which = find_kept(history, namespace, pod[0]), name_one_rank(which, pod[1].role, pod[1].index)
    if not runs:
        return None
    if current and which.run is None and all(each.uid != current for each in runs):
        if not which.previous:
            return None
        which = replace(which, previous=False)  # before a run that was just created is the last one that is kept
    now = time.time() if now is None else now
    run, files, note = choose_logs(history, word, runs, which, now)
    if request.follow and not run.over and not request.is_of_the_past:
        return None
    if not history.find_logs(run) and not run.over:
        return None
    begins = find_begins(run, files, now - which.since) if which.since is not None else {}
    printer = _print_files(run, files, request, note, begins)
    number = f" --run {run.run}" if flags.local or numbered else ""
    where = flags.of(namespace) + request.in_container
    printer.explain_folded(f"paddock logs {word}{number}{where} --raw")
    if not printer.printed and not printer.failed:
        if whole:
            printer.screen.notify(explain_nothing(word, run, request, flags))
        if request.wanted.first_error and run.outcome == Phase.FAILED and not request.follow:
            printer.screen.notify(explain_end(run, readers_language()))
    if request.follow and run.over:
        printer.screen.notify(explain_end(run, readers_language()))
    if printer.failed:
        return 1
    return read_exit_code(run.outcome, read_cause(run.cause)) if request.follow and run.over else 0


def explain_nothing(word: str, run: RunRecord, request: Request, flags: Flags = LOCAL) -> Phrase:
    """Why nothing was printed of a run that is kept. Pure."""
    if run.logs_pruned and not flags.local:
        return phrase("the logs of run {run} of {job} are no longer kept", run=run.run, job=word)
    if run.logs_pruned:
        return phrase(
            "the logs of run {run} of {job} are no longer kept (`{command}` sets for how long)",
            run=run.run, job=word, command="paddock up --keep-logs 30d",
        )  # fmt: skip
    if request.wanted.first_error:
        return phrase("run {run} of {job} printed no error", run=run.run, job=word)
    if request.wanted.filters or request.which.since is not None:
        return phrase("run {run} of {job} printed no such line", run=run.run, job=word)
    return phrase("run {run} of {job} printed nothing", run=run.run, job=word)


def explain_unmatched(word: str, request: Request) -> Phrase:
    """Why nothing was printed of logs that have lines, of a run that nobody counts. Pure."""
    if request.wanted.first_error:
        return phrase("{job} printed no error", job=word)
    return phrase("{job} printed no such line", job=word)


def find_begins(run: RunRecord, files: Sequence[LogFile], moment: Moment) -> dict[str, int | None]:
    """Where the lines of each rank begin that were printed since `moment`, in bytes; None where nobody noted when they
    were. A log that cannot be read begins at 0: who prints it says why."""
    begins: dict[str, int | None] = {}
    for file in files:
        try:
            begins[file.rank] = 0 if run.created >= moment else find_since(file, moment)
        except OSError:
            begins[file.rank] = 0
    return begins


def explain_untimed(ranks: Sequence[str]) -> Phrase:
    """What --since cannot leave out, and why. Pure."""
    return phrase(
        "nobody noted when the lines of {ranks} were printed: all of them follow, also those from before --since",
        ranks=Names(tuple(ranks)),
    )


def _print_files(
    run: RunRecord, files: list[LogFile], request: Request, note: Phrase | None, begins: Mapping[str, int | None]
) -> Printer:
    """`begins`: from which byte on the log of a rank is printed; None for all, as where it has none."""
    printer = Printer(request, [file.rank for file in files])
    if note is not None:
        printer.screen.notify(note)
    if untimed := [rank for rank, begin in begins.items() if begin is None]:
        printer.screen.notify(explain_untimed(untimed))
    for file in order_for_errors(files, run.failed) if request.wanted.first_error else files:
        begin = begins.get(file.rank) or 0
        if request.wanted.tail is not None:
            _print_tail(printer, run, file, begin)
            continue
        printer.print(Source(file.rank, run.run, file.place.attempt, read_chunks(file, begin)))
        if request.wanted.first_error and printer.printed:
            break
    failed = next((file for file in files if file.rank == run.failed), None)
    if request.wanted.first_error and not printer.printed and failed is not None:
        begin = begins.get(failed.rank) or 0
        printer.print_last(Source(failed.rank, run.run, failed.place.attempt, read_chunks(failed, begin)))
    return printer


def _print_tail(printer: Printer, run: RunRecord, file: LogFile, begin: int) -> None:
    source = Source(file.rank, run.run, file.place.attempt, ())
    try:
        size = read_size(file)
    except OSError as error:
        printer.note(phrase("the log of {pod} cannot be read: {why}", pod=file.rank, why=explain_unreadable(error)))
        return
    printer.print_tail(source, lambda most: read_chunks(file, max(begin, size - most)), max(0, size - begin))


def order_for_errors(files: list[LogFile], failed: str) -> list[LogFile]:
    """The rank that failed first, as its error is the cause. Pure."""
    return sorted(files, key=lambda file: file.rank != failed)


async def print_fetched(
    client: Client,
    place: ClusterChoice,
    job: StoredJob,
    selection: Selection,
    pods: Sequence[Manifest],
    request: Request,
) -> Printer:
    """Prints the logs of these ranks through the API."""
    of_rank = {rank_name(pod): pod for pod in pods}
    names, failed = [str(rank) for rank in selection.ranks], ""
    if request.wanted.first_error:
        args = job.status.cause.args if job.status.cause else {}
        failed = next(iter(items_of(args, "failed") or items_of(args, "ranks")), "")
        names.sort(key=lambda name: name != failed)
    printer, of_failed = Printer(request, names), None
    if selection.note is not None:
        printer.screen.notify(selection.note)
    for name in names:
        which, pod = request.which, of_rank.get(name)
        text = await fetch_log(
            client, place, job, name, pod, printer.note, container=which.container, previous=which.previous,
            since=which.since,
        )  # fmt: skip
        if text is not None:
            printer.read = printer.read or bool(text)
            printer.print(Source(name, None, job.status.attempt, [text]))
        of_failed = text if name == failed else of_failed
        if request.wanted.first_error and printer.printed:
            break
    if of_failed is not None and not printer.printed:
        printer.print_last(Source(failed, None, job.status.attempt, [of_failed]))
    where = place.flags.of(job.key.namespace) + request.in_container
    printer.explain_folded(f"paddock logs {job.key.name}{where} --raw")
    return printer
