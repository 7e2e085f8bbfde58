"""Which language the person at the terminal reads: as gettext decides it, of those that there are catalogues for."""

from __future__ import annotations

import os
from collections.abc import Mapping

_VARIABLES = ("LC_ALL", "LC_MESSAGES", "LANG")


def readers_language() -> str:
    """Of the one who typed this command."""
    return language_of(os.environ)


def language_of(environ: Mapping[str, str]) -> str:
    """`"zh"` for `zh_CN.UTF-8` and the like, else `"en"`. The first of the variables that is set decides alone."""
    locale = next((value for name in _VARIABLES if (value := environ.get(name))), "")
    return "zh" if locale.lower().startswith("zh") else "en"
