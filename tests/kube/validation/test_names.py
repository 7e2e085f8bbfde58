"""Names, labels and annotations: one row for each rule of Kubernetes, with the code of its error."""

from __future__ import annotations

import pytest

from paddock.kube.validation import names
from paddock.kube.validation.field_errors import Code
from paddock.kube.validation.metadata import check_metadata

ROWS = [
    (names.DNS_LABEL, "paddle-0", "Paddle", "a.b", "-a", "a-", "a_b", ""),
    (names.DNS_SUBDOMAIN, "a.b-c.0", "a..b", ".a", "a.", "A", "a中b"),
    (names.DNS1035_LABEL, "a-0", "0-a", "a-", "a.b"),
    (names.LABEL_VALUE, "My_value.1", "no spaces", "-a", "a.", "a中b"),
    (names.ENV_NAME_CHARACTERS, "MY_ENV.name-1", "1A", "A B", "A="),
    (names.CONFIG_KEY_CHARACTERS, "train.py", "a/b", "a b", ""),
]


@pytest.mark.parametrize(("rule", "good", "bad"), [(rule, good, bad) for rule, good, *bad in ROWS])
def test_a_name_has_the_characters_and_the_length_of_its_rule(rule: names.NameRule, good: str, bad: list[str]) -> None:
    assert rule.allows(good) and list(rule.check(good)) == []
    assert [[error.code for error in rule.check(name)] for name in bad] == [[rule.code]] * len(bad)
    (long,) = rule.check("a" * (rule.longest + 1))
    assert (long.code, long.args) == (Code.NAME_TOO_LONG, {"most": rule.longest})
    assert rule.matches("a" * (rule.longest + 1))


@pytest.mark.parametrize(
    ("name", "codes"),
    [
        ("app", []),
        ("example.com/My_app", []),
        ("/app", [Code.EMPTY_PREFIX]),
        ("a..b/app", [Code.INVALID_DNS_SUBDOMAIN]),
        ("a/b/c d", [Code.INVALID_DNS_SUBDOMAIN, Code.INVALID_LABEL_KEY]),
        ("a/" + "b" * 64, [Code.NAME_TOO_LONG]),
        ("", [Code.INVALID_LABEL_KEY]),
    ],
)
def test_a_qualified_name_has_a_prefix_and_a_name(name: str, codes: list[Code]) -> None:
    assert [error.code for error in names.check_qualified_name(name)] == codes


@pytest.mark.parametrize(
    ("key", "codes"),
    [
        ("train.py", []),
        (".", [Code.RESERVED_CONFIG_KEY]),
        ("..a", [Code.RESERVED_PREFIX]),
        ("../a", [Code.INVALID_CONFIG_KEY, Code.RESERVED_PREFIX]),
    ],
)
def test_a_config_key_is_a_file_name(key: str, codes: list[Code]) -> None:
    assert [error.code for error in names.check_config_key(key)] == codes


@pytest.mark.parametrize(
    ("name", "codes"),
    [
        (".a", []),
        (".", [Code.RESERVED_CONFIG_KEY]),
        ("..", [Code.RESERVED_CONFIG_KEY]),
        ("..a", [Code.RESERVED_PREFIX]),
        ("1", [Code.INVALID_ENV_NAME]),
    ],
)
def test_an_environment_variable_does_not_look_like_a_directory(name: str, codes: list[Code]) -> None:
    assert [error.code for error in names.check_env_name(name)] == codes


def test_label_errors_say_which_half_is_wrong_and_other_types_are_ignored() -> None:
    errors = names.check_labels({"a b": "c d", "ok": 1}, ("metadata", "labels"))
    assert [(error.code, error.value, error.args["key"], error.args["of"]) for error in errors] == [
        (Code.INVALID_LABEL_KEY, "a b", "a b", "key"),
        (Code.INVALID_LABEL_VALUE, "c d", "a b", "value"),
    ]


OWNER = {"apiVersion": "v1", "kind": "X", "name": "x", "uid": "1", "controller": True}


@pytest.mark.parametrize(
    ("group", "kind", "metadata", "found"),
    [
        ("", "Pod", {"name": "a.b"}, []),
        ("", "Pod", {}, [(Code.NAME_REQUIRED, "name")]),
        ("", "Pod", {"generateName": "a-"}, []),
        ("", "Pod", {"generateName": "a--"}, []),
        ("", "Pod", {"generateName": "-"}, [(Code.INVALID_DNS_SUBDOMAIN, "generateName")]),
        ("", "Pod", {"generateName": "a."}, [(Code.INVALID_DNS_SUBDOMAIN, "generateName")]),
        ("", "Pod", {"generateName": "a.---"}, [(Code.INVALID_DNS_SUBDOMAIN, "generateName")]),
        ("rbac.authorization.k8s.io", "Role", {"generateName": "/-"}, [(Code.INVALID_PATH_SEGMENT, "generateName")]),
        ("", "Pod", {"name": "a", "annotations": {"a": "中" * 87_382}}, [(Code.TOO_LONG, "annotations")]),
        ("", "Pod", {"name": "a", "ownerReferences": [OWNER, {**OWNER, "controller": False}, {**OWNER, "name": "y"}]},
         [(Code.SECOND_CONTROLLER, "ownerReferences")]),
        ("", "Namespace", {"name": "a.b"}, [(Code.INVALID_DNS_LABEL, "name")]),
        ("", "Service", {"name": "0a"}, [(Code.INVALID_DNS1035_LABEL, "name")]),
        ("rbac.authorization.k8s.io", "Role", {"name": "a:b/c"}, [(Code.INVALID_PATH_SEGMENT, "name")]),
        ("", "Pod", {"name": "a", "annotations": {"A.b/c": "x" * 2**18}}, [(Code.TOO_LONG, "annotations")]),
        ("", "Pod", {"name": "a", "finalizers": ["/"]}, [(Code.EMPTY_PREFIX, 0), (Code.INVALID_LABEL_KEY, 0)]),
        ("", "Pod", {"name": "a", "ownerReferences": [{"kind": "X", "name": "x", "apiVersion": "v1", "uid": ""}]},
         [(Code.EMPTY_OWNER_FIELD, "uid")]),
    ],
)  # fmt: skip
def test_metadata_is_checked_against_its_rules(
    group: str, kind: str, metadata: dict[str, object], found: object
) -> None:
    assert [(error.code, error.path[-1]) for error in check_metadata(group, kind, True, metadata)] == found
