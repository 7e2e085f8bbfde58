"""What differs between the manifests of two runs, in few words. Pure.

    spec.worker.replicas: 2 → 4
    args: --lr 0.1 → 0.2            the arguments that differ, with the option that they belong to
    env LR: 0.1 → 0.2               by its name, wherever it stands in the list

Lists of objects that have a `name` (containers, env, volumes) are compared by name, others by position.
"""

from __future__ import annotations

import difflib
import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

_ARGUMENTS = frozenset({"args", "command"})
_LONGEST_VALUE = 40
_CONTEXT = 10
"""Characters that are shown before the first that differs, in long values."""
SHOWN = 3
"""Changes that a line has."""
_NOTHING = object()


def find_changes(before: Mapping[str, Any], now: Mapping[str, Any], path: str = "spec") -> list[str]:
    """One text for each difference, in the order of the newer manifest; fields that went come last."""
    return list(_of_mappings(before, now, path))


def shorten(changes: Sequence[str], most: int = SHOWN) -> str:
    """The first ones in one line: `a: 1 → 2; b: + 3; …`."""
    shown = "; ".join(changes[:most])
    return f"{shown}; …" if len(changes) > most else shown


def _compare(before: Any, now: Any, path: str) -> Iterator[str]:
    if before == now and type(before) is type(now):
        return
    if isinstance(before, Mapping) and isinstance(now, Mapping):
        yield from _of_mappings(before, now, path)
    elif isinstance(before, list) and isinstance(now, list):
        yield from _of_lists(before, now, path)
    else:
        yield f"{path}: {_say(before, now)}"


def _of_mappings(before: Mapping[str, Any], now: Mapping[str, Any], path: str) -> Iterator[str]:
    for key in (*now, *(key for key in before if key not in now)):
        yield from _compare(before.get(key, _NOTHING), now.get(key, _NOTHING), f"{path}.{key}" if path else str(key))


def _of_lists(before: list[Any], now: list[Any], path: str) -> Iterator[str]:
    last = path.rpartition(".")[2]
    if last in _ARGUMENTS and all(isinstance(each, str) for each in (*before, *now)):
        yield from (f"{last}: {change}" for change in _of_arguments(before, now))
        return
    named, renamed = _by_name(before), _by_name(now)
    if named is None or renamed is None:
        old, new = ({f"[{number}]": each for number, each in enumerate(found)} for found in (before, now))
        for change in _of_mappings(old, new, ""):
            yield path + change
        return
    for name in (*renamed, *(name for name in named if name not in renamed)):
        yield from _of_named(named.get(name, _NOTHING), renamed.get(name, _NOTHING), path, name)


def _of_named(before: Any, now: Any, path: str, name: str) -> Iterator[str]:
    if path.rpartition(".")[2] == "env":
        values = [each.get("value", "") if isinstance(each, Mapping) else each for each in (before, now)]
        if before != now:
            # A value from a Secret or a ConfigMap is not in the manifest; its source is.
            same = values[0] == values[1]
            yield f"env {name}: {_say(before, now) if same else _say(*values)}"
        return
    yield from _compare(before, now, f"{path}[{name}]")


def _by_name(items: list[Any]) -> dict[str, Any] | None:
    """The items by name; None if one has no name or two have the same."""
    if not all(isinstance(each, Mapping) and isinstance(each.get("name"), str) for each in items):
        return None
    found = {each["name"]: each for each in items}
    return found if len(found) == len(items) else None


def _of_arguments(before: list[str], now: list[str]) -> Iterator[str]:
    """`--lr 0.1 → 0.2`: the changed arguments, after the option that stands before them in both."""
    matcher = difflib.SequenceMatcher(None, before, now, autojunk=False)
    for tag, start, end, begin, stop in matcher.get_opcodes():
        if tag == "equal":
            continue
        option = now[begin - 1] if begin and now[begin - 1].startswith("-") and start else ""
        old, new = (" ".join(found) if found else _NOTHING for found in (before[start:end], now[begin:stop]))
        yield f"{option} {_say(old, new)}".strip()


def _say(before: Any, now: Any) -> str:
    if before is _NOTHING:
        return f"+ {_show(now)}"
    if now is _NOTHING:
        return f"− {_show(before)}"
    old, new = _on_one_line(before), _on_one_line(now)
    start = 0
    if max(len(old), len(new)) > _LONGEST_VALUE:
        # A long script that differs in its last word must not show its first one.
        start = max(0, _same(old, new) - _CONTEXT)
    return f"{_cut(old, start)} → {_cut(new, start)}"


def _same(old: str, new: str) -> int:
    """The length of what both begin with."""
    pairs = enumerate(zip(old, new, strict=False))
    return next((place for place, (one, other) in pairs if one != other), min(len(old), len(new)))


def _show(value: Any) -> str:
    return _cut(_on_one_line(value))


def _on_one_line(value: Any) -> str:
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)
    return " ".join(text.split()) or '""'


def _cut(line: str, start: int = 0) -> str:
    rest = f"…{line[start:]}" if start else line
    return rest if len(rest) <= _LONGEST_VALUE else rest[: _LONGEST_VALUE - 1] + "…"
