"""A line of a log -> its words and numbers, as the reader of metrics (`progress`) wants them. Pure.

Each character is looked at a bounded number of times, whatever the line is: every repetition of the pattern is
possessive or has a bound, and what is neither number nor word is taken as one token as far as it goes. A change must
keep that (`tests/logs/test_printed_lines.py` reads the pattern).
"""

from __future__ import annotations

import re
from collections.abc import Iterator

_NUMBER = (
    r"(?:(?:[1-9]\d{0,2}+(?:,\d{3})++(?!\d)(?:\.\d*+)?+|\d++(?:\.\d*+)?+|\.\d++)(?:[eE][-+]?+\d++)?+"
    r"|(?:nan|NaN|NAN|inf(?:inity)?+|Inf(?:inity)?+)(?!\w))"
)
_SIGNED = rf"(?<![\w)])[-+]?+{_NUMBER}|{_NUMBER}"
_END = r"(?!\.?+\w|-\d)"
_UNIT = r"%|[munµ]?+s|secs?+|seconds?+|mins?+|minutes?+|hours?+|hrs?+|days?+|[hm](?=\d|\b)|[KMGTkmgt](?:i?+[Bb])?+"
_CLOCK = r"\d\d:\d\d(?::\d\d(?:[.,]\d++)?+)?+"

PATTERN = (
    r"(?: (?=\S))?+(?:"  # one space before it: half of a line's tokens would be spaces
    rf"(?P<date>\d{{2,4}}+[-/]\d\d[-/]\d\d(?:[T ,]{{1,3}}+{_CLOCK})?+Z?+|\d\d[-/]\d\d {_CLOCK}(?!<))"
    r"|(?P<bar>\d{1,3}+%\|[^|]{0,400}+\||\d{1,3}+%(?=\s*+[━╸╺─]{3})|[━╸╺─]{3,}+|[=>.]{4,}+)"
    r"|(?P<time>\d{1,9}+:\d\d(?::\d\d(?:\.\d++)?+)?+(?:<[\d:?]++)?+(?!\w))"
    rf"|(?P<rate>{_NUMBER}) ?+"
    r"(?P<what>(?:[A-Za-z_]{1,20}+)?+/s(?:ec(?:ond)?+)?+|[mu]?+s(?:ec)?+/[A-Za-z]{2,10}+)(?![\w/]|\s{0,2}+[:=])"
    rf"|(?P<done>\d{{1,12}}+)(?:\s{{0,12}}+/\s{{0,12}}+|\s{{1,3}}+of\s{{1,3}}+)(?P<of>\d{{1,12}}+){_END}"
    r"|(?P<comma>0++,\d++|\d++,(?:\d{1,2}+|\d{4,}+)(?![\w.]))"  # `0,5` may be a half, or two numbers
    rf"|(?P<number>{_SIGNED})(?: ?+(?P<unit>{_UNIT})(?![\w/]|\s{{0,2}}+=)|{_END})"
    r"|(?P<junk>\d[\w.:]*+(?:-\d[\w.:]*+)*+|[$€¥£] ?+[\d.,]++"
    r"|[A-Za-z_][\w.]{0,80}+:[A-Za-z_<][\w.<>]{0,80}+:\d++(?=[\s\]]))"
    r"|(?P<wrap>(?:(?:torch|paddle|np|numpy|jnp)\.)?+(?:[Tt]ensor|[Aa]rray|float\d\d)\()"
    r"|(?P<counted>(?:[Ee]poch|EPOCH|[Ss]tep|STEP|[Ii]ter|ITER|[Bb]atch|[Rr]ank|RANK|[Ww]orker-?+)(?=\d))"
    r"|(?P<word>[A-Za-z_\u4e00-\u9fff][\w@]*+(?:[-/.'][\w@]++)*+)"
    r"|(?P<sign>[:=])|(?P<open>\()|(?P<close>\))|(?P<stop>[,;|\]}•·]|-(?=\s))|(?P<gap>\s{2,}+|\t)"
    r"|.)"
)
"""One token; what has no name means nothing."""
_TOKEN = re.compile(PATTERN, re.DOTALL)
_COLOURS = re.compile(r"\x1b\[[\d;?]{0,20}+[A-Za-z]|\x08")


def read_tokens(text: str) -> Iterator[re.Match[str]]:
    """The tokens of the whole text, in order and without gaps."""
    return _TOKEN.finditer(text)


def without_colours(line: str) -> str:
    """The line without what a terminal is told: colours, moves of the cursor, backspaces."""
    return _COLOURS.sub("", line) if "\x1b" in line or "\x08" in line else line
