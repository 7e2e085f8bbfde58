"""The gettext catalogues of sentences: one for each language but English, with the English texts as msgids.

`paddock/locale/<language>/LC_MESSAGES/paddock.po` is the source; `paddock.mo` beside it is loaded at the first sentence
in that language. `make catalogues` updates both (`tools/catalogues.py`).
"""

from __future__ import annotations

import gettext
from functools import cache

DOMAIN = "paddock"
TRANSLATED = ("zh",)
"""Languages that have a catalogue. `zh` and not `zh_CN`: gettext finds it for zh_TW and zh_SG as well."""


def translate(text: str, language: str) -> str:
    """`text` in `language`; `text` itself without a catalogue or a translation."""
    return find_catalogue(language).gettext(text) if text else ""  # gettext("") returns the catalogue's header


def translate_counted(one: str, many: str, count: int, language: str) -> str:
    """As `translate`, in the plural form of the language for `count`."""
    return find_catalogue(language).ngettext(one, many, count)


@cache
def find_catalogue(language: str) -> gettext.NullTranslations:
    """The catalogue of a language; one that translates nothing for English and unknown languages."""
    if language not in TRANSLATED:
        return gettext.NullTranslations()
    from importlib.resources import files

    with files("paddock").joinpath(f"locale/{language}/LC_MESSAGES/{DOMAIN}.mo").open("rb") as file:
        return gettext.GNUTranslations(file)
