"""The gettext catalogues of sentences: one for each language but English, with the English texts as msgids.

`paddock/locale/<language>/LC_MESSAGES/paddock.po` is the source; `paddock.mo` beside it is loaded at the first sentence
in that language. `make catalogues` updates both (`tools/catalogues.py`).
"""

from __future__ import annotations

import gettext
import io
import struct
from collections.abc import Iterator
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


def read_texts(language: str) -> Iterator[tuple[str, str]]:
    """The English texts of a catalogue and their plurals, empty where a text has none; the head is left out."""
    data = _read(language)
    # Source of the form: GNU gettext, "The Format of GNU MO Files"; the lengths and places of the msgids come first.
    order = "<" if data[:4] == b"\xde\x12\x04\x95" else ">"
    count, place = struct.unpack_from(f"{order}2I", data, 8)
    for number in range(count):
        length, start = struct.unpack_from(f"{order}2I", data, place + 8 * number)
        one, _, many = data[start : start + length].decode().partition("\0")
        if one:
            yield one, many


def _read(language: str) -> bytes:
    from importlib.resources import files

    return files("paddock").joinpath(f"locale/{language}/LC_MESSAGES/{DOMAIN}.mo").read_bytes()


@cache
def find_catalogue(language: str) -> gettext.NullTranslations:
    """The catalogue of a language; one that translates nothing for English and unknown languages."""
    if language not in TRANSLATED:
        return gettext.NullTranslations()
    return gettext.GNUTranslations(io.BytesIO(_read(language)))
