"""Templates -> pages, in each language. A template sees `_`, the page, and what its screen built; nothing else."""

from __future__ import annotations

import hashlib
import time
from collections.abc import Callable, Mapping
from functools import cache
from pathlib import Path
from typing import Any

import jinja2
from markupsafe import Markup, escape

from paddock.console.addresses import put_page_below
from paddock.console.page_context import PageContext, Screen
from paddock.kube.printable import show
from paddock.kube.times import Moment, format_duration, format_time
from paddock.views.phases import say_state
from paddock.words.catalogues import translate, translate_counted
from paddock.words.formats import format_of

STATIC = Path(__file__).parent / "static"
_TEMPLATES = Path(__file__).parent / "templates"


def render_page(screen: Screen, page: PageContext, built: Mapping[str, Any], menu: Mapping[str, Any]) -> str:
    """The whole page. `menu`: what its frame shows."""
    return _render(f"{screen.name}.html", screen, page, {**menu, **built}, "frame.html")


def render_main(screen: Screen, page: PageContext, built: Mapping[str, Any]) -> str:
    """What is between <main> and </main>, which a live page takes again and again."""
    return _render(f"{screen.name}.html", screen, page, built, "main.html")


def render_notice(template: str, page: PageContext, built: Mapping[str, Any], frame: str = "frame.html") -> str:
    """A page that is no screen: sign-in, an error. `frame`: `main.html` for its <main> alone."""
    return _fill(template, page, {"screen": None, "frame": frame, **built})


def _render(name: str, screen: Screen, page: PageContext, built: Mapping[str, Any], frame: str) -> str:
    """`frame`: the template around it, which `{% extends frame %}` names."""
    return _fill(name, page, {"screen": screen, "frame": frame, **built})


def _fill(name: str, page: PageContext, built: Mapping[str, Any]) -> str:
    return put_page_below(page.root, _environment(page.language).get_template(name).render(page=page, **built))


@cache
def _environment(language: str) -> jinja2.Environment:
    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(_TEMPLATES),
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
        undefined=jinja2.StrictUndefined,
        extensions=["jinja2.ext.i18n"],
        auto_reload=False,
    )
    environment.finalize = _clean
    environment.install_gettext_callables(  # type: ignore[attr-defined]  # of the extension
        lambda text: translate(text, language),
        lambda one, many, count: translate_counted(one, many, count, language),
        newstyle=True,
    )
    say = speak(language)
    environment.globals.update(_=say, gettext=say)
    environment.filters["duration"] = lambda seconds: format_of(language).say_duration(format_duration(seconds))
    environment.filters["state"] = lambda word: say_state(word, language)
    environment.filters["stamp"] = format_time
    environment.filters["clock"] = _format_clock
    environment.filters["when"] = _format_when
    environment.globals["static"] = address_of
    environment.globals["units"] = ",".join(f" {word} " for word in format_of(language).units.values())
    return environment


def speak(language: str) -> Callable[..., Markup]:
    """The same as the extension's `_`, in a fifth of its time: a list of a hundred rows has hundreds of texts. What is
    put into a text is escaped."""

    @cache
    def look_up(text: str) -> str:
        return translate(text, language)

    def say(text: str, /, **variables: object) -> Markup:
        safe = {name: escape(_clean(value)) for name, value in variables.items()}
        return Markup(look_up(text) % safe)  # noqa: S704  # a text of ours

    return say


def _clean(value: object) -> object:
    """What others wrote turns no line round and hides nothing, as in a terminal; a text of ours is left as it is."""
    return show(value) if type(value) is str else value


def _format_clock(moment: Moment) -> str:
    return time.strftime("%H:%M:%S UTC", time.gmtime(moment))


def _format_when(moment: Moment) -> str:
    """As it is sent. Readers may be in any zone, of which the console knows nothing: a script writes the browser's."""
    return time.strftime("%Y-%m-%d %H:%M:%S UTC", time.gmtime(moment))


@cache
def address_of(name: str) -> str:
    """The address of a file in `static`, by its content: a browser may keep it for ever."""
    digest = hashlib.sha256((STATIC / name).read_bytes()).hexdigest()[:12]
    return f"/static/{digest}/{name}"
