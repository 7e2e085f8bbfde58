"""Secrets that stand in a file of another tool: neither the job nor what is said of it has their values. Pure.

All readers of this folder pass here, whatever sets a variable: `export`, `#SBATCH --export`, `mpirun -x`, `docker -e`.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence, Set
from dataclasses import replace

from paddock.script.foreign.job import Foreign, Left
from paddock.script.secrets import MASK, hide_secrets, is_secret
from paddock.words.phrases import Phrase, phrase

_SHORTEST = 6
"""Letters of a value that is looked for among the arguments: one of fewer, as in USE_AUTH=1, is there by chance."""


def keep_back(made: Foreign, text: str) -> Foreign:
    """The job without the values of secrets, and with a line for each. `text`: the file, which says in which line the
    name of one stands first."""
    plain, kept = divide(dict(made.variables))
    lines = _find_lines(text, kept.keys())
    left = [Left(lines.get(name, made.line), explain_kept_back(name)) for name in kept]
    words, others = _take_out(made.words, {value: name for name, value in kept.items() if len(value) >= _SHORTEST})
    return replace(
        made,
        words=words,
        variables=tuple(plain.items()),
        left=tuple(map(hide, (*left, *(Left(made.line, said) for said in others), *made.left))),
    )


def divide(variables: Mapping[str, str]) -> tuple[dict[str, str], dict[str, str]]:
    """The variables with which a script of the file is read, and the secrets, which are unknown to it."""
    secret = {name: value for name, value in variables.items() if is_secret(name, value)}
    return {name: value for name, value in variables.items() if name not in secret}, secret


def explain_kept_back(name: str) -> Phrase:
    return phrase(
        "{name} is left out, as the file would show it: `export {name}=…`, then add --secret {name} to `paddock run`",
        name=name,
    )


def hide(left: Left) -> Left:
    """The line without the secrets of the command that it shows."""
    args = ((name, hide_secrets(each) if isinstance(each, str) else each) for name, each in left.said.args)
    return replace(left, said=replace(left.said, args=tuple(args)))


def _find_lines(text: str, names: Set[str]) -> Mapping[str, int]:
    found: dict[str, int] = {}
    for number, line in enumerate(text.splitlines(), 1):
        for name in names & {*re.findall(r"\w+", line)}:
            found.setdefault(name, number)
    return found


def _take_out(words: Sequence[str], values: Mapping[str, str]) -> tuple[tuple[str, ...], list[Phrase]]:
    """The words without those that are the value of a secret, each with its option; and what is said of them."""
    found: list[str] = []
    said: list[Phrase] = []
    for word in words:
        option, equals, value = word.rpartition("=")
        if (name := values.get(value)) is None:
            found.append(word)
            continue
        takes = not equals and bool(found) and found[-1].startswith("-") and "=" not in found[-1]
        shown = f"{found.pop()} {MASK}" if takes else f"{option}{equals}{MASK}"
        said.append(
            phrase("{option} is left out, as the file would show {name}: let the program read the variable itself",
                   option=shown, name=name)
        )  # fmt: skip
    return tuple(found), said
