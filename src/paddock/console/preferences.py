"""What a reader wishes for every page, its language and its colours: asked for in an address, then kept in cookies."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from aiohttp import web

from paddock.console.language import COOKIE, KNOWN, choose_language

THEMES = ("auto", "light", "dark")
THEME = "paddock-theme"
"""The cookie of the colours; a script of ours sets it too."""


def read_language(request: web.Request) -> str:
    return choose_language(request.query, request.cookies, request.headers.get("Accept-Language", ""))


def read_theme(request: web.Request) -> str:
    """`?theme=`, else the cookie, else the system's."""
    wanted = request.query.get("theme") or request.cookies.get(THEME, "")
    return wanted if wanted in THEMES else "auto"


def offer_preferences(request: web.Request) -> Mapping[str, Any]:
    """What the frame of a page offers: languages with their addresses; themes, which is the one, with theirs."""
    here, theme = request.rel_url, read_theme(request)
    languages = [(code, str(here.update_query(lang=code))) for code in KNOWN]
    themes = [(name, theme == name, str(here.update_query(theme=name))) for name in THEMES]
    return {"languages": languages, "theme": theme, "themes": themes}


def keep_preferences(request: web.Request, answer: web.StreamResponse) -> None:
    """Sets the cookies of what the address asks for, for a year."""
    if request.query.get("lang") in KNOWN:
        answer.set_cookie(COOKIE, request.query["lang"], max_age=365 * 86_400, samesite="Strict", httponly=True)
    if request.query.get("theme") in THEMES:
        answer.set_cookie(THEME, request.query["theme"], max_age=365 * 86_400, samesite="Strict")
