"""Commands in the output of Paddock: found there, and typed exactly as they stand, in the state that printed them.

A test takes a command out of the output itself and never writes it anew. `take_printed` also says which sentence it is
of: its template is a key of tests/cli/printed_commands.json, where a command is `state` only if the test that is named
there holds that template.
"""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

from e2e import commands
from e2e.commands import PADDOCK, Cluster, Ended
from support.programs import need

_BEGINS = r"(?:paddock|kubectl|KUBECONFIG=(?:\$\([^)]*\)|\S+) kubectl)\s"
_QUOTED = re.compile(rf"`({_BEGINS}[^`]+)`")
_LABELLED = re.compile(rf"(?:^\s*(?:next|then|undo): (\S.*?)|: ({_BEGINS}[^`\n]*?))(?:\s\s.*)?$", re.MULTILINE)
"""What a line ends with: `next: …`, `logs: paddock …`; a remark may stand behind it."""
_ALONE = re.compile(rf"^\s*({_BEGINS}[^`\n]*?)(?:\s{{2,}}.*)?$", re.MULTILINE)
"""A command at the beginning of a line, with what it is for behind some spaces."""
_SECOND = re.compile(r"^\s*paddock .*?\s{2,}[^`]*?; (paddock [^`;]+)$", re.MULTILINE)
"""`paddock logs demo -f     follows it; paddock describe demo`"""
_PLACEHOLDER = re.compile(r"(?<![\w./=-])[A-Z][A-Z_]+(?![\w=])")
"""NAME, URL, FILE: a word in capitals that the reader replaces. A variable (KUBECONFIG=…) is none."""
_FIELD = re.compile(r"\{[^{}]*\}|\*+")
_INNER = re.compile(r"\$\((paddock kubeconfig[^()$`|;&<>]*)\)")
"""In `KUBECONFIG=$(paddock kubeconfig) kubectl …`: a shell would start a Python, which costs ten times a fork."""


def find_printed(said: str) -> list[str]:
    """The commands of an output, each once, in their order: in backquotes, behind `next:` and the like, and those that
    begin a line."""
    found = [(match.start(match.lastindex or 0), match[match.lastindex or 0].strip())
             for each in (_QUOTED, _LABELLED, _ALONE, _SECOND) for match in each.finditer(said)]  # fmt: skip
    return list(dict.fromkeys(command for _, command in sorted(found) if "[" not in command))  # none of `Usage: …`


def is_of(command: str, template: str) -> bool:
    """Whether a printed command is one of a template: `paddock logs {word}{where} --role {role}`, or with `*` for what
    is filled in. A pipe behind it is not in the template."""
    parts = [re.escape(each) for each in _FIELD.split(template)]
    return re.fullmatch(".*".join(parts), command.partition(" | ")[0], re.DOTALL) is not None


def take_printed(said: str, template: str) -> str:
    """The command of this template that an output has; exactly one."""
    found = [each for each in find_printed(said) if is_of(each, template)]
    assert len(found) == 1, f"{template}: {found or find_printed(said)} in\n{said}"
    return found[0]


def fill_in(command: str, words: Mapping[str, str]) -> str:
    """With the reader's words in the place of NAME, URL, FILE and the like; none is left."""
    filled = _PLACEHOLDER.sub(lambda match: words.get(match[0], match[0]), command)
    left = [each for each in _PLACEHOLDER.findall(filled) if each not in words.values()]
    assert not left, f"{command}: the test has no word for {left}"
    return filled


def type_printed(
    cluster: Cluster, command: str, words: Mapping[str, str] | None = None, directory: Path | None = None
) -> Ended:
    """Types the command in the same home: `paddock` alone without a shell, which is cheap, all others with one. Editors
    change nothing."""
    environment = {**cluster.environment, "KUBE_EDITOR": "true", "EDITOR": "true"}
    typed = _INNER.sub(lambda found: _answer(cluster, found[1], environment), fill_in(command, words or {}))
    parsed = shlex.split(typed)
    if parsed[0] == "paddock" and not re.search(r"[|;&$<>#]", typed):
        return commands.call(*PADDOCK, *parsed[1:], *cluster.options, environment=environment, directory=directory)
    if "kubectl" in typed:
        need("kubectl")
    environment["PATH"] = f"{Path(sys.executable).parent}:{environment.get('PATH', os.defpath)}"
    ended = subprocess.run(
        ["sh", "-c", typed], env=environment, cwd=directory, capture_output=True, text=True, timeout=300
    )
    return Ended(ended.returncode, ended.stdout, ended.stderr)


def _answer(cluster: Cluster, command: str, environment: Mapping[str, str]) -> str:
    """What a shell puts in the place of `$(…)`."""
    ended = commands.call(*PADDOCK, *shlex.split(command)[1:], *cluster.options, environment=environment)
    assert ended.code == 0, f"{command}: {ended}"
    return shlex.quote(ended.out.rstrip("\n"))
