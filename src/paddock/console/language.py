"""The reader's language: `?lang=`, else a cookie, else what the browser prefers. Pure."""

from __future__ import annotations

from collections.abc import Mapping

from paddock.words.catalogues import TRANSLATED

COOKIE = "paddock-language"
KNOWN = ("en", *TRANSLATED)


def choose_language(query: Mapping[str, str], cookies: Mapping[str, str], accepted: str) -> str:
    """`accepted`: the header Accept-Language, in the order of its weights."""
    for wanted in (query.get("lang", ""), cookies.get(COOKIE, ""), *_order(accepted)):
        if (known := wanted.lower().partition("-")[0]) in KNOWN:
            return known
    return "en"


def _order(accepted: str) -> list[str]:
    weighed = []
    for part in accepted.split(","):
        name, _, weight = part.partition(";")
        weighed.append((_read_weight(weight), name.strip()))
    return [name for weight, name in sorted(weighed, key=lambda each: -each[0]) if weight > 0]


def _read_weight(text: str) -> float:
    name, _, number = text.partition("=")
    if name.strip() != "q":
        return 1.0
    try:
        return float(number)
    except ValueError:
        return 0.0
