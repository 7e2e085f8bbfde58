"""A shell that is given Python source -> Python that runs it. Pure.

The forms of training platforms have a field for the command and one for its arguments, and their documents say `bash`
and the text of a program: `command: [bash], args: [SOURCE]`, or `[bash, -c, SOURCE]`. The shell looks for a file with
that name (exit code 127), or reads the program as shell commands (2).

Source counts as Python only with proof, as a shell script must never be replaced: Python can parse many of those
(`set -e`, `python3 <<EOF`). Proof is what no shell script has: a compound statement, `from … import …`, a call with
arguments outside a string. What no program has and shell scripts have disproves it: an expression that is computed and
not used (`nvidia-smi`, `ls -l`, `done`).

The program runs from a file of its own, not by `python3 -c`: tracebacks have its text, and processes that it starts
(`multiprocessing`, workers of a DataLoader) can import it. The source stays one argument, as Linux takes at most
128 KiB for each.
"""

from __future__ import annotations

import ast
import posixpath
import warnings
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from typing import Any

from paddock.jobs.frameworks import Notice
from paddock.launches.programs import Kind, read_program
from paddock.launches.words import build_word
from paddock.words.phrases import phrase

MOST = 128 * 2**10 - 1
"""Characters of an argument (Linux, MAX_ARG_STRLEN): a longer one cannot be started at all, so it is not parsed."""

START = (
    'directory=$(mktemp -d) && printf %s "$0" >"$directory/program.py" && '
    'PYTHONPATH="$PWD${PYTHONPATH:+:$PYTHONPATH}" '
    'exec "$(command -v python3 || command -v python)" "$directory/program.py" "$@"'
)
"""What the shell runs with the source as `$0`. PYTHONPATH: `python3 -c` would find modules of the working directory."""

_COMPOUND = (
    ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.For, ast.AsyncFor, ast.While, ast.If, ast.With,
    ast.AsyncWith, ast.Try, ast.TryStar, ast.Match, ast.ImportFrom,
)  # fmt: skip
_USED = (
    ast.Call, ast.Constant, ast.JoinedStr, ast.Await, ast.Yield, ast.YieldFrom, ast.ListComp, ast.IfExp, ast.BoolOp,
)  # fmt: skip
"""Expressions that may stand alone: calls, texts of documentation, `...`, a list built for its calls, and a call under
a condition."""


def run_source(container: Mapping[str, Any]) -> tuple[Mapping[str, Any], Notice | None]:
    """The container that runs the program by Python, and a notice; the same container and None where it is given no
    Python source."""
    words = [*(container.get("command") or ()), *(container.get("args") or ())]
    found = _find_source(words) if all(isinstance(word, str) for word in words) else None
    if found is None:
        return container, None
    shell, source, arguments = found
    rest = {key: value for key, value in container.items() if key != "args"}
    return {**rest, "command": [shell, "-c", START, source, *arguments]}, _build_notice(posixpath.basename(shell))


def _build_notice(shell: str) -> Notice:
    said = phrase(
        "`{shell}` is given the text of a Python program, which is no shell script: python3 runs it instead, from a "
        'file; the annotation paddock.dev/substitute: "false" on the job runs what is written',
        shell=shell,
    )
    undecided = phrase(
        "`{shell}` is given the text of a Python program, which is no shell script: the local cluster runs it by "
        "python3, from a file, and a cluster runs what is written, which fails; the annotation paddock.dev/substitute "
        'on the job decides for both, "true" for python3 and "false" for what is written',
        shell=shell,
    )
    return Notice(said, undecided)


def _find_source(words: Sequence[str]) -> tuple[str, str, Sequence[str]] | None:
    """The shell, the source and its arguments: `bash SOURCE ARGUMENT…`, `bash -c SOURCE NAME ARGUMENT…`."""
    program = read_program([build_word(word) for word in words]) if words else None
    if program is None or not program.shell_name or program.kind not in (Kind.SHELL, Kind.SCRIPT):
        return None
    is_command, rest = program.kind is Kind.SHELL, words[program.length :]
    if not is_python(source := program.word.text or "", may_be_shell=is_command):
        return None
    return words[0], source, rest[1:] if is_command else rest


@lru_cache(maxsize=64)
def is_python(text: str, *, may_be_shell: bool = True) -> bool:
    """Whether `text` is certainly the source of a Python program. `may_be_shell`: it stands where a shell reads
    commands; else where it reads the path of a script, so that `import x` is proof enough (as a command it takes a
    picture of the screen)."""
    if len(text) > MOST or not text.strip() or _is_of_shell(text):
        return False
    tree = _parse(text)
    if tree is None or not all(map(_may_be_python, ast.walk(tree))):
        return False
    return any(_is_proof(node) or (isinstance(node, ast.Import) and not may_be_shell) for node in _outside_texts(tree))


def _is_of_shell(text: str) -> bool:
    first = text.lstrip().partition("\n")[0]
    return first.startswith("#!") and "python" not in first


def _parse(text: str) -> ast.Module | None:
    with warnings.catch_warnings():  # of `"\d"`, which are the program's
        warnings.simplefilter("ignore")
        try:
            return ast.parse(text)
        except (SyntaxError, ValueError, RecursionError, MemoryError):
            return None


def _outside_texts(node: ast.AST) -> Iterator[ast.AST]:
    """All nodes but those inside an f-string: a shell takes `f'{f(1)}'` for a word."""
    waiting = [node]
    while waiting:  # no recursion: `1 + 1 + …` may be thousands of nodes deep
        children = [each for each in ast.iter_child_nodes(waiting.pop()) if not isinstance(each, ast.JoinedStr)]
        waiting.extend(children)
        yield from children


def _is_proof(node: ast.AST) -> bool:
    if isinstance(node, ast.Call):
        return isinstance(node.func, ast.Name | ast.Attribute) and bool(node.args or node.keywords)
    return isinstance(node, _COMPOUND)


def _may_be_python(node: ast.AST) -> bool:
    return not isinstance(node, ast.Expr) or isinstance(node.value, _USED)
