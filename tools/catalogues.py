"""The catalogues of sentences, from the code (`make catalogues`): finds the texts, updates each language's `.po` and
writes its `.mo`. `--check` changes nothing and says what does not fit.

A text is found where it is written: at a call of `phrase`, `counted` and the functions that take a text in place of a
phrase; in the help of commands and options, as click has them; and, of click's own texts, those that a user of
`paddock` meets. A text that is no longer found leaves the catalogue. No translation is guessed from a similar text.

The `.mo` files are in git, so that a clone and a wheel need no Babel.
"""

from __future__ import annotations

import ast
import io
import re
import string
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import click
import jinja2
from babel.messages.catalog import Catalog
from babel.messages.mofile import write_mo
from babel.messages.pofile import read_po, write_po

from paddock.cli.help import translate_command
from paddock.cli.main import VERBS, cli
from paddock.words.catalogues import DOMAIN, TRANSLATED

ROOT = Path(__file__).parent.parent
LOCALE = ROOT / "src/paddock/locale"

ROOMS = (
    "words", "manifests", "logs", "jobs", "install", "preflight", "script", "submission", "views", "doctor",
    "places", "client", "datasets", "environments", "images", "history", "node", "app", "cli", "console", "sdk",
)  # fmt: skip
"""Of the package: who speaks to users."""

ARGUMENTS = {
    "phrase": 0, "translate": 0, "_row": 1, "_sentence": 0, "_paste": 1, "refuse": 1, "warn": 1, "missing": 1,
    "told": 1, "wrong": 2, "ConfigError": 0, "said": 0,
}  # fmt: skip
"""By the name of a function: which of its arguments is a text, where that is a literal."""

OF_CLICK: tuple[str | tuple[str, str], ...] = (
    "Usage:",
    "[OPTIONS]",
    "VERB …",
    "COMMAND [ARGS]...",
    "Options",
    "Commands",
    "Show this message and exit.",
    "Show the version and exit.",
    "default: {default}",
    "required",
    "(dynamic)",
    "Error: {message}",
    "Try '{command} {option}' for help.",
    "Invalid value: {message}",
    "Invalid value for {param_hint}: {message}",
    "Missing argument",
    "Missing option",
    "Missing parameter",
    "Missing command.",
    "No such option {name!r}.",
    "No such command {name!r}.",
    ("Did you mean {possibility}?", "(Did you mean one of: {possibilities}?)"),
    ("Got unexpected extra argument ({args})", "Got unexpected extra arguments ({args})"),
    "Option {name!r} does not take a value.",
    ("Option {name!r} requires an argument.", "Option {name!r} requires {nargs} arguments."),
    "Choose from:\n\t{choices}",
    ("{value!r} is not {choice}.", "{value!r} is not one of {choices}."),
    "{value!r} is not a valid {number_type}.",
    "{value} is not in the range {range}.",
    "{value!r} is not a valid boolean. Recognized values: {states}",
    "file",
    "directory",
    "path",
    "{name} {filename!r} does not exist.",
    "{name} {filename!r} is a file.",
    "{name} {filename!r} is a directory.",
    "{name} {filename!r} is not readable.",
    "{name} {filename!r} is not writable.",
    "{name} {filename!r} is not executable.",
    "Could not open file {filename!r}: {message}",
    "unknown error",
    ("Takes {nargs} values but 1 was given.", "Takes {nargs} values but {len} were given."),
    "Argument {name!r} takes {nargs} values.",
    "env var: {var}",
)
"""What click says to a user, as the click of the lock has it."""


class Translations(Catalog):
    """A catalogue whose head names neither a time nor a version of Babel: the files change with the texts alone."""

    @property
    def mime_headers(self) -> list[tuple[str, str]]:
        return [
            ("Project-Id-Version", DOMAIN),
            ("Language", str(self.locale)),
            ("MIME-Version", "1.0"),
            ("Content-Type", "text/plain; charset=utf-8"),
            ("Content-Transfer-Encoding", "8bit"),
            ("Plural-Forms", self.plural_forms),
        ]


@cache
def find_texts() -> tuple[tuple[str, str | tuple[str, str]], ...]:
    """Where each text is, relative to the package, and the text, or both texts of a plural."""
    return tuple(_find_texts())


def _find_texts() -> Iterator[tuple[str, str | tuple[str, str]]]:
    package = ROOT / "src/paddock"
    for path in sorted(path for room in ROOMS for path in (package / room).rglob("*.py")):
        for text in find_in_code(path.read_text(encoding="utf-8")):
            yield str(path.relative_to(package)), text
    for path in sorted((package / "console/templates").glob("*.html")):
        for text in find_in_template(path.read_text(encoding="utf-8")):
            yield str(path.relative_to(package)), text
    for name, text in find_help():
        yield name, text
    for text in OF_CLICK:
        yield "click", text


def find_in_code(source: str) -> Iterator[str | tuple[str, str]]:
    """By the syntax tree: Babel's own reader of Python loses a call that stands within another."""
    calls = (node for node in ast.walk(ast.parse(source)) if isinstance(node, ast.Call))
    for call in sorted(calls, key=lambda call: (call.lineno, call.col_offset)):
        name = getattr(call.func, "id", getattr(call.func, "attr", ""))
        if name == "counted":
            yield ast.literal_eval(call.args[0]), ast.literal_eval(call.args[1])
        elif name in ARGUMENTS and len(call.args) > ARGUMENTS[name]:
            text = call.args[ARGUMENTS[name]]
            if isinstance(text, ast.Constant) and isinstance(text.value, str) and text.value:
                yield text.value


def find_in_template(source: str) -> Iterator[str | tuple[str, str]]:
    """What a page of the console says, as Jinja2 marks it for gettext."""
    reader: Any = jinja2.Environment(extensions=["jinja2.ext.i18n"])  # whose method is the extension's
    for _, function, text in reader.extract_translations(source):
        parts = [text] if isinstance(text, str) else [each for each in text if each]  # None: a value's expression
        yield (parts[0], parts[1]) if function == "ngettext" else parts[0]


def find_help() -> Iterator[tuple[str, str]]:
    """The help of every command, text by text."""
    for verb in VERBS.values():
        yield "cli/main.py", verb.what
    for name, command in walk(cli, "paddock"):
        texts: list[str] = []
        translate_command(command, lambda text, texts=texts: texts.append(text) or text)
        yield from ((name, text) for text in texts if text)


def walk(command: click.Command, name: str) -> Iterator[tuple[str, click.Command]]:
    yield name, command
    if isinstance(command, click.Group):
        context = click.Context(command)
        for each in command.list_commands(context):
            found = command.get_command(context, each)
            assert found is not None
            yield from walk(found, f"{name} {each}")


def build_template() -> Catalog:
    template = Catalog(charset="utf-8")
    for place, text in find_texts():
        first = text if isinstance(text, str) else text[0]
        template.add(text, locations=[(place, 0)], flags=("python-brace-format",) if "{" in first else ())
    return template


def read(language: str) -> Translations:
    """As it is on disk; empty for a language that begins."""
    catalogue = Translations(locale=language, charset="utf-8", fuzzy=False)
    path = path_of(language, "po")
    if path.exists():
        with path.open("rb") as file:
            for message in read_po(file, locale=language):
                if message.id:
                    catalogue[message.id] = message
    return catalogue


def update(catalogue: Translations, template: Catalog) -> None:
    """With the texts of the template alone. Those that were there keep their order, so that moved code moves none."""
    place = {message.id: number for number, message in enumerate(catalogue)}
    ordered = Catalog(charset="utf-8")
    for message in sorted(template, key=lambda message: place.get(message.id, len(place))):
        if message.id:
            ordered[message.id] = message
    catalogue.update(ordered, no_fuzzy_matching=True)
    catalogue.obsolete.clear()


def build_po(catalogue: Translations) -> bytes:
    file = io.BytesIO()
    catalogue.header_comment = "# Sentences of Paddock. `make catalogues` finds the texts; translations are made here."
    write_po(file, catalogue, width=110, include_lineno=False, omit_header=False)
    return file.getvalue()


def build_mo(catalogue: Translations) -> bytes:
    file = io.BytesIO()
    write_mo(file, catalogue)
    return file.getvalue()


def path_of(language: str, kind: str) -> Path:
    return LOCALE / language / "LC_MESSAGES" / f"{DOMAIN}.{kind}"


def places(text: str) -> set[str]:
    """Those of `phrase` in braces, those of a template as `%(name)s`."""
    braced = {name for _, name, _, _ in string.Formatter().parse(text) if name is not None}
    return braced | set(re.findall(r"%\((\w+)\)s", text))


def find_faults(language: str) -> list[str]:
    """What does not fit between the code and the catalogue of a language, and between its two files."""
    template, catalogue = build_template(), read(language)
    wanted, there = {each.id for each in template if each.id}, {each.id for each in catalogue if each.id}
    faults = [f"is not in the catalogue: {text!r}" for text in wanted - there]
    faults += [f"is not in the code: {text!r}" for text in there - wanted]
    for message in catalogue:
        if not message.id:
            continue
        texts = message.id if isinstance(message.id, tuple) else (message.id,)
        said = message.string if isinstance(message.string, tuple) else (message.string,)
        if message.fuzzy or not all(said):
            faults.append(f"is not translated: {texts[0]!r}")
        elif places(texts[0]) and any(not _fits(each, texts[-1]) for each in said):
            faults.append(f"has other places: {texts[0]!r}")
    if build_mo(catalogue) != path_of(language, "mo").read_bytes():
        faults.append("the .mo is not what the .po compiles to")
    return faults


LEFT_OUT = {
    "{count} Insufficient {resource} ({where}needs {needed}, {free} of {all} free)": {"where"},
    "{count} node(s) didn't match Pod's node affinity/selector ({where}{label}; node has none)": {"where"},
    "{count} node(s) didn't match Pod's node affinity/selector ({where}{label}; node has {found})": {"where"},
    "{count} node(s) didn't have free ports for the requested pod ports ({where}port {port} is held by {other})": {
        "where"
    },
}
"""The places that a language may leave out: `where` is a part of an English sentence (`on node-1: `)."""


def _fits(said: str, text: str) -> bool:
    """Whether nothing is lost on the way."""
    return places(text) - LEFT_OUT.get(text, set()) <= places(said) <= places(text)


def main() -> int:
    if "--check" in sys.argv:
        faults = [f"{language}: {fault}" for language in TRANSLATED for fault in find_faults(language)]
        print("\n".join((*faults, "`make catalogues` brings them up to date")) if faults else "catalogues fit the code")
        return int(bool(faults))
    template = build_template()
    for language in TRANSLATED:
        catalogue = read(language)
        update(catalogue, template)
        path_of(language, "po").write_bytes(build_po(catalogue))
        path_of(language, "mo").write_bytes(build_mo(catalogue))
        for fault in find_faults(language):
            print(f"{language}: {fault}", file=sys.stderr)
    return 0


if __name__ == "__main__":
    sys.exit(main())
