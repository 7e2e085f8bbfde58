"""Words of a command that do not come to what they are meant for: of a manifest's list, and of a typed command. Pure.

No shell reads these words, unless the first one is a shell. What a later word is, where it is not known, is no mistake.
"""

from __future__ import annotations

import json
import posixpath
import re
from collections.abc import Iterator, Sequence
from itertools import islice, pairwise, takewhile

from paddock.launches.commands import Command
from paddock.launches.launch import Launch, read_command
from paddock.launches.launchers import BY_PROGRAM, find_by_module
from paddock.launches.programs import Kind, Program, is_python, is_shell
from paddock.launches.reading import Reading, read_words
from paddock.launches.words import Word, build_word, show_words
from paddock.preflight.continuations import Ending, find_endings
from paddock.preflight.group_variables import explain_variables
from paddock.preflight.paddle_options import explain_launch, is_paddle
from paddock.preflight.pod_devices import explain_devices
from paddock.preflight.ports import explain_numbers
from paddock.preflight.torchrun_options import explain_no_program, explain_unknown
from paddock.words.phrases import Names, Phrase, phrase

_JOINED = re.compile(r"--[A-Za-z][\w-]* +[^\s-]\S*")
_DASHED = re.compile(r"-?[\u2010-\u2015\u2212\ufe63\uff0d][-\u2010-\u2015\u2212\ufe63\uff0d]*([A-Za-z].*)", re.DOTALL)
_QUOTES = "\u201c\u201d\u201e\u2018\u2019\u300c\u300d"
_QUOTED = re.compile(rf"([\w-]+=)?[{_QUOTES}][ -~]+[{_QUOTES}]?", re.ASCII)
"""A value in quotes of a printed text. Of other letters than ASCII they may be a part."""
_OPERATORS = frozenset({"&&", "||", "|", ">", ">>", "2>", "2>&1", "&>", "&"})
"""Words of a shell. Not `;`, which ends the words of `find -exec`, and not `<`."""
_ENDLESS = re.compile(r"sleep inf(inity)?|tail (\S+ )*-[fF] .*")
_BUILT_IN = frozenset({"cd", "echo", "exec", "export", "pip", "set", "source"})
_MOST_ENDINGS = 3
"""Of a text in a command, which are told in one sentence."""
_JOINING = frozenset({"&&", "||", "2>&1", "&>"})
"""Those that are no value of an option."""


def explain_typed(words: Sequence[str], gpus: int = 0, workers: int = 1) -> Iterator[Phrase]:
    """What is wrong with the words of `paddock run -- …`. `gpus`: of each worker; 0 where that is not known."""
    read = [build_word(word) for word in words]
    reading = read_words(read)
    yield from explain_words(read, reading)
    is_cut = bool(list_endings(read))
    for launch in reading.launches:
        yield from explain_launch_words(launch, is_cut=is_cut)
        if is_paddle(launch):  # what is an error is refused with the manifest
            found = explain_launch(launch, has_master="PADDLE_MASTER" in launch.environment, in_job=True)
            yield from (each.said for each in found if each.severity == "warning")
        yield from explain_devices(launch, gpus)
        yield from explain_variables(launch, {}, workers, workers)


def explain_words(words: Sequence[Word], reading: Reading) -> Iterator[Phrase]:
    """What is wrong with the words of a command. `reading`: of the same words."""
    if not words:
        return
    launch = read_command(Command(tuple(words), words[0].line))
    if not launch.elsewhere:
        if launch.program.kind is Kind.SHELL:
            yield from _explain_text(launch)
            yield from (each.said for each in list_endings(words))
            if last := _find_endless(reading):
                yield phrase(
                    "`{command}` behind the program never ends, and the pod and its job run on with it: leave it out",
                    command=last,
                )
        elif not any(wrapper.spec.as_text for wrapper in launch.wrappers):
            yield from _explain_operators(words)
        if (said := explain_file(launch)) is not None:
            yield said
    yield from explain_ends(reading)


def explain_file(launch: Launch) -> Phrase | None:
    """`bash "torchrun t.py"`: without -c a shell looks for a file of this name; None of any other command."""
    text, shell = launch.program.word.text or "", launch.program.shell_name
    first = text.split()[0] if text.strip() else ""
    is_text = first in _BUILT_IN or is_python(first) or is_shell(first) or posixpath.basename(first) in BY_PROGRAM
    if launch.program.kind is not Kind.SCRIPT or not shell or first == text or not is_text:
        return None
    return phrase(
        "{shell} looks for a file with the name {text}: write -c before a text for a shell, {shell} -c {text}",
        shell=shell, text=_quote(text),
    )  # fmt: skip


def _find_endless(reading: Reading) -> str:
    """The last command of a reading, where it never ends and stands behind a program that trains; empty for any
    other."""
    trains = any(each.launcher is not None or each.program.python for each in reading.launches[:-1])
    if not trains:
        return ""
    last = reading.launches[-1]
    runs = not (last.elsewhere or last.command.is_conditional or last.command.is_filter)
    shown = show_words(last.words)
    return shown if runs and _ENDLESS.fullmatch(shown) else ""


def list_endings(words: Sequence[Word]) -> list[Ending]:
    """The first commands that end too early in the text that a command gives to a shell here; none for any other."""
    launch = read_command(Command(tuple(words), words[0].line)) if words else Launch(Program())
    is_text = launch.program.kind is Kind.SHELL and not launch.elsewhere
    return list(islice(find_endings(launch.program.word.typed), _MOST_ENDINGS)) if is_text else []


def explain_launch_words(launch: Launch, *, in_list: bool = False, is_cut: bool = False) -> Iterator[Phrase]:
    """What is wrong with the words of one command, also of one in a text for a shell. `in_list`: of a manifest, where
    `quotes` tells of a whole word in quotes of a printed text. `is_cut`: the command ends before its last line
    (`continuations`), and its program may stand behind it."""
    program = launch.program
    yield from _explain_printed(launch, in_list=in_list)
    joined = [word for before, word in pairwise(launch.words) if _is_joined(before, word)]
    for word in joined:
        yield phrase(
            "{word} is one word, and no option with a value for a program: write two words, {words}",
            word=_quote(word.typed), words=" and ".join(word.typed.split()),
        )  # fmt: skip
    if " " in program.module and find_by_module(program.module.split()[0]) is not None:
        yield phrase(
            "{word} is one word, and no module's name: write two words, {words}",
            word=_quote(program.module), words=" and ".join(program.module.split()),
        )  # fmt: skip
    if program.python and program.kind is Kind.SCRIPT and find_by_module(program.script) is not None:
        yield phrase("{module} is a module, and {python} looks for a file of this name: write {python} -m {module}",
                     module=program.script, python=program.python)  # fmt: skip
    yield from explain_numbers(launch)
    if not joined:
        yield from explain_unknown(launch)
        if not is_cut and (said := explain_no_program(launch)) is not None:
            yield said


def _explain_printed(launch: Launch, *, in_list: bool) -> Iterator[Phrase]:
    """Dashes and quotes that a word processor or a web page has put in the place of what is typed."""
    for word in launch.words:
        dashed = _DASHED.fullmatch(word.beginning)
        if dashed is not None:
            name = dashed[1].partition("=")[0]
            plain = ("--" if len(name) > 1 else "-") + dashed[1]
            yield phrase("{word} begins with a dash of a printed text, and is no option: write {plain}",
                         word=word.typed, plain=plain)  # fmt: skip
    if (name := _find_placeholder(launch)) is not None:
        yield phrase("a shell reads <{name}> as files to read and to write: write a value in its place", name=name)
    quoted = (word.text for word in launch.words if _QUOTED.fullmatch(word.text or ""))
    found = [text for text in quoted if text and not (in_list and text[0] in _QUOTES)]
    if found:
        yield phrase("{word} has quotes of a printed text, which are letters for a shell: write \" or '", word=found[0])


def _find_placeholder(launch: Launch) -> str | None:
    """The name of `<NAME>`, as in instructions; None without one."""
    files = [each.target.text or "" for each in launch.redirections if each.operator == "<"]
    writes = any(each.operator == ">" for each in launch.redirections)
    return next((each for each in files if re.fullmatch(r"[A-Z][A-Z0-9_]+", each)), None) if writes else None


def _is_joined(before: Word, word: Word) -> bool:
    """Whether a word is an option and its value. Behind another option it may be that one's value."""
    return not before.beginning.startswith("-") and _JOINED.fullmatch(word.text or "") is not None


def _explain_operators(words: Sequence[Word]) -> Iterator[Phrase]:
    # behind an option it may be that one's value: `--sep '|'`
    plain = [word for before, word in pairwise(words) if not before.beginning.startswith("-") or word.text in _JOINING]
    found = tuple(dict.fromkeys(word.typed for word in plain if word.text in _OPERATORS))
    if found:
        yield phrase(
            "no shell reads this command, and {operators} is handed to the program as it stands: write one text for "
            "a shell, bash -c {text}",
            operators=Names(found), text=_quote(" ".join(map(_show, words))),
        )  # fmt: skip


def _quote(text: str) -> str:
    return json.dumps(text, ensure_ascii=False)


def _show(word: Word) -> str:
    return word.typed if word.text in _OPERATORS else show_words([word])


def find_unseen(reading: Reading) -> Launch | None:
    """The program that trains, where the shell ends without it or as something else."""
    return reading.left_behind or reading.hidden


def explain_ends(reading: Reading) -> Iterator[Phrase]:
    """What is told of a shell that does not end as the program that trains."""
    if (launch := find_unseen(reading)) is None:
        return
    before = launch.before or takewhile(lambda word: word is not launch.program.word, launch.words)
    command, by = show_words([*before, launch.program.word]), launch.command.hidden_by
    if reading.left_behind is not None:
        yield phrase(
            "{command} runs in the background, and the shell ends without it: a pod ends with its shell; start it in "
            "the foreground, or write `wait $!` behind it",
            command=command,
        )
    elif by.startswith("|"):
        yield phrase(
            "the shell ends as `{last}` does, and not as {command}: where the training fails, the job is Completed; "
            "write `set -o pipefail` above it (and start the script with bash)",
            last=by, command=command,
        )  # fmt: skip
    elif by == "wait":
        yield phrase(
            "`wait` alone ends with 0, whatever becomes of {command}: where the training fails, the job is Completed; "
            "write `wait $!`, or start the last program in the foreground",
            command=command,
        )
    else:
        yield phrase(
            "the shell ends as `{last}` does, and not as {command}: where the training fails, the job is Completed; "
            "write `set -e` above it, or leave out what stands behind it",
            last=by, command=command,
        )  # fmt: skip


def _explain_text(launch: Launch) -> Iterator[Phrase]:
    """`bash -c python train.py`: only one word is the text, those behind it are `$0`, `$1` and so on."""
    text, behind = launch.program.word, launch.arguments
    if not text.text or "$" in text.text or not behind:
        return
    shell = launch.program.shell_name
    if len(text.text.split()) == 1:
        whole = f"{text.text} {show_words(behind)}"
        yield phrase(
            "{shell} -c runs {text} alone, as only the word behind -c is its text: write one text, {whole}",
            shell=shell, text=text.text, whole=_quote(whole),
        )  # fmt: skip
    elif len(behind) > 1 or behind[0].beginning.startswith("-"):
        yield phrase(
            "{words} behind the text of {shell} -c is for its $0, $1 and so on, and the text has none of them: write "
            "it into the text, or \"$@\" where it belongs",
            words=show_words(behind), shell=shell,
        )  # fmt: skip
