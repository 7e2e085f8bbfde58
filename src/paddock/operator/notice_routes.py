"""Who is told of which jobs that end: the routes of the platform, in YAML or JSON. Pure.

    - name: night shift
      namespaces: [team-a, team-b]
      match: {phases: [Failed], labels: {tier: prod}}
      url: https://open.feishu.cn/open-apis/bot/v2/hook/…

An address is a secret, as those of chat programs have their password in the path: no sentence here has one.
"""

from __future__ import annotations

import ipaddress
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlsplit

import yaml
from yaml.composer import Composer

from paddock.jobs.ended import End
from paddock.words.phrases import Phrase, phrase

PHASES = ("Completed", "Failed", "Cancelled")
MOST_ROUTES = 200
LARGEST = 256 << 10
"""Characters of the routes."""
_FIELDS, _MATCHED = frozenset({"name", "namespace", "namespaces", "match", "url"}), frozenset({"labels", "phases"})


# Not every build of PyYAML has libyaml's parser; the one in Python takes seconds for the largest text.
_Parser: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
_BASES: Any = (_Parser,) if issubclass(_Parser, Composer) else (Composer, _Parser)


class _Loader(*_BASES):  # type: ignore[misc]
    """Composes in Python: libyaml's own composer is recursion in C, which a deep text would end with the process."""

    def __init__(self, text: str) -> None:
        _Parser.__init__(self, text)
        Composer.__init__(self)


class WrongRoutes(Exception):
    """The routes cannot be used; `said` says which and why."""

    def __init__(self, said: Phrase) -> None:
        super().__init__(str(said))
        self.said = said


@dataclass(frozen=True, slots=True)
class Route:
    """One receiver."""

    name: str
    url: str = field(repr=False)
    namespaces: frozenset[str] = frozenset()
    """Empty for all."""
    labels: Mapping[str, str] = field(default_factory=dict)
    """Which a job must have, all of them."""
    phases: frozenset[str] = frozenset()
    """Empty for all."""

    @property
    def host(self) -> str:
        """With the port, if it has one."""
        return urlsplit(self.url).netloc.rpartition("@")[2]

    def takes(self, end: End, labels: Mapping[str, str]) -> bool:
        return (
            (not self.namespaces or end.namespace in self.namespaces)
            and (not self.phases or end.phase in self.phases)
            and all(labels.get(name) == value for name, value in self.labels.items())
        )


def read_routes(text: str) -> tuple[Route, ...]:
    """Raises `WrongRoutes`: of routes of which one is wrong, none counts."""
    if len(text) > LARGEST:
        raise WrongRoutes(phrase("the routes of notices have more than {most} characters", most=LARGEST))
    try:
        found = yaml.load(text, Loader=_Loader)  # noqa: S506 - a safe one
    # The error quotes the text, which has secrets. Constructors fail in many ways, as on `!!bool x`.
    except (yaml.YAMLError, ValueError, TypeError, LookupError, AttributeError, RecursionError):
        raise WrongRoutes(phrase("the routes of notices are no YAML and no JSON")) from None
    if found is None:
        return ()
    if not isinstance(found, list) or len(found) > MOST_ROUTES:
        raise WrongRoutes(phrase("the routes of notices: a list of at most {most} is wanted", most=MOST_ROUTES))
    return tuple(_read_route(each, number) for number, each in enumerate(found, 1))


def _read_route(raw: Any, number: int) -> Route:
    if not isinstance(raw, dict):
        raise WrongRoutes(phrase("route {number} of notices: fields are wanted, such as url", number=number))
    _check_fields(raw, _FIELDS, number)
    match = raw.get("match")
    if match is not None and not isinstance(match, dict):
        raise WrongRoutes(phrase("route {number} of notices: match has labels and phases", number=number))
    _check_fields(match or {}, _MATCHED, number)
    phases = _read_names(match or {}, "phases", number)
    if wrong := sorted(phases - set(PHASES)):
        raise WrongRoutes(
            phrase("route {number} of notices: found the phase {found}; {allowed} are allowed", number=number,
                   found=repr(wrong[0][:60]), allowed=", ".join(PHASES))
        )  # fmt: skip
    namespaces = _read_names(raw, "namespaces", number) | _read_names(raw, "namespace", number)
    labels = (match or {}).get("labels") or {}
    if not isinstance(labels, dict) or not all(isinstance(each, str) for pair in labels.items() for each in pair):
        raise WrongRoutes(phrase("route {number} of notices: labels are texts: put each in quotes", number=number))
    name = raw.get("name")
    shown = str(name)[:80] if name else f"route {number}"
    return Route(shown, _read_url(raw.get("url"), number), namespaces, labels, phases)


def _check_fields(raw: Mapping[Any, Any], known: frozenset[str], number: int) -> None:
    if wrong := [each for each in raw if each not in known]:
        raise WrongRoutes(
            phrase("route {number} of notices: found the field {found}; {allowed} are allowed", number=number,
                   found=repr(str(wrong[0])[:20]), allowed=", ".join(sorted(known)))
        )  # fmt: skip


def _read_names(raw: Mapping[str, Any], name: str, number: int) -> frozenset[str]:
    found = raw.get(name)
    listed = [] if found is None else found if isinstance(found, list) else [found]
    if not all(isinstance(each, str) and each for each in listed) or (found is not None and not listed):
        # An empty list would be everything, and is more likely nothing.
        raise WrongRoutes(phrase("route {number} of notices: {name} has names, or is left out for all", number=number,
                                 name=name))  # fmt: skip
    return frozenset(listed)


def _read_url(url: Any, number: int) -> str:
    try:
        parts = urlsplit(url) if isinstance(url, str) else urlsplit("")
        usable = bool(parts.hostname) and parts.port != 0 and url.isascii() and not any(map(str.isspace, url))
    except ValueError:
        usable = False
    if not usable or parts.scheme not in ("http", "https"):
        raise WrongRoutes(phrase("route {number} of notices: url is to be a web address with a host", number=number))
    if parts.scheme == "http" and not _is_loopback(parts.hostname or ""):
        raise WrongRoutes(
            phrase("route {number} of notices: http:// is allowed for this machine alone: https:// is wanted",
                   number=number)
        )  # fmt: skip
    return str(url)


def _is_loopback(host: str) -> bool:
    try:
        return host == "localhost" or ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False
