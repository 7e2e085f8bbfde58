"""What is a secret, by the name of a variable or by a password in an address, and texts without it. Pure.

Rather a value too much is taken for one: it is left out of a manifest, which is said, and --env gives it all the same.
"""

from __future__ import annotations

import re

MASK = "***"
_NAME = re.compile(
    r"(?i)(^|_)(token|secret|password|passwd|passphrase|credentials?)(_|$)|(api|access|secret|private)_?key"
    r"|(^|_)(pat|auth)$|_(pwd|key)$"
)
_ADDRESS = re.compile(r"://[^/\s:@]*:[^/\s@]+@")
"""`redis://user:password@host`."""
_WORD = re.compile(r"""(?:'[^']*(?:'|\Z)|"[^"]*(?:"|\Z)|[^\s'"])+""")
"""A quote that is not closed, as of a text that was cut, goes to the end."""
_SET = re.compile(r"(?<![\w-])([\w-]+)=((?:(?!,\w+=).)*)", re.DOTALL)
"""`NAME=value`, also within `--export=ALL,NAME=value,OTHER=1`."""
_HEADER = re.compile(r"(?i)(?<![\w-])(authorization|(?:[\w-]*[_-])?(?:token|key|secret)): *[^'\"]*")
"""`Authorization: Bearer abc`, as for curl -H."""
_NAMED = re.compile(r"\"?\$\{?\w+\}?\"?")
"""A variable in the place of a value: `$TOKEN`."""


def is_secret(name: str, value: str = "") -> bool:
    """Whether a variable is called as secrets are, or its value has a password: it is not to stand in a file, or in a
    manifest."""
    return _NAME.search(name) is not None or _ADDRESS.search(value) is not None


def hide_secrets(text: str) -> str:
    """The words of a command, for a person: without what stands behind `login`, and without the values of options,
    variables and headers that are called as secrets. Costs as much as the text has letters."""
    found: list[str] = []
    end, is_value, is_login = 0, False, False
    for match in _WORD.finditer(text):
        word = match[0]
        is_option = word.startswith("-")
        is_hidden = (is_value or is_login) and not is_option and not _NAMED.fullmatch(word)
        found += [text[end : match.start()], MASK if is_hidden else _hide_word(word)]
        is_value = (is_option or word.isupper()) and "=" not in word and _is_called(word)
        is_login = is_login or word == "login"
        end = match.end()
    return "".join([*found, text[end:]])


def _is_called(name: str) -> bool:
    """Whether an option or a variable is called as secrets are."""
    return is_secret(name.lstrip("-").replace("-", "_"))


def _hide_word(word: str) -> str:
    shown = _SET.sub(_hide_value, word)
    return _HEADER.sub(rf"\1: {MASK}", _ADDRESS.sub(f"://{MASK}@", shown))


def _hide_value(found: re.Match[str]) -> str:
    is_shown = not _is_called(found[1]) or _NAMED.fullmatch(found[2])
    return found[0] if is_shown else f"{found[1]}={MASK}"
