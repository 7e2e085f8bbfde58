"""Options of `paddock env create` and `env update` -> an Environment, or all problems at once. Pure."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from paddock.cli.cluster.errors import UserError
from paddock.environments.from_files import build_spec, find_problems, with_files
from paddock.environments.manifests import Settings, build_manifest, build_variables, read_variables
from paddock.environments.pytorch.builds import AUTO, BACKEND_PATTERN, CPU, PLAIN
from paddock.environments.requirement_files import Requirements, explain_url, read_requirements
from paddock.environments.requirements import requirement_name
from paddock.environments.sources import Source
from paddock.kube.meta import Manifest
from paddock.words.phrases import Names, Phrase, phrase


@dataclass(frozen=True, slots=True)
class Changes(Settings):
    """The options of `paddock env update`. What is empty stays as it is."""

    added: tuple[str, ...] = ()
    removed: tuple[str, ...] = ()

    @property
    def any(self) -> bool:
        return self != Changes()


def build_environment(name: str, read: Sequence[Requirements], settings: Settings) -> Manifest:
    """The Environment. Options override the files. Raises `UserError` with every problem at once."""
    problems = [problem for each in read for problem in each.problems]
    problems += _find_problems(settings)
    if problems:
        raise UserError(*problems, phrase("nothing was created"))
    return build_manifest(name, read, settings)


def check_changes(
    changes: Changes, read: Sequence[Requirements], source: Source | None, before: Mapping[str, Any]
) -> None:
    """Raises `UserError` with every problem of the options and of the files at once. `before`: the Environment."""
    there = source.added if source else (before.get("spec") or {}).get("requirements") or ()
    problems: list[Phrase] = find_problems(read, source or Source(()))
    problems += _find_problems(changes)
    problems += [said for each in changes.added if (said := _explain_package(each, read))]
    problems += [said for each in changes.removed if (said := _explain_removed(each, there))]
    if problems:
        raise UserError(*problems, phrase("nothing was changed"))


def change_environment(before: Manifest, read: Sequence[Requirements], source: Source | None, changes: Changes,
                       now: str) -> Manifest:  # fmt: skip
    """The Environment with the changes of `check_changes`. `read`: the files as they are now; `source`: None if they
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
    built = ("requirements", "python", "indexURL", "extraIndexURLs", "torchBackend", "env", "verify")
    return any(before.get(key) != after.get(key) for key in built)


def find_differences(before: Mapping[str, Any], after: Mapping[str, Any]) -> list[Phrase]:
    """What differs between two specs, a line for each field. Values that may hold a password are not told."""
    said = []
    for key in dict.fromkeys((*before, *after)):
        old, new = before.get(key), after.get(key)
        if old == new:
            continue
        if key in ("indexURL", "extraIndexURLs"):
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
    return read.problems[0] if read.problems else None


def _find_problems(settings: Settings) -> list[Phrase]:
    index, python = settings.index_url, settings.python
    problems = [_of_option("--index-url", said) for said in (explain_url(index) if index else None,) if said]
    problems += [_of_option("--extra-index-url", said) for each in settings.extra if (said := explain_url(each))]
    problems += [said for each in settings.variables if (said := _explain_variable(each))]
    if settings.torch_backend and not re.fullmatch(BACKEND_PATTERN, settings.torch_backend):
        problems.append(_explain_backend(settings.torch_backend))
    return [*problems, *(_of_option("--python", said) for said in (explain_python(python),) if said)]


def _explain_backend(text: str) -> Phrase:
    return phrase(
        "--torch-backend: found {found}; wanted is one of {names}, or a build of download.pytorch.org, as in cu128",
        found=repr(text), names=Names((AUTO, CPU, PLAIN)),
    )  # fmt: skip


def _of_option(option: str, problem: Phrase | str) -> Phrase:
    return phrase("{option}: {problem}", option=option, problem=problem)


def _explain_variable(text: str) -> Phrase | None:
    name, equals, _ = text.partition("=")
    if equals and re.fullmatch(r"[A-Za-z_][A-Za-z0-9_.-]*", name):
        return None
    return phrase("--env: found {found}; NAME=VALUE is wanted, as in FLAGS_use_mkldnn=1", found=repr(text))


def explain_python(specifier: str) -> Phrase | str | None:
    """Why it is no valid specifier of a Python version; None if it is valid."""
    from paddock.environments.pythons import match_version

    if re.fullmatch(r"\d+\.\d+", specifier):
        return phrase("found {found}; did you mean {suggestion}?", found=specifier, suggestion=f"=={specifier}.*")
    try:
        match_version(specifier, (3, 11, 0))
    except ValueError as error:
        return str(error)
    return None
