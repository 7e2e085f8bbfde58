"""The runs of the history as lines of a table, as JSON, and as one last line. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import msgspec

from paddock.app.history import list_sizes, read_cause
from paddock.cli.output.display import tell_cancelled
from paddock.cli.output.job_documents import identify_run, write_moment
from paddock.cli.output.local_paths import format_path
from paddock.cli.output.local_times import format_apart, format_local_time
from paddock.history.changes import shorten
from paddock.history.comparison import compare
from paddock.history.metrics import Metrics
from paddock.history.notes import Note
from paddock.history.records import CANCELLED, Attempt, Cause, Renewal, RunRecord
from paddock.history.settings import find_run_changes, read_spec
from paddock.history.surroundings import ReadPackages, read_nothing
from paddock.jobs.exit_codes import has_failed_rank
from paddock.jobs.sentences.explain import explain
from paddock.jobs.sentences.failure_phrases import explain_failed_rank
from paddock.kube.described import read_owner
from paddock.kube.times import Moment, format_duration, format_micro_time, format_time
from paddock.views.numbers import BEST, NumberRow, compare_numbers, order_rank, write_number
from paddock.views.phases import say_state
from paddock.views.run_orders import Order, list_orders
from paddock.views.sizes import explain_past_sizes
from paddock.words.phrases import Phrase, counted, phrase, render

HEADER = ("NAME", "RUN", "STARTED", "TOOK", "ENDED", "DIRECTORY", "METRICS", "CHANGED")
ATTEMPT_HEADER = ("ATTEMPT", "BEGAN", "RANKS", "WHY")


@dataclass(frozen=True, slots=True)
class RunRow:
    """A run with what is read beside its record."""

    run: RunRecord
    metrics: Mapping[str, Metrics]
    before: RunRecord | None
    """The run before it, None for the first that is kept."""
    is_up: bool = True
    """The cluster is, so that an unfinished run goes on."""
    since: Phrase | None = None
    """What has changed since it last worked, of one that failed."""
    read_packages: ReadPackages = read_nothing
    """The packages of a digest of the record."""
    note: Note = field(default_factory=Note)
    """What was written about it."""
    best: Collection[str] = ()
    """The names of its numbers that are the best of all rows."""

    @property
    def changes(self) -> list[str]:
        return find_run_changes(self.before, self.run, self.read_packages) if self.before else []


def build_cells(row: RunRow, now: Moment, language: str = "en") -> list[str]:
    run = row.run
    return [
        run.name, str(run.run), format_local_time(run.created), _took(row, now), _ended(row, language),
        format_path(run.directory), build_metrics(row.metrics, row.best), shorten(row.changes),
    ]  # fmt: skip


def _took(row: RunRow, now: Moment) -> str:
    seconds = _measure(row, now)
    return "" if seconds is None else format_duration(seconds)


def _measure(row: RunRow, now: Moment) -> float | None:
    """Its seconds; None of what nobody saw end."""
    end = row.run.ended if row.run.ended is not None else now if row.is_up else None
    return None if end is None else end - row.run.created


def _ended(row: RunRow, language: str) -> str:
    if row.run.over or row.is_up or row.run.given_up:
        return row.run.outcome
    return render(phrase("{phase}, cluster down", phase=say_state(row.run.outcome, language)), language)


def build_metrics(metrics: Mapping[str, Metrics], best: Collection[str] = ()) -> str:
    """`epoch 3 step 400 loss 0.12* val_loss 0.15`: all that the first rank has. One that is older than the others has
    its own place behind it: `val_loss 0.15 (epoch 2)`. `best`: the names of those that are marked."""
    rows = compare_numbers([metrics])
    return " ".join(f"{row.name} {_write(row, 0, is_best=row.name in best)}" for row in rows)


def write_numbers(row: NumberRow) -> list[str]:
    """A cell for each run."""
    return [_write(row, place, is_best=place in row.best) for place in range(len(row.values))]


def _write(row: NumberRow, place: int, *, is_best: bool) -> str:
    value, older = row.values[place], row.places[place]
    if value is None:
        return "–"
    return f"{write_number(value)}{f' ({older})' if older else ''}{BEST if is_best else ''}"


def mark_best(rows: Sequence[RunRow]) -> list[RunRow]:
    """The rows, each with the names of its numbers that are the best of all."""
    found = compare_numbers([row.metrics for row in rows])
    return [replace(row, best={each.name for each in found if place in each.best}) for place, row in enumerate(rows)]


def list_orders_of(rows: Sequence[RunRow], now: Moment) -> dict[str, Order]:
    """The orders that these rows may have, by name."""
    columns: dict[str, list[Any]] = {
        "name": [row.run.name for row in rows],
        "run": [row.run.run for row in rows],
        "started": [row.run.created for row in rows],
        "took": [_measure(row, now) for row in rows],
        "ended": [row.run.outcome for row in rows],
        "restarts": [row.run.restarts for row in rows],
        "directory": [row.run.directory or None for row in rows],
    }
    arguments = compare([{"spec": read_spec(row.run)} for row in rows]).arguments
    return list_orders(columns, arguments, compare_numbers([row.metrics for row in rows]))


def drop_directory(header: Sequence[str], cells: Sequence[Sequence[str]]) -> tuple[list[str], list[list[str]]]:
    """The table without the column that says the same in each row."""
    place = header.index("DIRECTORY")
    return [*header[:place], *header[place + 1 :]], [[*row[:place], *row[place + 1 :]] for row in cells]


def build_attempt_rows(run: RunRecord, ranks: Mapping[int, tuple[str, ...]], language: str = "en") -> list[list[str]]:
    """A line for each attempt, with the ranks that have printed (`ranks`), and beneath it one for each time that ranks
    of it were started again alone, with these ranks."""
    rows: list[list[str]] = []
    starts: list[Attempt | Renewal] = []
    for attempt in run.attempts:
        starts += [attempt, *(each for each in run.renewals if each.attempt == attempt.number)]
    for start, begun in zip(starts, format_apart([each.begun for each in starts]), strict=True):
        printed = ranks.get(start.number, ()) if isinstance(start, Attempt) else start.ranks
        rows.append(_attempt_cells(start, begun, printed, language))
    return rows


def _attempt_cells(start: Attempt | Renewal, begun: str, ranks: Iterable[str], language: str) -> list[str]:
    if isinstance(start, Attempt):
        number, why = start.number, explain_cause(start.cause, language)
    else:
        number, ranks = start.attempt, sorted(ranks, key=order_rank)
        why = explain_cause(start.cause, language) or render(phrase("started again alone"), language)
    return [str(number), begun, " ".join(ranks), why]


def explain_run_sizes(run: RunRecord) -> Phrase | None:
    """How many ranks trained together over time; None where it was always the same number."""
    return explain_past_sizes(list_sizes(run), format_local_time)


def explain_dropped(run: RunRecord) -> Phrase | None:
    """How many lines of `build_attempt_rows` are not kept any more; None for none."""
    if not run.renewals_dropped:
        return None
    return counted(
        "{count} earlier time that ranks were started again alone is not kept",
        "{count} earlier times that ranks were started again alone are not kept",
        count=run.renewals_dropped,
    )


def explain_cause(cause: Cause | None, language: str = "en") -> str:
    recorded = read_cause(cause)
    return explain(recorded, language) if recorded else ""


def explain_end(run: RunRecord, language: str = "en") -> str:
    """`demo run 3: Failed after 12s: worker-0 ended with exit code 3`."""
    took = format_duration((run.ended or run.created) - run.created)
    why = explain_cause(run.told, language)
    for word in ("completed", "failed", "已完成", "失败"):  # the sentence already begins with it
        why = why.removeprefix(word).lstrip(":：;； ")
    names: dict[str, Phrase] = {
        "Completed": phrase("Completed in {time}", time=took),
        "Failed": phrase("Failed after {time}", time=took),
        "Stopped": phrase("Stopped after {time}: the job was deleted", time=took),
        "TimedOut": phrase("Suspended after {time} (--timeout)", time=took),
        "NotStarted": phrase("Not started after {time}", time=took),
    }
    said: Phrase | str = names.get(run.outcome) or say_state(run.outcome, language)
    recorded = read_cause(run.cause)
    if run.outcome == CANCELLED and recorded:
        said = tell_cancelled(took, recorded)
    if recorded and has_failed_rank(run.outcome, recorded) and (failure := explain_failed_rank(recorded.args)):
        said = phrase("{said}, but {failure}", said=said, failure=failure)
    elif why and run.outcome in ("Completed", "Failed", "NotStarted"):
        said = phrase("{said}: {why}", said=said, why=why)
    return render(phrase("{job} run {run}: {said}", job=run.name, run=run.run, said=said), language)


def has_failed(run: RunRecord) -> bool:
    """Whether a rank of a run that completed failed, as `get` shows it: in red."""
    return has_failed_rank(run.outcome, read_cause(run.cause))


def build_document(row: RunRow, attempts: Mapping[int, tuple[str, ...]], language: str = "en") -> dict[str, Any]:
    """The run for `-o json`; `attempts`: the ranks that have printed in each. `renewals`: when ranks were started again
    alone."""
    run = row.run
    starts: list[Attempt | Renewal] = [*run.attempts, *run.renewals]
    seconds = Counter(int(each.begun) for each in starts)

    def write(begun: Moment) -> str:
        """With a fraction where two began in one second."""
        return format_time(begun) if seconds[int(begun)] == 1 else format_micro_time(begun)

    return {
        **identify_run(run),
        "run": run.run,
        "directory": run.directory,
        "started": format_time(run.created),
        "ended": write_moment(run.ended),
        "outcome": run.outcome,
        "cause": _document_of(run.told, language),
        "restarts": run.restarts,
        "attempts": [
            {
                "attempt": each.number,
                "began": write(each.begun),
                "cause": _document_of(each.cause, language),
                "ranks": list(attempts.get(each.number, ())),
            }
            for each in run.attempts
        ],
        "renewals": [
            {
                "attempt": each.attempt,
                "began": write(each.begun),
                "cause": _document_of(each.cause, language),
                "ranks": sorted(each.ranks, key=order_rank),
            }
            for each in run.renewals
        ],
        "sizes": [
            {"attempt": each.attempt, "began": format_time(each.begun), "ranks": each.ranks} for each in run.sizes
        ],
        "metrics": {rank: dict(metrics) for rank, metrics in row.metrics.items()},
        "changed": row.changes,
        "sinceCompleted": "" if row.since is None else render(row.since, language),
        **build_surroundings(run, row.read_packages),
        "note": row.note.text,
        "tags": list(row.note.tags),
        "owner": read_owner(run.annotations),
        "spec": run.spec,
    }


def list_note_lines(row: RunRow, language: str = "en") -> list[str]:
    """`tags: baseline, lr-sweep`, and the note as it was written."""
    tags = render(phrase("tags: {tags}", tags=", ".join(row.note.tags)), language) if row.note.tags else ""
    return [line for line in (tags, *(f"    {line}" for line in row.note.text.splitlines())) if line]


def build_surroundings(run: RunRecord, read: ReadPackages) -> dict[str, Any]:
    """What the run began with, for `-o json`: `packages` by role, each by name; `datasets` by name; `machine`. None is
    not known, also of a set of packages that is not kept any more."""
    return {
        "packages": {role: read(digest) for role, digest in run.surroundings.packages.items()} or None,
        "datasets": msgspec.to_builtins(run.surroundings.datasets),
        "machine": msgspec.to_builtins(run.surroundings.machine),
    }


def _document_of(cause: Cause | None, language: str) -> dict[str, Any] | None:
    if cause is None:
        return None
    return {"reason": cause.reason, "args": dict(cause.args), "sentence": explain_cause(cause, language)}
