"""The page of every command: what `--help` says, from the same click commands. Pure."""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterator, Mapping
from typing import Any

import click

from manual.reference.markdown import code, join, prose, table
from manual.reference.reader import Reader
from paddock.cli.help import translate_command
from paddock.cli.main import VERBS, cli
from paddock.cli.submit.script.options import take_one

_EXAMPLE = re.compile(r"(\S.*?)\s{2,}(?:# )?(\S.*)")
_EXITS: Mapping[str, str] = {
    "0": "It is done: the job has completed, what was asked for is there, nothing wrong was found.",
    "1": "It failed: the job, the request, or a part of the machine. Of `validate`: a file has a mistake.",
    "2": "The command or the manifest is wrong. The message says what to type in its place.",
    "130": "You interrupted it with Ctrl-C.",
}


def build_commands(reader: Reader) -> str:
    say = reader.say
    head = [
        f"# {say('Every command')}",
        say(
            "Made from the commands themselves by `make reference`; `paddock VERB --help` says the same in a terminal."
        ),
        say("`-h` and `--help` are options of every command, `paddock --version` prints the version."),
        f"## {say('The verbs')}",
        table(
            (say("Command"), say("What it does")),
            ((f"[`paddock {name}`](#paddock-{name})", prose(say(verb.what))) for name, verb in VERBS.items()),
        ),
        f"## {say('Exit codes')}",
        table((say("Code"), say("Meaning")), ((number, say(text)) for number, text in _EXITS.items())),
        say("Where a command has codes of its own, its section says so."),
    ]
    return join([*head, *(part for verb in VERBS for part in _build_verb(verb, reader))])


def _build_verb(verb: str, reader: Reader) -> Iterator[str]:
    command = cli.get_command(click.Context(cli), verb)  # type: ignore[attr-defined]
    for name, each in walk(command, f"paddock {verb}"):
        yield from _build_command(each, name, reader, depth=name.count(" ") + 1)


def walk(command: click.Command, name: str) -> Iterator[tuple[str, click.Command]]:
    """The command and those below it, with what is typed for each."""
    yield name, command
    if isinstance(command, click.Group):
        context = click.Context(command)
        for each in command.list_commands(context):
            found = command.get_command(context, each)
            assert found is not None
            yield from walk(found, f"{name} {each}")


def _build_command(command: click.Command, name: str, reader: Reader, depth: int) -> Iterator[str]:
    shown = command if reader.language == "en" else translate_command(command, reader.say)
    context = click.Context(command, info_name=name)
    yield f"{'#' * depth} {name}"
    paragraphs = inspect.cleandoc(shown.help or "").split("\n\n") if shown.help else []
    yield from map(_build_paragraph, paragraphs[:1])
    yield f"```text\n{' '.join((name, *command.collect_usage_pieces(context)))}\n```"
    yield from map(_build_paragraph, paragraphs[1:])
    options = [each for each in shown.params if isinstance(each, click.Option) and not each.hidden]
    if options:
        rows = (_build_option(each, context, reader) for each in options)
        yield table((reader.say("Option"), reader.say("Meaning")), rows)


def _build_paragraph(text: str) -> str:
    if not text.startswith("\b\n"):
        return prose(" ".join(text.split()))
    lines = (line.strip() for line in text.split("\n")[1:])
    return "```sh\n" + "\n".join(_EXAMPLE.sub(r"\1    # \2", line) for line in lines) + "\n```"


def _build_option(option: click.Option, context: click.Context, reader: Reader) -> tuple[str, str]:
    names = [*option.opts, *option.secondary_opts]
    if not (option.is_flag or option.count):
        names[-1] = f"{names[-1]} {option.make_metavar(context)}"
    return ", ".join(map(code, names)), ("; " if reader.language == "en" else "；").join(
        _describe(option, context, reader)
    )


def _describe(option: click.Option, context: click.Context, reader: Reader) -> Iterator[str]:
    """The help, without its full stop where something follows, and what click adds in brackets."""
    extra: Mapping[str, Any] = option.get_help_extra(context)
    said, more = prose(option.help or ""), []
    if "default" in extra:
        more.append(f"{reader.say('default:')} {_default(str(extra['default']), reader)}")
    if "range" in extra:
        more.append(code(str(extra["range"])))
    if "required" in extra:
        more.append(reader.say("required"))
    if option.multiple and option.callback is not take_one and "epeat" not in said and "重复" not in said:
        more.append(reader.say("may be repeated"))
    yield said.rstrip(".。") if more and said else said
    yield from more


def _default(text: str, reader: Reader) -> str:
    return prose(reader.say(text)) if " " in text else code(text)
