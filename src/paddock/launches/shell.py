"""The text of a shell script -> its simple commands, in the order in which they would run. Pure: nothing is run.

The grammar is tree-sitter's of bash. Followed are variables and arrays that the script sets, `export` and `unset`,
`cd`, functions with their arguments, `eval`, all sides of a condition, a loop once, subshells and substitutions. What
is set on one side of a condition is unknown behind it. Where the grammar finds an error, the command is `Unread`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import replace
from typing import TYPE_CHECKING

from paddock.launches.budget import Budget
from paddock.launches.commands import Command, Redirection, Unread
from paddock.launches.endings import UNKNOWN, Hiding, Statement, find_hiding
from paddock.launches.expansion import Expander
from paddock.launches.grammar import OpenStatement, Quotes, Source
from paddock.launches.redirections import Redirected
from paddock.launches.state import State, join_values
from paddock.launches.substitutions import find_printed
from paddock.launches.words import Piece, Unknown, Word, read_number

if TYPE_CHECKING:
    from tree_sitter import Node

_LONG = 60
"""Seconds of a sleep behind which a program in the background may have ended."""
_MOST_PIPED = 5
"""Programs behind a `|` that are named."""


class _Ended(Exception):
    """The script has ended: by `exit`, or by `exec` of a program."""


class _Returned(Exception):
    """A function, or a text that is read by `.`, has ended."""


class ShellReader:
    """Reads texts into `commands`, within a budget. `read_file`: the text of another script, by its path from where the
    first one is started; None where it is not there."""

    def __init__(self, read_file: Callable[[str], str | None], budget: Budget) -> None:
        self.commands: list[Command] = []
        self.unread: list[Unread] = []
        self.open_quote = 0
        """The line of a quote that is not closed; 0 without one."""
        self.open_statement: OpenStatement | None = None
        self._read_file = read_file
        self._budget = budget
        self._functions: dict[str, tuple[Source, Node]] = {}
        self._called: set[str] = set()
        self._sourced: list[str] = []
        self._echoes = 0
        self._words = Expander(self._run_substitution, budget)

    @property
    def asked(self) -> set[str]:
        """The names of variables that the texts read and do not set first; at most as many as they have bytes."""
        return self._words.asked

    @contextmanager
    def deaf(self) -> Iterator[None]:
        """While a text is read that runs elsewhere: what it asks for, nobody asks here."""
        kept, self._words.asked = self._words.asked, set()
        try:
            yield
        finally:
            self._words.asked = kept

    # Texts

    def read(self, text: str, state: State, line: int = 0) -> None:
        """A script. Never raises."""
        with self._budget.bounded(), suppress(_Ended, _Returned):
            self._read_text(text, state, line, is_shell=True)
            self._read_uncalled(state)

    def read_inner(self, text: Word, state: State) -> None:
        """A text that a command passes to a shell. Never raises."""
        with self._budget.bounded(), suppress(_Ended, _Returned):
            self._read_put_together(text, state, is_shell=True)

    def _read_text(
        self, text: str, state: State, line: int, shown: Mapping[str, str] | None = None, *, is_shell: bool = False
    ) -> None:
        """`is_shell`: a shell ends with this text."""
        source = Source(text.replace("\r\n", "\n").removeprefix("\ufeff"), line, self._budget, shown)
        if source.root.has_error:
            self.open_quote = self.open_quote or source.find_open_quote()
            self.open_statement = self.open_statement or source.find_open_statement()
        statements: list[Statement] = []
        with self._budget.deeper():
            try:
                self._run_all(source, source.root, state, statements)
            finally:
                if is_shell:
                    bodies = {name: text.of(body) for name, (text, body) in self._functions.items()}
                    self._hide(find_hiding(source, statements, state.options, self._sourced, bodies))

    def _read_put_together(self, text: Word, state: State, *, is_shell: bool = False) -> None:
        """A text with unknown pieces, which become variables of which nothing is known. In single quotes those stand
        between two quotes of their own, as what is filled in is a part of the text."""
        parts: list[str] = []
        shown: dict[str, str] = {}
        quotes = Quotes()
        for number, piece in enumerate(text.pieces):
            if isinstance(piece, str):
                quotes.read(piece)
                parts.append(piece)
                continue
            name = f"${{__unknown_{number}}}"
            state.variables[f"__unknown_{number}"] = Word((piece,))
            shown[name] = piece.typed
            parts.append(f"'\"{name}\"'" if quotes.is_single else name)
        self._read_text("".join(parts), state, text.line, shown, is_shell=is_shell)

    def _read_uncalled(self, state: State) -> None:
        """Functions that nothing calls by name: `"$@"` may, or a script that reads this one."""
        for name in [each for each in self._functions if each not in self._called]:
            inner = self._copy(state, is_conditional=True)
            inner.arguments = None
            with suppress(_Ended):
                self._call(name, inner)

    def _call(self, name: str, state: State) -> None:
        self._called.add(name)
        source, body = self._functions[name]
        with self._budget.deeper(), suppress(_Returned):
            self._run(source, body, state)

    # Statements

    def _copy(self, state: State, *, may_run: bool = False, is_conditional: bool = False) -> State:
        """A copy costs as many steps as variables: of two numbers that a script chooses, the product is bounded."""
        self._spend(1 + state.size // 4)
        return state.copy(may_run=may_run, is_conditional=is_conditional)

    def _merge(self, state: State, ends: Sequence[State]) -> None:
        self._spend(sum(each.size for each in ends) // 4)
        state.merge(ends)

    def _run_all(self, source: Source, node: Node, state: State, statements: list[Statement] | None = None) -> None:
        """`statements`: gets those that were run."""
        children = node.children
        for child, following in zip(children, [*children[1:], None], strict=False):
            begun = len(self.commands)
            try:
                self._run(source, child, state)
            finally:
                if statements is not None and child.is_named:
                    statements.append(Statement(child, begun, len(self.commands)))
            if following is not None and following.type == "&":
                self._mark(begun, in_background=True)

    def _mark(self, begun: int, *, in_background: bool) -> None:
        """Marks the commands since `begun`: `&` stands behind them, or they are waited for."""
        self._spend((len(self.commands) - begun) // 4)
        for place in range(begun, len(self.commands)):
            if self.commands[place].in_background is not in_background:
                self.commands[place] = replace(self.commands[place], in_background=in_background)

    def _hide(self, hiding: Hiding | None) -> None:
        """Marks the commands as which the shell does not end."""
        if hiding is None:
            return
        self._spend((hiding.ended - hiding.begun) // 4)
        for place in range(hiding.begun, hiding.ended):
            command = self.commands[place]
            by = hiding.by or (f"| {command.piped[-1]}" if command.piped else "")
            if by:
                self.commands[place] = replace(command, hidden_by=by)

    def _spend(self, steps: int) -> None:
        self._budget.spend(steps)

    def _run(self, source: Source, node: Node, state: State) -> None:
        self._spend(1)
        if node.is_error or node.is_missing:
            self._note(source, node)
        elif (does := _STATEMENTS.get(node.type)) is not None:
            with self._budget.deeper():
                does(self, source, node, state)
        elif node.is_named:
            self._words.ask(source, node, state)

    def _note(self, source: Source, node: Node) -> None:
        if text := source.show(node).strip():
            self.unread.append(Unread(source.line(node), text[:200]))

    def _run_apart(self, source: Source, node: Node, state: State) -> None:
        """A subshell: it changes nothing outside."""
        with self._budget.deeper(), suppress(_Ended, _Returned):
            self._run_all(source, node, self._copy(state))

    def _run_substitution(self, source: Source, node: Node, state: State) -> Piece | None:
        """What the commands in it print; None where that is not known."""
        begun, echoes = len(self.commands), self._echoes
        self._run_apart(source, node, state)
        if len(self.commands) != begun + 1 or self.commands[-1].may_run or self._echoes > echoes:
            return None
        command = self.commands[-1]
        is_shown = all(each.operator.startswith("2") for each in command.redirections)
        place = replace(state, directory=command.directory).place
        found = find_printed(command.words, place, source.of(node)) if is_shown else None
        if found is not None:
            self.commands.pop()
        return found

    def _run_list(self, source: Source, node: Node, state: State) -> None:
        """`a && b`, `a || b`. What follows a command that surely does something is read as if it went well; any other
        may be a question, as `grep -q` is."""
        first, *rest = [each for each in node.children if each.is_named]
        self._run(source, first, state)
        decides = any(each.type == "||" for each in node.children) or not _goes_well(source, first)
        for each in rest:
            inner = self._copy(state, is_conditional=decides)
            with suppress(_Ended, _Returned):
                self._run(source, each, inner)
            if decides:
                self._merge(state, [self._copy(state), inner])
            else:
                state.take(inner)

    def _run_pipeline(self, source: Source, node: Node, state: State) -> None:
        parts: list[tuple[int, int]] = []
        for each in node.children:
            if each.is_named:
                begun = len(self.commands)
                with suppress(_Ended, _Returned):
                    self._run(source, each, self._copy(state))
                parts.append((begun, len(self.commands)))
        programs = [self.commands[begun].words[0].typed for begun, ended in parts if ended > begun]
        for number, (begun, ended) in enumerate(parts):
            self._spend(ended - begun)
            behind = tuple(programs[number + 1 : number + 1 + _MOST_PIPED])
            for place in range(begun, ended):
                self.commands[place] = replace(self.commands[place], piped=behind, is_filter=number > 0)

    def _run_if(self, source: Source, node: Node, state: State) -> None:
        branches: list[list[Node]] = [[]]
        in_condition = True
        for child in node.children:
            if child.type == "then":
                in_condition = False
            elif child.type in ("elif_clause", "else_clause"):
                branches.append(list(child.children))
            elif in_condition:
                self._run(source, child, state)
            else:
                branches[0].append(child)
        has_else = any(child.type == "else_clause" for child in node.children)
        self._run_branches(source, branches, state, may_none=not has_else)

    def _run_case(self, source: Source, node: Node, state: State) -> None:
        items = [each for each in node.children if each.type == "case_item"]
        for each in node.children:
            if each.is_named and each.type != "case_item":
                self._run(source, each, state)
        self._run_branches(source, [each.children for each in items], state, may_none=True)

    def _run_branches(
        self, source: Source, branches: Sequence[Sequence[Node]], state: State, *, may_none: bool
    ) -> None:
        """`may_none`: whether it may be that none of them runs."""
        ends = [self._copy(state)] if may_none else []
        may_return = False
        for branch in branches:
            inner = self._copy(state, is_conditional=True)
            try:
                for each in branch:
                    self._run(source, each, inner)
            except (_Ended, _Returned) as left:
                may_return = may_return or isinstance(left, _Returned)
                continue  # what is behind was not reached from here
            ends.append(inner)
        if not ends:
            raise _Returned if may_return else _Ended
        self._merge(state, ends)

    def _run_loop(self, source: Source, node: Node, state: State) -> None:
        """Once, with what it changes unknown, as it is from the second round on."""
        inner = self._copy(state, may_run=True)
        for name in {*self._list_assigned(source, node)}:
            inner.forget(name)
            if name == _ARGUMENTS:
                inner.arguments = None
        with suppress(_Ended, _Returned):
            for child in node.children:
                # the `i=0` of `for ((i=0; …))` holds for the first round alone
                if node.type != "c_style_for_statement" or child.type in ("do_group", "compound_statement"):
                    self._run(source, child, inner)
                elif child.is_named:
                    self._words.ask(source, child, inner)
        self._merge(state, [self._copy(state), inner])

    def _list_assigned(self, source: Source, node: Node) -> Iterator[str]:
        """The variables that something in a loop sets, also in functions that it calls; `_ARGUMENTS` for those."""
        called: set[str] = set()
        left = [(source, node)]
        while left:
            text, each = left.pop()
            self._spend(1)
            if each.type in ("variable_name", "word") and each.parent is not None and _is_set(each, each.parent):
                yield text.of(each)
            name = text.of(each) if each.type == "command_name" else ""
            if name in ("shift", "set"):
                yield _ARGUMENTS
            elif name in _NAMING and each.parent is not None:
                yield from re.findall(r"[A-Za-z_]\w*", text.of(each.parent))
            elif name in self._functions and name not in called:
                called.add(name)
                left.append(self._functions[name])
            left.extend((text, child) for child in each.children)

    def _run_function(self, source: Source, node: Node, state: State) -> None:
        name, body = node.child_by_field_name("name"), node.child_by_field_name("body")
        if name is not None and body is not None:
            self._functions[source.of(name)] = (source, body)
            self._called.discard(source.of(name))

    # What sets variables

    def _run_declaration(self, source: Source, node: Node, state: State) -> None:
        """`export A=1 B`, `declare -x`, `local`."""
        options = [source.of(each) for each in node.children if each.type == "word"]
        is_local = node.children[0].type in ("local", "declare", "typeset") and "-g" not in options
        exports = node.children[0].type == "export" or any(re.fullmatch(r"-\w*x\w*", each) for each in options)
        for child in node.children[1:]:
            name = source.of(child) if child.type == "variable_name" else ""
            if child.type == "variable_assignment":
                name = self._assign(source, child, state)
            elif child.is_named and child.type not in ("variable_name", "word", "comment"):
                self._words.read_words(source, [child], state, child.start_byte, child.end_byte)
                self._forget_all(state)  # `export $(cat .env)`, `declare "$NAME=1"`
            if name and any(re.fullmatch(r"-\w*[in]\w*", each) for each in options):
                state.forget(name)  # a number to be calculated, a name for another variable
            if is_local and state.local_names is not None:
                state.local_names.add(name)
            if exports and name:
                state.export(name)
                self._words.note(name, state)  # one that is not set here is handed on

    def _run_unset(self, source: Source, node: Node, state: State) -> None:
        for child in node.children[1:]:
            if child.type in ("variable_name", "word"):
                state.remove(source.of(child))
            elif child.is_named:  # `unset ${name}`: it may be any
                self._forget_all(state)

    def _run_assignment(self, source: Source, node: Node, state: State) -> None:
        self._assign(source, node, state)

    def _assign(self, source: Source, node: Node, state: State) -> str:
        """Sets a variable. Its name; empty for an element of an array, which then is unknown."""
        target = node.child_by_field_name("name")
        if target is not None and self._is_broken(node):
            self._note(source, node)
            state.forget(source.of(target))
            return ""
        if target is None or target.type != "variable_name":
            if target is not None and target.children:
                state.forget(source.of(target.children[0]))
            return ""
        name = source.of(target)
        value = self._words.read_value(source, node.child_by_field_name("value"), state)
        if any(child.type == "+=" for child in node.children):
            self._words.note(name, state)
            value = join_values(state.variables.get(name), value, name)
        self._spend(1 + len(value if isinstance(value, tuple) else value.pieces))
        state.set(name, value)
        return name

    # Commands

    def _run_command(self, source: Source, node: Node, state: State) -> None:
        self._add(source, [node], state)

    def _run_redirected(self, source: Source, node: Node, state: State) -> None:
        """A command and the redirections around it; one of several commands is that of each."""
        body = node.child_by_field_name("body")
        if body is None or body.type == "command":
            self._add(source, [*node.children], state)
            return
        begun = len(self.commands)
        self._run(source, body, state)
        ended = len(self.commands)
        redirected = Redirected(self._words, source, state)
        for each in node.children:
            if each != body:
                redirected.read(each)
        self.commands[begun:ended] = self.redirect(self.commands[begun:ended], redirected.found)
        self._run_behind(source, redirected, state)

    def redirect(self, commands: Sequence[Command], more: Sequence[Redirection]) -> list[Command]:
        """With the redirections of what stands around them."""
        if not more:
            return [*commands]
        self._spend(len(commands) * len(more))
        return [replace(each, redirections=(*each.redirections, *more)) for each in commands]

    def _is_broken(self, node: Node) -> bool:
        """Whether the grammar has an error in a command. One in a text within it, such as `$(…)`, is that text's."""
        left = [node]
        while left:
            each = left.pop()
            self._spend(1)
            if _ends_early(each) or each.is_missing or (each.is_error and not _is_background(each)):
                return True
            left += [child for child in each.children if each.has_error or child.type == "file_redirect"]
        return False

    def _add(self, source: Source, nodes: Sequence[Node], state: State) -> None:
        """`nodes`: a command, and redirections behind it."""
        if any(node.is_error or node.is_missing or self._is_broken(node) for node in nodes):
            for node in nodes:
                self._note(source, node)
            return
        parts = [each for node in nodes for each in (node.children if node.type == "command" else [node])]
        assigns = bool(parts) and parts[0].type == "variable_assignment"
        own, before = self._copy(state) if assigns else state, len(parts)
        assigned: dict[str, Word] = {}
        for number, part in enumerate(parts):
            if part.type != "variable_assignment":
                before = number
                break
            name = self._assign(source, part, own)
            value = own.variables.get(name)
            if isinstance(value, Word):
                assigned[name] = value
        redirected = Redirected(self._words, source, state)
        words = redirected.read_around(parts[before:])
        if words:
            self._spend(len(words) + state.changed)
            environment = state.read_environment()
            self._spend(len(environment) // 4 if assigned else 0)
            made = Command(
                tuple(words),
                source.line(nodes[0]),
                {**environment, **assigned} if assigned else environment,
                state.read_unset(),
                tuple(redirected.found),
                redirected.stdin,
                state.directory,
                state.may_run,
                is_conditional=state.is_conditional,
            )
            self._run_made(made, state, assigned)
        elif assigns:
            state.take(own)
        self._run_behind(source, redirected, state)

    def _run_behind(self, source: Source, redirected: Redirected, state: State) -> None:
        """What stands behind `<<END` on its line."""
        for node in redirected.behind:
            self._run_apart(source, node, state)

    def _run_made(self, command: Command, state: State, assigned: Mapping[str, Word]) -> None:
        """`assigned`: what stands before the command, and is its own."""
        name = command.words[0].text or ""
        if name in self._functions:
            inner = self._copy(state)
            inner.local_names = {*assigned}
            for each, value in assigned.items():
                inner.set(each, value)
                inner.export(each)
            inner.arguments = command.words[1:]
            self._call(name, inner)
            inner.restore(inner.local_names, state)
            inner.arguments = state.arguments
            state.take(inner)
        elif name not in _BUILTINS or not _BUILTINS[name](self, command, state):
            if name == "exec" and len(command.words) == 1:
                return  # `exec > log`: the redirections of all that follows
            self.commands.append(command)
            if name == "exec" and not state.may_run:
                raise _Ended

    def _do_nothing(self, command: Command, state: State) -> bool:
        return True

    def _echo(self, command: Command, state: State) -> bool:
        self._echoes += 1
        return True

    def _printf(self, command: Command, state: State) -> bool:
        """`printf -v NAME …` sets a variable, and prints nothing."""
        if len(command.words) > 2 and command.words[1].text == "-v":
            state.forget(command.words[2].beginning.partition("[")[0])
            return True
        return self._echo(command, state)

    def _let(self, command: Command, state: State) -> bool:
        """`let i=1 j++`, `wait -p NAME`."""
        for word in command.words[1:]:
            for name in re.findall(r"[A-Za-z_]\w*", word.typed):
                state.forget(name)
        return True

    def _run_compound(self, source: Source, node: Node, state: State) -> None:
        """`{ …; }`, and `((i++))`, of which only the names count."""
        if node.children and node.children[0].type == "((":
            self._words.ask(source, node, state)
            for name in {*self._list_assigned(source, node)}:
                state.forget(name)
        else:
            self._run_all(source, node, state)

    def _sleep(self, command: Command, state: State) -> bool:
        """`sleep infinity` is a way to wait, and stays a program."""
        seconds = read_number(command.words[1].text) if len(command.words) > 1 else 0
        if seconds is None or seconds >= _LONG:
            self._mark(0, in_background=False)
        return seconds is not None

    def _wait(self, command: Command, state: State) -> bool:
        self._mark(0, in_background=False)
        return self._let(command, state)

    def _cd(self, command: Command, state: State) -> bool:
        if len(command.words) > 1 and command.words[1].text == "-":
            state.directory = Word((Unknown("$OLDPWD"),), command.line)
            return True
        named = [each for each in command.words[1:] if not each.beginning.startswith("-")]
        state.move(named[0] if named else Word((Unknown("~"),)), self._budget)
        return True

    def _pushd(self, command: Command, state: State) -> bool:
        state.stack = (*state.stack, state.directory)
        return self._cd(command, state)

    def _popd(self, command: Command, state: State) -> bool:
        state.directory = state.stack[-1] if state.stack else Word((Unknown("$PWD"),), command.line)
        state.stack = state.stack[:-1]
        return True

    def _set(self, command: Command, state: State) -> bool:
        words = list(command.words[1:])
        while words and re.match(r"[-+]\w", words[0].beginning):
            flag = words.pop(0).beginning
            named = words.pop(0).text if flag.endswith("o") and words else ""
            if "a" in flag or named == "allexport":
                state.exports_all = flag[0] == "-"
        if words and words[0].text in ("--", "-"):
            state.arguments = tuple(words[1:])
        return True

    def _shift(self, command: Command, state: State) -> bool:
        self._spend(len(state.arguments or ()) // 8)
        count = command.words[1].text if len(command.words) > 1 else "1"
        number = read_number(count)
        splits = any(each.splits for each in state.arguments or ())
        state.arguments = state.arguments[number:] if number is not None and state.arguments and not splits else None
        return True

    def _read(self, command: Command, state: State) -> bool:
        """`read A B`, `mapfile A`, `getopts abc A`: they set variables to what nobody knows. They stay programs."""
        for word in command.words[1:]:
            if word.beginning.isidentifier():
                state.forget(word.beginning)
        return False

    def _eval(self, command: Command, state: State) -> bool:
        pieces = [piece for word in command.words[1:] for piece in (*word.pieces, " ")]
        begun = len(self.commands)
        with self._budget.deeper():
            self._read_put_together(Word(tuple(pieces), command.line), state)
        if any(not each.words[0].beginning for each in self.commands[begun:]):
            self._forget_all(state)  # what nobody knows may be `export A=1`
        return True

    def _forget_all(self, state: State) -> None:
        self._spend(len(state.variables))
        state.forget_all()

    def _source(self, command: Command, state: State) -> bool:
        """`. env.sh`: what it sets is set here."""
        named = command.words[1] if len(command.words) > 1 else Word()
        path = state.locate(named)
        if path in state.files:
            return True
        text = self._read_file(path) if path is not None else None
        if path is None or text is None:
            typed = f"{command.words[0].typed} {named.typed}"[:200]
            self.unread.append(Unread(command.line, typed, is_file=path is not None, is_filled_in=path is None))
            if not named.typed.endswith(_ACTIVATIONS):
                self._forget_all(state)
                self._sourced.append(UNKNOWN)
            return True
        if not self._budget.takes(text):  # the script goes on behind it
            self._budget.whole = False
            self._forget_all(state)
            self._sourced.append(UNKNOWN)
            return True
        self._sourced.append(text)
        inner = self._copy(state)
        inner.file, inner.files = named.text or "", (*state.files, path)
        inner.arguments = command.words[2:] or state.arguments
        with self._budget.deeper(), suppress(_Returned):
            self._read_text(text, inner, command.line)
        if command.words[2:]:
            inner.arguments = state.arguments
        state.take(inner)
        return True

    def _exit(self, command: Command, state: State) -> bool:
        raise _Ended

    def _return(self, command: Command, state: State) -> bool:
        raise _Returned


def _ends_early(node: Node) -> bool:
    """`<path>` at the end of a line: a shell refuses it, and the grammar reads on."""
    return node.type == "file_redirect" and node.children[0].end_point.row < node.children[-1].start_point.row


def _is_background(node: Node) -> bool:
    """The `&` of `ssh host <<END &`, which the grammar does not know there."""
    behind_mark = node.parent is not None and node.parent.type == "heredoc_redirect"
    return behind_mark and [each.type for each in node.children] == ["&"]


def _goes_well(source: Source, node: Node) -> bool:
    """Whether what stands before `&&` is no question, and its end is not what a script waits for."""
    while node.type in ("list", "redirected_statement", "pipeline") and node.children:
        named = [each for each in node.children if each.is_named]
        node = named[-1] if node.type == "list" else named[0]
    if node.type in ("variable_assignment", "variable_assignments", "declaration_command", "unset_command"):
        return True
    name = node.child_by_field_name("name") if node.type == "command" else None
    return name is not None and source.of(name).rpartition("/")[2] in _DOING


def _is_set(node: Node, parent: Node) -> bool:
    """Whether a variable's name stands where it is set: `i=1`, `for i in`, `((i++))`, `((i += 1))`."""
    if parent.type in _SETTING:
        return node.type == "variable_name"
    if parent.type in ("postfix_expression", "unary_expression"):
        return any(each.type in ("++", "--") for each in parent.children)
    if parent.type != "binary_expression" or parent.children[0] != node:
        return False
    operator = parent.children[1].type
    return operator.endswith("=") and operator not in ("==", "!=", "<=", ">=")


_DOING = frozenset({
    "cd", "pushd", "popd", "mkdir", "rm", "cp", "mv", "ln", "touch", "chmod", "chown", "source", ".", "set", "ulimit",
    "umask", "echo", "printf", "sleep", "wait", "true", ":", "export", "pip", "pip3", "conda", "mamba", "module", "apt",
    "apt-get", "git", "wget", "curl", "tar", "unzip",
})  # fmt: skip
"""Programs that a script calls for what they do, before `&&`."""
_ACTIVATIONS = ("/activate", "conda.sh", "mamba.sh", "micromamba.sh")
"""Files that are read to activate an environment: they set variables of their own alone."""
_SETTING = ("variable_assignment", "for_statement", "declaration_command", "unset_command")
_ARGUMENTS = "@"
_NAMING = ("let", "read", "mapfile", "readarray", "getopts", "printf")
"""Built-ins that set the variables among their words."""
_Does = Callable[[ShellReader, Source, "Node", State], None]
_STATEMENTS: Mapping[str, _Does] = {
    "program": ShellReader._run_all,
    "command": ShellReader._run_command,
    "redirected_statement": ShellReader._run_redirected,
    "variable_assignment": ShellReader._run_assignment,
    "variable_assignments": ShellReader._run_all,
    "declaration_command": ShellReader._run_declaration,
    "unset_command": ShellReader._run_unset,
    "list": ShellReader._run_list,
    "pipeline": ShellReader._run_pipeline,
    "negated_command": ShellReader._run_all,
    "subshell": ShellReader._run_apart,
    "compound_statement": ShellReader._run_compound,
    "do_group": ShellReader._run_all,
    "if_statement": ShellReader._run_if,
    "case_statement": ShellReader._run_case,
    "for_statement": ShellReader._run_loop,
    "c_style_for_statement": ShellReader._run_loop,
    "while_statement": ShellReader._run_loop,
    "function_definition": ShellReader._run_function,
}
_BUILTINS: Mapping[str, Callable[[ShellReader, Command, State], bool]] = {
    "cd": ShellReader._cd,
    "pushd": ShellReader._pushd,
    "popd": ShellReader._popd,
    "let": ShellReader._let,
    "set": ShellReader._set,
    "shift": ShellReader._shift,
    "eval": ShellReader._eval,
    "source": ShellReader._source,
    ".": ShellReader._source,
    "exit": ShellReader._exit,
    "return": ShellReader._return,
    **dict.fromkeys(("read", "mapfile", "readarray", "getopts"), ShellReader._read),
    **dict.fromkeys((":", "true", "false", "trap"), ShellReader._do_nothing),
    "sleep": ShellReader._sleep,
    "echo": ShellReader._echo,
    "printf": ShellReader._printf,
    "wait": ShellReader._wait,
}
