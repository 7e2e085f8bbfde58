"""A simple command -> what it starts: its wrappers, its launcher with options, the program and its arguments. Pure."""

from __future__ import annotations

import posixpath
import re
from collections import ChainMap
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import cast

from paddock.launches.budget import MOST_WORDS
from paddock.launches.commands import Command, Redirection
from paddock.launches.launchers import BY_PROGRAM, OLD_PADDLE, PADDLE, Launcher, Means, OptionSpec, find_by_module
from paddock.launches.programs import Kind, Program, is_python, is_shell, read_program
from paddock.launches.words import Unknown, Word, build_word
from paddock.launches.wrappers import BY_NAME, MODULES, WrapperSpec

_TWO_VALUES = frozenset({"--mca", "-mca", "--gmca", "-genv", "-env", "--prtemca"})
"""Options of mpirun with two values."""
_UNSETTING = ("-u", "--unset")
"""Options of env."""
_SHORT = re.compile(r"-[A-Za-z][0-9]+")
"""`-N2` of srun."""


@dataclass(frozen=True, slots=True)
class Wrapper:
    """What stands before a program: `timeout 60`, `docker run --rm IMAGE`."""

    spec: WrapperSpec
    words: tuple[Word, ...]
    """Its own, with its options."""

    @property
    def image(self) -> Word | None:
        return self.words[-1] if self.spec.image else None


@dataclass(frozen=True, slots=True)
class Option:
    """An option of a launcher, as it was typed."""

    name: str
    """As the launcher's table has it; as typed without dashes where that has none. Empty for a word that may be
    options."""
    value: Word | None
    """None for a flag, and where none follows."""
    words: tuple[Word, ...]
    """One, or two where the value stands behind a blank."""
    spec: OptionSpec | None = None
    """None for an option that the launcher does not know."""

    @property
    def text(self) -> str | None:
        """The value; None where it is not known. Empty without one."""
        return "" if self.value is None else self.value.text

    @property
    def typed(self) -> str:
        return " ".join(word.typed for word in self.words)

    @property
    def mark(self) -> str:
        """The option as typed, without its value: `--nnodes`, `-m`."""
        return self.words[0].typed.partition("=")[0]


@dataclass(frozen=True, slots=True)
class Launch:
    """What a command starts."""

    program: Program
    arguments: tuple[Word, ...] = ()
    words: tuple[Word, ...] = ()
    """All of the command behind its wrappers: the launcher, or else the program, and what follows."""
    wrappers: tuple[Wrapper, ...] = ()
    launcher: Launcher | None = None
    before: tuple[Word, ...] = ()
    """The words of the launcher itself: `python -u -m torch.distributed.run`."""
    options: tuple[Option, ...] = ()
    stray: Option | None = None
    """The first option whose value, behind a blank, PaddlePaddle's launcher takes for the program, as it does not know
    the option. `options` and `program` are what was meant."""
    command: Command = field(default_factory=lambda: Command((), 0))
    """The simple command that it was read from: its line, environment and redirections."""
    is_inner: bool = False
    """It stands in a text that a command gives to a shell, or in a script that one runs: nobody changes its words."""
    starts: str = ""
    """A launcher that a command of an unknown program names in its words: it may start it."""

    @property
    def line(self) -> int:
        return self.command.line

    @property
    def environment(self) -> Mapping[str, Word]:
        return self.command.environment

    @property
    def redirections(self) -> tuple[Redirection, ...]:
        return self.command.redirections

    @property
    def is_open(self) -> bool:
        """Whether a word may hold options that nobody knows yet: `$ARGS`."""
        return any(not option.name for option in self.options)

    def find(self, means: Means) -> Option | None:
        """The last option that says this, as the last one counts."""
        found = [each for each in self.options if each.spec is not None and each.spec.means is means]
        return found[-1] if found else None

    def named(self, name: str) -> Option | None:
        found = [each for each in self.options if each.name == name]
        return found[-1] if found else None

    def text(self, means: Means) -> str | None:
        """The value of an option; empty without the option, None where the value is not known."""
        option = self.find(means)
        return "" if option is None else option.text

    @property
    def in_background(self) -> bool:
        """Whether a shell goes on without it: `&` stands behind it, or a program starts it in a terminal of its own."""
        return self.command.in_background or any(each.spec.name in ("tmux", "screen") for each in self.wrappers)

    @property
    def elsewhere(self) -> bool:
        """Whether it runs on another machine, or in a container."""
        return any(each.spec.elsewhere for each in self.wrappers)


_MOST_AROUND = 40
"""Wrappers and launchers around one program: of those behind them the program is not known."""


def is_too_long(command: Command) -> bool:
    """Whether a command has more words than are read."""
    return len(command.words) > MOST_WORDS


def read_command(command: Command, around: int = 0) -> Launch:
    """What a simple command starts; of one that is too long, or has more around its program than is read, a program
    that nobody knows. `around`: wrappers and launchers that stand before it. Texts for a shell are not read here
    (`reading`)."""
    wrappers: list[Wrapper] = []
    words: Sequence[Word] = command.words
    assigned: dict[str, Word] = {}
    while around + len(wrappers) < _MOST_AROUND and not is_too_long(command):
        if (found := _unwrap(words)) is None:
            break
        wrapper, words, more = found
        wrappers.append(wrapper)
        assigned |= more
        if wrapper.spec.as_text:
            break
    if assigned:
        # a view, as many commands may stand beside many variables
        environment = cast("dict[str, Word]", command.environment)
        command = replace(command, environment=ChainMap(assigned, environment))
    if not words:
        return Launch(Program(), wrappers=tuple(wrappers), command=command)
    if wrappers and wrappers[-1].spec.as_text:
        text = Word(tuple(piece for word in words for piece in (*word.pieces, " ")), words[0].line)
        return Launch(Program(Kind.SHELL, text, shell_name="sh"), wrappers=tuple(wrappers), command=command)
    around += len(wrappers)
    if is_too_long(command) or around >= _MOST_AROUND:
        launch = Launch(Program(Kind.UNKNOWN, words[0], length=1), words=tuple(words), command=command)
    else:
        launch = _read_launched(words, command, around)
    return replace(launch, wrappers=(*wrappers, *launch.wrappers))


def _unwrap(words: Sequence[Word]) -> tuple[Wrapper, Sequence[Word], dict[str, Word]] | None:
    """The first wrapper, the command behind it, and the variables that it sets; None where there is none."""
    name = posixpath.basename(words[0].program if words else "")
    for spec in BY_NAME.get(name, ()):
        verbs = 1 if spec.verbs else 0
        if verbs and (len(words) < 2 or words[1].text not in spec.verbs):
            continue
        return _cut(spec, words, 1 + verbs)
    if words and is_python(words[0].program):
        program = read_program(words)
        if program.module in MODULES:
            spec = MODULES[program.module]
            place = program.length
            verbs = 1 if spec.verbs and place < len(words) and words[place].text in spec.verbs else 0
            return _cut(spec, words, place + verbs, words[0])
    return None


def _cut(
    spec: WrapperSpec, words: Sequence[Word], place: int, python: Word | None = None
) -> tuple[Wrapper, Sequence[Word], dict[str, Word]]:
    assigned: dict[str, Word] = {}
    operands = spec.operands
    while place < len(words):
        word = words[place]
        typed = word.typed
        if typed == "--":
            place += 1
            break
        if typed in spec.asks:
            return Wrapper(spec, tuple(words)), (), {}
        if typed in spec.text_options:
            text = words[place + 1 :]
            return Wrapper(replace(spec, as_text=True), tuple(words[: place + 1])), text, assigned
        if (spec.as_python or spec.runs_files) and typed in ("-m", "-c") and typed not in spec.values:
            break
        if typed.startswith("-") and len(typed) > 1:
            if spec.assigns and typed in _UNSETTING and place + 1 < len(words):
                removed = words[place + 1].typed
                assigned[removed] = Word((Unknown(f"${removed}"),))  # of one that is not set nothing is said either
            place += 2 if typed in spec.values else 1
        elif spec.assigns and _is_assignment(word):
            name, _, value = word.partition("=")
            assigned[name.typed] = value
            place += 1
        elif operands:
            operands, place = operands - 1, place + 1
            if spec.image:
                break
        else:
            break
    rest: Sequence[Word] = words[place:]
    if spec.elsewhere and rest and rest[0].text == "--":
        rest = rest[1:]
    if spec.image and (entry := _find_entry(words[:place], rest)) is not None:
        rest = [entry, *rest]
    is_file = bool(rest) and ((rest[0].text or "").endswith(".py") or rest[0].text == "-m")
    if spec.as_python or (spec.runs_files and is_file):
        rest = [python or build_word("python"), *rest] if rest else rest
    return Wrapper(spec, tuple(words[:place])), rest, assigned


def _find_entry(words: Sequence[Word], behind: Sequence[Word]) -> Word | None:
    """The program of `docker run --entrypoint python`, to which the words behind the image are passed. Options there
    are for what the image starts, which nobody knows."""
    for word, following in zip(words, [*words[1:], None], strict=True):
        name, joined, value = word.partition("=")
        if name.text == "--entrypoint":
            return value if joined else following
    return Word((Unknown("ENTRYPOINT"),)) if behind and behind[0].beginning.startswith("-") else None


def _is_assignment(word: Word) -> bool:
    name, found, _ = word.partition("=")
    return found and (name.text or "").isidentifier()


def _read_launched(words: Sequence[Word], command: Command, around: int) -> Launch:
    """A command without wrappers."""
    found = _find_launcher(words)
    if found is not None:
        launcher, place = found
        return _read_launcher(launcher, words, place, command, around)
    program = read_program(words)
    may_start = program.kind in (Kind.PROGRAM, Kind.UNKNOWN) and not starts_nothing(words)
    starts = _find_named(words) if may_start else ""
    return Launch(program, tuple(words[program.length :]), tuple(words), command=command, starts=starts)


def _find_launcher(words: Sequence[Word]) -> tuple[Launcher, int] | None:
    """The launcher that the first words start, and how many they are."""
    first = words[0].program
    launcher = BY_PROGRAM.get(posixpath.basename(first))
    if launcher is not None:
        place = 1
        while launcher.verbs and place < len(words) and words[place].text in launcher.verbs:
            place += 1
        return (launcher, place) if place > 1 or not launcher.verbs else None
    if is_python(first):
        program = read_program([build_word(first), *words[1:]])
        # `python $(which torchrun)`: the program of a launcher is a file of Python
        is_file = program.kind in (Kind.SCRIPT, Kind.UNKNOWN)
        name = posixpath.basename(program.word.program)
        launcher = BY_PROGRAM.get(name) if is_file else find_by_module(program.module)
        if launcher is not None:
            place = program.length
            while launcher.verbs and place < len(words) and words[place].text in launcher.verbs:
                place += 1
            # a module of the program's name does other things, too
            needs_verb = program.module in launcher.programs
            return (launcher, place) if place > program.length or not needs_verb else None
    return None


_NAMING = frozenset({
    "awk", "cat", "chmod", "chown", "command", "cp", "diff", "du", "echo", "egrep", "fgrep", "file", "find", "git",
    "grep", "hash", "head", "install", "kill", "killall", "less", "ln", "ls", "mkdir", "mv", "pgrep", "pip", "pip3",
    "pkill", "printf", "ps", "readlink", "realpath", "rg", "rm", "rmdir", "sed", "stat", "tail", "tar", "tee", "test",
    "touch", "type", "unzip", "wc", "wget", "whereis", "which", "[",
})  # fmt: skip
"""Programs that name others, and files, and start none."""
_BUILDING = frozenset({"build", "images", "login", "ps", "pull", "push", "rm", "rmi", "stop", "tag"})


def starts_nothing(words: Sequence[Word]) -> bool:
    """Whether a program only looks at what its words name: `which torchrun`, `pkill -f torchrun`, `docker build`."""
    name = posixpath.basename(words[0].program) if words else ""
    builds = name in ("docker", "podman", "nerdctl") and len(words) > 1 and words[1].text in _BUILDING
    return name in _NAMING or builds


def _find_named(words: Sequence[Word]) -> str:
    """A launcher among the words of a program that nobody knows."""
    for before, word in zip(["", *(each.typed for each in words)], words, strict=False):
        text = word.text or ""
        name = posixpath.basename(text)
        if name in BY_PROGRAM and word is not words[0]:
            return name
        if before == "-m" and find_by_module(text) is not None:
            return text
    return ""


def _read_launcher(launcher: Launcher, words: Sequence[Word], place: int, command: Command, around: int) -> Launch:
    before, rest = tuple(words[:place]), words[place:]
    options, taken, stray = _read_options(launcher, rest)
    made = Launch(
        Program(), words=tuple(words), launcher=launcher, before=before, options=options, stray=stray, command=command
    )
    left = rest[taken:]
    if not left:
        return made
    if launcher.takes_command:
        inner = read_command(replace(command, words=tuple(left)), around + 1)
        if inner.launcher is not None or inner.program.kind is Kind.SHELL:
            own = Wrapper(WrapperSpec(launcher.name), tuple(words[: place + taken]))
            return replace(inner, wrappers=(own, *inner.wrappers))
        return replace(made, program=inner.program, arguments=inner.arguments, wrappers=inner.wrappers)
    flags = {option.spec.means for option in options if option.spec is not None}
    program = Program(_kind_of(left[0], flags), left[0], length=1)
    return replace(made, program=program, arguments=tuple(left[1:]))


def _kind_of(word: Word, flags: set[Means]) -> Kind:
    if word.usual is None:
        return Kind.UNKNOWN
    if Means.MODULE in flags:
        return Kind.MODULE
    if Means.PROGRAM in flags or not (word.usual or "").endswith(".py"):
        return Kind.PROGRAM
    return Kind.SCRIPT


def _read_options(launcher: Launcher, words: Sequence[Word]) -> tuple[tuple[Option, ...], int, Option | None]:
    """The options before the program, how many words they take, and a stray one."""
    found: list[Option] = []
    first_stray: Option | None = None
    place, last = 0, _find_last(launcher, words)
    while place < len(words):
        word = words[place]
        if not word.beginning.startswith("-"):
            if word.beginning or place >= last or not _may_be_options(word):
                break
            found.append(Option("", None, (word,)))
            place += 1
            continue
        option, stray = _read_option(launcher, word, words[place + 1 : place + 3])
        found.append(option)
        first_stray = first_stray or (option if stray else None)
        place += len(option.words)
    return tuple(found), place, first_stray


def _may_be_options(word: Word) -> bool:
    return not (word.usual or "").endswith(".py") and any(isinstance(piece, Unknown) for piece in word.pieces)


def _find_last(launcher: Launcher, words: Sequence[Word]) -> int:
    """The place of the last word that is an option or a Python file: what is unknown before it may be options; -1
    without one."""
    for place in range(len(words) - 1, -1, -1):
        text = words[place].beginning
        if text.endswith(".py") or launcher.find(text.partition("=")[0]) is not None:
            return place
    return -1


def _read_option(launcher: Launcher, word: Word, later: Sequence[Word]) -> tuple[Option, bool]:
    """`later`: the two words behind it, as far as there are."""
    name, joined, value = word.partition("=")
    typed = name.typed
    spec = _find_spec(launcher, typed)
    if launcher.takes_command and _SHORT.fullmatch(typed) and (short := launcher.find(typed[:2])) is not None:
        return Option(short.name, word.without(typed[:2]), (word,), short), False
    known = spec.name if spec is not None else typed.lstrip("-")
    if joined or (spec is not None and spec.is_flag):
        return Option(known, value if joined else None, (word,), spec), False
    if typed in _TWO_VALUES and launcher.takes_command:
        return Option(known, later[0] if later else None, (word, *later), spec), False
    if spec is not None:
        return Option(spec.name, later[0] if later else None, (word, *later[:1]), spec), False
    following = later[0] if later else None
    takes = following is not None and not following.beginning.startswith("-") and not _is_program(following)
    if not takes:
        return Option(known, None, (word,)), False
    # argparse, and so PaddlePaddle's launcher, takes the word behind an option that it does not know for the program
    is_stray = launcher.family == "paddle" and following is not None and following.text is not None
    return Option(known, following, (word, *later[:1])), is_stray


def _find_spec(launcher: Launcher, typed: str) -> OptionSpec | None:
    found = launcher.find(typed)
    if found is None and launcher.family == "paddle" and not launcher.list_candidates(typed):
        other = OLD_PADDLE if launcher is PADDLE else PADDLE
        found = other.find(typed)
    return found


def _is_program(word: Word) -> bool:
    text = word.usual or word.typed
    if text.endswith(".py") or text.startswith(("./", "../")):
        return True
    return is_python(text) or is_shell(text) or posixpath.basename(text) in (BY_PROGRAM.keys() | BY_NAME.keys())


def starts_old(launch: Launch) -> bool:
    """Whether a launcher of PaddlePaddle is the old one, where no master is named."""
    return launch.launcher is OLD_PADDLE or any(not is_of_today(option) for option in launch.options)


def is_of_today(option: Option) -> bool:
    """Whether today's launcher of PaddlePaddle has an option, or takes it for the beginning of one or several."""
    return not option.name or bool(PADDLE.list_candidates(option.mark))


def list_variables(launch: Launch) -> Iterator[tuple[Option, str]]:
    """Options of the launcher for which a variable is set too, each with the variable's name."""
    for option in launch.options:
        if option.spec is not None and option.spec.variable in launch.environment:
            yield option, option.spec.variable
