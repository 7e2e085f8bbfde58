"""Bodies in YAML -> values of JSON, as Kubernetes reads them: no dates, no numbers to base 60, no aliases.

The parser is libyaml's where PyYAML has it. Only the scanning is its: it composes nodes by recursion in C, which a deep
body would end with the process, and expands aliases, by which a short text becomes a large value.
"""

from __future__ import annotations

import re
from typing import Any

import msgspec
import yaml
from yaml.composer import Composer

from paddock.apiserver.http.density import check_density
from paddock.kube.errors import BadRequest, TooLarge

MOST_VALUES = 100_000
"""Of one body, each name of a field included. A value of YAML takes a kilobyte of memory and 20 µs."""
MOST_LEVELS = 100

_INT_TAG = "tag:yaml.org,2002:int"
_NUMBERS = {
    _INT_TAG: re.compile(r"[-+]?(?:0b[01_]+|0x[0-9a-fA-F_]+|0[0-7_]+|0|[1-9][0-9_]*+)"),
    "tag:yaml.org,2002:float": re.compile(
        r"[-+]?[0-9][0-9_]*+\.[0-9_]*+(?:[eE][-+][0-9]+)?|[-+]?\.[0-9][0-9_]*+(?:[eE][-+][0-9]+)?"
        r"|[-+]?\.(?:inf|Inf|INF)|\.(?:nan|NaN|NAN)"
    ),
}
_LONGEST_NUMBER = 400


# Not every build of PyYAML has libyaml's parser.
_Parser: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
_BASES: Any = (_Parser,) if issubclass(_Parser, Composer) else (Composer, _Parser)


class _Loader(*_BASES):  # type: ignore[misc]
    """PyYAML's composer in Python, in place of the parser's own."""

    def __init__(self, body: bytes) -> None:
        _Parser.__init__(self, body)
        Composer.__init__(self)
        self._values = 0
        self._levels = 0

    def compose_node(self, parent: Any, index: Any) -> Any:
        if self.check_event(yaml.AliasEvent):
            raise BadRequest("the body is YAML with aliases, which are not accepted: write the values out")
        self._values += 1
        self._levels += 1
        if self._values > MOST_VALUES:
            raise TooLarge(f"the body is YAML of more than {MOST_VALUES} values: send it as JSON")
        if self._levels > MOST_LEVELS:
            raise BadRequest(f"the body nests deeper than {MOST_LEVELS} levels")
        node = super().compose_node(parent, index)
        self._levels -= 1
        return node

    def resolve(self, kind: Any, value: Any, implicit: Any) -> Any:
        tag = super().resolve(kind, value, implicit)
        # YAML 1.1 reads 1:30 as 90, Kubernetes as text. A number of a megabyte is no number to anybody.
        if tag in _NUMBERS and implicit[0] and not _is_number(tag, value):
            return "tag:yaml.org,2002:str"
        return tag

    def construct_number(self, node: Any) -> Any:
        """A number that has its tag written out, such as `!!float 3`, is read as strictly."""
        text = self.construct_scalar(node)
        if _is_number(_INT_TAG, text):
            number = self.construct_yaml_int(node)
            return number if node.tag == _INT_TAG else float(number)
        if node.tag == _INT_TAG or not _is_number(node.tag, text):
            raise ValueError(f"{text[:50]!r} is no number")
        return self.construct_yaml_float(node)


def _is_number(tag: str, text: str) -> bool:
    return len(text) <= _LONGEST_NUMBER and _NUMBERS[tag].fullmatch(text) is not None


for _tag in _NUMBERS:
    _Loader.add_constructor(_tag, _Loader.construct_number)
_Loader.yaml_implicit_resolvers = {
    first: [(tag, pattern) for tag, pattern in resolvers if tag != "tag:yaml.org,2002:timestamp"]
    for first, resolvers in yaml.SafeLoader.yaml_implicit_resolvers.items()
}


def read_yaml(body: bytes) -> Any:
    """Raises `BadRequest`, and `TooLarge` for a body of too many values."""
    try:
        # `kubectl apply --server-side` sends JSON under apply-patch+yaml.
        if body.lstrip()[:1] in (b"{", b"["):
            check_density(body)
            return msgspec.json.decode(body)
        # The way through JSON turns numbers used as keys into text, and refuses keys that JSON cannot have.
        return msgspec.json.decode(msgspec.json.encode(_Loader(body).get_single_data()))
    except RecursionError:
        raise BadRequest("the body nests too deeply") from None
    # The constructors of PyYAML fail in many ways on a value that has another type's tag, such as `!!bool x`.
    except (yaml.YAMLError, msgspec.MsgspecError, ValueError, TypeError, LookupError, AttributeError) as error:
        raise BadRequest(f"the body is not YAML: {' '.join(str(error).split()):.1000}") from None
