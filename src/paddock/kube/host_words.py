"""Host names as whole words of a text: found, and replaced by addresses. Pure.

In a command a name is not always a host: `[ "$HOSTNAME" = j-0 ]` compares it, `--run-name j-0` calls something by it.
There a name stays, where the words around it say so (`find_in_command`).
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence

from paddock.kube.downward import Expanded

_OPTION = re.compile(
    r"""(?:^|[\s"'])--?(?:[^\W_]+[-_.]+)*(?P<noun>name|id|tag|title|dir|path|file|prefix|suffix|label|group)(?:=|\s+)["']?$""",
    re.ASCII,
)
"""An option whose value is no host, up to its value. `--node-name` and `--hostname` are none of them."""
_HOST_OPTION = re.compile(r"(?:host|server|node|master|peer)[-_.]?name(?:=|\s+)[\"']?$", re.ASCII)
_COMPARED_BEFORE = re.compile(r"""(?:==|!=|=~)\s*["']?$|(?:\[|\btest)\s[^\n;]*\s=\s*["']?$""")
_COMPARED_AFTER = re.compile(r"""["']?\s*(?:==|!=|=~)|["']?\s+=\s""")
_CASE_BEFORE = re.compile(r"""(?:\bin\s|;;|\n|\|)\s*["']?$""")
_CASE_AFTER = re.compile(r"""["']?\s*(?:\)|\|\s*[\w"'*-]+\s*\))""")
_PORT = re.compile(r":\d")
_NEAR = 200
"""So many characters before a name are looked at: an argument may be a program of a megabyte."""


def find_names(text: str, addresses: Mapping[str, str]) -> set[str]:
    """The names that occur in `text` as whole words."""
    return {match[0] for match in _pattern(addresses).finditer(text)} if addresses else set()


def replace_names(text: str, addresses: Mapping[str, str]) -> str:
    """Replaces each name that is a whole word by its address: `a-ps-0:2379,http://a-ps-1/x`.

    A part of a longer name or of a path (`/nas/a-ps-0/log`) stays.
    """
    return _pattern(addresses).sub(lambda match: addresses[match[0]], text) if addresses else text


def find_in_command(words: Sequence[Expanded], addresses: Mapping[str, str]) -> set[str]:
    """The names that `replace_in_command` replaces."""
    return {match[0] for index in range(len(words)) for match in _find_hosts(words, index, addresses)}


def find_sure_hosts(text: str, addresses: Mapping[str, str]) -> set[str]:
    """The names that are surely hosts, whatever the text is: those with a port, and those with more than one label."""
    found = _pattern(addresses).finditer(text) if addresses else ()
    return {match[0] for match in found if "." in match[0] or _PORT.match(text, match.end())}


def replace_in_command(words: Sequence[Expanded], addresses: Mapping[str, str]) -> tuple[str, ...]:
    """The words of a program and its arguments, with an address for each name that is a host there.

    A name that is compared or that an option calls something by stays, and so does one that is the value of a variable
    (`$(POD_NAME)` tells who the pod is), unless a port follows it.
    """
    return tuple(_replace_in_word(words, index, addresses) for index in range(len(words)))


def _replace_in_word(words: Sequence[Expanded], index: int, addresses: Mapping[str, str]) -> str:
    text, parts, end = words[index].text, [], 0
    for match in _find_hosts(words, index, addresses):
        parts += [text[end : match.start()], addresses[match[0]]]
        end = match.end()
    return "".join((*parts, text[end:]))


def _find_hosts(words: Sequence[Expanded], index: int, addresses: Mapping[str, str]) -> Iterator[re.Match[str]]:
    # The first word is the program itself.
    if not addresses or not index:
        return
    word = words[index]
    before = f"{words[index - 1].text[-_NEAR:]} "
    for match in _pattern(addresses).finditer(word.text):
        begin, end = match.span()
        if _PORT.match(word.text, end):
            yield match
        elif not any(low <= begin and end <= high for low, high in word.told):
            near = word.text[max(0, begin - _NEAR) : begin]
            if _is_host(near if begin > _NEAR else before + near, word.text[end : end + _NEAR]):
                yield match


def _is_host(before: str, after: str) -> bool:
    """Whether a name between these texts is a host, as far as can be seen."""
    if _COMPARED_BEFORE.search(before) or _COMPARED_AFTER.match(after):
        return False
    if _CASE_BEFORE.search(before) and _CASE_AFTER.match(after):
        return False
    return not _OPTION.search(before) or bool(_HOST_OPTION.search(before))


def _pattern(addresses: Mapping[str, str]) -> re.Pattern[str]:
    # A regular expression takes the first alternative that matches, so a longer name must come first.
    longest_first = sorted(addresses, key=len, reverse=True)
    names = "|".join(map(re.escape, longest_first))
    # A name after a slash is a part of a path and stays; only after `://` it is a host.
    return re.compile(rf"(?<=://)(?:{names})(?![\w-]|\.\w)|(?<![\w./-])(?:{names})(?![\w/-]|\.\w)")
