"""Translates the messages about Environments: of a build that runs, and of one that failed.

The local cluster writes these messages, in English and without codes, into the status of an Environment and of the pods
that wait for it, as any client of the API may read them. So each is recognised by its text, with any value in its
placeholders (`words.known_messages`). One may stand in the midst of a message, so each is looked for at any place.
A message without a row stays English.
"""

from __future__ import annotations

import re
from functools import cache, partial

from paddock.words.catalogues import translate
from paddock.words.known_messages import ENVIRONMENT_NAMED, ENVIRONMENTS

_PLACE = re.compile(r"\\\{(\w+)\\\}")


@cache
def _form(text: str) -> re.Pattern[str]:
    """The pattern of a sentence, with any text in its placeholders; a placeholder at its end matches the rest."""
    return re.compile(_PLACE.sub(r"(?P<\1>.*?)", re.escape(text)) + ("$" if text.endswith("}") else ""), re.DOTALL)


def translate_environments(message: str, language: str) -> str:
    """`message` with its known sentences in `language`; other text stays."""
    for text in ENVIRONMENTS:
        message = _form(text).sub(partial(_fill, translate(text, language)), message)
    named = partial(_fill, translate(ENVIRONMENT_NAMED, language))
    return re.sub(f"^{_form(ENVIRONMENT_NAMED).pattern}", named, message, flags=re.DOTALL)


def _fill(text: str, match: re.Match[str]) -> str:
    return text.format_map(match.groupdict())
