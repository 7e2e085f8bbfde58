"""What a pod asks of a node, or counts towards a quota, in words."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from typing import Any

from paddock.kube.quantities import format_bytes, format_quantity
from paddock.words.phrases import Phrase, counted, phrase

_GPU = "nvidia.com/gpu"


def say_amount(name: str, amount: Fraction) -> Phrase | str:
    """`2 CPUs`, `1.5 CPUs`, `4.0 GiB`, `1 GPU`, `1/4 GPU`, `2 example.com/npu`."""
    count = int(amount) if amount.denominator == 1 else say_number(amount)
    if name == "cpu":
        return counted("{count} CPU", "{count} CPUs", count=count)
    if name == _GPU and 0 < amount < 1:  # the share of a pod that shares one
        return phrase("{share} GPU", share=str(amount))
    if name == _GPU:
        return counted("{count} GPU", "{count} GPUs", count=count)
    if name == "pods":
        return counted("{count} pod", "{count} pods", count=count)
    if name == "memory":
        return format_bytes(amount)
    if name == "ephemeral-storage":
        return phrase("{amount} of disk", amount=format_bytes(amount))
    return f"{format_quantity(amount)} {name}"


def say_bare_amount(name: str, amount: Fraction) -> str:
    """The same behind an amount of this resource: `1.5` of CPUs, `1/4` of GPUs, `4.0 GiB`."""
    if name == _GPU and 0 < amount < 1:
        return str(amount)
    if name in ("memory", "ephemeral-storage"):
        return format_bytes(amount)
    return say_number(amount)


def say_number(amount: Fraction) -> str:
    return f"{float(amount):g}"


def sort_resources(amounts: Mapping[str, Any]) -> list[str]:
    """cpu, memory, then the others by name."""
    first = ("cpu", "memory")
    return sorted(amounts, key=lambda name: (first.index(name) if name in first else len(first), name))


def split_quota_name(name: str) -> tuple[str, str]:
    """The section of a container's resources, and the resource, that a quota's name is about: `requests.cpu`, and `cpu`
    for short. `pods` has no section."""
    for section in ("requests", "limits"):
        if name.startswith(f"{section}."):
            return section, name.removeprefix(f"{section}.")
    return ("", "pods") if name in ("pods", "count/pods") else ("requests", name)


def say_of_quota(name: str, asked: Phrase | str, left: Fraction, hard: Fraction) -> Phrase:
    """`8 CPUs, with 3 of 10 left`. `asked`: the amount, in words."""
    section, resource = split_quota_name(name)
    room = {"left": say_bare_amount(resource, left), "hard": say_bare_amount(resource, hard)}
    if section == "limits":
        return phrase("limits of {amount}, with {left} of {hard} left", amount=asked, **room)
    return phrase("{amount}, with {left} of {hard} left", amount=asked, **room)


def round_down(resource: str, amount: Fraction) -> str:
    """The largest round quantity that is not more than this, as it is typed; empty if there is none."""
    if resource == "memory":
        unit = 2**30 if amount >= 4 * 2**30 or amount in (2**30, 2 * 2**30) else 2**20
        return f"{amount // unit}{'Gi' if unit == 2**30 else 'Mi'}" if amount >= unit else ""
    if resource != "cpu" or amount >= 1:
        return str(int(amount)) if amount >= 1 else ""
    thousandths = int(amount * 1000)
    return f"{thousandths // 100 * 100 or thousandths}m" if thousandths else ""
