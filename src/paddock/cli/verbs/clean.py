"""paddock clean"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import click

from paddock.app.cleaning.removal import alone, remove
from paddock.app.cleaning.things import REMADE, SORTS, Remainder, Thing, find_things
from paddock.app.cleaning.uses import Needs
from paddock.app.cleaning.weights import Weight, merge, weigh
from paddock.app.home import Home
from paddock.cli.cluster.errors import Failed, UserError
from paddock.cli.cluster.session import home, run
from paddock.cli.cluster.uses import fetch_all_needs
from paddock.cli.output.freed import explain_elsewhere, explain_freed, explain_uv_cache
from paddock.cli.output.language import localized, readers_language, say
from paddock.cli.output.questions import ask
from paddock.cli.output.streams import print_line, print_notice, write_json
from paddock.cli.output.terminal import print_table, stdout
from paddock.cli.verb import Verb
from paddock.kube.quantities import format_bytes
from paddock.words.phrases import Phrase, counted, phrase

_MOST_HELD = 10
"""That are named; `-o json` has all."""


@click.command(name="clean", cls=Verb)
@click.argument("sorts", nargs=-1, metavar="[SORT]...", type=click.Choice(list(SORTS)))
@click.option("--dry-run", is_flag=True, help="Show what would go and how much comes free, and remove nothing.")
@click.option("--yes", is_flag=True, help="Do not ask.")
@click.option("-o", "output", type=click.Choice(["table", "json"]), default="table", help="How to print it.")
def command(sorts: tuple[str, ...], dry_run: bool, yes: bool, output: str) -> int:
    """Free disk space: what is made again when it is needed and, where you name it, results, logs and history.

    \b
    paddock clean --dry-run               what there is, and how much comes free
    paddock clean                         environments, images, caches: made again when they are needed
    paddock clean environments            the built packages that no unfinished job uses
    paddock clean outputs logs history    of runs that have ended: nothing makes these again

    It asks before it removes anything. It leaves what an unfinished job or a build needs, and says so. The cluster may
    be up or down, and is not started. Datasets, and what jobs write to directories of yours, are not touched.
    """
    place, wanted = home(), tuple(sort for sort in SORTS if sort in sorts)
    things, held = _find(place, wanted or tuple(SORTS))
    going = [each for each in things if each.sort in (wanted or REMADE)]
    held = [each for each in held if each.sort in (wanted or REMADE)]
    cleaning = Cleaning(place, things, held, going, dry_run=dry_run or not going)
    if output == "table":
        _print(cleaning, named=bool(wanted))
    if not cleaning.dry_run:
        _confirm(cleaning, yes=yes)
        with alone(place):
            again = {(each.sort, each.paths) for each in _find(place, wanted or REMADE)[0]}  # a job may have begun
            cleaning.going = [each for each in going if (each.sort, each.paths) in again]
            cleaning.remove()
    if output == "json":
        print_line(write_json(cleaning.to_json()))
    return 1 if cleaning.problems else 0


def _find(place: Home, sorts: Sequence[str]) -> tuple[list[Thing], list[Remainder]]:
    return find_things(place, _ask(place), sorts)


def _ask(place: Home) -> Needs:
    return run(fetch_all_needs(place))


@dataclass(slots=True)
class Cleaning:
    """One cleaning, from what was found to what became of it."""

    home: Home
    things: Sequence[Thing]
    held: Sequence[Remainder]
    going: Sequence[Thing]
    """Those of the things that are to be removed."""
    dry_run: bool
    removed: list[Thing] = field(default_factory=list)
    problems: dict[int, Phrase] = field(default_factory=dict)
    """Of things that stay, by their place in `going`."""

    def remove(self) -> None:
        """Says each problem when it comes, and in the end how much came free: also where somebody interrupts."""
        try:
            for place, thing in enumerate(self.going):
                if not any(map(os.path.lexists, thing.paths)):  # somebody else cleans up too
                    continue
                if (problem := remove(self.home, thing, lambda: _ask(self.home))) is None:
                    self.removed.append(thing)
                else:
                    self.problems[place] = problem
                    print_notice(localized(problem))
        finally:
            for said in explain_freed(_weigh(self.removed)):
                print_notice(localized(said))

    def to_json(self) -> dict[str, Any]:
        freed = _weigh(self.going if self.dry_run else self.removed)
        language = readers_language()
        stays = {id(self.going[place]): localized(said) for place, said in self.problems.items()}
        return {
            "home": str(self.home.root),
            "cache": str(self.home.cache),
            "dryRun": self.dry_run,
            "freedBytes": freed.frees,
            "inOtherLinksBytes": freed.elsewhere,
            "things": [
                {
                    "sort": each.sort, "name": say(each.name, language), "paths": list(map(str, each.paths)),
                    "bytes": each.weight.frees, "inOtherLinksBytes": each.weight.elsewhere,
                    "lost": localized(SORTS[each.sort]), "removed": each in self.removed,
                    "problem": stays.get(id(each)),
                }
                for each in self.things
            ],
            "kept": [
                {"sort": each.sort, "name": say(each.name, language), "why": localized(each.why)}
                for each in self.held
            ],
        }  # fmt: skip


def _weigh(things: Sequence[Thing]) -> Weight:
    """The weight of things together: a file of two environments comes free with the second."""
    return weigh(merge(each.links for each in things))


def _print(cleaning: Cleaning, *, named: bool) -> None:
    header = ["SORT", "NAME", "FREES"] if named else ["SORT", "THINGS", "FREES", "LOST"]
    rows = list(build_rows(cleaning.things) if named else build_sums(cleaning.things))
    if rows:
        print_table(stdout(), header, rows, cut=True)
    for each in cleaning.held[:_MOST_HELD]:
        print_notice(localized(phrase("kept: {sort} {name}: {why}", sort=each.sort, name=each.name, why=each.why)))
    if (more := len(cleaning.held) - _MOST_HELD) > 0:
        print_notice(localized(counted("kept: {count} more", "kept: {count} more", count=more)))
    weight = _weigh(cleaning.going)
    if not named and not explain_elsewhere(weight):
        for said in explain_uv_cache(os.environ):
            print_notice(localized(said))
    if not cleaning.going:
        print_notice(localized(phrase("nothing is to be removed")))
    elif cleaning.dry_run:
        print_notice(localized(phrase("{size} would come free", size=format_bytes(weight.frees))))
        for said in explain_elsewhere(weight):
            print_notice(localized(said))


def build_sums(things: Sequence[Thing]) -> Iterator[list[str]]:
    """A row for each sort of which there is something. Pure."""
    for sort, lost in SORTS.items():
        found = [each for each in things if each.sort == sort]
        if sort not in REMADE:
            lost = phrase("{lost}; only by `{command}`", lost=lost, command=f"paddock clean {sort}")
        if found:
            yield [sort, str(len(found)), format_bytes(_weigh(found).frees), localized(lost)]


def build_rows(things: Sequence[Thing]) -> Iterator[list[str]]:
    """A row for each thing, the largest of a sort first. Pure."""
    language = readers_language()
    weighed = [(list(SORTS).index(each.sort), -each.weight.frees, each) for each in things]
    for _, size, each in sorted(weighed, key=lambda row: row[:2]):
        yield [each.sort, say(each.name, language), format_bytes(-size)]


def _confirm(cleaning: Cleaning, *, yes: bool) -> None:
    """Raises `UserError` where nobody can answer, `Failed` where the answer is no."""
    if yes:
        return
    if not sys.stdin.isatty():
        raise UserError(phrase("nothing was removed, as nobody can be asked here: --yes removes it"))
    size, sorts = format_bytes(_weigh(cleaning.going).frees), sorted({each.sort for each in cleaning.going})
    lost = [SORTS[sort] for sort in SORTS if sort in sorts and sort not in REMADE]
    for said in lost:
        print_notice(localized(phrase("lost for good: {what}", what=said)))
    if not ask(phrase("remove {sorts}, {size}?", sorts=", ".join(sorts), size=size)):
        raise Failed(phrase("nothing was removed"))
