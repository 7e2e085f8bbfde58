"""What several runs began with, side by side: code, directory, requirements, packages, datasets, the machine. Pure.

`history.comparison` compares their manifests, `views.numbers` their last numbers. What a run has not recorded is
unknown, and unknown is no difference of its own: it is a `–` in a row in which others differ.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from paddock.history.records import RunRecord
from paddock.history.settings import ADDED, read_digests
from paddock.history.surroundings import (
    PYTHON,
    Packages,
    ReadPackages,
    Surroundings,
    explain_packages,
    tell_dataset,
    tell_machine,
)
from paddock.kube.code_annotation import CODE_ANNOTATION, Code, explain_code_change, read_code
from paddock.words.phrases import Phrase, counted, phrase, render

NOTHING = "–"
MOST_PACKAGES = 200
"""Rows of packages that differ; two environments may have nothing in common."""

Row = tuple[Phrase, list[str]]
"""A title, and the value of each run."""


def list_code(runs: Sequence[RunRecord], language: str) -> list[str]:
    """The code of each; those behind the first tell what differs from it."""
    codes = [read_code(run.annotations.get(CODE_ANNOTATION, "")) for run in runs]
    changes = ["", *(explain_code_change(codes[0], code) for code in codes[1:])]
    return [_tell_code(each, change, language) for each, change in zip(codes, changes, strict=True)]


def _tell_code(code: Code | None, change: str, language: str) -> str:
    """`change`: against the first run; empty where it is the same, or not known."""
    if code is None:
        return NOTHING
    files = render(counted("{count} file", "{count} files", count=code.count), language) if code.count else ""
    known = " + ".join(filter(None, (code.short, files)))
    return render(phrase("{code}; differs: {change}", code=known, change=change), language) if change else known


def list_requirements(runs: Sequence[RunRecord], language: str) -> list[str]:
    """The files of each by name, and packages of --add; those behind the first run that has recorded them tell which
    files say something else."""
    known = [read_digests(run.annotations) for run in runs]
    first = next(filter(None, known), {})
    return [_tell_files(first, each, language) if each else NOTHING for each in known]


def _tell_files(first: Mapping[str, str], files: Mapping[str, str], language: str) -> str:
    named = ", ".join(f"{name} {value}" if name == ADDED else name for name, value in files.items())
    differing = ", ".join(name for name, value in files.items() if name != ADDED and first.get(name, value) != value)
    return render(phrase("{code}; differs: {change}", code=named, change=differing), language) if differing else named


def list_datasets(runs: Sequence[Surroundings]) -> Iterator[Row]:
    """A row for each dataset that any of them mounts."""
    names = dict.fromkeys(name for run in runs for name in run.datasets or ())
    for name in names:
        states = [(run.datasets or {}).get(name) for run in runs]
        yield phrase("Dataset {name}", name=name), [tell_dataset(each) if each else NOTHING for each in states]


def list_machines(runs: Sequence[Surroundings]) -> list[str]:
    return [tell_machine(each.machine) if each.machine else NOTHING for each in runs]


def list_package_texts(runs: Sequence[Surroundings], read: ReadPackages, language: str) -> Iterator[Row]:
    """A row for each role, in which those behind the first run that has recorded them tell what differs from it."""
    roles = dict.fromkeys(role for run in runs for role in run.packages)
    for role in roles:
        first = next(run.packages[role] for run in runs if role in run.packages)
        title = phrase("Packages") if len(roles) == 1 else phrase("Packages of {role}", role=role)
        yield title, [_tell_packages(first, run.packages.get(role, ""), read, language) for run in runs]


def _tell_packages(first: str, digest: str, read: ReadPackages, language: str) -> str:
    if not digest:
        return NOTHING
    if change := explain_packages(first, digest, read):
        return change
    packages = read(digest)
    return render(counted("{count} package", "{count} packages", count=len(packages)), language) if packages else "…"


def list_differing(
    runs: Sequence[RunRecord], language: str, write_path: Callable[[str], str] = lambda path: path
) -> list[Row]:
    """What they began with as far as it differs, but for packages. `write_path`: a directory for the reader."""
    surroundings = [run.surroundings for run in runs]
    rows: list[Row] = [
        (phrase("Directory"), [write_path(run.directory) or NOTHING for run in runs]),
        (phrase("Code"), list_code(runs, language)),
        (phrase("Requirements"), list_requirements(runs, language)),
        *list_datasets(surroundings),
        (phrase("Machine"), list_machines(surroundings)),
    ]
    return [(title, values) for title, values in rows if len(set(values)) > 1]


@dataclass(frozen=True, slots=True)
class PackageRow:
    """A package whose version is not the same in all; None where a run does not have it, or it is not known."""

    role: str
    """Empty where the runs have one role, or all their roles differ alike."""
    name: str
    versions: tuple[str | None, ...]


@dataclass(frozen=True, slots=True)
class PackageTable:
    """The packages that differ."""

    rows: Sequence[PackageRow] = ()
    left_out: int = 0
    """How many more there are."""
    unknown: Sequence[int] = ()
    """The places of runs whose packages are not known, as they were not recorded or are not kept any more."""


def compare_packages(runs: Sequence[Surroundings], read: ReadPackages) -> PackageTable:
    """Of each role of which at least two runs have their packages."""
    roles = dict.fromkeys(role for run in runs for role in run.packages)
    found = dict[str, list[PackageRow]]()
    unknown = {place for place, run in enumerate(runs) if not run.packages}
    for role in roles:
        sets = [read(run.packages[role]) if role in run.packages else None for run in runs]
        unknown |= {place for place, each in enumerate(sets) if each is None and role in runs[place].packages}
        found[role] = list(_compare_role(role, sets))
    told = {tuple((row.name, row.versions) for row in rows) for rows in found.values()}
    if len(told) == 1:  # the roles differ alike: once is enough
        found = {role: [PackageRow("", row.name, row.versions) for row in rows] for role, rows in [*found.items()][:1]}
    rows = [row for each in found.values() for row in each]
    return PackageTable(rows[:MOST_PACKAGES], max(0, len(rows) - MOST_PACKAGES), sorted(unknown))


def _compare_role(role: str, sets: Sequence[Packages | None]) -> Iterator[PackageRow]:
    known = [each for each in sets if each is not None]
    if len(known) < 2:
        return
    names = sorted({name for each in known for name in each}, key=lambda name: (name != PYTHON, name))
    for name in names:
        if len({each.get(name) for each in known}) > 1:
            yield PackageRow(role, name, tuple(each.get(name) if each is not None else None for each in sets))
