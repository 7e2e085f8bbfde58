"""The rules of names, labels and annotation keys: allowed characters and lengths.

Source: apimachinery, util/validation (RFC 1123, RFC 1035, qualified names).
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

from paddock.kube.validation.field_errors import Code, FieldError, Path

_LABEL = r"[a-z0-9]([-a-z0-9]*[a-z0-9])?"
_QUALIFIED = r"([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]"


@dataclass(frozen=True, slots=True)
class NameRule:
    """A rule of names."""

    code: Code  # the error of a name that does not match
    pattern: str  # that a name matches
    longest: int

    def matches(self, name: str) -> bool:
        """Whether the name matches the pattern; its length does not count."""
        return re.fullmatch(self.pattern, name) is not None

    def allows(self, name: str) -> bool:
        return len(name) <= self.longest and self.matches(name)

    def check(self, name: str, path: Path = (), **args: Any) -> Iterator[FieldError]:
        # The length first, so that no pattern runs over a name of a megabyte.
        if len(name) > self.longest:
            yield FieldError(Code.NAME_TOO_LONG, path, name, {"most": self.longest, **args})
        elif not self.matches(name):
            yield FieldError(self.code, path, name, args)


DNS_LABEL = NameRule(Code.INVALID_DNS_LABEL, _LABEL, 63)
"""An RFC 1123 label: names of containers, volumes, namespaces, hosts (IsDNS1123Label)."""
DNS_SUBDOMAIN = NameRule(Code.INVALID_DNS_SUBDOMAIN, rf"{_LABEL}(\.{_LABEL})*", 253)
"""An RFC 1123 subdomain: names of pods and most objects (IsDNS1123Subdomain)."""
DNS1035_LABEL = NameRule(Code.INVALID_DNS1035_LABEL, r"[a-z]([-a-z0-9]*[a-z0-9])?", 63)
"""An RFC 1035 label: names of Services (IsDNS1035Label)."""
LABEL_VALUE = NameRule(Code.INVALID_LABEL_VALUE, rf"({_QUALIFIED})?", 63)
"""IsValidLabelValue."""
ENV_NAME_CHARACTERS = NameRule(Code.INVALID_ENV_NAME, r"[-._a-zA-Z][-._a-zA-Z0-9]*", 32_768)
"""The characters of IsEnvVarName; `check_env_name` has the whole rule. The limit of the length is
ours: Kubernetes has none, but an environment is limited."""
CONFIG_KEY_CHARACTERS = NameRule(Code.INVALID_CONFIG_KEY, r"[-._a-zA-Z0-9]+", 253)
"""The characters of a ConfigMap's key; `check_config_key` has the whole rule."""
QUALIFIED_PART = NameRule(Code.INVALID_LABEL_KEY, _QUALIFIED, 63)
"""The part of a qualified name after the slash, or the whole name."""

RULES: Mapping[Code, NameRule] = {
    rule.code: rule
    for rule in (
        DNS_LABEL,
        DNS_SUBDOMAIN,
        DNS1035_LABEL,
        LABEL_VALUE,
        ENV_NAME_CHARACTERS,
        CONFIG_KEY_CHARACTERS,
        QUALIFIED_PART,
    )
}


def check_env_name(name: str, path: Path = ()) -> Iterator[FieldError]:
    """The name of an environment variable (IsEnvVarName)."""
    yield from ENV_NAME_CHARACTERS.check(name, path)
    if name in (".", ".."):
        yield FieldError(Code.RESERVED_CONFIG_KEY, path, name)
    elif name.startswith(".."):
        yield FieldError(Code.RESERVED_PREFIX, path, name)


def check_config_key(key: str, path: Path = ()) -> Iterator[FieldError]:
    """A key of a ConfigMap or Secret, which can become a file name (IsConfigMapKey)."""
    if key in (".", ".."):
        yield FieldError(Code.RESERVED_CONFIG_KEY, path, key)
        return
    yield from CONFIG_KEY_CHARACTERS.check(key, path)
    if key.startswith(".."):
        yield FieldError(Code.RESERVED_PREFIX, path, key)


def check_path_segment(name: str, path: Path = ()) -> Iterator[FieldError]:
    """The name of an RBAC object: any single segment of a URL path (IsValidPathSegmentName)."""
    if name in (".", ".."):
        yield FieldError(Code.RESERVED_PATH_SEGMENT, path, name)
        return
    for sign in "/%":
        if sign in name:
            yield FieldError(Code.INVALID_PATH_SEGMENT, path, name, {"sign": sign})


def check_qualified_name(name: str, path: Path = (), **args: Any) -> Iterator[FieldError]:
    """A key of labels and annotations: `name` or `prefix/name` (IsQualifiedName)."""
    prefix, slash, rest = name.rpartition("/")
    if slash and not prefix:
        yield FieldError(Code.EMPTY_PREFIX, path, name, args)
    elif slash:
        for error in DNS_SUBDOMAIN.check(prefix, path, part="prefix", **args):
            yield replace(error, value=name)
    for error in QUALIFIED_PART.check(rest, path, **args):
        yield replace(error, value=name)


def check_labels(labels: Mapping[str, Any], path: Path) -> Iterator[FieldError]:
    """Labels or a node selector. `args` of each error: `key`, the label's key; `of`, whether key or value is wrong."""
    for key, value in labels.items():
        yield from check_qualified_name(key, path, key=key, of="key")
        if isinstance(value, str):
            yield from LABEL_VALUE.check(value, path, key=key, of="value")
