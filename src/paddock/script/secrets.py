"""What is a secret, by the name of a variable or by a password in an address, and texts without it. Pure.

Rather a value too much is taken for one: it is left out of a manifest, which is said, and --env gives it all the same.
"""

from __future__ import annotations

import re

MASK = "***"
_SHORTENED = (
    r"(?:(?!flags_)(?<![\w-])[\w-]+(?<!by)(?<!com)(?<!sur)(?<!tres)pass)"
    r"(?<!(?:forward|inplace)[_-]pass)(?<!backward[_-]pass)(?<!(?:single|second)[_-]pass)(?<!(?:multi|first)[_-]pass)"
    r"(?<!(?:fuse|last|each|test)[_-]pass)(?<!(?:fwd|bwd|one|two|num|per|all|max|opt)[_-]pass)(?<!ir[_-]pass)"
)
"""`SMTP_PASS`, `SSHPASS`; no `PASS`, and none of a model, a compiler (`FLAGS_…_pass`) or a count."""
_KEY = r"(?:api|access|secret|private|account)_?key"
_CONNECTION = r"connection_?string|conn_?str"
_NAME = re.compile(
    r"(?i)(?:token|secret|password|passwd|passphrase|credentials?)(?:_|$)"
    rf"|{_KEY}|(?:^|_)(?:pat|auth)$|_(?:pwd|key)$|{_SHORTENED}$|{_CONNECTION}|webhook(?:_?(?:url|uri|address))?s?$"
)
_ADDRESS = re.compile(r"://[^/\s:@]*:[^/\s@]+@")
"""`redis://user:password@host`."""
_END = r"[^\s&\"'`<>\\,;)\]}]+"
"""What stands in an address, up to its end or the next parameter."""
_QUERY = re.compile(
    r"(?i)((?:[?&]|&amp;|\\u0026)(?:sig|sign|key|auth|authorization|api_?key|"
    rf"(?:[\w-]*[_-])?(?:signature|token|secret|credential))=)({_END})"
)
"""`?sig=abc`, `&access_token=abc` in an address; a program in Go writes `&` as `\\u0026` in JSON."""
_CHAT = re.compile(
    r"(?i)((?:open\.feishu\.cn|open\.larksuite\.com|oapi\.dingtalk\.com|qyapi\.weixin\.qq\.com|hooks\.slack\.com)"
    rf"(?::\d+)?/|/open-apis/bot/(?:v2/)?hook/|/services/(?=T\w+/B\w+/)){_END}"
)
"""Who has the address of a bot may write there: the hosts of `jobs.sentences.chat_bodies`, and the paths alone, as
libraries print them apart from the host."""
_ACCOUNT = re.compile(r"(?i)(\b(?:account|sharedaccess)(?:key|signature)=)[^\s;\"']+")
"""`AccountKey=abc;` of a connection string of Azure."""
_WORD = re.compile(r"""(?:'[^']*(?:'|\Z)|"[^"]*(?:"|\Z)|[^\s'"])+""")
"""A quote that is not closed, as of a text that was cut, goes to the end."""
_SET = re.compile(r"(?<![\w-])([\w-]+)=((?:(?!,\w+=).)*)", re.DOTALL)
"""`NAME=value`, also within `--export=ALL,NAME=value,OTHER=1`."""
_HEADER = re.compile(r"(?i)(?<![\w-])(authorization|(?:[\w-]*[_-])?(?:token|key|secret)): *[^'\"]*")
"""`Authorization: Bearer abc`, as for curl -H."""
_NAMED = re.compile(r"\"?\$\{?\w+\}?\"?")
"""A variable in the place of a value: `$TOKEN`."""


def is_secret(name: str, value: str = "") -> bool:
    """Whether a variable is called as secrets are, or its value has a password or is an address that opens something by
    itself: it is not to stand in a file, or in a manifest."""
    return _NAME.search(name) is not None or _hide_addresses(value) != value


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


_HINT = re.compile(
    r"(?i)token|secret|pass|credential|key|auth|bearer|_pat\b|_pwd|sig|hook|/services/|conn(?:ection)?_?str|://[^/\s:@]*:"
)
"""A line without any of it has no secret that a rule knows: most lines of a log."""
_BEARER = re.compile(r"(?i)\b(bearer|authorization: *\w+)[ \t]+[^\s\"',]+")
_PAIR = re.compile(
    r"""(?i)((?<![\w-])(?:[\w-]*(?:token|passw(?:or)?d|passphrase|secret|credentials?|"""
    rf"""{_KEY}|{_CONNECTION}|_webhook|webhook_?(?:url|uri|address)|(?-i:[A-Z\d]_(?:KEY|PWD|PAT|AUTH)))|{_SHORTENED})["']?"""
    r"""[ \t]*[:=][ \t]*["']?)([^\s"',;}\]]+)"""
)
"""`token=abc`, `"password": "abc"`, `api_key: abc` in what a program prints."""
_NO_SECRET = re.compile(r"(?i)[\d.]{1,9}|true|false|none|null|\*+|<.*|\$.*")
"""A count of tokens, a switch, what is masked already."""

_OF_TEXTS = re.compile(r"(?i)(bos|cls|eos|image|mask|max|new|num|pad|sep|special|unk)_token")
"""Tokens of language models."""


def hide_in_output(text: str) -> str:
    """Lines that a program has printed, for a person: as `hide_secrets`, where a word is not a command's. Costs as much
    as the text has letters."""
    return "\n".join(_hide_line(line) if _HINT.search(line) else line for line in text.split("\n"))


def _hide_pair(found: re.Match[str]) -> str:
    is_shown = _NO_SECRET.fullmatch(found[2]) or _OF_TEXTS.search(found[1])
    return found[0] if is_shown else f"{found[1]}{MASK}"


def _hide_addresses(text: str) -> str:
    """Without the passwords, signatures and keys of addresses and connection strings."""
    shown = _ADDRESS.sub(f"://{MASK}@", text)
    shown = _ACCOUNT.sub(rf"\1{MASK}", _CHAT.sub(rf"\1{MASK}", shown))
    return _QUERY.sub(lambda found: found[0] if _NO_SECRET.fullmatch(found[2]) else f"{found[1]}{MASK}", shown)


def _hide_line(line: str) -> str:
    shown = _BEARER.sub(rf"\1 {MASK}", _hide_addresses(line))
    shown = _PAIR.sub(_hide_pair, shown)
    return _OPTION.sub(lambda found: f"{found[1]}{MASK}" if _is_called(found[2]) else found[0], shown)


_OPTION = re.compile(r"((?<![\w-])(--?[A-Za-z][\w-]*)[ \t=]+)(?!-)[^\s\"',\]]+")
"""`--api-key abc` in a command that is printed."""


def _is_called(name: str) -> bool:
    """Whether an option or a variable is called as secrets are."""
    return is_secret(name.lstrip("-").replace("-", "_"))


def _hide_word(word: str) -> str:
    shown = _SET.sub(_hide_value, word)
    return _HEADER.sub(rf"\1: {MASK}", _hide_addresses(shown))


def _hide_value(found: re.Match[str]) -> str:
    is_shown = not _is_called(found[1]) or _NAMED.fullmatch(found[2])
    return found[0] if is_shown else f"{found[1]}={MASK}"
