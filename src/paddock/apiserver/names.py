"""Names, labels and annotations: what Kubernetes allows, in its own sentences.

Source: apimachinery, util/validation (RFC 1123, RFC 1035, qualified names). Every function returns the sentences that
an invalid value deserves, none for a valid one.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

from paddock.apiserver import field_errors
from paddock.kube.errors import FieldCause

Explain = Callable[[str], list[str]]

_LABEL = r"[a-z0-9]([-a-z0-9]*[a-z0-9])?"
_SUBDOMAIN = rf"{_LABEL}(\.{_LABEL})*"
_DNS1035 = r"[a-z]([-a-z0-9]*[a-z0-9])?"
_QUALIFIED = r"([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]"
_LABEL_VALUE = rf"({_QUALIFIED})?"
_ENVIRONMENT = r"[-._a-zA-Z][-._a-zA-Z0-9]*"
_CONFIG_KEY = r"[-._a-zA-Z0-9]+"
_ANNOTATIONS_LIMIT = 256 * 1024


def _rule(pattern: str, limit: int, sentence: str, *examples: str) -> Explain:
    compiled = re.compile(pattern)
    shown = " or ".join(f"'{example}', " for example in examples).replace(",  or", ",  or")
    full = f"{sentence} (e.g. {shown}regex used for validation is '{pattern}')"

    def explain(value: str) -> list[str]:
        # The length is looked at first, so that no pattern runs over a name of a megabyte.
        if len(value) > limit:
            return [f"must be no more than {limit} characters"]
        return [] if compiled.fullmatch(value) else [full]

    return explain


explain_label = _rule(
    _LABEL, 63,
    "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', "
    "and must start and end with an alphanumeric character",
    "my-name", "123-abc",
)  # fmt: skip
explain_subdomain = _rule(
    _SUBDOMAIN, 253,
    "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', "
    "and must start and end with an alphanumeric character",
    "example.com",
)  # fmt: skip
explain_dns1035 = _rule(
    _DNS1035, 63,
    "a DNS-1035 label must consist of lower case alphanumeric characters or '-', start with an alphabetic character, "
    "and end with an alphanumeric character",
    "my-name", "abc-123",
)  # fmt: skip
explain_label_value = _rule(
    _LABEL_VALUE, 63,
    "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', "
    "and must start and end with an alphanumeric character",
    "MyValue", "my_value", "12345",
)  # fmt: skip
explain_environment_name = _rule(
    _ENVIRONMENT, 32_768,
    "a valid environment variable name must consist of alphabetic characters, digits, '_', '-', or '.', "
    "and must not start with a digit",
    "my.env-name", "MY_ENV.NAME", "MyEnvName1",
)  # fmt: skip
_explain_config_letters = _rule(
    _CONFIG_KEY, 253,
    "a valid config key must consist of alphanumeric characters, '-', '_' or '.'",
    "key.name", "KEY_NAME", "key-name",
)  # fmt: skip
_explain_qualified_part = _rule(
    _QUALIFIED, 63,
    "name part must consist of alphanumeric characters, '-', '_' or '.', "
    "and must start and end with an alphanumeric character",
    "MyName", "my.name", "123-abc",
)  # fmt: skip


def explain_config_key(key: str) -> list[str]:
    """A key of a ConfigMap or Secret, which is a file's name too (IsConfigMapKey)."""
    if key in (".", ".."):
        return [f"must not be '{key}'"]
    return [*_explain_config_letters(key), *(["must not start with '..'"] if key.startswith("..") else [])]


def explain_path_segment(name: str) -> list[str]:
    """RBAC's objects: anything that is one segment of a path."""
    if name in (".", ".."):
        return [f"may not be '{name}'"]
    return [f"may not contain '{sign}'" for sign in "/%" if sign in name]


def explain_qualified_name(name: str) -> list[str]:
    """A key of labels and annotations: `name` or `prefix/name`."""
    prefix, slash, rest = name.rpartition("/")
    sentences = []
    if slash and not prefix:
        sentences.append("prefix part must be non-empty")
    elif slash:
        sentences += [f"prefix part {sentence}" for sentence in explain_subdomain(prefix)]
    return sentences + _explain_qualified_part(rest)


_RBAC = "rbac.authorization.k8s.io"
_NAME_RULES: Mapping[tuple[str, str], Explain] = {
    ("", "Namespace"): explain_label,
    ("", "Service"): explain_dns1035,
    **{(_RBAC, kind): explain_path_segment for kind in ("Role", "RoleBinding", "ClusterRole", "ClusterRoleBinding")},
}


def check_metadata(group: str, kind: str, namespaced: bool, metadata: Mapping[str, Any]) -> Iterator[FieldCause]:
    """Everything wrong with an object's name, namespace, labels, annotations, finalizers and owners.

    The types of `metadata` were checked before. A name may be missing only beside a generateName.
    """
    explain = _NAME_RULES.get((group, kind), explain_subdomain)
    name, prefix = metadata.get("name") or "", metadata.get("generateName") or ""
    if not name and not prefix:
        yield field_errors.required("metadata.name", "name or generateName is required")
    if name:
        yield from _causes("metadata.name", name, explain(name))
    if prefix:
        # The server adds five letters: a trailing dash or dot is no fault of a prefix.
        yield from _causes("metadata.generateName", prefix, explain(prefix.rstrip("-.") or prefix))
    if namespaced and (namespace := metadata.get("namespace")):
        yield from _causes("metadata.namespace", namespace, explain_label(namespace))
    yield from check_labels(metadata.get("labels") or {}, "metadata.labels")
    yield from _check_annotations(metadata.get("annotations") or {})
    for index, finalizer in enumerate(metadata.get("finalizers") or ()):
        yield from _causes(f"metadata.finalizers[{index}]", finalizer, explain_qualified_name(finalizer))
    for index, owner in enumerate(metadata.get("ownerReferences") or ()):
        for field in ("apiVersion", "kind", "name", "uid"):
            if not owner.get(field):
                path = f"metadata.ownerReferences[{index}].{field}"
                yield field_errors.invalid(path, owner.get(field, ""), f"{field} must not be empty")


def check_labels(labels: Mapping[str, str], path: str) -> Iterator[FieldCause]:
    for key, value in labels.items():
        yield from _causes(path, key, explain_qualified_name(key))
        yield from _causes(path, value, explain_label_value(value))


def _check_annotations(annotations: Mapping[str, str]) -> Iterator[FieldCause]:
    for key in annotations:
        # Annotation keys may have capitals in their prefix; Kubernetes compares them in lower case.
        yield from _causes("metadata.annotations", key, explain_qualified_name(key.lower()))
    if sum(len(key) + len(value) for key, value in annotations.items()) > _ANNOTATIONS_LIMIT:
        yield field_errors.too_long("metadata.annotations", _ANNOTATIONS_LIMIT)


def _causes(path: str, value: str, sentences: Iterable[str]) -> Iterator[FieldCause]:
    for sentence in sentences:
        yield field_errors.invalid(path, value, sentence)
