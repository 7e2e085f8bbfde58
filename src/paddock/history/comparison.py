"""In which arguments and fields the manifests of several jobs, or of several runs of one, differ. Pure.

An argument has the name of its option (`history.arguments`), a variable its own, and a field of a pod's template its
place in there: the roles of a job that say the same say it once.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from paddock.history.arguments import read_arguments

FEWEST, MOST = 2, 8
"""Jobs, or runs, that stand side by side."""
_NAMED = "name"
"""What Kubernetes tells the items of containers, variables, ports and volumes apart by."""
_OWN = ("metadata.name", "metadata.namespace")
_WORDS = ("command", "args")
_CONTAINER = re.compile(
    r"(?P<owner>.*?)\.?template\.spec\.(?P<list>\w*[cC]ontainers)\[(?P<name>[^\]]*)\]\.?(?P<rest>.*)"
)
_TEMPLATE = re.compile(r"(?P<owner>.*?)\.?template\.(?:spec\.)?(?P<rest>.+)")
_VARIABLE = re.compile(r"env\[(?P<name>[^\]]*)\]\.?(?:value$|valueFrom\.)?(?P<rest>.*)")
COMMAND = "command"
"""The name of the row of the words that belong to no option."""
_ARGUMENT = "\0"
"""Before the name of an argument in a path: no field has it."""


@dataclass(frozen=True, slots=True)
class Difference:
    """A field, or an argument, of several manifests. `values`: of each, in their order; None where it has no such
    field."""

    path: str
    values: tuple[str | None, ...]

    @property
    def differs(self) -> bool:
        return len(set(self.values)) > 1


@dataclass(frozen=True, slots=True)
class Comparison:
    """What several manifests say, in the order in which it is first met."""

    arguments: Sequence[Difference]
    """Of the programs, by their names, and variables (`env LR`)."""
    fields: Sequence[Difference]
    """All others."""

    @property
    def equal(self) -> int:
        """How many are the same in all."""
        return sum(not each.differs for each in (*self.arguments, *self.fields))


def find_differences(manifests: Sequence[Mapping[str, Any]]) -> list[Difference]:
    """The fields that are not the same in all, by their whole path: of a command its words in one line. Names and
    namespaces differ always, so they are left out."""
    return [each for each in _line_up([dict(_flatten(manifest, "")) for manifest in manifests]) if each.differs]


def compare(manifests: Sequence[Mapping[str, Any]]) -> Comparison:
    """The same fields, with the arguments of commands one by one."""
    rows = _line_up([dict(_flatten(manifest, "", by_name=True)) for manifest in manifests])
    places = [_read_place(row.path) for row in rows]
    present = [{owner for row, (owner, _) in zip(rows, places, strict=True) if row.values[run] is not None}
               for run in range(len(manifests))]  # fmt: skip
    alike = dict[str, list[tuple[str, Difference]]]()
    for row, (owner, name) in zip(rows, places, strict=True):
        alike.setdefault(name, []).append((owner, row))
    arguments, fields = list[Difference](), list[Difference]()
    for name, found in alike.items():
        into = arguments if name.startswith(_ARGUMENT) else fields
        into += _join(name.removeprefix(_ARGUMENT), found, present)
    return Comparison(arguments, fields)


def _line_up(flat: Sequence[Mapping[str, str]]) -> list[Difference]:
    paths = dict.fromkeys(path for each in flat for path in each if path not in _OWN)
    return [Difference(path, tuple(each.get(path) for each in flat)) for path in paths]


def _join(name: str, found: Sequence[tuple[str, Difference]], present: Sequence[set[str]]) -> Iterator[Difference]:
    """A row where all owners say the same in each run, those that a run does not have left out; else a row for each
    owner."""
    said = [{row.values[run] for owner, row in found if owner in owners} for run, owners in enumerate(present)]
    if all(len(each) < 2 for each in said):
        yield Difference(name, tuple(next(iter(each), None) for each in said))
        return
    yield from (Difference(f"{owner.rpartition('.')[2]}: {name}", row.values) for owner, row in found)


def _read_place(path: str) -> tuple[str, str]:
    """(whose it is, its name there): of a field outside of templates its whole path, which is nobody's."""
    head, argument, option = path.partition(_ARGUMENT)
    if found := _CONTAINER.fullmatch(head):
        owner, rest = found["owner"], found["rest"]
        owner = owner if found["list"] == "containers" else f"{owner}[{found['name']}]"
        if argument:
            return owner, _ARGUMENT + (option or COMMAND)
        if variable := _VARIABLE.fullmatch(rest):
            return owner, f"{_ARGUMENT}env {variable['name']} {variable['rest']}".rstrip()
        return owner, rest
    if argument:
        return head, _ARGUMENT + (option or COMMAND)
    found = _TEMPLATE.fullmatch(path)
    return (found["owner"], found["rest"]) if found else ("", path)


def _flatten(value: Any, path: str, *, by_name: bool = False) -> Iterator[tuple[str, str]]:
    """`by_name`: the words of a command are its arguments, each with a path of its own."""
    if isinstance(value, Mapping) and (value or not path):
        if by_name and not path.endswith(".exec") and (words := _list_words(value)):
            yield from ((f"{path}{_ARGUMENT}{name}", text) for name, text in read_arguments(words).items())
            value = {key: own for key, own in value.items() if key not in _WORDS}
        for key, each in value.items():
            yield from _flatten(each, f"{path}.{key}" if path else str(key), by_name=by_name)
    elif isinstance(value, list) and any(isinstance(each, Mapping) for each in value):
        for name, each in _name_items(value):
            yield from _flatten(each, f"{path}[{name}]", by_name=by_name)
    elif isinstance(value, list):
        yield path, " ".join(map(_write, value))  # a command is read as one line
    else:
        yield path, _write(value)


def _list_words(value: Mapping[str, Any]) -> list[str]:
    """The words of a container's command; empty where they are no list of them."""
    lists = [value[key] for key in _WORDS if key in value]
    if not all(isinstance(each, list) and not any(isinstance(word, Mapping | list) for word in each) for each in lists):
        return []
    return [_write(word) for each in lists for word in each]


def _name_items(items: Sequence[Any]) -> list[tuple[Any, Any]]:
    """Each with its name, where all have one of their own; else with its place."""
    names = [each.get(_NAMED) if isinstance(each, Mapping) else None for each in items]
    if not all(isinstance(name, str) for name in names) or len(set(names)) < len(names):
        return list(enumerate(items))
    bare = [{key: own for key, own in each.items() if key != _NAMED} or "" for each in items]
    return list(zip(names, bare, strict=True))


def _write(value: Any) -> str:
    """As in YAML: `true`, `null`."""
    if isinstance(value, bool):
        return "true" if value else "false"
    return "null" if value is None else str(value)
