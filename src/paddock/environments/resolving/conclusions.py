"""uv's conclusion about requirements -> which version does not exist, or which of them exclude each other. Pure.

uv (0.5 to 0.13) writes a derivation: `Because A depends on B and …, we can conclude that … And because you require A
and C, we can conclude that your requirements are unsatisfiable.` Its last sentence names what the user wrote; what
stands before it can be pages. `cause`: that text in one line, without its last full stop. A derivation of another form
is None.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from paddock.environments.requirements import requirement_name

_END = r"you require .+?, we can conclude that your requirements are unsatisfiable"
_NONE = re.compile(rf"Because there (?:is no version|are no versions) of (?P<wanted>\S+) and {_END}")
_ONLY = re.compile(
    r"Because only (?:the following versions of \S+ are available: (?P<several>.+?)|(?P<there>.+?) (?:is|are) "
    r"available) and you require (?P<wanted>\S+), we can conclude that your requirements are unsatisfiable"
)
_REQUIRED = re.compile(r"you require (.+?)(?:, we can conclude|\. And |$)")
_DEPENDS = re.compile(r"([\w.-]+[^\s,{}]*(?:,[<>=!~][^\s,{}]*)*) depends on ([\w.-]+[^\s,{}]*(?:,[<>=!~][^\s,{}]*)*)")


@dataclass(frozen=True, slots=True)
class NoVersion:
    """No version of a package is what is wanted."""

    wanted: str
    """`six>99`."""
    there: tuple[str, ...] = ()
    """The ranges that uv names as existing, `six<=1.17.0`; empty where it names none."""

    @property
    def name(self) -> str:
        return requirement_name(self.wanted)


@dataclass(frozen=True, slots=True)
class Conflict:
    """Requirements that exclude each other."""

    wanted: tuple[str, ...]
    """The requirements, as they were written."""
    why: tuple[tuple[str, str], ...] = ()
    """What each of them depends on, as pairs; empty where they are of one package."""


def read_no_version(cause: str) -> NoVersion | None:
    """The requirement of which no version exists, where that alone is the reason."""
    if found := _NONE.fullmatch(cause):
        return NoVersion(found["wanted"])
    if found := _ONLY.fullmatch(cause):
        return NoVersion(found["wanted"], tuple((found["several"] or found["there"]).split()))
    return None


def read_conflict(cause: str, requirements: Sequence[str]) -> Conflict | None:
    """Which of `requirements` exclude each other. None if uv names fewer than two of them."""
    named = {requirement_name(word) for required in _REQUIRED.findall(cause) for word in required.split()}
    wanted = tuple(each for each in requirements if requirement_name(each) in named)
    if len(wanted) < 2 or not cause.endswith("your requirements are unsatisfiable"):
        return None
    names = [requirement_name(each) for each in wanted]
    # The last statement about a package is the one that holds for all of its versions that were looked at.
    depends = {requirement_name(who): (who, what.rstrip(".")) for who, what in _DEPENDS.findall(cause)}
    return Conflict(wanted, tuple(depends[name] for name in names if name in depends))
