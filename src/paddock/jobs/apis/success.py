"""The annotation `paddock.dev/success` of a job -> who decides whether it has succeeded. Pure.

Read once for all API groups (`apis.manifests.build_job`). `paddock run` and `paddock init` write it into the job of a
typed command: whoever types a command waits for all of it. A value that is not known has a warning, and the rule of the
job's kind: an operator of another version may know it. What follows from the value is in `policies.success` and
`policies.ending`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import replace

from paddock.jobs.labels import SUCCESS_ANNOTATION
from paddock.jobs.model import Role, Success
from paddock.kube.nearness import nearest
from paddock.manifests.fields import Fields
from paddock.words.phrases import phrase
from paddock.words.sentences import perhaps, quoted

ALL_RANKS = "AllRanks"
_SECONDS = {"": 1, "s": 1, "m": 60, "h": 3600}
"""Of a duration as --end-wait takes it: only the suggestion reads one."""
_FORM = re.compile(rf"{ALL_RANKS}(?::([1-9]\d{{0,12}}))?")


def write_success(end_wait: int | None = None) -> str:
    """`AllRanks`, or `AllRanks:600`: the value for a typed command. `end_wait`: seconds, from 1."""
    return ALL_RANKS if end_wait is None else f"{ALL_RANKS}:{end_wait}"


def read_success(metadata: Fields) -> Success:
    annotations = metadata.child("annotations")
    found = annotations.value.get(SUCCESS_ANNOTATION)
    if not found:
        return Success()
    match = _FORM.fullmatch(found) if isinstance(found, str) else None
    if match is None:
        said = phrase(
            "has no effect: found {found}; there are AllRanks and, with the seconds that ranks have after the first "
            "has ended well, AllRanks:600{perhaps}",
            found=quoted(found), perhaps=perhaps(_find_nearest(str(found))),
        )  # fmt: skip
        annotations.warn(SUCCESS_ANNOTATION, said)
        return Success()
    return Success(all_ranks=True, end_wait=int(match[1]) if match[1] else None)


def choose_deciding(roles: Iterable[Role], success: Success) -> tuple[Role, ...]:
    """The roles, of which all that train decide where all ranks do. Those that serve never end by themselves."""
    return tuple(replace(role, decides=role.decides or (success.all_ranks and role.trains)) for role in roles)


def _find_nearest(found: str) -> str:
    word, _, number = found.partition(":")
    near = nearest(word.strip(), (ALL_RANKS,))
    typed = re.fullmatch(r"([1-9]\d{0,8})([smh]?)", number.strip())
    return write_success(int(typed[1]) * _SECONDS[typed[2]]) if near and typed else near
