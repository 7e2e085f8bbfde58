"""Periods that are typed on the command line. Moments are shown by `cli.output.local_times`."""

from __future__ import annotations

import re

import click

from paddock.cli.output.language import localized
from paddock.words.phrases import phrase


def read_seconds(text: str) -> float:
    """`60`, `60s`, `10m`, `1.5h`, as kubectl takes a timeout; a number alone is seconds."""
    match = re.fullmatch(r"(\d{1,9}(?:\.\d{1,9})?)([smh]?)", text.strip())
    seconds = float(match[1]) * {"": 1, "s": 1, "m": 60, "h": 3600}[match[2]] if match else 0
    if not seconds:
        said = phrase("{text} is no time: seconds, or a number with s, m or h, such as 60 or 10m", text=repr(text))
        raise click.BadParameter(localized(said))
    return seconds
