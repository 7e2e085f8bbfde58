"""Renders a message of the API in the reader's language: an event, a condition, the reason why a pod waits.

Such a message is stored in English, as any client may read it, and its writer's values are in the text. So it is
compared with the English texts of the catalogue: `waiting for {pods}` fits `waiting for 2 pods`, and what stands in a
placeholder is rendered in the same way. Of the texts that fit, the one with the most letters is taken. A text that
fits only as a sentence of another program stands in one of its placeholders does not fit: `{file} is written` is no
part of `the log says what is written`. Where no text fits the whole, its first clause (up to `: ` or `; `) is rendered
alone, then the rest; what is not known stays. Pure.

The work is bounded: a text is compared by its fixed parts, from left to right and without going back, so that each
comparison is linear; a message that is longer than `LONGEST` stays, and so do
parts beyond `_MOST_PARTS`.
"""

from __future__ import annotations

import heapq
import re
import string
from collections.abc import Iterable, Iterator, Mapping
from functools import cache, lru_cache
from typing import NamedTuple

from paddock.words.catalogues import TRANSLATED, read_texts, translate, translate_counted
from paddock.words.formats import DURATIONS, Joint, format_of
from paddock.words.scheduler import translate_scheduler

LONGEST = 2048
"""Characters of a message; events have at most 1,024."""
_LONGEST_BY_PATTERN = 600
"""Characters; a pattern is looked for at each of them, so its cost is their square."""
_MOST_PARTS = 24
_FEWEST_LETTERS = 6
"""And signs, of a text that may be recognised: `{said}; {why}` would fit everything."""
_FEWEST_BESIDE_A_FORM = 3
_MOST_CLAUSES = 8

_NAME = r"(?:[A-Z]\w* )?[^\s,;:()“”\"]+"
_NAMES = re.compile(rf"(?:{_NAME}, ){{0,199}}{_NAME} (and|or) ({_NAME}|\d+ more)")
_JOINT = re.compile(r"(?:: |; )")
_JOINTS = {"zh": {": ": "：", "; ": "；"}}
_FORMS = {
    **dict.fromkeys(
        ("count", "number", "restart", "limit", "code", "signal", "seconds", "delay", "percent"),
        re.compile(r"-?[\d.]+"),
    ),
    **dict.fromkeys(("part", "whole", "asked", "has", "needed"), re.compile(r"-?[\d.]+ ?[A-Za-z]{0,3}")),
    "positions": re.compile(r"[\d-]+"),
    **dict.fromkeys(("endpoint", "object", "option", "rank", "resource", "script", "verb"), re.compile(r"\S+")),
}
"""Placeholders by the form of what they hold, so that a text is not recognised in the midst of another: a number; an
amount (`512 kB`, `16Gi`); the first and the last byte of a part; an address or a name without spaces."""
_OF_NAMES = frozenset(
    {"ranks", "rank", "names", "name", "pods", "pod", "nodes", "node", "image", "job", "kind", "package"}
)
"""Placeholders with names in them, which are no clauses."""
_VERBATIM = frozenset({"name", "namespace"})
"""Placeholders with one name in them: the namespace `default` is no word of a sentence."""
_WORD = re.compile(r"[A-Za-z]{2,}")
_FIELD = re.compile(r"[a-z]\S*[.\[]\S*")
"""The path of a field, which stands before a problem."""
_MOST_FITS = 3
"""Texts that are tried for a part, those with the most letters first."""
_OF_OTHERS = frozenset({"error", "message", "why", "last", "command"})
"""Placeholders that take what another program says, which stays as it is."""
_PROSE = re.compile(r"(?<![\w./-])[A-Za-z]{2,}(?: [A-Za-z]{2,}){2,}(?![\w./-])")
"""Three English words in a row, of which no name, command or amount has as many."""


class Template(NamedTuple):
    """A text with placeholders."""

    one: str
    many: str
    fixed: tuple[str, ...]  # the parts around the names, one more than there are names
    names: tuple[str, ...]  # of the placeholders
    letters: int


class Fit(NamedTuple):
    """A text that fits a message, and the values in its placeholders."""

    template: Template
    values: Mapping[str, str]


@lru_cache(maxsize=1024)
def translate_message(message: str, language: str) -> str:
    """The message in `language`, as far as its texts are known."""
    if language not in TRANSLATED or len(message) > LONGEST or not message.strip():
        return message
    return _Reading(language, _read_texts(language)).translate(message)


class _Reading:
    """One message: the texts that its parts fit. A part is read once, and at most `_MOST_PARTS` are."""

    def __init__(self, language: str, texts: Texts) -> None:
        self._language, self._texts = language, texts
        self._read: dict[str, str] = {}

    def translate(self, message: str) -> str:
        if message not in self._read and len(self._read) < _MOST_PARTS:
            self._read[message] = message  # for a part that has itself as a value
            self._read[message] = self._translate(message)
        return self._read.get(message, message)

    def _translate(self, message: str) -> str:
        if not any(each.isalpha() for each in message):
            return message
        whole, names = self._find(message), _NAMES.fullmatch(message)
        if names is not None and (whole is None or names[2].endswith(" more")):
            return _translate_names(message, names, self._language)
        rendered = message if whole is None else whole
        # Two sentences also fit one text with a placeholder at its end, and one sentence may have another's as a value.
        return min((rendered, *self._split(message), self._replace(message)), key=_count_words)

    def _split(self, message: str) -> Iterator[str]:
        """The message with its first clause rendered alone, for each that is known."""
        for joint in list(_JOINT.finditer(message))[:_MOST_CLAUSES]:
            before = message[: joint.start()]
            first = self._find(before)
            if first is None and not _FIELD.fullmatch(before):
                continue
            after = self.translate(message[joint.end() :])
            # `the address: …` is a label, and may begin any sentence.
            if len(before.split()) > 2 or after != message[joint.end() :] or not _PROSE.search(after):
                yield (first or before) + _JOINTS[self._language][joint[0]] + after

    def _replace(self, message: str) -> str:
        """The message with those of its parts replaced that are known by a pattern."""
        if len(message) > _LONGEST_BY_PATTERN:
            return message
        text = message.removesuffix(".")
        said = translate_scheduler(text, self._language)
        return message if said == text else said + ("。" if text != message else "")

    def _find(self, message: str) -> str | None:
        """The message by the text that fits the whole of it; None if there is none."""
        return next((said for fit in self._texts.find(message) if (said := self._render(fit)) is not None), None)

    def _render(self, found: Fit) -> str | None:
        """None where a sentence that is not known stands in a placeholder for something else."""
        template = found.template
        text = translate(template.one, self._language)
        if template.many:
            text = translate_counted(template.one, template.many, 2, self._language)
        values = {name: self._render_value(name, value) for name, value in found.values.items()}
        if any(_is_strange(name, value, values[name]) for name, value in found.values.items()):
            return None
        return text.format_map(values) if values else text

    def _render_value(self, name: str, value: str) -> str:
        if name in _VERBATIM:
            return value
        said = format_of(self._language).say_duration(value) if name in DURATIONS else value
        return said if said != value else self.translate(value)


def _is_strange(name: str, value: str, said: str) -> bool:
    """Whether a sentence that is not known, so that it is said as it is, stands where none of another program does."""
    return said == value and name not in _OF_OTHERS and _PROSE.search(_QUOTED.sub("", value)) is not None


_QUOTED = re.compile(r"`[^`]*`|\"[^\"]*\"|'[^']*'|“[^”]*”")
"""Commands and names as they are typed."""


def _count_words(text: str) -> int:
    """The English words that are left in a text."""
    return len(_WORD.findall(text))


def _translate_names(message: str, found: re.Match[str], language: str) -> str:
    joint: Joint = "and" if found[1] == "and" else "or"
    form, names, last = format_of(language), message[: found.start(1)].rstrip().split(", "), found[2]
    if not last.endswith(" more"):
        return form.join([*names, last], joint)
    rest = int(last.split()[0])
    return form.cut.format(names=form.comma.join(names), joint=form.joints[joint], rest=rest, count=len(names) + rest)


def match(template: Template, message: str) -> dict[str, str] | None:
    """The values of the placeholders, each as short as it can be; None if the text does not fit. Linear."""
    first, *between, last = template.fixed
    end = len(message) - len(last)
    at = len(first)
    if end < at or not message.startswith(first) or not message.endswith(last):
        return None
    values: list[str] = []
    for fixed in between:
        found = message.find(fixed, at, end)
        if found < 0:
            return None
        values.append(message[at:found])
        at = found + len(fixed)
    values.append(message[at:end])
    result: dict[str, str] = {}
    for name, value in zip(template.names, values, strict=True):
        if not value or result.setdefault(name, value) != value:
            return None
        if name in _FORMS and not _FORMS[name].fullmatch(value):
            return None
        if name in _OF_NAMES and _JOINT.search(value):
            return None
    return result


def read_template(one: str, many: str = "", *, shown: str = "") -> Template | None:
    """The template of a text of the catalogue, of its plural where that is `shown`; None for a text that has no
    placeholder, another format than a name, or too few letters."""
    try:
        parts = list(string.Formatter().parse(shown or one))
    except ValueError:
        return None
    fixed, names = [""], []
    for literal, name, form, conversion in parts:
        fixed[-1] += literal
        if name is None:
            continue
        if not name.isidentifier() or form or conversion:
            return None
        names.append(name)
        fixed.append("")
    letters = sum(not each.isspace() for part in fixed for each in part)
    fewest = _FEWEST_LETTERS if _FORMS.keys().isdisjoint(names) else _FEWEST_BESIDE_A_FORM
    if not names or letters < fewest or "" in fixed[1:-1]:
        return None
    return Template(one, many, tuple(fixed), tuple(names), letters)


def _names_of(text: str) -> set[str]:
    return {name for _, name, _, _ in string.Formatter().parse(text) if name}


class Texts:
    """The texts of a catalogue, found by their first word, or by the last character where they begin with a value."""

    def __init__(self, texts: Iterable[tuple[str, str]]) -> None:
        self._plain: set[str] = set()
        self._open: list[Template] = []
        self._begun: dict[str, list[Template]] = {}
        for one, many in texts:
            if "{" not in one:
                self._plain.add(one)
            for shown in (one, many) if many else (one,):
                template = read_template(one, many, shown=shown)
                # The translation has the placeholders of the plural.
                if template is not None and _names_of(many).issubset(template.names):
                    self._add(template)
        ends = {"", *(each.fixed[-1][-1:] for each in self._open)}
        self._ended = {end: [each for each in self._open if each.fixed[-1][-1:] in ("", end)] for end in ends}

    def _add(self, template: Template) -> None:
        word, space, _ = template.fixed[0].partition(" ")
        (self._begun.setdefault(word, []) if space else self._open).append(template)

    def find(self, message: str) -> list[Fit]:
        """The texts that fit a whole message, those with the most letters first."""
        if message in self._plain:
            return [Fit(Template(message, "", (message,), (), len(message)), {})]
        begun = self._begun.get(message.partition(" ")[0], ())
        ended = self._ended.get(message[-1:], self._ended[""])
        fits = (Fit(each, values) for each in (*begun, *ended) if (values := match(each, message)) is not None)
        return heapq.nlargest(_MOST_FITS, fits, key=lambda fit: fit.template.letters)


@cache
def _read_texts(language: str) -> Texts:
    return Texts(read_texts(language))
