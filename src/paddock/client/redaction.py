"""Text of other programs without what may be a credential, for errors and logs. PURE.

A credential is not known by its form, so the rules are generous: hidden is what follows a word like `token=`, what an
address has before its host and after its path, and a long run of characters that mixes letters and digits.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

HIDDEN = "…"
_CONTROL = re.compile(r"\x1b\[[0-9;?]*[ -/]*[@-~]|\x1b\][^\x07\x1b]*(?:\x07|\x1b\\)|[\x00-\x09\x0b-\x1f\x7f-\x9f]")
"""Colours and other sequences of terminals, and all control characters but the end of a line."""
_NAMED = re.compile(
    r"""(?i)\b([\w-]*(?:token|password|passwd|secret|key|credential|data)["']?[ \t]*[:=][ \t]*["']?)[^\s"',}]+"""
)
_SCHEME = re.compile(r"(?i)\b(bearer|basic)[ \t]+\S+")
"""As in the header Authorization."""
_ADDRESS = re.compile(r"""(?i)\b([a-z][a-z0-9+.-]*://)(?:[^\s/@"']*@)?([^\s?#"']*)([?#][^\s"']*)?""")
_IN_PATH = re.compile(r"[\w+=%~-]+")
_RUN = re.compile(r"[\w+=%~/-]+")  # base64 has slashes
_MIXED = re.compile(r"[^\W_]*(?:[^\W\d_]\d|\d[^\W\d_])")
LEAST, LONGEST = 16, 40


def redact(text: str, secrets: Iterable[str] = (), *, least: int = LEAST, longest: int = LONGEST) -> str:
    """The text without control characters and without what may be a secret. `secrets`: known ones, hidden wherever they
    stand. A run of `least` characters is hidden if it mixes letters and digits, one of `longest` always; the words of
    a name as `team-a-eu-west-1` mix none."""
    for secret in filter(None, secrets):
        text = text.replace(secret, HIDDEN)
    text = _CONTROL.sub(lambda found: " " if found[0] in "\t\r" else "", text)
    text = _SCHEME.sub(rf"\1 {HIDDEN}", text)
    text = _ADDRESS.sub(lambda found: f"{found[1]}{found[2]}{'?' + HIDDEN if found[3] else ''}", text)
    text = _NAMED.sub(rf"\1{HIDDEN}", text)

    def hide(run: re.Match[str]) -> str:
        mixed = len(run[0]) >= least and _MIXED.search(run[0])
        return HIDDEN if mixed or len(run[0]) >= longest else run[0]

    def hide_in(word: re.Match[str]) -> str:
        is_path = "://" in word[0] or word[0].lstrip("'\"([<`").startswith(("/", "~/", "./", "../"))
        return (_IN_PATH if is_path else _RUN).sub(hide, word[0])

    return re.sub(r"\S+", hide_in, text)
