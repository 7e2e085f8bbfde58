"""The value of --keep-logs."""

from __future__ import annotations

from typing import Any

import click

from paddock.cli.output.language import localized
from paddock.history.retention import Limits, WrongLimit, read_limits
from paddock.words.phrases import phrase


class LimitsType(click.ParamType[Limits]):
    """The value of --keep-logs."""

    name = "limits"

    def convert(self, value: Any, parameter: click.Parameter | None, context: click.Context | None) -> Limits:
        if isinstance(value, Limits):
            return value
        try:
            return read_limits(str(value))
        except WrongLimit as wrong:
            said = phrase(
                "{part} is neither one time (m, h, d, w) nor one size (MiB, GiB, TiB): 7d,1GiB", part=repr(wrong.part)
            )
            self.fail(localized(said), parameter, context)
