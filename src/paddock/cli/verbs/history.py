"""paddock history"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import click

from paddock.app.history import History, Survey
from paddock.app.home import may_answer
from paddock.cli.cluster.complete import complete_jobs
from paddock.cli.cluster.console_option import console_option
from paddock.cli.cluster.errors import UserError
from paddock.cli.cluster.lookup import explain_near, read_job_word
from paddock.cli.cluster.options import namespace_option
from paddock.cli.cluster.session import choose_place, run
from paddock.cli.follow.kept_runs import find_kept
from paddock.cli.output import run_rows
from paddock.cli.output.language import readers_language, say
from paddock.cli.output.run_rows import RunRow
from paddock.cli.output.streams import print_line, write_json
from paddock.cli.output.terminal import is_narrow, print_table, stderr, stdout
from paddock.cli.verb import Verb
from paddock.history.changes import SHOWN
from paddock.history.note_files import choose_note
from paddock.history.records import RunRecord
from paddock.history.since import explain_since, find_completed, find_earlier
from paddock.jobs.model import Phase
from paddock.kube.nearness import nearest
from paddock.kube.times import Moment
from paddock.logs.metric_lines import explain_metric_file
from paddock.logs.nearest_line import explain_nearest
from paddock.views.numbers import BEST
from paddock.views.run_orders import find_order
from paddock.words.phrases import NOTHING, Phrase, phrase, render

_MOST_NAMED = 24
"""Names that a message lists."""


@click.command(name="history", cls=Verb)
@click.argument("job", metavar="[JOB]", required=False, shell_complete=complete_jobs)
@click.option("-A", "--all-namespaces", is_flag=True, help="Of all namespaces.")
@click.option("--limit", type=click.IntRange(1), metavar="N", help="Only the last N runs; with --sort the first N.")
@click.option("--tag", metavar="TAG", help="Only runs with this tag.")
@click.option(
    "--sort",
    default=None,
    metavar="NAME",
    help="By a number (val_loss), an argument (lr) or a column (took): the best, or the lowest, first; -NAME: last.",
)
@click.option("-o", "--output", type=click.Choice(["table", "json"]), default="table", help="json: a list of runs.")
@console_option
@namespace_option
def command(
    job: str | None,
    all_namespaces: bool,
    limit: int | None,
    tag: str | None,
    sort: str | None,
    output: str,
    namespace: str,
) -> None:
    """What ran on this machine, or on a cluster: one line a run, with how it ended, its last numbers, of which the best
    are marked (*), and what changed since the run before: arguments first.

    \b
    paddock history
    paddock history resnet        its runs with all their attempts
    paddock logs resnet --run 3   what one of them printed
    paddock history --tag base    what has this tag: --tag of run and submit, or the console, gives it
    paddock history --sort val_accuracy

    A name's runs are counted from 1. They are kept for 7 days or up to 1 GiB of logs (`paddock up --keep-logs
    30d,20GiB` sets both), and the record of each name's last run for 90 days. Works also while the local cluster is
    down, and does not start it.

    With --context it asks the cluster's console, if one keeps the history there, and you see the runs of the jobs that
    you may get.
    """
    place, wanted = choose_place(), Choice(limit, tag, sort)
    if place.home is not None:
        kept = Kept(History(place.home), may_answer(place.home))
        _show(kept, job, namespace, output, wanted, all_namespaces=all_namespaces)
        return
    if all_namespaces:
        raise UserError(
            phrase("the console of a cluster tells the history of one namespace: leave {option} out, or name one by -n",
                   option="-A")
        )  # fmt: skip
    from paddock.cli.follow.fetched_runs import fetch_history, temporary_home  # late: few clusters keep runs

    with temporary_home() as home:
        ranks = job is not None or output == "json"
        fetched = run(fetch_history(place, home, namespace, read_job_word(job)[1] if job else "", ranks=ranks))
        for said in fetched.tell():
            _notify(said)
        _show(
            Kept(fetched.history, True, fetched=True),
            job,
            namespace,
            output,
            Choice(limit, tag, sort),
            all_namespaces=False,
        )


@dataclass(frozen=True, slots=True)
class Kept:
    """Where the runs are read from."""

    history: History
    up: bool
    """A cluster in which an unfinished run goes on."""
    fetched: bool = False
    """From a console: the bytes of the logs are not here."""


@dataclass(frozen=True, slots=True)
class Choice:
    """Which runs, and in which order; None where that was not said."""

    limit: int | None
    tag: str | None
    sort: str | None

    def choose(self, rows: Sequence[RunRow]) -> list[RunRow]:
        """Raises `UserError` for an order that no row has."""
        if self.sort is None:
            return list(rows[-self.limit :] if self.limit else rows)
        found = sort_rows(rows, self.sort, time.time()) if rows else []
        return found[: self.limit] if self.limit else found


def sort_rows(rows: Sequence[RunRow], sort: str, now: Moment) -> list[RunRow]:
    """The rows by what `--sort` names. Raises `UserError` for what none of them has. Pure."""
    orders = run_rows.list_orders_of(rows, now)
    name = sort.removeprefix("-")
    if (order := find_order(orders, name)) is None:
        known = [each for each in orders if find_order(orders, each)]
        near = nearest(name, known)
        raise UserError(
            phrase(
                "--sort: no run here has {name}{hint}; there are {known}",
                name=repr(name), hint=explain_near(near) if near else NOTHING, known=", ".join(known[:_MOST_NAMED]),
            )
        )  # fmt: skip
    return order.sort(rows, turned=sort != name)


def _show(
    kept: Kept, job: str | None, namespace: str, output: str, wanted: Choice, *, all_namespaces: bool
) -> None:  # fmt: skip
    history, up = kept.history, kept.up
    everything, damaged = history.read("" if all_namespaces else namespace)
    for each in damaged:
        _notify(phrase("{path} is not the record of a run and is left out: {why}", path=str(each.path), why=each.why))
    runs = _choose(history, namespace, job, everything) if job else everything
    notes = history.read_notes("" if all_namespaces else namespace, "")
    tag = wanted.tag
    if tag is not None:
        runs = [run for run in runs if tag in choose_note(run, notes.get(run.uid)).tags]
    survey, before = history.survey(), find_earlier(everything)
    completed = find_completed(runs) if job else {}
    rows = [
        RunRow(
            run, survey.read_metrics(run), before.get(run.uid), up, _explain_since(history, run, completed),
            history.read_packages, choose_note(run, notes.get(run.uid)),
        )
        for run in (runs if wanted.limit is None or wanted.sort else runs[-wanted.limit:])
    ]  # fmt: skip
    rows = run_rows.mark_best(wanted.choose(rows))
    if output == "json":
        documents = [run_rows.build_document(row, find_attempts(survey, row.run)) for row in rows]
        print_line(write_json(documents))
    elif not rows and tag is not None:
        _notify(phrase("no run that is kept has the tag {tag}", tag=tag))
    elif not rows:
        _notify(phrase("nothing has run here yet") if all_namespaces else explain_nothing(namespace))
    else:
        _print(survey, rows, spaces=all_namespaces, whole=bool(job), fetched=kept.fetched)


def _explain_since(history: History, run: RunRecord, completed: Mapping[str, RunRecord]) -> Phrase | None:
    """What has changed since it last worked, of a run that failed."""
    before = completed.get(run.uid) if run.phase == Phase.FAILED else None
    return explain_since(before, run, history.read_packages) if before is not None else None


def explain_nothing(namespace: str) -> Phrase:
    return phrase("nothing has run in namespace {namespace} yet", namespace=namespace)


def find_attempts(survey: Survey, run: RunRecord) -> dict[int, tuple[str, ...]]:
    """The ranks that have printed in each attempt."""
    found: dict[int, tuple[str, ...]] = {}
    for file in survey.find_logs(run):
        found[file.place.attempt] = (*found.get(file.place.attempt, ()), file.rank)
    return found


def _choose(history: History, namespace: str, job: str, everything: Sequence[RunRecord]) -> list[RunRecord]:
    runs = find_kept(history, namespace, job)
    if not runs:
        near = nearest(job, {each.name for each in everything if each.namespace == namespace})
        raise UserError(
            phrase(
                "no run of {job} is kept in namespace {namespace}{hint}",
                job=repr(job), namespace=namespace, hint=explain_near(near) if near else NOTHING,
            )
        )  # fmt: skip
    return runs


def _print(survey: Survey, rows: Sequence[RunRow], *, spaces: bool, whole: bool, fetched: bool) -> None:
    now, language = time.time(), readers_language()
    cells = [run_rows.build_cells(row, now, language) for row in rows]
    header = list(run_rows.HEADER)
    if len({row.run.identity for row in rows}) > len({(row.run.namespace, row.run.name) for row in rows}):
        header = ["KIND", *header]
        cells = [[row.run.kind, *each] for row, each in zip(rows, cells, strict=True)]
    if stdout().is_terminal and len({row.run.directory for row in rows}) == 1:
        header, cells = run_rows.drop_directory(header, cells)
    if spaces:
        header = ["NAMESPACE", *header]
        cells = [[row.run.namespace, *each] for row, each in zip(rows, cells, strict=True)]
    red = {number for number, row in enumerate(rows) if run_rows.has_failed(row.run)}
    print_table(stdout(), header, cells, cut=True, red=red)
    if stdout().is_terminal and any(row.best for row in rows):
        stdout().print(render(phrase("{sign} the best of these runs", sign=BEST), language))
    for row in rows if whole else ():
        print_line()
        stdout().print(run_rows.explain_end(row.run, language))
        if row.since is not None:
            stdout().print(render(row.since, language))
        attempts_with_ranks = find_attempts(survey, row.run)
        attempts = run_rows.build_attempt_rows(row.run, attempts_with_ranks, language)
        if len(attempts) > 1:
            print_table(stdout(), run_rows.ATTEMPT_HEADER, attempts, cut=is_narrow(stdout()))
        if not fetched and (unread := survey.find_unread(row.run)):
            stdout().print(render(explain_metric_file(*unread), language), highlight=False)
        if not fetched and not row.metrics and any(attempts_with_ranks.values()) and row.run.phase != "Failed":
            stdout().print(render(explain_nearest(survey.find_nearest(row.run)), language), highlight=False)
        if sizes := run_rows.explain_run_sizes(row.run):
            stdout().print(render(sizes, language))
        if dropped := run_rows.explain_dropped(row.run):
            stdout().print(render(dropped, language))
        for change in row.changes if len(row.changes) > SHOWN else ():
            stdout().print(f"    {change}")
        for line in run_rows.list_note_lines(row, language):
            stdout().print(line)


def _notify(said: Phrase | str) -> None:
    stderr().print(say(said, readers_language()), markup=False)
