"""Placeholders in the values of a manifest that is valid YAML: `image: <your-image>`, `name: ${USER}-train`.

Commands and environment variables may contain shell variables, so they do not show that a manifest is a template;
Katib's parameters do. `$name`, `${name}`, `<name>` and `__NAME__` are errors only in a value that is also invalid by
its field's own rule.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping
from typing import Any, NamedTuple

from paddock.kube.validation.names import DNS_LABEL
from paddock.manifests.placeholders import Template, explain_placeholders, find_placeholders
from paddock.words.problems import Problem
from paddock.words.sentences import join_path, told

_OF_PROGRAMS = re.compile(r"\.(command|args|annotations)\b|\.env\[\d+\]\.value$")
_OF_SHELLS = ("envsubst", "shell", "sed")


class _Place(NamedTuple):
    """A placeholder in a value."""

    path: str
    name: str
    certain: bool  # it is none of a shell
    wrong: bool  # the field's own rule refuses the value


def check_placeholders(manifest: Mapping[str, Any], wrong: Collection[str]) -> tuple[list[Problem], frozenset[str]]:
    """One problem for each program that renders placeholders; and the paths that it explains, whose other problems say
    nothing more. `wrong`: the paths of values that have an error of their own."""
    found: dict[str, list[_Place]] = {}
    for path, value in _texts(manifest, ""):
        in_program = bool(_OF_PROGRAMS.search(path))
        for program, name in find_placeholders(value):
            if not (in_program and program in _OF_SHELLS and not _is_variable(path, value, name)):
                place = _Place(path, name, program == "katib" or not in_program, _is_wrong(path, value, wrong))
                found.setdefault(program, []).append(place)
    problems = []
    paths: set[str] = set()
    for program, places in found.items():
        certain = [place for place in places if place.certain]
        said = explain_placeholders(Template(program, tuple(dict.fromkeys(place.name for place in places))))
        # `/data/$RECYCLE.BIN` and `/mnt/__SHARE__` are valid paths: what may be meant so is no error
        if program in _OF_SHELLS and not any(place.wrong and not _is_bare(place.name) for place in certain):
            first = next((place.path for place in certain if not place.wrong), "")
            problems += [told(first, said, severity="warning")] if first else []
        elif certain:
            at = next((place for place in certain if place.wrong), certain[0])
            problems.append(told(at.path, said))
            paths.update(place.path for place in places)
    return problems, frozenset(paths)


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
