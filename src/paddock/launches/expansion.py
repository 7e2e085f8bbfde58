"""The words of a command, from its nodes and what stands between them. Pure.

A node is one piece of a word; the letters between two nodes are read here, as the grammar loses some of them: a lone
`-` before `<<`, `\\ ` behind a quote.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from paddock.launches.budget import Budget
from paddock.launches.grammar import Source
from paddock.launches.state import State, Value
from paddock.launches.substitutions import calculate, cut
from paddock.launches.words import (
    Piece,
    Unknown,
    Word,
    build_word,
    charge_pieces,
    join_within,
    read_number,
    split_pieces,
)

if TYPE_CHECKING:
    from tree_sitter import Node

_EXPANDED = frozenset({"simple_expansion", "expansion", "command_substitution", "arithmetic_expansion"})
_VARIABLES = ("simple_expansion", "expansion")
_SUBSTITUTIONS = ("command_substitution", "process_substitution")
_QUOTED = ("string", "raw_string")
_NEIGHBOURS = re.compile(r"(?<=`)\s+(?=`)")
"""Between two substitutions in backticks, which the grammar takes for one."""
_PLAIN = frozenset({"word", "number", "variable_name", "file_descriptor", "test_operator", "special_variable_name"})
_VARIABLE = re.compile(
    r"\$(?:\{(?P<mark>[#!]?)(?P<long>\w+|[@*?$!#-])(?P<index>\[[^\]]*\])?.*\}|(?P<short>\w+|.))", re.DOTALL
)
_NAME = re.compile(r"(?<![\w#])[A-Za-z_]\w*")
_SET_INSIDE = re.compile(r"([A-Za-z_]\w*)\s*(?:\+\+|--|(?:[-+*/%&|^]|<<|>>)?=(?!=))|(?:\+\+|--)\s*([A-Za-z_]\w*)")
"""`p=5`, `p+=2`, `p++` and `--p` in an arithmetic expansion."""
_PATTERN = re.compile(r"(?<!\\)(?:[*?\[]|\{[^{}]*\})")
_OF_SHELL = frozenset(
    {"BASH", "BASHPID", "BASH_SOURCE", "BASH_VERSINFO", "BASH_VERSION", "DIRSTACK", "EPOCHREALTIME", "EPOCHSECONDS"}
    | {"EUID", "FUNCNAME", "GROUPS", "HOSTNAME", "HOSTTYPE", "IFS", "LINENO", "MACHTYPE", "OLDPWD", "OPTARG", "OPTIND"}
    | {"OSTYPE", "PIPESTATUS", "PPID", "PWD", "RANDOM", "REPLY", "SECONDS", "SHLVL", "SRANDOM", "UID", "_"}
)
"""Variables that the shell sets by itself (Bash Reference Manual 5.3, Bash Variables)."""
_OF_FILES = re.compile(r"[*?]|\[.*\]")
"""A pattern of files in the value of a variable."""
_DEFAULTS = (":-", "-", ":=", "=")
_REQUIRED = (":?", "?")
_CUT = ("%", "%%", "#", "##")
_ANSI_ESCAPE = re.compile(r"\\([0-7]{1,3}|x[0-9a-fA-F]{1,2}|u[0-9a-fA-F]{1,4}|U[0-9a-fA-F]{1,8}|.)", re.DOTALL)
_ANSI = {"n": "\n", "t": "\t", "r": "\r", "e": "\x1b", "a": "\a", "b": "\b", "f": "\f", "v": "\v"}


class _Words:
    """Words as they are put together. `typed`: how many letters were typed for all of them."""

    def __init__(self, line: int, typed: int, budget: Budget) -> None:
        self.found: list[Word] = []
        self.line = line
        self._typed, self._budget = typed, budget
        self._pieces: list[Piece] | None = None
        self._splits = False

    def add(self, pieces: Iterable[Piece], *, splits: bool = False) -> None:
        self._pieces = self._pieces if self._pieces is not None else []
        self._pieces += pieces
        self._splits = self._splits or splits

    def add_several(self, words: Sequence[Word]) -> None:
        """What a shell splits: the first belongs to the word before it, the last to the one behind it."""
        for place, word in enumerate(words):
            if place:
                self.close()
            self.add(word.pieces, splits=word.splits)

    def close(self) -> None:
        if self._pieces is not None:
            joined = join_within(self._pieces, self._typed, self._budget)
            self.found.append(Word(joined, self.line, self._splits))
        self._pieces, self._splits = None, False

    def add_gap(self, text: str) -> None:
        """What stands between two nodes."""
        for found in re.finditer(r"\\\n|\\(.)|([ \t\r\n]+)|([^\\ \t\r\n]+|\\)", text, re.DOTALL):
            self._budget.spend(1)
            if found[2]:
                self.close()
            elif letters := found[1] or found[3]:
                self.add([letters])


class Expander:
    """Reads words in a state. `run_inside` reads the commands of a substitution; the answer is what they print, None
    where that is not known."""

    def __init__(self, run_inside: Callable[[Source, Node, State], Piece | None], budget: Budget) -> None:
        self._run_inside, self._budget = run_inside, budget
        self.asked: set[str] = set()
        """The variables that were read by name where the text had not set them, nor may have."""

    def ask(self, source: Source, node: Node, state: State) -> None:
        """Notes the variables that a text reads which is not followed otherwise: a test, the subject of a case."""
        waiting = [node]
        while waiting:
            each = waiting.pop()
            self._budget.spend(1)
            if each.type in _VARIABLES:
                self.note(read_name(source.of(each).lstrip())[0], state)
            waiting += each.children

    def note(self, name: str, state: State) -> None:
        """A variable is read. It comes from outside unless the text has set it, or may have."""
        is_named = _NAME.fullmatch(name) and name not in _OF_SHELL
        if is_named and not state.is_open and name not in state.variables and name not in state.unset:
            self.asked.add(name)

    def read_words(self, source: Source, nodes: Sequence[Node], state: State, start: int, end: int) -> list[Word]:
        """The words between two places, in bytes."""
        words = _Words(source.line_at(start), end - start, self._budget)
        for node in nodes:
            words.add_gap(source.text(start, node.start_byte))
            words.line = source.line(node)
            if node.type == "comment":
                words.close()
            else:
                words.add_several(self._expand(source, node, state))
            start = node.end_byte
        words.add_gap(source.text(start, end))
        words.close()
        return words.found

    def read_value(self, source: Source, node: Node | None, state: State) -> Value:
        """The right side of an assignment, which no shell splits."""
        if node is None:
            return Word()
        if node.type == "array":
            inside = [each for each in node.children if each.is_named]
            return tuple(self.read_words(source, inside, state, node.start_byte + 1, node.end_byte - 1))
        return self._read_word(source, node, state)

    def read_text(self, source: Source, node: Node, state: State) -> Word:
        """The text of a here-document."""
        return self._join(self._read_inside(source, node, state, node.children, "\\$`"), source, node)

    def _read_word(self, source: Source, node: Node, state: State) -> Word:
        return self._join(self._read_pieces(source, node, state), source, node)

    def _join(self, pieces: Sequence[Piece], source: Source, node: Node) -> Word:
        return Word(join_within(pieces, node.end_byte - node.start_byte, self._budget), source.line(node))

    def _expand(self, source: Source, node: Node, state: State) -> list[Word]:
        """What a node becomes, as a word or several, or none."""
        typed, line = source.of(node), source.line(node)
        self._budget.spend(1)
        if node.type in ("concatenation", "command_name"):
            if not node.children:
                return [self._read_word(source, node, state)]
            with self._budget.deeper():
                return self._expand_joined(source, node.children, state, node)
        if node.type in _VARIABLES:
            return self._expand_variable(source, node, state)
        if node.type == "string" and (several := self._expand_all(source, node, state)) is not None:
            return several
        if node.type == "command_substitution" and len(texts := _NEIGHBOURS.split(typed)) > 1:
            return [Word((Unknown(each),), line, splits=True) for each in texts]
        if node.type in ("command_substitution", "arithmetic_expansion"):
            return self._split([self._read_pieces(source, node, state)], line)
        if _is_pattern(node, typed):
            self._read_pieces(source, node, state)
            usual = _read_literal(typed) if node.type == "word" and "{" not in typed else None
            return [Word((Unknown(source.show(node), usual),), line, splits=True)]
        return [self._read_word(source, node, state)]

    def _expand_joined(self, source: Source, nodes: Sequence[Node], state: State, whole: Node) -> list[Word]:
        if _has_pattern(_cover(source, nodes)):
            self.ask(source, whole, state)
            typed = source.show(whole)
            is_plain = all(each.type in ("word", "number") or each.type in _QUOTED for each in nodes)
            usual = _read_literal(typed) if is_plain and "{" not in typed else None
            return [Word((Unknown(typed, usual),), source.line(whole), splits=True)]
        words = _Words(source.line(whole), whole.end_byte - whole.start_byte, self._budget)
        start = whole.start_byte
        for node in nodes:
            words.add_gap(source.text(start, node.start_byte))
            words.add_several(self._expand(source, node, state))
            start = node.end_byte
        words.close()
        return words.found

    def _expand_variable(self, source: Source, node: Node, state: State) -> list[Word]:
        typed, line = source.of(node), source.line(node)
        name, index = read_name(typed)
        value = state.arguments if name in ("@", "*") else state.variables.get(name)
        if name in ("@", "*") or index in ("[@]", "[*]"):
            if not isinstance(value, tuple) or _find_operator(node) is not None:
                return [Word((Unknown(typed),), line, splits=True)]
            return self._split([each.pieces for each in value], line)
        pieces = self._read_variable(source, node, state)
        if "IFS" in state.variables:  # it is split at other letters
            return [Word((Unknown(typed, Word(tuple(pieces)).usual),), line, splits=True)]
        return self._split([pieces], line)

    def _split(self, values: Sequence[Sequence[Piece]], line: int) -> list[Word]:
        """The words of texts that a shell splits."""
        found: list[Word] = []
        for pieces in values:
            for word in split_pieces(charge_pieces(pieces, self._budget), line):
                self._budget.spend(1)
                text = word.text or ""
                found.append(Word((Unknown(text, text),), line, splits=True) if _OF_FILES.search(text) else word)
        return found

    def _expand_all(self, source: Source, node: Node, state: State) -> list[Word] | None:
        """`"$@"` and `"${NAMES[@]}"`, which become a word for each; None for another text in quotes."""
        inside = [each for each in node.children if each.type in _VARIABLES]
        if len(inside) != 1 or len(source.of(inside[0])) != len(source.of(node)) - 2:
            return None
        typed, line = source.of(node), source.line(node)
        name, index = read_name(source.of(inside[0]))
        if name != "@" and index != "[@]":
            return None
        is_changed = _find_operator(inside[0]) is not None
        value = state.arguments if name == "@" else state.variables.get(name)
        if isinstance(value, tuple) and not is_changed:
            self._budget.spend(len(value))
            return [replace(each, line=line) for each in value]
        return [Word((Unknown(typed),), line, splits=True)]

    def _read_pieces(self, source: Source, node: Node, state: State) -> list[Piece]:
        """The pieces of a node that stays one word."""
        self._budget.spend(1)
        with self._budget.deeper():
            return self._read_node(source, node, state)

    def _read_node(self, source: Source, node: Node, state: State) -> list[Piece]:
        typed = source.of(node)
        if node.type == "raw_string":
            return [typed[1:-1]]
        if node.type == "ansi_c_string":
            return [_ANSI_ESCAPE.sub(_read_escape, typed[2:-1])]
        if node.type == "translated_string":
            return self._read_pieces(source, node.children[-1], state)
        if node.type == "string":
            return self._read_inside(source, node, state, node.children, '\\$`"', 1)
        if node.type in _VARIABLES:
            return self._read_variable(source, node, state)
        if node.type in ("concatenation", "command_name") and node.children:
            return self._read_inside(source, node, state, node.children, None)
        if typed.startswith("~"):
            home, slash, rest = typed.partition("/")
            return [Unknown(home), slash + _unescape(rest, None)]
        if node.type in _PLAIN or node.type == "command_name":
            return self._read_inside(source, node, state, node.children, None)
        found: Piece | None = None
        if node.type in _SUBSTITUTIONS:
            found = self._run_inside(source, node, state)
        if node.type == "process_substitution":
            found = None  # the name of a pipe
        elif node.type == "arithmetic_expansion" and typed.startswith("$(("):
            for name in _NAME.findall(typed[3:-2]):
                self.note(name, state)
            for name in _SET_INSIDE.findall(typed):
                state.forget(next(filter(None, name)))
            self._budget.spend(min(len(typed), 200) // 4)
            if "++" not in typed and "--" not in typed:
                found = calculate(typed[3:-2], lambda name: _read_text(name, "", state))
        return [Unknown(typed) if found is None else found]

    def _read_inside(
        self, source: Source, node: Node, state: State, nodes: Sequence[Node], escapes: str | None, cut: int = 0
    ) -> list[Piece]:
        """A text with what is expanded in it. `escapes`: the letters from which a backslash takes their meaning; None
        for all. `cut`: how many letters its quotes have."""
        pieces: list[Piece] = []
        place = node.start_byte + cut
        for each in nodes:
            if each.type in _EXPANDED or (escapes is None and each.is_named):
                # in `"$A $B"` the grammar takes the blank for a part of the second
                typed = source.of(each) if each.type in _EXPANDED else ""
                blank = typed[: len(typed) - len(typed.lstrip())]
                pieces += [_unescape(source.text(place, each.start_byte), escapes), blank]
                pieces += self._read_pieces(source, each, state)
                place = each.end_byte
        return [*pieces, _unescape(source.text(place, node.end_byte - cut), escapes)]

    def _read_variable(self, source: Source, node: Node, state: State) -> list[Piece]:
        typed = source.of(node).lstrip()
        name, index = read_name(typed)
        self.note(name, state)
        operator = _find_operator(node)
        value = _find_value(name, index, state)
        charge_pieces(value.pieces if value is not None else (), self._budget)
        if operator is None:
            return list(value.pieces) if value is not None else [Unknown(typed)]
        behind = [each for each in node.children if each.start_byte >= operator.end_byte and each.is_named]
        default = self._join(self._read_default(source, node, operator, behind, state), source, node)
        if operator.type in _DEFAULTS:
            if operator.type in (":=", "=") and name and (value is None or not value.text):
                state.set(name, default if name in state.unset else Word((Unknown(f"${name}", default.usual),)))
            is_empty = name in state.unset or (value is not None and value.text == "" and operator.type[0] == ":")
            if is_empty:
                return list(default.pieces)
            return (
                list(value.pieces) if value is not None and value.text is not None else [Unknown(typed, default.usual)]
            )
        if operator.type in _REQUIRED and value is not None:
            return list(value.pieces)
        if operator.type in _CUT and value is not None and value.text is not None:
            self._budget.spend(min(len(value.text), 200))  # a match of the pattern for each place
            rest = cut(value.text, operator.type, source.text(operator.end_byte, node.end_byte - 1))
            return [Unknown(typed) if rest is None else rest]
        return [Unknown(typed)]

    def _read_default(
        self, source: Source, node: Node, operator: Node, nodes: Sequence[Node], state: State
    ) -> list[Piece]:
        """The `y` of `${x:-y}`."""
        pieces: list[Piece] = []
        place = operator.end_byte
        for each in nodes:
            pieces += [_unescape(source.text(place, each.start_byte), None), *self._read_pieces(source, each, state)]
            place = each.end_byte
        return [*pieces, _unescape(source.text(place, node.end_byte - 1), None)]


def _find_operator(node: Node) -> Node | None:
    """The `:-` of `${x:-y}`; None of `${x}`."""
    return next((each for each in node.children[1:] if not each.is_named and each.type not in "}[]"), None)


def read_name(typed: str) -> tuple[str, str]:
    """`${HOSTS[0]}` -> HOSTS and [0]."""
    found = _VARIABLE.fullmatch(typed)
    if found is None:
        return "", ""
    if found["mark"] and found["long"]:
        return "", ""  # the length of a text, or a name in a variable
    return found["long"] or found["short"] or "", found["index"] or ""


def _find_value(name: str, index: str, state: State) -> Word | None:
    """What is known of a variable or an argument; None where nothing is."""
    if (number := read_number(name)) and state.arguments is not None:
        return _find_element(state.arguments, number - 1, Word())
    if not name:
        return None
    if name in _OF_PLACE and name not in state.variables:
        text = _OF_PLACE[name](state)
        return build_word(text) if text and index in ("", "[0]") else None
    value = state.variables.get(name)
    if isinstance(value, tuple):
        place = read_number(index.strip("[]") or "0")
        return _find_element(value, place, None) if place is not None else None
    return None if index and index != "[0]" else value


def _find_element(words: Sequence[Word], place: int, other: Word | None) -> Word | None:
    """One of several words; none is known behind one that may be several, or none. `other`: of a place behind all."""
    if any(word.splits for word in words[: place + 1]):
        return None
    return words[place] if place < len(words) else other


def _read_text(name: str, index: str, state: State) -> str | None:
    value = _find_value(name, index, state)
    return value.text if value is not None else None


_OF_PLACE: Mapping[str, Callable[[State], str | None]] = {
    "0": lambda state: state.name,
    "BASH_SOURCE": lambda state: state.file,
    "PWD": lambda state: state.place,
}
"""Variables by which a script finds where it stands."""


def _is_pattern(node: Node, typed: str) -> bool:
    """Whether files may take its place, or `{0..3}` becomes several words."""
    return node.type in ("brace_expression", "extglob_pattern") or (node.type == "word" and _has_pattern(typed))


def _has_pattern(text: str) -> bool:
    """Whether files, or several words, may take its place: `*.py`, `{a,b}`, `{0..3}`. In one pass."""
    return any(found[0][0] != "{" or "," in found[0] or ".." in found[0] for found in _PATTERN.finditer(text))


def _read_literal(typed: str) -> str | None:
    """What a pattern is where no file has such a name: itself, without its quotes."""
    try:
        words = shlex.split(typed)
    except ValueError:
        return None
    return words[0] if len(words) == 1 and "$" not in typed and "`" not in typed else None


def _cover(source: Source, nodes: Sequence[Node]) -> str:
    """The text of joined nodes, without what stands in quotes."""
    plain: Iterator[str] = (source.of(each) for each in nodes if each.type in ("word", "brace_expression"))
    return "".join(plain)


def _read_escape(found: re.Match[str]) -> str:
    """A letter of `$'…'` (Bash Reference Manual, ANSI-C Quoting)."""
    code = found[1]
    if code[0] in "xuU" and len(code) > 1:
        return chr(min(int(code[1:], 16), 0x10FFFF))
    return chr(int(code, 8) & 0xFF) if code[0] in "01234567" else _ANSI.get(code, code)


def _unescape(text: str, escapes: str | None) -> str:
    """Without the backslashes of a shell, and the ends of lines behind them."""

    def replaced(found: re.Match[str]) -> str:
        letter = found[1]
        return "" if letter == "\n" else letter if escapes is None or letter in escapes else found[0]

    return re.sub(r"\\(.)", replaced, text, flags=re.DOTALL)
