"""CEL rules as Kubernetes documents them: for each rule an object, and what Kubernetes says of it."""

from __future__ import annotations

from typing import Any

import pytest

pytest.importorskip("cel_expr_python", reason="the extra `cel` is not installed: its library has no wheel here")

from paddock.apiserver.objects.cel_child import Rules, judge_object, read_schema

TEXT, INT, NUMBER = {"type": "string"}, {"type": "integer"}, {"type": "number"}
TEXTS = {"type": "array", "items": TEXT}
INTS = {"type": "array", "items": INT}
SET = TEXTS | {"x-kubernetes-list-type": "set"}
ITEM = {"type": "object", "properties": {"name": TEXT, "value": TEXT, "size": INT}}
BY_NAME = {"x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["name"]}
ITEMS: dict[str, Any] = {"type": "array", "items": ITEM, **BY_NAME}
OPEN = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
PROPERTIES: dict[str, Any] = {
    "least": INT, "most": INT, "replicas": INT, "ratio": NUMBER, "name": TEXT, "health": TEXT,
    "names": TEXTS, "counts": INTS, "tags": SET, "others": SET, "items": ITEMS,
    "list": {"type": "array", "items": ITEM},
    "labels": {"type": "object", "additionalProperties": TEXT},
    "table": {"type": "object", "additionalProperties": ITEM},
    "port": {"x-kubernetes-int-or-string": True}, "maybe": {"type": "string", "nullable": True},
    "created": {"type": "string", "format": "date-time"}, "expired": {"type": "string", "format": "date-time"},
    "day": {"type": "string", "format": "date"}, "ttl": {"type": "string", "format": "duration"},
    "blob": {"type": "string", "format": "byte"}, "on": {"type": "boolean"},
    "namespace": TEXT, "x-prop": INT, "redact__d": INT, "a.b": INT, "a/b": INT, "in": INT,
    "open": OPEN, "sure": OPEN | {"properties": {"size": INT}},
    "object": {"type": "object", "x-kubernetes-embedded-resource": True},
    "inner": {"type": "object", "properties": {"tags": SET, "items": ITEMS, "size": INT}},
    "address": TEXT, "memory": TEXT,
}  # fmt: skip


def ask(rule: str, value: Any, old: Any = None, *, schema: Any = None, **more: Any) -> str:
    """The verdict on a value of the schema above with this rule."""
    whole = (schema or {"type": "object", "properties": PROPERTIES}) | {
        "x-kubernetes-validations": [{"rule": rule, **more}]
    }
    return " ".join(one["verdict"] for one in ask_all(whole, value, old)) or "true"


def ask_all(schema: Any, value: Any, old: Any = None) -> list[dict[str, Any]]:
    lines = judge_object(RULES, read_schema(schema), {"new": value, "old": old})
    return [one for one in lines if "verdict" in one]


RULES = Rules()
NAMED = [{"name": "a", "size": 1}, {"name": "b", "size": 20}]

EXAMPLES: list[tuple[str, Any, str]] = [
    # The table of examples in "validation rules".
    ("self.least <= self.replicas && self.replicas <= self.most", {"least": 1, "replicas": 2, "most": 3}, "true"),
    ("self.least <= self.replicas && self.replicas <= self.most", {"least": 3, "replicas": 2, "most": 3}, "failed"),
    ("'Ready' in self.labels", {"labels": {"Ready": "yes"}}, "true"),
    ("'Ready' in self.labels", {"labels": {"Going": "yes"}}, "failed"),
    ("(self.names.size() == 0) != (self.counts.size() == 0)", {"names": [], "counts": [1]}, "true"),
    ("(self.names.size() == 0) != (self.counts.size() == 0)", {"names": ["a"], "counts": [1]}, "failed"),
    ("!('KEY' in self.labels) || self.labels['KEY'].matches('^[a-z]*$')", {"labels": {}}, "true"),
    ("!('KEY' in self.labels) || self.labels['KEY'].matches('^[a-z]*$')", {"labels": {"KEY": "A1"}}, "failed"),
    ("self.list.filter(e, e.name == 'A').all(e, e.value.matches('^[a-z]+$'))",
     {"list": [{"name": "A", "value": "x"}, {"name": "B", "value": "1"}]}, "true"),
    ("self.list.filter(e, e.name == 'A').all(e, e.value.matches('^[a-z]+$'))",
     {"list": [{"name": "A", "value": "1"}]}, "failed"),
    ("has(self.expired) && self.created + self.ttl < self.expired",
     {"created": "2024-01-01T00:00:00Z", "ttl": "1h", "expired": "2024-01-01T02:00:00Z"}, "true"),
    ("has(self.expired) && self.created + self.ttl < self.expired",
     {"created": "2024-01-01T00:00:00Z", "ttl": "3h", "expired": "2024-01-01T02:00:00Z"}, "failed"),
    ("has(self.expired) && self.created + self.ttl < self.expired", {"created": "2024-01-01T00:00:00Z"}, "failed"),
    ("self.health.startsWith('ok')", {"health": "ok, since noon"}, "true"),
    ("self.health.startsWith('ok')", {"health": "not ok"}, "failed"),
    ("self.items.exists(x, x.name == 'b' && x.size < 10)", {"items": NAMED}, "failed"),
    ("self.items.exists(x, x.name == 'a' && x.size < 10)", {"items": NAMED}, "true"),
    ("type(self.port) == string ? self.port == '99%' : self.port == 42", {"port": "99%"}, "true"),
    ("type(self.port) == string ? self.port == '99%' : self.port == 42", {"port": 42}, "true"),
    ("type(self.port) == string ? self.port == '99%' : self.port == 42", {"port": 43}, "failed"),
    ("self.metadata.name == 'singleton'", {"metadata": {"name": "singleton"}}, "true"),
    ("self.metadata.name == 'singleton'", {"metadata": {"name": "other"}}, "failed"),
    ("self.tags.all(e, !(e in self.others))", {"tags": ["a", "b"], "others": ["c"]}, "true"),
    ("self.tags.all(e, !(e in self.others))", {"tags": ["a", "b"], "others": ["b", "c"]}, "failed"),
    ("size(self.names) == size(self.table) && self.names.all(n, n in self.table)",
     {"names": ["a"], "table": {"a": {"size": 1}}}, "true"),
    ("size(self.names) == size(self.table) && self.names.all(n, n in self.table)",
     {"names": ["b"], "table": {"a": {"size": 1}}}, "failed"),
    ("size(self.items.filter(x, x.name == 'a')) == 1", {"items": NAMED}, "true"),
    ("self.table.all(key, self.table[key].size < 10)", {"table": {"a": {"size": 1}, "b": {"size": 20}}}, "failed"),
    ("self.counts.all(n, n >= 0 && n < 100)", {"counts": [1, 2, 99]}, "true"),
    # What is there: fields that are optional, null, unknown, of metadata.
    ("self.replicas <= self.most", {"replicas": 1}, "error"),
    ("has(self.most) ? self.replicas <= self.most : true", {"replicas": 1}, "true"),
    ("!has(self.maybe)", {"maybe": None}, "true"),
    ("has(self.maybe) && self.maybe == 'x'", {"maybe": "x"}, "true"),
    ("has(self.metadata.labels)", {"metadata": {"name": "a", "labels": {"a": "b"}}}, "failed"),
    ("self.kind == 'Widget' && self.apiVersion == 'example.org/v1'",
     {"kind": "Widget", "apiVersion": "example.org/v1"}, "true"),
    ("self.object.kind == 'Pod' && self.object.metadata.name == 'p' && !has(self.object.metadata.labels)",
     {"object": {"kind": "Pod", "metadata": {"name": "p", "labels": {}}}}, "true"),
    ("has(self.sure.size) && !has(self.sure.more)", {"sure": {"size": 1, "more": 2}}, "true"),
    ("self.?most.orValue(5) >= self.?least.orValue(1)", {}, "true"),
    ("self.labels[?'a'].orValue('') == 'b'", {"labels": {"a": "b"}}, "true"),
    # Names that CEL cannot say.
    ("self.__namespace__ == 'a'", {"namespace": "a"}, "true"),
    ("self.x__dash__prop > 0 && self.redact__underscores__d > 0", {"x-prop": 1, "redact__d": 1}, "true"),
    ("self.a__dot__b > 0 && self.a__slash__b > 0 && self.__in__ > 0", {"a.b": 1, "a/b": 1, "in": 1}, "true"),
    ("self.`x-prop` > 1", {"x-prop": 1}, "failed"),
    # Types.
    ("type(self.ratio) == double && self.ratio > 0.5 && self.ratio == 1.0", {"ratio": 1}, "true"),
    ("type(self.replicas) == int && self.replicas / 2 == 1", {"replicas": 3}, "true"),
    ("self.blob == b'paddock'", {"blob": "cGFkZG9jaw=="}, "true"),
    ("self.day < timestamp('2024-02-01T00:00:00Z')", {"day": "2024-01-31"}, "true"),
    ("self.created.getFullYear() == 2024", {"created": "2024-01-01T00:00:00Z"}, "true"),
    ("self.ttl < duration('90m')", {"ttl": "1h30m"}, "failed"),
    ("string(self.replicas) == '3' && int('3') == self.replicas", {"replicas": 3}, "true"),
    ("self.list[0] == self.list[1]", {"list": [{"name": "a", "more": 1}, {"name": "a", "more": 2}]}, "failed"),
    ("self.namespace == 'a'", {"namespace": "a"}, "true"),
    # Errors of the rule itself, which Kubernetes refuses too.
    ("self.replicas / self.least == 1", {"replicas": 1, "least": 0}, "error"),
    ("self.counts[3] == 1", {"counts": [1]}, "error"),
    ("self.labels['a'] == 'b'", {"labels": {}}, "error"),
    ("int(self.name) == 1", {"name": "one"}, "error"),
    ("self.replicas + 9223372036854775807 > 0", {"replicas": 1}, "error"),
    ("self.least / 0 == 1 || self.replicas == 1", {"replicas": 1, "least": 1}, "true"),
    # Libraries of Kubernetes.
    ("self.counts.isSorted() && self.counts.sum() == 6 && self.counts.min() == 1 && self.counts.max() == 3",
     {"counts": [1, 2, 3]}, "true"),
    ("self.counts.isSorted()", {"counts": [2, 1]}, "failed"),
    ("self.counts.max() == 3", {"counts": []}, "error"),
    ("self.name.find('[0-9]+') == '12' && self.name.findAll('[a-z]').size() == 3", {"name": "ab12c"}, "true"),
    ("self.name.findAll('[a-z]', 1) == ['a']", {"name": "ab12c"}, "true"),
    ("url(self.address).getHost() == 'example.org:80' && url(self.address).getPort() == '80'",
     {"address": "https://example.org:80/a?b=c"}, "true"),
    ("url(self.address).getQuery()['b'] == ['c'] && url(self.address).getScheme() == 'https'",
     {"address": "https://example.org/a?b=c"}, "true"),
    ("isURL(self.address) && url(self.address).getHostname() == '::1'", {"address": "http://[::1]:8/"}, "true"),
    ("isURL(self.address)", {"address": "../a"}, "failed"),
    ("quantity(self.memory).isLessThan(quantity('1Gi'))", {"memory": "512Mi"}, "true"),
    ("quantity(self.memory).isLessThan(quantity('1Gi'))", {"memory": "2G"}, "failed"),
    ("quantity(self.memory) == quantity('1000m') && quantity('1.5').add(1).compareTo(quantity('2500m')) == 0",
     {"memory": "1"}, "true"),
    ("quantity(self.memory).isGreaterThan(quantity('1Gi'))", {"memory": "much"}, "error"),
    ("isQuantity(self.memory)", {"memory": "10Mo"}, "failed"),
    ("ip(self.address).family() == 4 && !ip(self.address).isLoopback()", {"address": "192.168.0.1"}, "true"),
    ("isIP(self.address)", {"address": "192.168.0.256"}, "failed"),
    ("ip.isCanonical(self.address)", {"address": "2001:DB8::1"}, "failed"),
    ("cidr(self.address).containsIP('10.1.2.3') && cidr(self.address).prefixLength() == 8",
     {"address": "10.0.0.0/8"}, "true"),
    ("cidr('192.168.0.0/24').containsCIDR(self.address)", {"address": "192.168.1.0/25"}, "failed"),
    ("self.counts.slice(1, 3) == [2, 3] && self.counts.sort() == [1, 2, 3] && self.counts.distinct().size() == 3",
     {"counts": [1, 2, 3]}, "true"),
    ("self.counts.slice(1, 5) == []", {"counts": [1]}, "error"),
    ("sets.contains(self.names, ['a']) && !sets.intersects(self.names, ['z'])", {"names": ["a", "b"]}, "true"),
    ("self.name.lowerAscii().trim().split('-').size() == 2 && self.name.contains('-')", {"name": " A-B "}, "true"),
    ("'%d of %s'.format([self.replicas, self.name]) == '2 of a'", {"replicas": 2, "name": "a"}, "true"),
    ("math.greatest(self.least, self.most) == 3", {"least": 1, "most": 3}, "true"),
    ("cel.bind(n, self.names.size(), n > 0 && n < 3)", {"names": ["a"]}, "true"),
]  # fmt: skip


@pytest.mark.parametrize(("rule", "value", "verdict"), EXAMPLES)
def test_a_rule_says_of_an_object_what_kubernetes_says(rule: str, value: Any, verdict: str) -> None:
    assert ask(rule, value) == verdict


NOT_KNOWN: list[tuple[str, Any]] = [
    ("format.dns1123Label().validate(self.name).hasValue()", {"name": "A"}),  # gives an optional, which Python cannot
    ("self.names.indexOf('a') == 1", {"names": ["a"]}),
    ("semver(self.name).major() == 2", {"name": "1.0.0"}),
    ("self.names.all(i, v, v == 'x')", {"names": ["a"]}),  # a macro with two variables
    ("self.notYetInvented()", {}),
    ("self.name > 5", {"name": "a"}),  # Kubernetes refuses the definition
    ("self.name.find('a(?=b)') == 'b'", {"name": "ab"}),  # RE2 has no look-ahead
    ("self.ttl.getMilliseconds() == 1", {"ttl": "1s"}),  # all of them, in Kubernetes
    ("self.counts.sum() == duration('0s')", {"counts": []}),
    ("string(self.created) == 'a'", {"created": "2024-01-01T08:00:00+08:00"}),
    ("self.tags + ['a'] == self.tags", {"tags": ["b", "a"]}),  # a union, in Kubernetes
    ("self.tags == ['b', 'a']", {"tags": ["a", "b"]}),
    ("self.tags == self.others", {"tags": ["a", "b"], "others": ["b", "a"]}),
    ("self.tags.map(t, t) == self.others.map(t, t)", {"tags": ["a", "b"], "others": ["b", "a"]}),
    ("!(self.inner.items == self.items)", {"inner": {"items": NAMED}, "items": NAMED[::-1]}),
    ("(" * 200 + "false" + ")" * 200, {}),
    ("self.name == '" + "x" * 20_000 + "'", {"name": "a"}),
]


@pytest.mark.parametrize(("rule", "value"), NOT_KNOWN, ids=[rule[:40] for rule, _ in NOT_KNOWN])
def test_what_the_library_cannot_say_is_unknown_and_never_refused(rule: str, value: Any) -> None:
    assert ask(rule, value) == "unknown"


CHANGES: list[tuple[str, Any, Any, str]] = [
    ("self.name == oldSelf.name", {"name": "a"}, None, "true"),
    ("self.name == oldSelf.name", {"name": "a"}, {"name": "a"}, "true"),
    ("self.name == oldSelf.name", {"name": "a"}, {"name": "b"}, "failed"),
    ("self.replicas >= oldSelf.replicas", {"replicas": 1}, {"replicas": 2}, "failed"),
    ("has(oldSelf.name) == has(self.name)", {}, {"name": "b"}, "failed"),
    ("self.counts == oldSelf.counts", {"counts": [1, 2]}, {"counts": [2, 1]}, "failed"),
    # Sets and maps have no order.
    ("self.tags == oldSelf.tags", {"tags": ["a", "b"]}, {"tags": ["b", "a"]}, "true"),
    ("self.tags == oldSelf.tags", {"tags": ["a", "b"]}, {"tags": ["b", "c"]}, "failed"),
    ("self.items == oldSelf.items", {"items": NAMED}, {"items": NAMED[::-1]}, "true"),
    ("self.inner == oldSelf.inner", {"inner": {"tags": ["a", "b"]}}, {"inner": {"tags": ["b", "a"]}}, "true"),
    ("self.inner != oldSelf.inner", {"inner": {"tags": ["a", "b"]}}, {"inner": {"tags": ["b", "a"]}}, "failed"),
    ("oldSelf.tags.all(t, t in self.tags)", {"tags": ["b", "a", "c"]}, {"tags": ["a", "b"]}, "true"),
    ("self.tags.all(t, oldSelf.others.all(o, o != t))", {"tags": ["b", "a"]}, {"others": ["a", "b"]}, "failed"),
]


@pytest.mark.parametrize(("rule", "new", "old", "verdict"), CHANGES)
def test_a_transition_rule_compares_with_what_was_before(rule: str, new: Any, old: Any, verdict: str) -> None:
    assert ask(rule, new, old) == verdict


def test_an_optional_old_value_is_there_at_creation_too() -> None:
    rule = "oldSelf.hasValue() ? oldSelf.value().replicas <= self.replicas : self.replicas == 1 // grows from one"
    for new, old, verdict in (
        ({"replicas": 1}, None, "true"),
        ({"replicas": 2}, None, "failed"),
        ({"replicas": 5}, {"replicas": 1}, "true"),
        ({"replicas": 1}, {"replicas": 5}, "failed"),
    ):
        assert ask(rule, new, old, optionalOldSelf=True) == verdict
    assert ask("oldSelf.?name.orValue('a') == self.name", {"name": "a"}, optionalOldSelf=True) == "true"


def test_items_with_keys_are_known_again_and_others_are_not() -> None:
    rule = {"x-kubernetes-validations": [{"rule": "self.size >= oldSelf.size"}]}
    by_name = {"type": "object", "properties": {"items": ITEMS | {"items": ITEM | rule}}}
    before = {"items": [{"name": "a", "size": 5}, {"name": "b", "size": 5}]}
    after = {"items": [{"name": "c", "size": 1}, {"name": "b", "size": 6}, {"name": "a", "size": 4}]}
    found = ask_all(by_name, after, before)
    assert [(one["verdict"], one["path"]) for one in found] == [("failed", ["items", 2])]
    atomic = {"type": "object", "properties": {"items": {"type": "array", "items": ITEM | rule}}}
    assert ask_all(atomic, after, before) == []


def test_what_has_not_changed_is_kept_although_a_rule_says_no() -> None:
    rule = {
        "x-kubernetes-validations": [{"rule": "self.size < 10", "messageExpression": "'size ' + string(self.size)"}]
    }
    schema = {"type": "object", "properties": {"inner": {**PROPERTIES["inner"], **rule}, "on": {"type": "boolean"}}}
    old = {"inner": {"size": 20}}
    kept = ask_all(schema, {"inner": {"size": 20}, "on": True}, old)
    assert [(one["verdict"], one["detail"]) for one in kept] == [("kept", "size 20")]
    assert [one["verdict"] for one in ask_all(schema, {"inner": {"size": 21}}, old)] == ["failed"]


@pytest.mark.parametrize(
    ("expression", "said"),
    [
        ("'%s is too long'.format([self.name])", "abc is too long"),
        ("self.name + '\\n'", "abc"),  # white space at the ends is taken off
        ("self.name + '\\n' + self.name", ""),
        ("''", ""),
        ("self.missing", ""),
        ("nothing(self)", ""),
    ],
)
def test_a_message_is_computed_or_the_written_one_is_taken(expression: str, said: str) -> None:
    schema: dict[str, Any] = {"type": "object", "properties": PROPERTIES}
    schema |= {"x-kubernetes-validations": [{"rule": "self.name.size() < 3", "messageExpression": expression}]}
    assert [one["detail"] for one in ask_all(schema, {"name": "abc"})] == [said]


def test_rules_stand_on_any_value() -> None:
    def on(rule: str, **schema: Any) -> Any:
        return {**schema, "x-kubernetes-validations": [{"rule": rule}]}

    schema = {
        "type": "object",
        "properties": {
            "name": on("self.startsWith('a')", type="string"),
            "counts": on("self.size() < 2", type="array", items=on("self >= 0", type="integer")),
            "labels": on("self.size() < 2", type="object", additionalProperties=on("self != 'x'", type="string")),
            "port": {"x-kubernetes-int-or-string": True, "x-kubernetes-validations": [{"rule": "self == 1"}]},
            "when": on("self.getFullYear() > 2000", type="string", format="date-time"),
            "all": {"type": "integer", "allOf": [{"x-kubernetes-validations": [{"rule": "self > 1"}]}]},
            "deep": {"type": "array", "items": {"type": "string"}},
        },
        "allOf": [{"properties": {"deep": {"items": {"allOf": [on("self.size() == 1")]}}}}],
    }
    right = {
        "name": "a",
        "counts": [0],
        "labels": {"a": "b"},
        "port": 1,
        "when": "2024-01-01T00:00:00Z",
        "all": 2,
        "deep": ["a"],
    }
    assert ask_all(schema, right) == []
    wrong = {"name": "b", "counts": [0, -1], "labels": {"a": "x", "b": "c"}, "port": "1",
             "when": "1999-01-01T00:00:00Z", "all": 1, "deep": ["", "a"]}  # fmt: skip
    found = [one["path"] for one in ask_all(schema, wrong)]
    assert found == [
        ["name"], ["counts"], ["counts", 1], ["labels"], ["labels", {"key": "a"}], ["port"], ["when"], ["all"],
        ["deep", 0],
    ]  # fmt: skip
    assert ask_all(schema, {"name": None}) == []


HOSTILE = [
    ("self.counts.all(x, self.counts.all(y, self.counts.all(z, x + y + z >= 0)))", {"counts": list(range(3_000))}),
    ("self.counts.map(x, self.counts.map(y, self.counts)).size() > 0", {"counts": list(range(3_000))}),
    ("'" + "%s" * 3_000 + "' == ''", {}),
]


@pytest.mark.parametrize(
    ("rule", "value"),
    [HOSTILE[0], *(pytest.param(*each, marks=pytest.mark.slow) for each in HOSTILE[1:])],
    ids=["a cube", "a list of lists of lists", "a long text"],
)
def test_a_rule_that_would_take_for_ever_is_given_up(rule: str, value: Any) -> None:
    assert ask(rule, value) in ("unknown", "failed")


def test_an_object_with_too_many_values_is_not_asked_of_all() -> None:
    schema = {"type": "object", "properties": {"counts": INTS | {"items": INT | {
        "x-kubernetes-validations": [{"rule": "self >= 0"}]}}}}  # fmt: skip
    found = ask_all(schema, {"counts": [1] * 10_000 + [-1]})
    assert [one["verdict"] for one in found] == ["unknown"]
    assert len(ask_all(schema, {"counts": [-1] * 5_000})) <= 200
