"""The annotation `paddock.dev/silent` of a job -> how long its ranks may print nothing. Pure.

`30m=Tell`, `90s=Restart`, `2h=Fail`; a time alone tells. A value that is not known has a warning, and no effect: an
operator of another version may know it. What follows from it is in `policies.silent_job`. The local cluster sees
what programs print. The operator of a cluster does where it was given the right to logs (`install.rights.OF_LOGS`);
else the annotation does nothing there, and who submits is told (`submission.local_only`).
"""

from __future__ import annotations

import re

from paddock.jobs.labels import SILENT_ANNOTATION
from paddock.jobs.model import OnSilence, SilenceLimit
from paddock.kube.nearness import nearest
from paddock.manifests.fields import Fields
from paddock.words.phrases import phrase
from paddock.words.sentences import perhaps, quoted

_UNITS = {"": 1, "s": 1, "m": 60, "h": 3600}
_WORDS = {
    unit: short
    for short, units in {
        "": ("",),
        "s": ("s", "sec", "secs", "second", "seconds"),
        "m": ("m", "min", "mins", "minute", "minutes"),
        "h": ("h", "hr", "hrs", "hour", "hours"),
        "d": ("d", "day", "days"),
    }.items()
    for unit in units
}
"""What people write -> the unit that is read; days are told in hours."""
_FORM = re.compile(r"(?P<number>[1-9]\d{0,6})(?P<unit>[smh]?)(?:=(?P<word>\w+))?")


def read_silence(metadata: Fields) -> SilenceLimit | None:
    annotations = metadata.child("annotations")
    found = annotations.value.get(SILENT_ANNOTATION)
    if not found:
        return None
    match = _FORM.fullmatch(found) if isinstance(found, str) else None
    word = match["word"] or OnSilence.TELL if match else ""
    if match is None or word not in set(OnSilence):
        said = phrase(
            "has no effect: found {found}; a time (90s, 30m, 2h) and what is done when no rank prints for so long are "
            "allowed: 30m=Tell, 30m=Restart, 30m=Fail{perhaps}",
            found=quoted(found), perhaps=perhaps(_find_nearest(str(found))),
        )  # fmt: skip
        annotations.warn(SILENT_ANNOTATION, said)
        return None
    return SilenceLimit(int(match["number"]) * _UNITS[match["unit"]], OnSilence(word))


def _find_nearest(found: str) -> str:
    time, _, word = (part.strip() for part in found.partition("="))
    typed = re.fullmatch(r"([1-9]\d{0,6})\s*([a-z]*)", time.lower())
    unit = _WORDS.get(typed[2]) if typed else None
    near = nearest(word, tuple(OnSilence)) if word else OnSilence.TELL
    if typed is None or unit is None or not near:
        return ""
    return f"{int(typed[1]) * 24}h={near}" if unit == "d" else f"{typed[1]}{unit}={near}"
