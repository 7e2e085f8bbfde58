"""Text of other people's programs and servers, made safe to show: whoever prints it cleans it, once, at the exit.

A terminal acts on what stands between letters: `ESC ] 52` writes the reader's clipboard, `ESC ] 0` the title of the
window, U+009B begins a colour, and a bidirectional mark turns a line round (CVE-2021-25743, CVE-2021-42574). Each such
character becomes visible, so that nothing is hidden from the reader and nothing is lost. PURE.

Logs that were asked for as they are (`paddock logs`) are the one exception.
"""

from __future__ import annotations

import re

_ACTING = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff]")
"""C0 without tab and newline, DEL, C1, marks of direction, the separators of lines and paragraphs of Unicode, and
halves of surrogates, which no stream can write."""
_ACTING_IN_LINE = re.compile(f"[\t\n]|{_ACTING.pattern}")


def show(text: str) -> str:
    """The text with each character that a terminal acts on as Python writes it: `\\x1b`, `\\u202e`. Tabs and newlines
    stay."""
    return _ACTING.sub(_escape, text)


def show_line(text: str) -> str:
    """The same as one line: tabs and newlines are `\\t` and `\\n`."""
    return _ACTING_IN_LINE.sub(_escape, text)


def escape_json(document: str) -> str:
    """The JSON that `json.dumps` wrote, with each of them as `\\u009b`: its values are the same."""
    return _ACTING.sub(lambda found: f"\\u{ord(found[0]):04x}", document)


def _escape(found: re.Match[str]) -> str:
    return found[0].encode("unicode_escape").decode("ascii")
