"""What PaddlePaddle needs beside the packages that its wheels require, and which wheels have parameter servers. Pure.

Its wheels do not require setuptools, which `paddle.utils.cpp_extension` imports, and `import paddle` imports that. A
venv of uv does not contain it. So every environment with PaddlePaddle among its requirements gets it. Nor do the wheels
up to 3.0.0 say that their `fleet.DistributedStrategy` needs an older protobuf, without which no server trains.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from paddock.environments.requirements import requirement_name

PADDLE = "paddlepaddle==3.3.1"
"""The PaddlePaddle of environments that name none."""
PADDLE_WITH_SERVERS = "paddlepaddle==3.0.0"
"""PaddlePaddle's wheels after 3.0.0 have no parameter servers (`core.DistFleetWrapper`)."""
PROTOBUF = "protobuf<7"
"""The parameter servers of 2.6.2 and 3.0.0 fail with protobuf 7: `a_sync_configs is not a attribute`; with 4 to 6 they
work (measured)."""

_LAST_WITH_SERVERS = (3, 0, 0)
_NEXT = (3, 1, 0)
_COMPANIONS = ("setuptools",)
_VERSION = re.compile(r"(===|==|~=|>=|<=|!=|>|<)\s*(\d+(?:\.\d+)*)")


def is_paddle(requirement: str) -> bool:
    """Whether it is PaddlePaddle itself, for any device: paddlepaddle, paddlepaddle-gpu, paddlepaddle-xpu."""
    return requirement_name(requirement).partition("-")[0] == "paddlepaddle"


def find_paddle(requirements: Iterable[str]) -> str:
    """The first requirement that is PaddlePaddle; empty without one."""
    return next(filter(is_paddle, requirements), "")


def add_companions(requirements: Sequence[str]) -> tuple[str, ...]:
    """The requirements, and what PaddlePaddle imports if it is among them and they do not name it themselves."""
    if not find_paddle(requirements):
        return tuple(requirements)
    named = {requirement_name(each) for each in requirements}
    wanted = (*_COMPANIONS, *((PROTOBUF,) if any(map(_may_have_servers, requirements)) else ()))
    return (*requirements, *(each for each in wanted if requirement_name(each) not in named))


def _may_have_servers(requirement: str) -> bool:
    """Whether it asks for a PaddlePaddle of the years of parameter servers: 3.0.0 or before."""
    if not is_paddle(requirement) or "@" in requirement:
        return False
    return any(_is_bounded(each[1], each[2]) for each in _VERSION.finditer(requirement.partition(";")[0]))


def _is_bounded(operator: str, text: str) -> bool:
    """Whether a term of a requirement leaves no version after 3.0, of which 3.1.0 is the first. `~=3.0.0` is below 3.1,
    `~=3.0` below 4."""
    version = _read_version(text)
    if operator == "~=":
        return version[:2] <= (3, 0) if text.count(".") > 1 else version[0] < 3
    return version <= _NEXT if operator == "<" else operator in ("==", "===", "<=") and version < _NEXT


def lacks_servers(requirement: str) -> bool:
    """Whether a requirement of PaddlePaddle allows only wheels without parameter servers. False where it cannot be
    known: a wheel of one's own, or one for another device than the CPU."""
    if requirement_name(requirement) != "paddlepaddle" or "@" in requirement:
        return False
    terms = [(each[1], _read_version(each[2])) for each in _VERSION.finditer(requirement.partition(";")[0])]
    return any(
        version >= _LAST_WITH_SERVERS if operator == ">" else version > _LAST_WITH_SERVERS
        for operator, version in terms
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


def _read_version(text: str) -> tuple[int, ...]:
    return (*(int(part) for part in text.split(".")), 0, 0, 0)[:3]
