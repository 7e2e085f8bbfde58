"""Scalars of YAML -> values, as kubectl reads them.

kubectl reads YAML 1.1 as Go's yaml.v2 does: plain `on`, `y` and `No` are booleans, `017` is 15, `08` is 8, `1e3` is
1000, and `1:30`, dates and `=` stay text. PyYAML's resolvers differ, so scalars are converted by the table below, which
was measured with kubectl.
"""

from __future__ import annotations

import base64
import binascii
import math
import re
from typing import Any

TAG = "tag:yaml.org,2002:"
PLAIN = "plain"
"""The tag of a scalar without quotes and without a tag of its own."""
_TRUE = frozenset(["y", "Y", "yes", "Yes", "YES", "on", "On", "ON", "true", "True", "TRUE"])
_FALSE = frozenset(["n", "N", "no", "No", "NO", "off", "Off", "OFF", "false", "False", "FALSE"])
NULL = frozenset(("", "~", "null", "Null", "NULL"))
_INFINITE = re.compile(r"[-+]?\.(inf|Inf|INF)|\.(nan|NaN|NAN)")
_FLOAT = re.compile(r"[-+]?(\.\d+|\d+(\.\d*)?)([eE][-+]?\d+)?", re.ASCII)
_INTEGERS = (
    (re.compile(r"([-+]?)0[bB]([01]+)"), 2),
    (re.compile(r"([-+]?)0[xX]([0-9a-fA-F]+)"), 16),
    (re.compile(r"([-+]?)0[oO]?([0-7]+)"), 8),
    (re.compile(r"([-+]?)(0|[1-9][0-9]*)"), 10),
)


def read_scalar(text: str) -> Any:
    """kubectl's value of an unquoted scalar: None, bool, int, float or the text itself. 1.0 and 1e3 are integers, as
    kubectl converts numbers to JSON in Go."""
    if text in NULL:
        return None
    if text in _TRUE or text in _FALSE:
        return text in _TRUE
    if _INFINITE.fullmatch(text):
        return math.nan if "n" in text[-1].lower() else math.copysign(math.inf, -1 if text[0] == "-" else 1)
    if text[0] not in "+-.0123456789":
        return text
    return _read_number(text)


def _read_number(text: str) -> Any:
    plain = text.replace("_", "")
    for form, radix in _INTEGERS:
        if (match := form.fullmatch(plain)) and len(plain) < 70:
            return _as_json(int(match[1] + match[2], radix))
    if _FLOAT.fullmatch(plain):
        number = float(plain)
        return text if math.isinf(number) else _as_json(number)
    return text


def _as_json(number: int | float) -> int | float:
    """Whole numbers of 64 bits as integers, all others as floats."""
    whole = isinstance(number, int) or number.is_integer()
    return int(number) if whole and -(2**63) <= number < 2**63 else float(number)


NOT_OF_TAG = object()


def read_tagged(tag: str, text: str) -> Any:
    """The value of a tagged scalar (`!!int "5"`); an unknown tag means text, as with kubectl."""
    if tag == PLAIN:
        return read_scalar(text)
    name = tag.removeprefix(TAG)
    if name == "binary":
        try:
            return base64.b64decode(text).decode()
        except (binascii.Error, ValueError):
            return NOT_OF_TAG
    wanted = {"int": int, "float": float, "bool": bool, "null": type(None)}.get(name)
    if wanted is None:
        return text
    value = read_scalar(text)
    if wanted is float and type(value) is int:
        return value
    return value if type(value) is wanted else NOT_OF_TAG
