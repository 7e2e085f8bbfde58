"""The functions that Kubernetes adds to CEL, in Python: of lists, sets, patterns, quantities, URLs, addresses. Pure.

A value of a type of Kubernetes (a quantity, an address) is a map with one key, the name of the type, so two of them are
equal where Kubernetes says so. Rule: what is not surely as in Kubernetes raises `NotEvaluated`; a `ValueError` is an
error that the same rule has there. Not here, as the library has no way to say them: `indexOf` of lists (it has that of
texts), `format.*().validate` (which gives an optional), semver, macros with two variables.
Source: apiserver, pkg/cel/library.
"""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise
from typing import Any
from urllib.parse import parse_qs, urlsplit

from paddock.kube.quantities import read_quantity

NOT_EVALUATED = "not evaluated: "
_QUANTITY, _URL, _IP, _CIDR = "quantity", "url", "ip", "cidr"
_MOST_DISTINCT = 1_000
_MOST_PATTERN = 10_000


class NotEvaluated(ValueError):
    """What Kubernetes would say of it is not known here."""

    def __init__(self, why: str) -> None:
        super().__init__(NOT_EVALUATED + why)


@dataclass(frozen=True, slots=True)
class Function:
    """One overload: types are names of CEL's (`string`, `list`, `map`, `int`, `bool`, `double`, `dyn`)."""

    name: str
    parameters: tuple[str, ...]
    result: str
    call: Callable[..., Any]
    member: bool = False


def _need(value: Any, key: str) -> Any:
    if not isinstance(value, Mapping) or set(value) != {key}:
        raise NotEvaluated(f"a function of {key} was called with another value")
    return value[key]


# Lists.


def _is_sorted(values: Sequence[Any]) -> bool:
    _need_alike(values)
    return all(one <= other for one, other in pairwise(values))


def _need_alike(values: Sequence[Any]) -> None:
    kinds = {float if isinstance(one, int) and not isinstance(one, bool) else type(one) for one in values}
    if len(kinds) > 1 or any(isinstance(one, dict | list) or one is None for one in values):
        raise NotEvaluated("items of several types cannot be compared")


def _sum(values: Sequence[Any]) -> Any:
    if not all(isinstance(one, int | float) and not isinstance(one, bool) for one in values):
        raise NotEvaluated("only numbers are summed here")
    return sum(values)


def _least(values: Sequence[Any]) -> Any:
    _need_alike(values)
    if not values:
        raise ValueError("min called on empty list")
    return min(values)


def _greatest(values: Sequence[Any]) -> Any:
    _need_alike(values)
    if not values:
        raise ValueError("max called on empty list")
    return max(values)


def _slice(values: Sequence[Any], start: int, end: int) -> list[Any]:
    if start < 0 or end < 0 or start > end or end > len(values):
        raise ValueError(f"cannot slice({start}, {end}), list is length {len(values)}")
    return list(values[start:end])


def _sort(values: Sequence[Any]) -> list[Any]:
    _need_alike(values)
    return sorted(values)


def _distinct(values: Sequence[Any]) -> list[Any]:
    if len(values) > _MOST_DISTINCT:
        raise NotEvaluated("a long list")
    found: list[Any] = []
    for one in values:
        if one not in found:
            found.append(one)
    return found


def _flatten(values: Sequence[Any], depth: int = 1) -> list[Any]:
    if depth < 0:
        raise ValueError("level must be non-negative")
    found: list[Any] = []
    for one in values:
        found += _flatten(one, depth - 1) if isinstance(one, list) and depth else [one]
    return found


def _is_subset(values: Sequence[Any], wanted: Sequence[Any]) -> bool:
    return all(one in values for one in wanted)


# Patterns: RE2's leftmost-first match is that of `re`, for what both can say.


def _pattern(text: str) -> re.Pattern[str]:
    if len(text) > _MOST_PATTERN or re.search(r"\\[CpPQEZzAxuUN]|\(\?[^:P]|\[\[:|\\[1-9]", text):
        raise NotEvaluated("a pattern with a part that RE2 reads otherwise")
    try:
        return re.compile(text, re.ASCII)
    except (re.error, RecursionError) as error:
        raise NotEvaluated(f"the pattern cannot be read ({error})") from None


def _find(text: str, pattern: str) -> str:
    _need_one_line(text, pattern)
    found = _pattern(pattern).search(text)
    return found[0] if found else ""


def _find_all(text: str, pattern: str, most: int = -1) -> list[str]:
    _need_one_line(text, pattern)
    found = (one[0] for one in _pattern(pattern).finditer(text))
    return list(found) if most < 0 else [one for _, one in zip(range(most), found, strict=False)]


def _need_one_line(text: str, pattern: str) -> None:
    # `$` of Python also stands before the last line break.
    if "$" in pattern and text.endswith("\n"):
        raise NotEvaluated("a pattern with $, of a text that ends with a line break")


# Quantities.


def _quantity(text: str) -> dict[str, str]:
    if not _is_quantity(text):
        raise ValueError(f"quantities must match the regular expression of Kubernetes: {text!r:.100}")
    return {_QUANTITY: str(read_quantity(text))}


def _is_quantity(text: str) -> bool:
    try:
        read_quantity(text)
    except ValueError:
        return False
    return text == text.strip()


def _amount(value: Any) -> Fraction:
    return Fraction(_need(value, _QUANTITY))


def _as_integer(value: Any) -> int:
    amount = _amount(value)
    if amount.denominator != 1 or abs(amount) >= 2**63:
        raise ValueError("cannot convert value to integer")
    return amount.numerator


def _compare(one: Any, other: Any) -> int:
    return (_amount(one) > _amount(other)) - (_amount(one) < _amount(other))


def _add(one: Any, other: Any) -> dict[str, str]:
    return {_QUANTITY: str(_amount(one) + (Fraction(other) if isinstance(other, int) else _amount(other)))}


def _subtract(one: Any, other: Any) -> dict[str, str]:
    return {_QUANTITY: str(_amount(one) - (Fraction(other) if isinstance(other, int) else _amount(other)))}


def _sign(value: Any) -> int:
    return (_amount(value) > 0) - (_amount(value) < 0)


# URLs, as Go's ParseRequestURI takes them: absolute, or an absolute path.


def _read_url(text: str) -> Any:
    if re.search(r"[\x00-\x1f\x7f]", text):
        raise ValueError(f"URL parse error during conversion from string: {text!r:.100}")
    if re.search(r"%(?![0-9a-fA-F]{2})|[ <>\"{}|\\^`#]|[^\x00-\x7f]", text):
        raise NotEvaluated("a URL with signs that parsers read differently")
    try:
        read = urlsplit(text)
        _ = read.port
    except ValueError:
        raise ValueError(f"URL parse error during conversion from string: {text!r:.100}") from None
    if not (text.startswith("/") or (read.scheme and (read.netloc or text[len(read.scheme) + 1 :].startswith("/")))):
        if read.scheme and read.path:
            raise NotEvaluated("an opaque URL")
        raise ValueError(f"URL parse error during conversion from string: invalid URI for request: {text!r:.100}")
    return read


def _url(text: str) -> dict[str, str]:
    _read_url(text)
    return {_URL: text}


def _is_url(text: str) -> bool:
    try:
        _read_url(text)
    except NotEvaluated:
        raise
    except ValueError:
        return False
    return True


def _of_url(part: Callable[[Any], Any]) -> Callable[[Any], Any]:
    return lambda value: part(_read_url(_need(value, _URL)))


def _host(read: Any) -> str:
    return str(read.netloc.rpartition("@")[2])


def _hostname(read: Any) -> str:
    host = _host(read)
    return host[1:].partition("]")[0] if host.startswith("[") else host.partition(":")[0]


def _port(read: Any) -> str:
    return "" if read.port is None else str(read.port)


# Addresses.


def _read_ip(text: str) -> Any:
    try:
        read = ipaddress.ip_address(text)
    except ValueError:
        raise ValueError(f"IP Address {text!r:.100} parse error during conversion from string") from None
    if "%" in text or (isinstance(read, ipaddress.IPv6Address) and read.ipv4_mapped):
        raise ValueError("IPv4-mapped IPv6 addresses and addresses with a zone are not allowed")
    return read


def _is_ip(text: str) -> bool:
    try:
        _read_ip(text)
    except ValueError:
        return False
    return True


def _read_cidr(text: str) -> Any:
    address, slash, length = text.partition("/")
    if not slash or not re.fullmatch(r"0|[1-9][0-9]{0,2}", length):
        raise ValueError(f"network address parse error during conversion from string: {text!r:.100}")
    _read_ip(address)
    try:
        return ipaddress.ip_interface(text)
    except ValueError:
        raise ValueError(f"network address parse error during conversion from string: {text!r:.100}") from None


def _is_cidr(text: str) -> bool:
    try:
        _read_cidr(text)
    except ValueError:
        return False
    return True


def _ip_of(value: Any) -> Any:
    return _read_ip(value if isinstance(value, str) else _need(value, _IP))


def _cidr_of(value: Any) -> Any:
    return _read_cidr(value if isinstance(value, str) else _need(value, _CIDR))


def _contains_ip(value: Any, address: Any) -> bool:
    found, network = _ip_of(address), _cidr_of(value).network
    return found.version == network.version and found in network


def _contains_cidr(value: Any, other: Any) -> bool:
    inner, outer = _cidr_of(other).network, _cidr_of(value).network
    return bool(inner.version == outer.version and inner.subnet_of(outer))


def _is_global_unicast(value: Any) -> bool:
    read = _ip_of(value)
    broadcast = read == ipaddress.ip_address("255.255.255.255")
    return not (broadcast or read.is_unspecified or read.is_loopback or read.is_multicast or read.is_link_local)


def _is_link_local_multicast(value: Any) -> bool:
    read = _ip_of(value)
    return read in ipaddress.ip_network("224.0.0.0/24" if read.version == 4 else "ff02::/16")


def _members(name: str, call: Callable[..., Any], result: str, *parameters: str) -> Function:
    return Function(name, parameters, result, call, member=True)


FUNCTIONS: tuple[Function, ...] = (
    _members("isSorted", _is_sorted, "bool", "list"),
    _members("sum", _sum, "dyn", "list"),
    _members("min", _least, "dyn", "list"),
    _members("max", _greatest, "dyn", "list"),
    _members("slice", _slice, "list", "list", "int", "int"),
    _members("sort", _sort, "list", "list"),
    _members("distinct", _distinct, "list", "list"),
    _members("flatten", _flatten, "list", "list"),
    _members("flatten", _flatten, "list", "list", "int"),
    Function("sets.contains", ("list", "list"), "bool", _is_subset),
    Function("sets.equivalent", ("list", "list"), "bool", lambda a, b: _is_subset(a, b) and _is_subset(b, a)),
    Function("sets.intersects", ("list", "list"), "bool", lambda a, b: any(one in a for one in b)),
    _members("find", _find, "string", "string", "string"),
    _members("findAll", _find_all, "list", "string", "string"),
    _members("findAll", _find_all, "list", "string", "string", "int"),
    Function("quantity", ("string",), "map", _quantity),
    Function("isQuantity", ("string",), "bool", _is_quantity),
    _members("sign", _sign, "int", "map"),
    _members("isInteger", lambda value: _amount(value).denominator == 1, "bool", "map"),
    _members("asInteger", _as_integer, "int", "map"),
    _members("asApproximateFloat", lambda value: float(_amount(value)), "double", "map"),
    _members("add", _add, "map", "map", "map"),
    _members("add", _add, "map", "map", "int"),
    _members("sub", _subtract, "map", "map", "map"),
    _members("sub", _subtract, "map", "map", "int"),
    _members("isGreaterThan", lambda a, b: _compare(a, b) > 0, "bool", "map", "map"),
    _members("isLessThan", lambda a, b: _compare(a, b) < 0, "bool", "map", "map"),
    _members("compareTo", _compare, "int", "map", "map"),
    Function("url", ("string",), "map", _url),
    Function("isURL", ("string",), "bool", _is_url),
    _members("getScheme", _of_url(lambda read: read.scheme), "string", "map"),
    _members("getHost", _of_url(_host), "string", "map"),
    _members("getHostname", _of_url(_hostname), "string", "map"),
    _members("getPort", _of_url(_port), "string", "map"),
    _members("getEscapedPath", _of_url(lambda read: read.path), "string", "map"),
    _members("getQuery", _of_url(lambda read: parse_qs(read.query, keep_blank_values=True)), "map", "map"),
    Function("ip", ("string",), "map", lambda text: {_IP: str(_read_ip(text))}),
    Function("isIP", ("string",), "bool", _is_ip),
    Function("ip.isCanonical", ("string",), "bool", lambda text: str(_read_ip(text)) == text),
    _members("family", lambda value: _ip_of(value).version, "int", "map"),
    _members("isUnspecified", lambda value: _ip_of(value).is_unspecified, "bool", "map"),
    _members("isLoopback", lambda value: _ip_of(value).is_loopback, "bool", "map"),
    _members("isLinkLocalUnicast", lambda value: _ip_of(value).is_link_local, "bool", "map"),
    _members("isLinkLocalMulticast", _is_link_local_multicast, "bool", "map"),
    _members("isGlobalUnicast", _is_global_unicast, "bool", "map"),
    Function("cidr", ("string",), "map", lambda text: {_CIDR: str(_read_cidr(text))}),
    Function("isCIDR", ("string",), "bool", _is_cidr),
    _members("containsIP", _contains_ip, "bool", "map", "string"),
    _members("containsIP", _contains_ip, "bool", "map", "map"),
    _members("containsCIDR", _contains_cidr, "bool", "map", "string"),
    _members("containsCIDR", _contains_cidr, "bool", "map", "map"),
    _members("ip", lambda value: {_IP: str(_cidr_of(value).ip)}, "map", "map"),
    _members("masked", lambda value: {_CIDR: str(_cidr_of(value).network)}, "map", "map"),
    _members("prefixLength", lambda value: _cidr_of(value).network.prefixlen, "int", "map"),
)
