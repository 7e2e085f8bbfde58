"""What is carried of one command: its arguments, its variables, its directory. Pure.

An unknown word is never carried as it was typed: it would reach the program as `$LR`. Its default is taken where there
is one; else it is left out, with the option before it whose value it is.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterable, Mapping, Sequence

from paddock.launches.launch import Launch
from paddock.launches.words import Unknown, Word, show_words
from paddock.script.foreign.elsewhere import UNKNOWN, say
from paddock.script.foreign.job import Left
from paddock.script.rank_variables import is_of_tool, tells_place
from paddock.script.secrets import is_secret
from paddock.words.phrases import Phrase, phrase

_VISIBLE = re.compile(
    r"(CUDA|NVIDIA|HIP|ROCR|ASCEND(_RT)?|XPU|MUSA|MLU|FLAGS_selected)_?(VISIBLE_(DEVICES|CARDS)|gpus)"
)
"""Variables that list the devices of a machine."""
_OPTIONS = re.compile(r"(?i)(?:\$\{?|_)(extras?|args|arguments|opts|options|flags)\d*(\[[@*]\])?\}?$")
"""The end of a variable's name that tells that it holds options."""
_OF_MACHINES = frozenset({"PATH", "HOME", "USER", "SHELL", "PWD", "VIRTUAL_ENV", "CONDA_PREFIX", "PS1", "HOSTNAME"})


class Ledger:
    """What is left out, as one command is read."""

    def __init__(self) -> None:
        self.left: list[Left] = []

    def note(self, line: int, said: Phrase) -> None:
        self.left.append(Left(line, said))

    def take(self, word: Word) -> str | None:
        """The text of a word, else its default, which is said; None where neither is known."""
        if (text := word.text) is None and (text := word.usual) is not None and text != word.typed:
            said = phrase("{typed} is filled in by a shell: its default is taken, {text}", typed=word.typed, text=text)
            self.note(word.line, said)
        return text

    def take_words(self, word: Word) -> Sequence[str] | None:
        """As `take`, of an argument: without quotes a shell makes several of a default, or none, and files of a
        pattern, where some have such names."""
        usual = word.usual
        if word.text is not None or usual is None or not word.splits:
            text = self.take(word)
            return None if text is None else (text,)
        if "$" not in word.typed and "`" not in word.typed:
            if re.search(r"[*?]", usual):
                said = phrase("{typed} stays as it is: a shell puts the names of files in its place", typed=_show(word))
                self.note(word.line, said)
            return (usual,)
        texts = usual.split()
        if texts:
            said = phrase(
                "{typed} is filled in by a shell: its default is taken, {text}", typed=_show(word), text=" ".join(texts)
            )
            self.note(word.line, said)
        return texts


def carry_arguments(words: Sequence[Word], ledger: Ledger) -> tuple[str, ...]:
    """The arguments of a program, without what is not known."""
    found: list[Word | str] = []
    for word in words:
        texts = ledger.take_words(word)
        if texts is not None:
            found += texts
            continue
        option = found[-1] if found else None
        takes = isinstance(option, str) and option.startswith("-") and "=" not in option and not _are_options(word)
        if takes and isinstance(option, str):
            found.pop()
        shown = f"{option} {_show(word)}" if takes else _show(word)
        ledger.note(word.line, _explain_unknown(word, shown))
    return tuple(each for each in found if isinstance(each, str))


def _are_options(word: Word) -> bool:
    """Whether an unknown word is surely no value of the option before it: `"$@"`, and `$EXTRA_ARGS` without quotes."""
    only = word.pieces[0] if len(word.pieces) == 1 else ""
    return _is_all(word) or (word.splits and isinstance(only, Unknown) and _OPTIONS.search(_show(word)) is not None)


def _show(word: Word) -> str:
    """As typed, in one line: a text in quotes may have gone on in another one."""
    return re.sub(r"\\?\n\s*", " ", word.typed).strip()


def _is_all(word: Word) -> bool:
    return re.fullmatch(r"\$[@*]|\$\{[@*](:[^}]*)?\}", word.typed.strip('"')) is not None


def _explain_unknown(word: Word, shown: str) -> Phrase:
    if _is_all(word):
        return phrase("{typed} is left out: it is what is typed behind the script; add it to the command", typed=shown)
    return say(UNKNOWN, shown)


def carry_variables(environment: Mapping[str, Word], line: int, ledger: Ledger) -> tuple[tuple[str, str], ...]:
    """The variables that are set for the program, without those that tell a rank its place."""
    found: list[tuple[str, str]] = []
    told: list[str] = []
    added: list[str] = []
    for name, word in environment.items():
        if _VISIBLE.fullmatch(name) or is_of_tool(name):
            continue
        if tells_place(name):
            told.append(name)
        elif name in _OF_MACHINES:
            said = phrase("{name} is left out: it is of the machine that the script was written for", name=name)
            ledger.note(word.line or line, said)
        elif is_secret(name):
            found.append((name, word.usual or ""))  # which `kept_back` takes out
        elif (text := ledger.take(own := _without_itself(name, word))) is not None:
            found.append((name, text if own is word else text.strip(": ")))
            added += [] if own is word else [name]
        else:
            ledger.note(word.line or line, _explain_unknown(word, cut(f"{name}={word.typed}")))
    if told:
        ledger.note(line, explain_told(told))
    if added:
        said = phrase(
            "{names}: only what the script adds is kept, as its value from outside is not known here",
            names=" ".join(added),
        )
        ledger.note(line, said)
    return tuple(found)


def cut(text: str) -> str:
    """In one line, of at most 80 letters."""
    plain = re.sub(r"\s+", " ", text).strip()
    return plain if len(plain) <= 80 else f"{plain[:77]}…"


def explain_told(names: Iterable[str]) -> Phrase:
    return phrase("{names}: left out, as each rank is told its place", names=" ".join(names))


def _without_itself(name: str, word: Word) -> Word:
    """`$PYTHONPATH:.` without the value from outside, which a job does not have."""
    itself = re.compile(rf"\$({name}|\{{{name}(:-|:?\+[^}}]*)?\}})")
    kept = [each for each in word.pieces if not (isinstance(each, Unknown) and itself.fullmatch(each.typed))]
    return Word(tuple(kept), word.line) if kept and len(kept) < len(word.pieces) else word


def find_visible(environment: Mapping[str, Word]) -> tuple[int, str]:
    """How many devices a variable such as CUDA_VISIBLE_DEVICES lists, and its name; 0 where none does."""
    found = [(count_listed(word.usual or ""), name) for name, word in environment.items() if _VISIBLE.fullmatch(name)]
    return max(found, default=(0, ""))


def count_listed(text: str) -> int:
    """The devices of `0,1,2,3`, of `0-3` and of DeepSpeed's `localhost:0,1`; 0 for any other text."""
    parts = [part.strip() for part in text.rpartition(":")[2].split(",") if part.strip()]
    ranges = [re.fullmatch(r"(\d{1,4})(?:-(\d{1,4}))?", part) for part in parts]
    if not all(ranges):
        return 0
    return sum(max(int(each[2] or each[1]) - int(each[1]) + 1, 0) for each in ranges if each is not None)


def count_hosts(text: str) -> int:
    """The hosts of `a,b:8`; blanks may stand in it."""
    return len([each for each in re.split(r"[,\s]+", text) if each])


def read_number(text: str | None) -> int:
    """The number in `2`, and the least of `2:4` and `2-4`; 0 for another text."""
    found = re.match(r"\s*(\d{1,6})\s*(?:[:-]\s*\d+\s*)?$", text or "")
    return int(found[1]) if found else 0


def carry_directory(launch: Launch, ledger: Ledger) -> str:
    """Where `cd` has led; empty where it has not, or nobody knows."""
    place = launch.command.directory
    if place is None:
        return ""
    text = ledger.take(place)
    if text is None:
        ledger.note(place.line or launch.line, _explain_unknown(place, f"cd {place.typed}"))
        return ""
    return posixpath.normpath(text)


def join_directories(outer: str, inner: str) -> str:
    """Where a program starts that goes to `inner` from `outer`; both may be empty."""
    return posixpath.normpath(posixpath.join(outer, inner)) if outer or inner else ""


def note_streams(launch: Launch, ledger: Ledger) -> None:
    """Redirections and pipes, which are the shell's."""
    shown = [f"{each.operator} {show_words((each.target,))}" if not each.operator.endswith("&")
             else f"{each.operator}{each.target.typed}" for each in launch.redirections]  # fmt: skip
    shown += [f"| {each}" for each in launch.command.piped]
    if shown:
        said = phrase(
            "{typed} is left out: a job has no shell, and `paddock logs` keeps what it prints", typed=" ".join(shown)
        )
        ledger.note(launch.line, said)
