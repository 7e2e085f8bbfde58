"""A list of the text, changed item by item: what is the same in both stays as it is, with its comments. Pure."""

from __future__ import annotations

import difflib
from collections.abc import Mapping, Sequence
from typing import Any

from paddock.manifests.documents import read_documents
from paddock.manifests.edits import CannotEdit, Path, insert_item, remove_value, set_value


def read_value(text: str, path: Path) -> Any:
    """What stands there in the first document; None where nothing does."""
    found: Any = read_documents(text)[0].manifest
    for step in path:
        if isinstance(found, Mapping):
            found = found.get(step)
        elif isinstance(found, list) and isinstance(step, int) and step < len(found):
            found = found[step]
        else:
            return None
    return found


def write_value(text: str, path: Path, value: Any) -> str:
    """The text with this value; None removes it. Raises `CannotEdit`."""
    if read_value(text, path) == value:
        return text  # two roles that share their template by an anchor have the value after the first
    return remove_value(text, path) if value is None else set_value(text, path, value)


def write_items(text: str, path: Path, wanted: Sequence[Mapping[str, Any]], key: str) -> str:
    """A list of mappings, of which `key` tells one from another. Raises `CannotEdit`."""
    before = read_value(text, path) or []
    if before == list(wanted):
        return text
    if not wanted or not before:
        return write_value(text, path, list(wanted) or None)
    merged = _merge_items(text, path, before, {each[key]: each for each in wanted}, key)
    same = merged is not None and read_value(merged, path) == list(wanted)
    return merged if merged is not None and same else set_value(text, path, list(wanted))


def write_words(text: str, path: Path, wanted: Sequence[str] | None) -> str:
    """A list of texts. Raises `CannotEdit`."""
    before = read_value(text, path)
    if before == wanted:
        return text
    kept = [each for each in wanted or () if isinstance(before, list) and each in before]
    if not kept or not wanted:
        return write_value(text, path, wanted)
    merged = _merge_words(text, path, before, wanted)
    same = merged is not None and read_value(merged, path) == list(wanted)
    return merged if merged is not None and same else set_value(text, path, wanted)


def _merge_items(
    text: str, path: Path, before: Sequence[Any], wanted: Mapping[str, Mapping[str, Any]], key: str
) -> str | None:
    """None where that gives another list than the wanted one: its order differs, or one name stands twice."""
    if not all(isinstance(each, Mapping) and key in each for each in before):
        return None
    there = [each for each in before if each[key] in wanted]
    if not there:
        return None
    for place in reversed(range(len(before))):
        if before[place][key] not in wanted:
            text = remove_value(text, (*path, place))
    names = [each[key] for each in there]
    for name, each in wanted.items():
        if name not in names:
            text = set_value(text, (*path, len(names)), dict(each))
            names.append(name)
            continue
        place = names.index(name)
        for part in {**there[place], **each} if place < len(there) else ():
            text = write_value(text, (*path, place, part), each.get(part))
    return text


def _merge_words(text: str, path: Path, before: Sequence[str], wanted: Sequence[str]) -> str | None:
    """From the end, so that the places before stay. None where an item comes before the first."""
    for kind, a, b, c, d in reversed(difflib.SequenceMatcher(None, before, wanted, False).get_opcodes()):
        if kind == "equal":
            continue
        both = min(b - a, d - c)
        for place in reversed(range(a + both, b)):
            text = remove_value(text, (*path, place))
        try:
            for value in reversed(wanted[c + both : d]):
                text = insert_item(text, (*path, a + both), value)
        except CannotEdit:
            return None
        for place in reversed(range(both)):
            text = set_value(text, (*path, a + place), wanted[c + place])
    return text
