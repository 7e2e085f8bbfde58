"""paddock compare"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import click

from paddock.app.history import History
from paddock.cli.cluster.complete import complete_jobs
from paddock.cli.cluster.console_option import console_option
from paddock.cli.cluster.errors import UserError
from paddock.cli.cluster.options import namespace_option
from paddock.cli.cluster.session import choose_place, run
from paddock.cli.follow.kept_runs import choose_run, find_kept
from paddock.cli.output.language import readers_language
from paddock.cli.output.local_paths import format_path
from paddock.cli.output.local_times import format_local_time
from paddock.cli.output.run_rows import build_surroundings, write_numbers
from paddock.cli.output.side_by_side import print_side_by_side
from paddock.cli.output.streams import print_line, write_json
from paddock.cli.output.terminal import stdout
from paddock.cli.verb import Verb
from paddock.history.comparison import FEWEST, MOST, Comparison, Difference, find_differences
from paddock.history.comparison import compare as compare_manifests
from paddock.history.metrics import Metrics
from paddock.history.records import RunRecord
from paddock.history.settings import read_spec
from paddock.history.surroundings import ReadPackages, read_nothing
from paddock.kube.times import format_duration, format_time
from paddock.views.numbers import BEST, compare_numbers
from paddock.views.phases import say_state
from paddock.views.run_comparison import (
    list_code,
    list_datasets,
    list_machines,
    list_package_texts,
    list_requirements,
)
from paddock.words.formats import format_of
from paddock.words.phrases import NOTHING, Phrase, counted, phrase, render

_LONGEST_NUMBER = 9
_NOTHING = "–"


@dataclass(frozen=True, slots=True)
class Compared:
    """A run with its last numbers."""

    run: RunRecord
    metrics: Mapping[str, Metrics]

    @property
    def label(self) -> str:
        return f"{self.run.name}:{self.run.run}"


@click.command(name="compare", cls=Verb)
@click.argument("words", metavar="JOB[:RUN]...", nargs=-1, required=True, shell_complete=complete_jobs)
@click.option("-o", "--output", type=click.Choice(["table", "json"]), default="table", help="json: all of it.")
@console_option
@namespace_option
def command(words: tuple[str, ...], output: str, namespace: str) -> None:
    """Runs side by side: the arguments that differ, their last numbers with the best of each marked (*), how they
    ended, and what else differs.

    \b
    paddock compare train             its last two runs
    paddock compare train 3 5         two runs of one job
    paddock compare train:3 resnet    a run of each of two jobs; without a number the last one

    Works also while the local cluster is down, and does not start it. With --context: the runs that the cluster's
    console keeps. The console compares curves.
    """
    place = choose_place()
    if place.home is not None:
        _show(History(place.home), words, output, namespace)
        return
    from paddock.cli.follow.fetched_runs import fetch_history, temporary_home  # late: few clusters keep runs

    with temporary_home() as home:
        _show(run(fetch_history(place, home, namespace)).history, words, output, namespace)


def _show(history: History, words: Sequence[str], output: str, namespace: str) -> None:
    runs = choose_runs(history, namespace, words)
    survey = history.survey()
    compared = [Compared(run, survey.read_metrics(run)) for run in runs]
    if output == "json":
        print_line(write_json(build_document(compared, history.read_packages)))
        return
    _print(compared, history.read_packages, readers_language())


def choose_runs(history: History, namespace: str, words: Sequence[str]) -> list[RunRecord]:
    """The runs that the words name, each once. Raises `UserError` for a name or a number that is not kept, and for
    fewer than two runs or more than eight."""
    found, name, kept = list[RunRecord](), "", list[RunRecord]()
    for word, following in zip(words, (*words[1:], ""), strict=True):
        job, colon, number = word.partition(":")
        if is_number(word) and kept:
            job, number = name, word
        elif colon and not is_number(number):
            raise UserError(phrase("{word} is no run: a number stands behind the colon, as in {example}",
                                   word=repr(word), example=f"{job}:3"))  # fmt: skip
        name, kept = job, find_kept(history, namespace, job)
        if not kept:
            said = phrase("no run of {job} is kept in namespace {namespace}{hint}",
                          job=repr(job), namespace=namespace, hint=NOTHING)  # fmt: skip
            raise UserError(said)
        if number or not is_number(following):  # else the name stands for the numbers behind it
            found.append(choose_run(job, kept, int(number) if number else None))
    if len(words) == 1:
        found = [*[each for each in kept if each.run < found[0].run][-1:], *found]
    runs = list({run.uid: run for run in found}.values())
    if len(runs) < FEWEST:
        command = f"paddock history {name}"
        raise UserError(
            phrase(
                "two runs are wanted, and only run {run} of {job} is named or kept: `{command}` lists them",
                run=runs[0].run, job=name, command=command,
            )
        )  # fmt: skip
    if len(runs) > MOST:
        raise UserError(phrase("at most {most} runs stand side by side, here are {count}", most=MOST, count=len(runs)))
    return runs


def is_number(word: str) -> bool:
    return word.isascii() and word.isdecimal() and len(word) <= _LONGEST_NUMBER


def compare_settings(runs: Sequence[RunRecord]) -> Comparison:
    """The manifests as they were recorded, but for random names. Pure."""
    return compare_manifests([{"spec": read_spec(run)} for run in runs])


def list_facts(
    compared: Sequence[Compared], language: str, read: ReadPackages = read_nothing
) -> Iterator[tuple[str, list[str]]]:
    """Each with a title and a value of each run: what was asked for and what came out first, manifests last. Those that
    are the same in all, or in none, are left out but for numbers and how they ended. `read`: the packages of a digest.
    Pure."""
    runs, say_duration = [each.run for each in compared], format_of(language).say_duration
    settings = compare_settings(runs)
    yield from (
        (each.path, [value or _NOTHING for value in each.values]) for each in settings.arguments if each.differs
    )
    asked = {each.path for each in settings.arguments}
    for row in compare_numbers([each.metrics for each in compared]):
        # the last number of a name that was an argument too is that of the end: a learning rate has decayed
        title = render(phrase("{name}, last", name=row.name), language) if row.name in asked else row.name
        yield title, write_numbers(row)
    yield render(phrase("ENDED"), language).capitalize(), [say_state(run.outcome, language) for run in runs]
    yield render(phrase("Started"), language), [format_local_time(run.created) for run in runs]
    yield (
        render(phrase("Took"), language),
        [_NOTHING if run.ended is None else say_duration(format_duration(run.ended - run.created)) for run in runs],
    )
    surroundings = [run.surroundings for run in runs]
    rows: list[tuple[Phrase, list[str]]] = [
        (phrase("Directory"), [format_path(run.directory) for run in runs]),
        (phrase("Code"), list_code(runs, language)),
        (phrase("Requirements"), list_requirements(runs, language)),
        *list_package_texts(surroundings, read, language),
        *list_datasets(surroundings),
        (phrase("Machine"), list_machines(surroundings)),
        (phrase("Restarts"), [str(run.restarts) for run in runs]),
    ]
    yield from ((render(title, language), values) for title, values in rows if len(set(values)) > 1)
    yield from _list_differing(settings.fields)


def _list_differing(rows: Sequence[Difference]) -> Iterator[tuple[str, list[str]]]:
    for row in rows:
        if row.differs:
            yield row.path, [_NOTHING if value is None else value or '""' for value in row.values]


def _print(compared: Sequence[Compared], read: ReadPackages, language: str) -> None:
    rows = [[title, *values] for title, values in list_facts(compared, language, read)]
    print_side_by_side(stdout(), [["", *(each.label for each in compared)], *rows])
    if any(row.best for row in compare_numbers([each.metrics for each in compared])):
        stdout().print(render(phrase("{sign} the best of its row", sign=BEST), language))
    equal = compare_settings([each.run for each in compared]).equal
    said = counted("{count} argument or field of the manifests is equal",
                   "{count} arguments and fields of the manifests are equal", count=equal)  # fmt: skip
    stdout().print(render(said, language))


def build_document(compared: Sequence[Compared], read: ReadPackages = read_nothing) -> dict[str, Any]:
    """All of it for programs. `read`: as in `list_facts`. Pure."""
    settings = compare_settings([each.run for each in compared])
    manifests = [{"spec": read_spec(each.run)} for each in compared]
    return {
        "runs": [
            {
                "namespace": each.run.namespace,
                "kind": each.run.kind,
                "name": each.run.name,
                "run": each.run.run,
                "uid": each.run.uid,
                "started": format_time(each.run.created),
                "ended": None if each.run.ended is None else format_time(each.run.ended),
                "outcome": each.run.outcome,
                "restarts": each.run.restarts,
                "directory": each.run.directory,
                "annotations": dict(each.run.annotations),
                "metrics": {rank: dict(metrics) for rank, metrics in each.metrics.items()},
                **build_surroundings(each.run, read),
            }
            for each in compared
        ],
        "arguments": [{"name": each.path, "values": list(each.values)} for each in settings.arguments if each.differs],
        "numbers": [
            {"name": row.name, "values": list(row.values), "best": sorted(row.best)}
            for row in compare_numbers([each.metrics for each in compared])
        ],
        "differences": [{"path": each.path, "values": list(each.values)} for each in find_differences(manifests)],
        "equal": settings.equal,
    }
