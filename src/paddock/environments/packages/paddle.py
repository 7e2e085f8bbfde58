"""What PaddlePaddle needs beside the packages that its wheels require, and which wheels have parameter servers. Pure.

Its wheels name packages without the last version that they work with, or do not name them at all. What is missing is a
row of `COMPANIONS`, and a requirement of the user's own wins over it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from paddock.environments.requirements import requirement_name

PADDLE = "paddlepaddle==3.3.1"
"""The PaddlePaddle of environments that name none."""
PADDLE_WITH_SERVERS = "paddlepaddle==3.0.0"
"""PaddlePaddle's wheels after 3.0.0 have no parameter servers (`core.DistFleetWrapper`)."""
PROTOBUF = "protobuf<7"
NUMPY = "numpy<2.4"

_Version = tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Companion:
    """A requirement that PaddlePaddle needs beside it."""

    requirement: str
    below: _Version = ()
    """The first PaddlePaddle that does without it; empty where none does."""
    since: _Version = ()
    """The first PaddlePaddle of which it is meant, where a row above has older ones."""
    only_old: bool = False
    """Whether it is for requirements alone that leave no later PaddlePaddle."""
    why: str = ""
    """What fails without it."""


COMPANIONS = (
    # `paddle.utils.cpp_extension` imports it, and `import paddle` that; a venv of uv does not contain it
    Companion("setuptools"),
    Companion(PROTOBUF, (3, 1, 0), only_old=True, why="a_sync_configs is not a attribute"),
    Companion("numpy<2", (3, 0, 0), only_old=True, why="Segmentation fault"),
    Companion(NUMPY, (3, 4, 0), (3, 0, 0), why="only 0-dimensional arrays can be converted to Python scalars"),
)
"""Measured with 2.6.2 to 3.3.1 (the index had no older ones), protobuf 4 to 7 and numpy 1.26 to 2.4:
`fleet.DistributedStrategy` up to 3.0.0 fails with protobuf 7, `Model.fit` before 3.0.0 with numpy 2, `float(tensor)`
and `range(tensor)` with numpy 2.4."""

_LAST_WITH_SERVERS = (3, 0, 0)
_VERSION = re.compile(r"(===|==|~=|>=|<=|!=|>|<)\s*(\d+(?:\.\d+)*)")


def is_paddle(requirement: str) -> bool:
    """Whether it is PaddlePaddle itself, for any device: paddlepaddle, paddlepaddle-gpu, paddlepaddle-xpu."""
    return requirement_name(requirement).partition("-")[0] == "paddlepaddle"


def find_paddle(requirements: Iterable[str]) -> str:
    """The first requirement that is PaddlePaddle; empty without one."""
    return next(filter(is_paddle, requirements), "")


def add_companions(requirements: Sequence[str]) -> tuple[str, ...]:
    """The requirements, and what PaddlePaddle needs if it is among them and they do not bound it themselves."""
    wanted = [each.requirement for each in _find_companions(requirements)]
    return (*requirements, *(each for each in wanted if not _is_decided(each, requirements)))


def find_broken(requirements: Sequence[str]) -> list[tuple[str, Companion]]:
    """The user's own requirements that allow no version that PaddlePaddle works with."""
    return [
        (own, each)
        for each in _find_companions(requirements)
        for own in requirements
        if requirement_name(own) == requirement_name(each.requirement) and _is_beyond(own, each.requirement)
    ]


def _find_companions(requirements: Sequence[str]) -> list[Companion]:
    own = [each for each in requirements if is_paddle(each)]
    return [each for each in COMPANIONS if any(_is_for(each, paddle) for paddle in own)]


def _is_for(companion: Companion, paddle: str) -> bool:
    if not companion.below:
        return True
    terms = _read_terms(paddle)
    if companion.only_old:
        return any(_is_below(*term, companion.below) for term in terms)
    too_old = any(_is_below(*term, companion.since) for term in terms)
    return not too_old and not any(_is_from(*term, companion.below) for term in terms)


def _is_decided(companion: str, requirements: Sequence[str]) -> bool:
    """Whether the user says which version it is, and not only from which on."""
    own = [each for each in requirements if requirement_name(each) == requirement_name(companion)]
    bounded = any("@" in each or (";" not in each and re.search(r"[=~]=|<", each.replace(">=", ""))) for each in own)
    return bool(own) and (bounded or not _VERSION.search(companion) or any(_is_beyond(each, companion) for each in own))


def _is_beyond(own: str, companion: str) -> bool:
    bound = _read_terms(companion)
    return any(_is_from(*term, bound[0][1]) for term in _read_terms(own)) if bound else False


def _read_terms(requirement: str) -> list[tuple[str, _Version]]:
    """`>=2.6,<3.1`, as pairs; empty for a URL. A version of two parts behind `~=` stays one of two."""
    text = "" if "@" in requirement else requirement.partition(";")[0]
    return [(each[1], tuple(map(int, each[2].split(".")))) for each in _VERSION.finditer(text)]


def _is_below(operator: str, version: _Version, bound: _Version) -> bool:
    """Whether a term of a requirement leaves no version from `bound` on. `~=3.0.0` is below 3.1, `~=3.0` below 4."""
    if operator == "~=":
        return _fill((*version[:-2], version[-2] + 1)) <= bound if len(version) > 1 else False
    return _fill(version) <= bound if operator == "<" else operator in ("==", "===", "<=") and _fill(version) < bound


def _is_from(operator: str, version: _Version, bound: _Version) -> bool:
    """Whether a term of a requirement leaves no version before `bound`."""
    return operator in ("==", "===", "~=", ">=", ">") and _fill(version) >= _fill(bound)


def _fill(version: _Version) -> _Version:
    return (*version, 0, 0, 0)[:3]


def lacks_servers(requirement: str) -> bool:
    """Whether a requirement of PaddlePaddle allows only wheels without parameter servers. False where it cannot be
    known: a wheel of one's own, or one for another device than the CPU."""
    if requirement_name(requirement) != "paddlepaddle" or "@" in requirement:
        return False
    return any(
        _fill(version) >= _LAST_WITH_SERVERS if operator == ">" else _fill(version) > _LAST_WITH_SERVERS
        for operator, version in _read_terms(requirement)
        if operator in ("==", "===", "~=", ">=", ">")
    )


def add_servers(requirements: Sequence[str]) -> tuple[str, ...]:
    """The requirements, bounded to what parameter servers need. `lacks_servers` must be false for each."""
    named = {requirement_name(each) for each in requirements}
    more = [f"paddlepaddle<={PADDLE_WITH_SERVERS.partition('==')[2]}"] if _is_open(requirements) else []
    more += [] if "protobuf" in named else [PROTOBUF]
    return (*requirements, *more)


def _is_open(requirements: Iterable[str]) -> bool:
    """Whether the resolver may choose a PaddlePaddle without parameter servers: no version is pinned."""
    own = [each for each in requirements if requirement_name(each) == "paddlepaddle" and "@" not in each]
    return bool(own) and not any(re.search(r"==\s*\d[\w.+!-]*\s*(?:[,;]|$)", each) for each in own)
