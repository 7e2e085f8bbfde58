"""Every command that Paddock prints can be typed: in the code and in each catalogue, against the real options; and a
test types each, many of them as they are printed and in the state that prints them (printed_commands.json).

A command stands in a text behind a backquote, at the text's beginning, or on a line of its own. What is filled in later
(`{name}`, or an f-string's value) is a word, or nothing where it is glued to a word, as options that name a cluster
are.
"""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Iterator
from pathlib import Path

import catalogues
import click
import pytest

from paddock.cli.main import VERBS, cli
from paddock.words.catalogues import TRANSLATED

ROOT = Path(__file__).parents[2]
PACKAGE = ROOT / "src/paddock"
FILLED = "\0"
_COMMAND = re.compile(r"(?:^|`|&& |: )(paddock [^`\n]*)", re.MULTILINE)
_FIELD = re.compile(r"\{[^{}]*\}")
_ENDS = re.compile(r"\s{2,}.*| # .*| \|.*| > .*| && .*|;.*| \(.*")
"""What follows a command in its line: a remark, a pipe, the next command."""
NO_COMMANDS = frozenset({
    "paddock explain wants one of three: the name of a job, --why-not FILE, or --bundle FILE",
    "paddock explain 需要三者之一：任务的名称、--why-not FILE 或 --bundle FILE",
    "paddock get knows jobs, pods, environments and datasets, not {kind}{hint}",
    "paddock submit would wait: {why}; paddock run would train on the CPU ({devices})",
})  # fmt: skip
"""Sentences that begin with a verb's name."""


def read_text(node: ast.AST) -> str | None:
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return node.value
    if isinstance(node, ast.JoinedStr):
        return "".join(str(each.value) if isinstance(each, ast.Constant) else FILLED for each in node.values)
    return None


def find_texts(path: Path) -> Iterator[str]:
    """The texts of a module, without docstrings and parts of f-strings; none where no command stands in the file.

    A module that has no `paddock ` is not parsed: each process that collects this file would walk all trees.
    """
    source = path.read_text(encoding="utf-8")
    if "paddock " not in source:
        return
    nodes = list(ast.walk(ast.parse(source)))
    left_out = {node.value for node in nodes if isinstance(node, ast.Expr)}
    left_out |= {part for node in nodes if isinstance(node, ast.JoinedStr) for part in node.values}
    yield from (text for node in nodes if node not in left_out and (text := read_text(node)) is not None)


def find_commands(text: str) -> Iterator[str]:
    if text in NO_COMMANDS:
        return
    for found in _COMMAND.finditer(text):
        command = _ENDS.sub("", found[1]).strip()
        if "%" not in command and len(command.split()) > 1:  # a line of a log, and the program's name
            yield command


TEXTS = frozenset(text for path in PACKAGE.rglob("*.py") for text in find_texts(path) if "paddock " in text)


def list_in_code() -> set[str]:
    return {each for text in TEXTS for each in find_commands(text)}


def list_in_catalogues() -> set[str]:
    found = set[str]()
    for language in TRANSLATED:
        with catalogues.path_of(language, "po").open("rb") as file:
            for message in catalogues.read_po(file):
                texts = message.string if isinstance(message.string, tuple) else (message.string,)
                found |= {each for text in texts for each in find_commands(text)}
    return found


PRINTED = sorted({*list_in_code(), *list_in_catalogues()})


def split(command: str) -> list[str]:
    """The words; what is glued to a word is left out, what stands alone is one."""
    text = _FIELD.sub(FILLED, command.replace("{option} {value}", "")).replace("\\", "")
    text = re.sub(rf"(?<=[^\s=/'\":-]){FILLED}+", "", text)
    text = re.sub(rf"{FILLED}+", "VALUE", text)
    return text.replace("'", "").replace('"', "").split()


def explain(command: str) -> str:
    """Why it cannot be typed; empty where it can, or where nobody knows which verb it is."""
    words = split(command)[1:]
    found: click.Command = cli
    while isinstance(found, click.Group):
        if not words or words[0] == "VALUE" or words[0].startswith(("--", "…")):
            return ""
        context = click.Context(found, info_name="paddock")
        known = found.get_command(context, words[0])
        if known is None:
            return f"no verb {words[0]}"
        found, words = known, words[1:]
    own, _, _program = f" {' '.join(words)} ".partition(" -- ")
    try:
        options, arguments, _ = found.make_parser(click.Context(found)).parse_args(own.split())
    except click.UsageError as error:
        return error.format_message()
    left = [] if options.get("help") else [each for each in arguments if each not in ("…", "\\")]
    return f"{' '.join(left)} is too much" if left else ""


@pytest.mark.parametrize("command", PRINTED)
def test_a_printed_command_can_be_typed(command: str) -> None:
    assert explain(command) == ""


STATE, VERB = "state", "verb"
TYPED: dict[str, tuple[str, str]] = {
    command: (kind, test)
    for command, (kind, test) in json.loads(
        (Path(__file__).parent / "printed_commands.json").read_text(encoding="utf-8")
    ).items()
}
"""For each printed command how a test types it, and which. `state`: the test makes the state that prints the command,
takes it out of the output (`support.printed`) and types that; `verb`: it types the same verb and options. In a command,
`*` is what is filled in."""
TAKES = re.compile(r"\b(?:take_printed|type_printed)\b")
"""By this a test takes commands out of an output."""


MOST_BY_VERB = 112


def needs_no_state(command: str) -> bool:
    """Whether no verb is in it: it is one of several, or the help of one."""
    words = split(command)
    return words[1] in ("VALUE", "--help", "…") or words[1].startswith("--")


@pytest.mark.parametrize("command", [each for each in PRINTED if not needs_no_state(each)])
def test_a_printed_command_is_typed_by_a_test(command: str) -> None:
    """A command more has to be typed by a test, which stands in printed_commands.json."""
    known = command.replace(FILLED, "*")
    assert known in TYPED, f"{known}: no test types it in the state that prints it ({STATE}), or its verb ({VERB})"
    kind, test = TYPED[known]
    file, _, name = test.partition("::")
    text = (ROOT / file).read_text(encoding="utf-8")
    assert re.search(rf"^\s*(?:async )?def {re.escape(name)}\(", text, re.MULTILINE), f"{file} has no {name}"
    assert kind in (STATE, VERB), f"{known}: {kind}"
    if kind == STATE:
        assert f'"{known}"' in text and TAKES.search(text), f"{file} takes no {known} out of an output"


def test_most_commands_of_a_state_are_typed_in_it() -> None:
    """The number of those that are not may fall alone: a new one gets a test of its state."""
    kinds = [kind for kind, _ in TYPED.values()]
    print(f"{kinds.count(STATE)} printed commands are typed in their state, {kinds.count(VERB)} by verb and options")
    assert kinds.count(VERB) <= MOST_BY_VERB, kinds.count(VERB)


def test_no_command_is_kept_that_is_no_longer_printed() -> None:
    assert set(TYPED) <= {each.replace(FILLED, "*") for each in PRINTED}


def test_the_commands_are_found() -> None:
    assert len(PRINTED) > 140
    assert len({split(each)[1] for each in PRINTED} & set(VERBS)) >= 25


@pytest.mark.parametrize(
    ("command", "why"),
    [
        ("paddock resume \0\0 --now", "No such option '--now'."),
        ("paddock stop {job}", "no verb stop"),
        ("paddock wait {job} {other}", "VALUE is too much"),
        ("paddock logs {word}{where} --first", "No such option '--first'."),
        ("paddock dataset remake \0", "no verb remake"),
    ],
)
def test_one_that_cannot_be_typed_is_told(command: str, why: str) -> None:
    assert explain(command).startswith(why.rstrip("."))


@pytest.mark.parametrize("command", [each for each in PRINTED if re.match(r"paddock (delete|down|\w+ rm)\b", each)])
def test_nothing_is_destroyed_before_a_command_with_a_placeholder(command: str) -> None:
    texts = [text for text in TEXTS if command in text]
    assert not [text for text in texts if re.search(r"paddock (?:delete|down|\w+ rm)\b[^`]*&&", text)]
