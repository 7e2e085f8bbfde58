"""The help of commands in the reader's language. The source is the English help in the click commands.

The catalogue has one text for each paragraph and each option. In an example only the comment behind the command is
translated; metavars (`FILE`, `JOB`) and choices stay as they are typed. click's own texts come from the same catalogue,
as click uses gettext.
"""

from __future__ import annotations

import contextlib
import gettext
import inspect
import re
from collections.abc import Callable, Iterable, Iterator
from functools import cache
from typing import TypeVar

import click

from paddock.words.catalogues import DOMAIN, TRANSLATED

Translate = Callable[[str], str]
CommandT = TypeVar("CommandT", bound=click.Command)


# Compiled at first use: each costs milliseconds, and English help needs neither.
@cache
def _example() -> re.Pattern[str]:
    """A command, and behind two spaces what it is for."""
    return re.compile(r"(\S.*?)(\s{2,}(?:# )?)(\S.*)")


@cache
def _unit() -> re.Pattern[str]:
    """A part of a line that is never broken: a word or one Chinese character, with its punctuation."""
    return re.compile(r"\s+|[（“]*(?:[\u3400-\u9fff]|[^\s\u3400-\u9fff（“，。；：、）”？！]+)?[，。；：、）”？！]*")


@contextlib.contextmanager
def click_in_language(language: str) -> Iterator[None]:
    """Inside the context click's own texts are in `language`. gettext reads the same environment variables as
    `cli.output.language`, so it needs only the path of the catalogue."""
    if language not in TRANSLATED:
        yield
        return
    from importlib.resources import files

    before = gettext.textdomain()
    gettext.bindtextdomain(DOMAIN, str(files("paddock").joinpath("locale")))
    gettext.textdomain(DOMAIN)
    try:
        yield
    finally:
        gettext.textdomain(before)


def translate_error(error: click.ClickException, language: str) -> click.ClickException:
    """The error with those of its parts in `language` that click leaves in English."""
    if language not in TRANSLATED:
        return error
    if isinstance(error, click.MissingParameter):
        return click.UsageError(re.sub(r"'\.\s*", "'。", error.format_message(), count=1), error.ctx)
    if isinstance(error, click.NoSuchOption):  # click puts a space between the sentence and its suggestion
        return click.UsageError(error.format_message().replace("。 ", "。"), error.ctx)
    if isinstance(error, click.BadParameter) and error.param and (kind := _number(error.param.type.name, language)):
        before, found, after = error.message.rpartition(error.param.type.name)
        if found:
            return click.BadParameter(before + kind + after, error.ctx, error.param)
    return error


def _number(name: str, language: str) -> str:
    """The word for one of click's types of numbers, which click does not translate; empty for other types."""
    # Imported here, as the modules of phrases take a tenth of the time of `paddock --help`; English help needs none.
    from paddock.words.phrases import phrase, render

    if name in ("integer", "integer range"):
        return render(phrase("integer"), language)
    return render(phrase("number"), language) if name in ("float", "float range") else ""


def translate_command(command: CommandT, translate: Translate) -> CommandT:
    """A copy of the command with its help translated; use the copy for its help only."""
    from copy import copy

    translated = copy(command)
    translated.help = _translate_text(command.help or "", translate)
    translated.params = [_translate_parameter(each, translate) for each in command.params]
    return translated


def first_sentence(text: str) -> str:
    """The first sentence of a help text in any language."""
    first = text.split("\n\n")[0]
    return f"{first.partition('。')[0]}。" if "。" in first else first


def _translate_parameter(parameter: click.Parameter, translate: Translate) -> click.Parameter:
    if not isinstance(parameter, click.Option) or not parameter.help or parameter.hidden:
        return parameter
    from copy import copy

    translated = copy(parameter)
    translated.help = translate(parameter.help)
    if isinstance(parameter.show_default, str) and " " in parameter.show_default:  # words, not a value
        translated.show_default = translate(parameter.show_default)
    return translated


def _translate_text(text: str, translate: Translate) -> str:
    return "\n\n".join(_translate_paragraph(each, translate) for each in inspect.cleandoc(text).split("\n\n"))


def _translate_paragraph(text: str, translate: Translate) -> str:
    if not text.startswith("\b\n"):
        return translate(" ".join(text.split()))
    return "\n".join(
        _example().sub(lambda match: match[1] + match[2] + translate(match[3]), line) for line in text.split("\n")
    )


class Formatter(click.HelpFormatter):
    """Wraps Chinese text: a Chinese character is two columns wide, and a line may break after it. click's own formatter
    writes all other text."""

    def write_usage(self, prog: str, args: str = "", prefix: str | None = None) -> None:
        usage = gettext.gettext("Usage:") if prefix is None else prefix
        for each in ("[OPTIONS]", "VERB …", "COMMAND [ARGS]..."):
            args = args.replace(each, gettext.gettext(each))
        super().write_usage(prog, args, usage if _has_wide(usage[-1:]) else prefix)  # 用法： has its space in it

    def write_heading(self, heading: str) -> None:
        if not _has_wide(heading):
            super().write_heading(heading)
            return
        self.write(f"{' ' * self.current_indent}{heading}：\n")

    def write_text(self, text: str) -> None:
        if not _has_wide(text):
            super().write_text(text)
            return
        indent = " " * self.current_indent
        paragraphs = (_wrap_paragraph(each, self.width - len(indent)) for each in text.split("\n\n"))
        self.write("\n\n".join("\n".join(indent + line for line in lines) for lines in paragraphs) + "\n")

    def write_dl(self, rows: Iterable[tuple[str, str]], col_max: int = 30, col_spacing: int = 2) -> None:
        rows = list(rows)
        if not any(_has_wide(second) for _, second in rows):
            super().write_dl(rows, col_max, col_spacing)
            return
        indent = " " * self.current_indent
        column = min(max(len(first) for first, _ in rows), col_max) + col_spacing
        for first, second in rows:
            lines = wrap(second, max(self.width - column - 2, 10))
            head = f"{first:<{column}}" if len(first) <= column - col_spacing else f"{first}\n{indent}{'':<{column}}"
            self.write(f"{indent}{head}" + f"\n{indent}{'':<{column}}".join(lines) + "\n")


def _wrap_paragraph(text: str, width: int) -> list[str]:
    if text.startswith("\b\n"):
        return text.split("\n")[1:]
    return wrap(text, width)


def wrap(text: str, width: int) -> list[str]:
    """Lines of at most `width` columns; a longer word is a line."""
    lines, line = [], ""
    for unit in filter(None, _unit().findall(text)):
        if line and columns(line) + columns(unit.rstrip()) > width:
            lines.append(line.rstrip())
            line = ""
        line += unit if line else unit.lstrip()
    return [*lines, line.rstrip()] if line.strip() else lines or [""]


def columns(text: str) -> int:
    """The width on a terminal: a Chinese character takes two columns."""
    import unicodedata

    return sum(2 if unicodedata.east_asian_width(each) in "WF" else 1 for each in text)


def _has_wide(text: str) -> bool:
    return not text.isascii() and columns(text) > len(text)
