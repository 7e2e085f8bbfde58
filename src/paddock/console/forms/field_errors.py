"""Which field of the form an error is about, and the sentence that stands under it. Pure.

A problem has the path of a value, a field the paths that it is written to. What is about no field stands with the text
alone.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence

from paddock.console.forms.fields import Field
from paddock.console.forms.values import AMOUNT, CLAIMS, SHARED_MEMORY
from paddock.words.phrases import Phrase, phrase
from paddock.words.problems import Problem
from paddock.words.sentences import split_path

_BYTES = re.compile(r"([0-9]+(?:\.[0-9]+)?)\s*([kKmMgGtTpP])i?[bB]")
_VOLUMES = ("volumes", "volumeMounts")


Places = Mapping[tuple[str, ...], Field]
"""The fields by the steps of each path that they are written to: a text may have hundreds of fields and of problems."""


def build_places(fields: Iterable[Field]) -> Places:
    found: dict[tuple[str, ...], Field] = {}
    for field in fields:
        for place in field.paths:
            for own in _list_paths(field, tuple(map(str, place))):
                found.setdefault(own, field)
    return found


def find_field(places: Places, path: str) -> Field | None:
    """The field whose value is at `path` (`spec.worker.replicas`), or holds it; None where the form has none."""
    steps = tuple(split_path(path))
    lengths = range(len(steps), -1, -1)
    return next((found for length in lengths if (found := places.get(steps[:length])) is not None), None)


def _list_paths(field: Field, place: tuple[str, ...]) -> Sequence[tuple[str, ...]]:
    """Storage is written into two lists of what its paths name."""
    if field.form is SHARED_MEMORY:  # what is wrong with a volume is rarely about /dev/shm
        return ()
    return [(*place, each) for each in _VOLUMES] if field.form is CLAIMS else (place,)


def find_errors(places: Places, problems: Sequence[Problem]) -> Mapping[str, Sequence[Phrase | str]]:
    """Field id -> the sentences that stand under it."""
    errors: dict[str, list[Phrase | str]] = {}
    for problem in problems:
        field = find_field(places, problem.path) if problem.severity == "error" else None
        said = _say(field, problem) if field else ""
        if field and said not in errors.setdefault(field.id, []):
            errors[field.id].append(said)
    return errors


def _say(field: Field, problem: Problem) -> Phrase | str:
    """The problem's own sentence, but for an amount of bytes as one says it."""
    typed = (field.shown or "").strip()
    if field.form in (AMOUNT, SHARED_MEMORY) and (said := explain_bytes(typed)):
        return said
    return problem.said or problem.message


def explain_bytes(typed: str) -> Phrase | None:
    """What to write for `2GB`; None for what is no such amount."""
    found = _BYTES.fullmatch(typed)
    if found is None:
        return None
    amount, unit = found[1], found[2].upper()
    decimal, binary = "k" if unit == "K" else unit, "Ki" if unit == "K" else f"{unit}i"
    return phrase(
        '"{found}" is not understood: write {amount}{decimal} or {amount}{binary}',
        found=typed, amount=amount, decimal=decimal, binary=binary,
    )  # fmt: skip
