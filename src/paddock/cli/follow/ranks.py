"""The selection of ranks by --role and --rank, and of their last lines by --tail."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import click

from paddock.cli.cluster.errors import UserError
from paddock.cli.output.language import localized
from paddock.jobs.model import Rank
from paddock.jobs.names import read_pod_name
from paddock.jobs.program_ranks import Doubt, Numbering
from paddock.words.phrases import Names, Phrase, phrase

_RANGES = re.compile(r"[0-9]{1,9}(-[0-9]{1,9})?")
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9.-]*")


@dataclass(frozen=True, slots=True)
class Ranges:
    """Ranks, and pods by name: `0,3-5`, `worker-0`, `demo-worker-0`."""

    text: str
    parts: tuple[tuple[int, int], ...] = ()
    names: frozenset[str] = frozenset()

    def __contains__(self, index: int) -> bool:
        return any(first <= index <= last for first, last in self.parts)

    def meets(self, numbers: range) -> bool:
        """Whether one of these numbers, which follow each other, is meant."""
        return any(first < numbers.stop and numbers.start <= last for first, last in self.parts) and bool(numbers)

    def name(self, job: str, pod: Rank) -> bool:
        """Whether the pod of the job is meant by its name."""
        return bool(self.names) and not self.names.isdisjoint((str(pod), f"{job}-{pod}"))


def read_ranges(text: str) -> Ranges | None:
    """`0`, `0,3-5`, `worker-0,demo-ps-1`; None for a text of another form, or a range that ends before it begins."""
    plain = text.replace(" ", "")
    parts, names = [], set()
    for part in plain.split(","):
        if _RANGES.fullmatch(part):
            first, _, last = part.partition("-")
            parts.append((int(first), int(last or first)))
        elif _NAME.fullmatch(part) and _ends_as_a_pod(part):
            names.add(part)
        else:
            return None
    return None if any(first > last for first, last in parts) else Ranges(plain, tuple(parts), frozenset(names))


def _ends_as_a_pod(name: str) -> bool:
    return read_pod_name(f"job-{name}") is not None


class RanksType(click.ParamType[Ranges]):
    """The value of --rank."""

    name = "ranks"

    def convert(self, value: Any, parameter: click.Parameter | None, context: click.Context | None) -> Ranges:
        if isinstance(value, Ranges):
            return value
        found = read_ranges(str(value))
        if found is None:
            said = phrase(
                "{text} names no ranks: a number, numbers and ranges such as 0,3-5, or a pod such as worker-0",
                text=repr(value),
            )
            self.fail(localized(said), parameter, context)
        return found


@dataclass(frozen=True, slots=True)
class Selection:
    """The part of a job's output that is printed."""

    ranks: tuple[Rank, ...]
    tail: int | None
    """Number of last lines, None for all."""
    note: Phrase | None = None
    """Which pods the numbers of --rank mean, where their names do not say it."""

    def shows(self, rank: Rank) -> bool:
        return rank in self.ranks


def choose_ranks(
    word: str,
    ranks: Sequence[Rank],
    role: str,
    wanted: Ranges | None,
    tail: int | None,
    numbering: Numbering | None = None,
) -> Selection:
    """The pods that match --role and --rank. Raises `UserError` if none does.

    A number is the program's RANK (`numbering`); behind --role it counts the pods of the role, and so it does in each
    role where `numbering` is None, as the manifest is not known.
    """
    job = word.rpartition("/")[2]

    def matches(pod: Rank) -> bool:
        if role not in ("", pod.role):
            return False
        if wanted is None or wanted.name(job, pod):
            return True
        return pod.index in wanted if role or numbering is None else wanted.meets(numbering.of(pod))

    chosen = tuple(filter(matches, ranks))
    if not chosen:
        raise UserError(_explain_none(word, ranks, role, wanted, numbering))
    asked = "" if wanted is None or role or not wanted.parts else wanted.text
    return Selection(chosen, tail, _tell_pods(asked, chosen, ranks, numbering) if asked else None)


def _explain_none(
    word: str, ranks: Sequence[Rank], role: str, wanted: Ranges | None, numbering: Numbering | None
) -> Phrase:
    roles = tuple(dict.fromkeys(each.role for each in ranks))
    if role and role not in roles and ranks:
        return phrase("{job} has no role {wanted}; it has {known}", job=word, wanted=role, known=Names(roles))
    asked = "-".join(filter(None, (role, "" if wanted is None else wanted.text)))
    numbers = numbering or Numbering()
    names: list[Phrase | str] = [str(each) if role else numbers.tell(each) for each in ranks]
    said = phrase("{job} has no rank {wanted}; it has {known}", job=word, wanted=asked,
                  known=Names(tuple(names), most=8) if names else phrase("none"))  # fmt: skip
    apart = sorted({each.role for each in ranks if numbering is not None and each.role not in numbering.roles})
    if role or not apart:
        return said
    return phrase("{problem}; --role {role} --rank N chooses one of {role}", problem=said, role=apart[0])


def _tell_pods(asked: str, chosen: Sequence[Rank], ranks: Sequence[Rank], numbering: Numbering | None) -> Phrase | None:
    """Which pods were meant by numbers; None where their names say the same, or there is one pod alone."""
    if numbering is None or len(ranks) < 2:
        return None
    pods = Names(tuple(numbering.tell(each) for each in chosen), most=8)
    if numbering.doubt is Doubt.DEALT:
        return phrase("the ranks are dealt when the pods meet, so --rank counts the pods themselves: {pods}", pods=pods)
    if numbering.doubt is Doubt.PROCESSES:
        return phrase(
            "how many processes a pod starts is not known, so --rank counts the pods themselves: {pods}", pods=pods
        )
    return None if numbering.is_of_pods else phrase("--rank {asked} is {pods}", asked=asked, pods=pods)
