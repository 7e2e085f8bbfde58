"""The values of --cpus and --memory, which each rank asks for: quantities as Kubernetes writes them. Pure.

`4GB` and `4g` are what people type first, and no quantities; `4096` is a quantity, of 4096 bytes. Each of them is
refused, with the amount that was meant.
"""

from __future__ import annotations

import re
from fractions import Fraction

from paddock.kube.quantities import read_quantity
from paddock.words.phrases import Phrase, phrase

_LEAST_MEMORY = Fraction(2**20)
"""Bytes. No program starts in less."""
_MOST_CPUS = Fraction(100_000)
"""No machine has more; `500M` is 500 million CPUs."""
_TYPED = re.compile(r"(\d{1,15}(?:[.,]\d{1,9})?)\s*([a-zA-Z]{0,12})")
_UNITS = {"k": "k", "m": "M", "g": "G", "t": "T"}
"""Kubernetes' suffix of the letter that a unit begins with."""
_DIGITS_OF_GIB = 2
"""A longer number without a unit is one of MiB, as Docker and Slurm have it: 4096."""
_CORES = ("c", "cpu", "cpus", "core", "cores", "vcpu", "vcpus")


def explain_wrong_cpus(text: str) -> Phrase | None:
    """What is wrong with a number of CPUs; None for a right one: `2`, `0.5`, `500m`."""
    if _is_cpus(text):
        return None
    if near := _find_cpus(text):
        return phrase(
            "{text} is no number of CPUs; did you mean {near}? A number is wanted, such as 2, 0.5 or 500m",
            text=repr(text), near=near,
        )  # fmt: skip
    return phrase("{text} is no number of CPUs: a number above 0 is wanted, such as 2, 0.5 or 500m", text=repr(text))


def explain_wrong_memory(text: str) -> Phrase | None:
    """What is wrong with an amount of memory; None for a right one: `4Gi`, `4G`, `512Mi`."""
    amount = _read(text)
    if amount is not None and amount >= _LEAST_MEMORY:
        return None
    near = _find_memory(text)
    if amount is not None and amount > 0:
        return _explain_small(text, near)
    if near:
        return phrase(
            "{text} is no amount of memory; did you mean {near}? A number with Mi, Gi, M or G is wanted, such as 4Gi "
            "or 512Mi",
            text=repr(text), near=near,
        )  # fmt: skip
    return phrase(
        "{text} is no amount of memory: a number with Mi, Gi, M or G is wanted, such as 4Gi or 512Mi", text=repr(text)
    )


def _explain_small(text: str, near: str) -> Phrase:
    if not near:
        return phrase("{text} is less than one MiB, in which no program starts", text=repr(text))
    return phrase(
        "{text} is less than one MiB, in which no program starts; did you mean {near}?", text=repr(text), near=near
    )


def _read(text: str) -> Fraction | None:
    try:
        return read_quantity(text) if text == text.strip() else None
    except ValueError:
        return None


def _find_cpus(text: str) -> str:
    if (typed := _TYPED.fullmatch(text.strip())) is None:
        return ""
    number, unit = typed[1].replace(",", "."), typed[2]
    near = f"{number}m" if unit == "M" else number if unit.lower() in ("", *_CORES) else ""
    return near if _is_cpus(near) else ""


def _is_cpus(text: str) -> bool:
    amount = _read(text)
    return amount is not None and 0 < amount <= _MOST_CPUS and not text.endswith("i")


def _find_memory(text: str) -> str:
    if (typed := _TYPED.fullmatch(text.strip())) is None:
        return ""
    number, unit = typed[1].replace(",", "."), typed[2].lower().removesuffix("b")
    if not unit and "." not in number:
        near = f"{number}Mi" if len(number) > _DIGITS_OF_GIB else f"{number}Gi"
    elif suffix := _UNITS.get(unit.removesuffix("i")):
        near = f"{number}{suffix.upper()}i" if unit.endswith("i") else f"{number}{suffix}"
    else:
        return ""
    amount = _read(near)
    return near if amount is not None and amount >= _LEAST_MEMORY else ""
