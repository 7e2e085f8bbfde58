"""What somebody says of an Environment that is there -> the Environment with it, and what differs. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from paddock.environments.from_files import build_spec, find_problems, with_files
from paddock.environments.manifests import Settings, build_variables, find_setting_problems, read_variables
from paddock.environments.requirement_files import Requirements, read_requirements
from paddock.environments.requirements import requirement_name
from paddock.environments.sources import Source
from paddock.kube.meta import Manifest
from paddock.words.phrases import Names, Phrase, phrase


@dataclass(frozen=True, slots=True)
class Changes(Settings):
    """The options of `paddock env update`. What is empty stays as it is."""

    added: tuple[str, ...] = ()
    """Packages beside those of the files, as in `opencv-python>=4`."""
    removed: tuple[str, ...] = ()
    """Packages that were added."""

    @property
    def any(self) -> bool:
        return self != Changes()


def find_change_problems(
    changes: Changes, read: Sequence[Requirements], source: Source | None, before: Mapping[str, Any]
) -> list[Phrase]:
    """What is wrong with the files and with the options. `read`, `source`: as of `change_environment`; `before`: the
    Environment."""
    there = source.added if source else (before.get("spec") or {}).get("requirements") or ()
    return [
        *find_problems(read, source or Source(())),
        *find_setting_problems(changes),
        *(said for each in changes.added if (said := _explain_package(each, read))),
        *(said for each in changes.removed if (said := _explain_removed(each, there))),
    ]


def choose_source(recorded: Source | None, named: Source | None, *, names_files: bool) -> Source | None:
    """The files that a change makes the Environment of; None if they cannot be read again. What was added beside other
    files does not stay. `recorded`: those that it was made of; `named`: those of the options, None if one of them is
    standard input; `names_files`: whether the options name any."""
    if not names_files:
        return recorded
    return replace(recorded or named, files=named.files, added=()) if named else None


def change_environment(before: Manifest, read: Sequence[Requirements], source: Source | None, changes: Changes,
                       now: str) -> Manifest:  # fmt: skip
    """The Environment with changes that have no problems. `read`: the files as they are now; `source`: None if they
    cannot be read again; `now`: RFC 3339."""
    after = before
    if source is not None:
        own_index = source.own_index or changes.names_index
        added = _with_packages(source.added, changes)
        after = with_files(before, read, replace(source, added=added, own_index=own_index), now)
    elif read:
        after = {**before, "spec": build_spec(read, Source(()), before.get("spec") or {})}
    spec = dict(after.get("spec") or {})
    if source is None and (changes.added or changes.removed):
        spec["requirements"] = list(_with_packages(spec.get("requirements") or (), changes))
    variables = {each["name"]: each.get("value") or "" for each in spec.get("env") or ()}
    given = {
        "images": list(changes.images),
        "python": changes.python,
        "indexURL": changes.index_url,
        "extraIndexURLs": list(changes.extra),
        "torchBackend": changes.torch_backend,
        "env": build_variables(variables | read_variables(changes.variables)) if changes.variables else (),
    }
    return {**after, "spec": spec | {key: value for key, value in given.items() if value}}


def is_built_anew(before: Mapping[str, Any], after: Mapping[str, Any]) -> bool:
    """Whether two specs are built in different directories, or checked otherwise."""
    built = ("requirements", "python", "indexURL", "extraIndexURLs", "pipOptions", "torchBackend", "env", "verify")
    return any(before.get(key) != after.get(key) for key in built)


def find_differences(before: Mapping[str, Any], after: Mapping[str, Any]) -> list[Phrase]:
    """What differs between two specs, a line for each field. Values that may hold a password are not told."""
    said = []
    for key in dict.fromkeys((*before, *after)):
        old, new = before.get(key), after.get(key)
        if old == new:
            continue
        if key in ("indexURL", "extraIndexURLs", "pipOptions"):
            said.append(phrase("{option}: {problem}", option=key, problem=phrase("another one")))
            continue
        one, other = _as_items(old), _as_items(new)
        names = [
            *(f"+{shown}" for item, shown in other.items() if item not in one),
            *(f"-{shown}" for item, shown in one.items() if item not in other and shown not in other.values()),
        ]
        said.append(phrase("{option}: {problem}", option=key, problem=", ".join(names or other.values())))
    return said


def _as_items(value: Any) -> dict[str, str]:
    """Items to compare -> what is shown of them: of a variable its name."""
    if not isinstance(value, list):
        return {str(value): str(value)} if value else {}
    return {str(each): each["name"] if isinstance(each, Mapping) else str(each) for each in value}


def _with_packages(there: Sequence[str], changes: Changes) -> tuple[str, ...]:
    """An added package takes the place of one of the same name."""
    gone = {requirement_name(each) for each in (*changes.added, *changes.removed)}
    return (*(each for each in there if requirement_name(each) not in gone), *dict.fromkeys(changes.added))


def _explain_removed(name: str, there: Sequence[str]) -> Phrase | None:
    names = [requirement_name(each) for each in there]
    if requirement_name(name) in names:
        return None
    added = Names(tuple(names)) if names else phrase("none was")
    return phrase("--remove {package}: no such package was added; added: {names}", package=name, names=added)


def _explain_package(text: str, files: Sequence[Requirements]) -> Phrase | None:
    for each in files:
        for package, place in zip(each.packages, each.places, strict=True):
            if requirement_name(package) == requirement_name(text):
                return phrase("--add {package}: {place} names it already: change it there", package=text, place=place)
    read = read_requirements("--add", lambda _: text)
    if read.problems or read.packages == [text]:
        return read.problems[0] if read.problems else None
    return phrase("--add {package}: one package is wanted; options and paths stand in a requirements.txt", package=text)
