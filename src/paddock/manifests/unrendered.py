"""Placeholders in the values of a manifest that is valid YAML: `image: <your-image>`, `name: ${USER}-train`.

Commands and environment variables may contain shell variables, so they do not show that a manifest is a template;
Katib's parameters do. Where other values show it, words of a command that no shell reads are to be filled in as well.
`$name`, `${name}`, `<name>` and `__NAME__` are errors only in a value that is also invalid by its field's own rule.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from paddock.kube.validation.names import DNS_LABEL
from paddock.manifests.placeholders import Template, explain_placeholders, find_placeholders
from paddock.words.problems import Problem
from paddock.words.sentences import join_path, told

_OF_PROGRAMS = re.compile(r"\.(command|args|annotations)\b|\.env\[\d+\]\.value$")
_OF_SHELLS = ("envsubst", "shell", "sed")
_ENVSUBST = "envsubst"
_WORD = re.compile(r"^(.*)\.(?:command|args)\[\d+\]$")
_FIRST_WORD = re.compile(r"^(.*)\.(?:command|args)\[0\]$")


class Found(NamedTuple):
    """What the placeholders of a manifest come to."""

    problems: list[Problem]
    """One for each program that renders placeholders."""
    paths: frozenset[str]
    """Those that they explain, whose other problems say nothing more."""
    is_filled_in: bool
    """Whether one of them says that envsubst fills in all of them: so it does for the words of a command."""


class _Place(NamedTuple):
    """A placeholder in a value."""

    path: str
    name: str
    certain: bool  # it is none of a shell
    wrong: bool  # the field's own rule refuses the value


def check_placeholders(
    manifest: Mapping[str, Any], wrong: Collection[str], is_shell: Callable[[str], bool] = lambda _: False
) -> Found:
    """`wrong`: the paths of values that have an error of their own; `is_shell`: whether the first word of a command is
    a shell."""
    texts = list(_texts(manifest, ""))
    found: dict[str, list[_Place]] = {}
    for path, value in texts:
        in_program = bool(_OF_PROGRAMS.search(path))
        for program, name in find_placeholders(value):
            if not (in_program and program in _OF_SHELLS and not _is_variable(path, value, name)):
                place = _Place(path, name, program == "katib" or not in_program, _is_wrong(path, value, wrong))
                found.setdefault(program, []).append(place)
    problems: list[Problem] = []
    paths: set[str] = set()
    is_filled_in = False
    for program, places in found.items():
        certain = [place for place in places if place.certain]
        more = _list_words(texts, is_shell) if program == _ENVSUBST and certain else ()
        names = (*(place.name for place in places), *more)
        before = len(problems)
        said = explain_placeholders(Template(program, tuple(dict.fromkeys(names))))
        # `/data/$RECYCLE.BIN` and `/mnt/__SHARE__` are valid paths: what may be meant so is no error
        if program in _OF_SHELLS and not any(place.wrong and not _is_bare(place.name) for place in certain):
            first = next((place.path for place in certain if not place.wrong), "")
            problems += [told(first, said, severity="warning")] if first else []
        elif certain:
            at = next((place for place in certain if place.wrong), certain[0])
            problems.append(told(at.path, said))
            paths.update(place.path for place in places)
        is_filled_in = is_filled_in or (program == _ENVSUBST and len(problems) > before)
    return Found(problems, frozenset(paths), is_filled_in)


def _list_words(texts: Sequence[tuple[str, str]], is_shell: Callable[[str], bool]) -> Iterator[str]:
    """The placeholders in words of commands that no shell reads."""
    of_shells = {place[1] for path, value in texts if (place := _FIRST_WORD.search(path)) and is_shell(value)}
    for path, value in texts:
        place = _WORD.search(path)
        if place is not None and place[1] not in of_shells and not re.search(r"[\s;&|]", value):
            yield from (name for program, name in find_placeholders(value) if program == _ENVSUBST)


def _is_bare(name: str) -> bool:
    """Whether it is `$name`, without braces, which stands in many valid values."""
    return name.startswith("$") and not name.startswith("${")


def _is_wrong(path: str, value: str, wrong: Collection[str]) -> bool:
    # no other check has a namespace's rule: the API server refuses it by the URL
    return path in wrong or (path == "metadata.namespace" and not DNS_LABEL.allows(value))


def _is_variable(path: str, value: str, name: str) -> bool:
    """Whether the value of an environment variable is only a placeholder."""
    return path.endswith(".value") and value == name


def _texts(value: Any, path: str) -> Iterator[tuple[str, str]]:
    if isinstance(value, Mapping):
        for key, item in value.items():
            yield from _texts(item, join_path(path, key))
    elif isinstance(value, list):
        for index, item in enumerate(value):
            yield from _texts(item, join_path(path, index))
    elif isinstance(value, str):
        yield path, value
