"""Periods that are typed on the command line. Moments are shown by `cli.output.local_times`."""

from __future__ import annotations

import re

import click

from paddock.cli.output.language import localized
from paddock.kube.held_pods import MOST_SECONDS, parse_hold
from paddock.words.phrases import phrase


def read_seconds(text: str) -> float:
    """`60`, `60s`, `10m`, `1.5h`, as kubectl takes a timeout; a number alone is seconds."""
    match = re.fullmatch(r"(\d{1,9}(?:\.\d{1,9})?)([smh]?)", text.strip())
    seconds = float(match[1]) * {"": 1, "s": 1, "m": 60, "h": 3600}[match[2]] if match else 0
    if not seconds:
        said = phrase("{text} is no time: seconds, or a number with s, m or h, such as 60 or 10m", text=repr(text))
        raise click.BadParameter(localized(said))
    return seconds


_UNITS = {"m": 60, "h": 3600, "d": 86_400, "w": 7 * 86_400}
_LONGEST = 3650 * 86_400


def read_window(text: str) -> int:
    """`--since` of what is added up over days, in seconds: `90m`, `24h`, `30d`, `4w`. No more than ten years."""
    match = re.fullmatch(r"([1-9]\d{0,6})([mhdw])", text.strip())
    seconds = int(match[1]) * _UNITS[match[2]] if match else 0
    if not 0 < seconds <= _LONGEST:
        said = phrase(
            "{text} is no time to look back: a whole number with m, h, d or w is wanted, such as 24h or 30d, and no "
            "more than ten years",
            text=repr(text),
        )
        raise click.BadParameter(localized(said))
    return seconds


def write_seconds(seconds: float) -> str:
    """As `read_seconds` takes it, in the largest unit of which it is a whole number: `10s`, `10m`."""
    letter, unit = next((each for each in (("h", 3600), ("m", 60)) if seconds % each[1] == 0), ("s", 1))
    return f"{seconds / unit:g}{letter}"


def read_hold(text: str) -> int:
    """`--hold`, in seconds: `90s`, `30m`, `2h`; a number alone is seconds."""
    seconds = parse_hold(text.strip())
    if seconds is None:
        said = phrase(
            "{text} is no time to hold a failed rank: from 1 s to {most} h is allowed, a number with s, m or h, such "
            "as 30m or 2h",
            text=repr(text), most=MOST_SECONDS // 3600,
        )  # fmt: skip
        raise click.BadParameter(localized(said))
    return seconds
