"""The rules of a definition as values: which there are, what is wrong with them, what follows from a verdict."""

from __future__ import annotations

import json
from typing import Any

import pytest

from paddock.apiserver.objects.cel_functions import FUNCTIONS, NotEvaluated
from paddock.apiserver.objects.cel_judge import (
    MOST_WARNINGS,
    Problem,
    Verdict,
    explain_absence,
    find_expressions,
    judge,
    judge_definition,
)
from paddock.apiserver.schema.cel_definitions import explain_definition, explain_rules
from paddock.apiserver.schema.cel_rules import (
    KEYWORD,
    MOST_RULES,
    compares,
    compares_plainly,
    find_rules,
    has_rules,
    joins_lists,
    plan_checks,
    read_rules,
    uses_old,
)
from paddock.apiserver.schema.cel_values import ValueReading, escape
from paddock.kube.validation.field_errors import Key


def with_rule(schema: dict[str, Any], *rules: Any) -> dict[str, Any]:
    return schema | {KEYWORD: [{"rule": one} if isinstance(one, str) else one for one in rules]}


SIZE = with_rule({"type": "integer"}, "self > 0", {"rule": "self < 9", "message": " too large "})
SCHEMA = with_rule(
    {
        "type": "object",
        "properties": {
            "size": SIZE,
            "items": {"type": "array", "items": {"type": "object", "properties": {"size": SIZE}}},
            "table": {"type": "object", "additionalProperties": SIZE},
        },
    },
    "self.size == 1",
)


def test_rules_are_found_with_their_places() -> None:
    found = [(rule.shown_place, rule.number, rule.text, rule.type) for rule in find_rules(SCHEMA)]
    assert found == [
        ("", 0, "self.size == 1", "object"),
        ("size", 0, "self > 0", "integer"), ("size", 1, "self < 9", "integer"),
        ("items[*].size", 0, "self > 0", "integer"), ("items[*].size", 1, "self < 9", "integer"),
        ("table[…]", 0, "self > 0", "integer"), ("table[…]", 1, "self < 9", "integer"),
    ]  # fmt: skip
    assert find_rules(None) == ()


@pytest.mark.parametrize(
    "around",
    [
        {"properties": {"a": {"type": "integer"}, "b": SIZE}},
        {"items": SIZE},
        {"additionalProperties": SIZE},
        {"allOf": [{}, {"properties": {"a": SIZE}}]},
        {"properties": {"a": {"items": {"allOf": [{"additionalProperties": SIZE}]}}}},
    ],
)
def test_a_rule_is_seen_wherever_it_stands(around: dict[str, Any]) -> None:
    assert has_rules(around)
    assert not has_rules(json.loads(json.dumps(around).replace(KEYWORD, "x-other")))


@pytest.mark.parametrize("wrong", [5, "self", {"rule": "a"}, [5], [{"rule": 5}], [{}], [{"rule": " "}], [None]])
def test_a_stored_schema_with_wrong_rules_is_read_as_if_it_had_none(wrong: Any) -> None:
    assert find_rules({"type": "object", KEYWORD: wrong, "allOf": [{KEYWORD: wrong}, 3]}) == ()


def test_a_schema_may_have_any_number_of_rules_and_any_depth() -> None:
    assert len(find_rules(with_rule({"type": "object"}, *["self.a"] * (MOST_RULES * 3)))) == MOST_RULES + 1
    deep = SIZE
    for _ in range(5_000):
        deep = {"type": "object", "properties": {"a": deep}}
    assert find_rules(deep) == ()


def test_a_rule_is_asked_of_each_value_that_is_there() -> None:
    parts = read_rules(SCHEMA)
    value = {"size": 1, "items": [{"size": 2}, {}, {"size": None}], "table": {"a.b": 3}, "more": {"size": 4}}
    asked = [(check.path, check.value) for check in plan_checks(parts, value) if check.rule.number == 0]
    assert asked == [((), value), (("size",), 1), (("items", 0, "size"), 2), (("table", Key("a.b")), 3)]


@pytest.mark.parametrize(
    ("name", "escaped"),
    [
        ("plain", "plain"), ("a-b.c/d", "a__dash__b__dot__c__slash__d"), ("a__b", "a__underscores__b"),
        ("in", "__in__"), ("namespace", "__namespace__"), ("inner", "inner"), ("_a", "_a"), ("a b", None), ("", None),
        ("1a", None), ("ä", None),
    ],
)  # fmt: skip
def test_names_are_escaped_as_kubernetes_does(name: str, escaped: str | None) -> None:
    assert escape(name) == escaped


def test_what_has_no_order_is_read_in_one() -> None:
    schema = {"type": "array", "items": {"type": "integer"}, "x-kubernetes-list-type": "set"}
    assert ValueReading(str).read([2, 3, 1], schema) == [2, 3, 1]
    assert ValueReading(str, "sorted").read([2, 3, 1], schema) == [1, 2, 3]
    assert ValueReading(str, "reversed").read([2, 3, 1], schema) == [3, 2, 1]
    atomic = ValueReading(str, "sorted")
    assert (atomic.read([2, 1], {"type": "array"}), atomic.met_unordered) == ([2, 1], False)


@pytest.mark.parametrize(
    ("rule", "known"),
    [
        # uses oldSelf, compares, compares plainly, joins lists
        ("self.a.size() > 0", (False, False, True, False)),
        ("self.a == oldSelf.a", (True, True, True, False)),
        ("oldSelf == self", (True, True, True, False)),
        ("self.a == oldSelf.b", (True, True, False, False)),
        ("self.a == oldSelf.a.b", (True, True, False, False)),
        ("self.a == oldSelf.a + ['x']", (True, True, False, True)),
        ("self.all(x, x.name != 'a')", (False, True, True, False)),
        ("self.a == ['b']", (False, True, False, True)),
        ("self.a.join(',') == 'b'", (False, True, False, False)),
        ("self.a == '+ oldSelf =='", (False, True, True, False)),
        ("self.a // == oldSelf", (False, False, True, False)),
        ("self.oldSelf == 1", (False, True, True, False)),
        ("'a' in self.b", (False, True, False, False)),
    ],
)
def test_what_a_rule_does_is_told_by_its_text(rule: str, known: tuple[bool, ...]) -> None:
    assert (uses_old(rule), compares(rule), compares_plainly(rule), joins_lists(rule)) == known


ROOT = "spec.versions[0].schema.openAPIV3Schema"
UNKNOWN_AGAIN = {"type": "object", "properties": {"a": {"type": "array", "items": with_rule({}, "self == oldSelf")}}}
BY_KEY = {"x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["n"]}


@pytest.mark.parametrize(
    ("schema", "field", "message"),
    [
        (with_rule({}, {"message": "a"}), f"{ROOT}.{KEYWORD}[0].rule", "Required value: rule is not specified"),
        ({KEYWORD: {"rule": "a"}}, f"{ROOT}.{KEYWORD}", "must be a list of rules"),
        (with_rule({}, {"rule": 5}), f"{ROOT}.{KEYWORD}[0].rule", "must be a str"),
        (with_rule({}, {"rule": "a", "message": "a\nb"}), f"{ROOT}.{KEYWORD}[0].message", "line breaks"),
        (with_rule({}, "a\n&& b"), f"{ROOT}.{KEYWORD}[0].message", "Required value: message must be specified"),
        (with_rule({}, {"rule": "a", "message": "  "}), f"{ROOT}.{KEYWORD}[0].message", "non-empty"),
        (with_rule({}, {"rule": "a", "messageExpression": " "}), f"{ROOT}.{KEYWORD}[0].messageExpression", "non-empty"),
        (with_rule({}, {"rule": "a", "reason": "FieldValueOdd"}), f"{ROOT}.{KEYWORD}[0].reason", "Unsupported value"),
        (
            with_rule({}, {"rule": "a", "optionalOldSelf": True}),
            f"{ROOT}.{KEYWORD}[0].optionalOldSelf",
            "oldSelf is not",
        ),
        (UNKNOWN_AGAIN, f"{ROOT}.properties[a].items.{KEYWORD}[0].rule", "uncorrelatable portion"),
    ],
)
def test_a_rule_that_is_written_wrongly_is_refused(schema: Any, field: str, message: str) -> None:
    (cause,) = explain_rules(schema, ROOT)
    assert (cause.field, message in cause.message) == (field, True), cause


FIELDS = {
    "type": "object",
    "properties": {
        "replicas": {"type": "integer"}, "a-b": {"type": "string"}, "namespace": {"type": "string"},
        "table": {"type": "object", "additionalProperties": {"type": "object", "properties": {"size": {}}}},
        "open": {"type": "object", "x-kubernetes-preserve-unknown-fields": True, "properties": {"x": {}}},
        "any": {"x-kubernetes-preserve-unknown-fields": True}, "port": {"x-kubernetes-int-or-string": True},
        "object": {"type": "object", "x-kubernetes-embedded-resource": True},
        "list": {"type": "array", "items": {"type": "object"}},
    },
}  # fmt: skip


@pytest.mark.parametrize(
    ("rule", "undefined"),
    [
        ("self.replica > 0 && self.replicas > 0", ["'replica' (did you mean 'replicas'?)"]),
        ("has(self.a) || self.table.x.sizes == 1 || self.open.y", ["'a'", "'sizes' (did you mean 'size'?)", "'y'"]),
        ("oldSelf.nothing == self.nothing", ["'nothing'", "'nothing'"]),
        ("self.metadata.name == '' && self.object.kind == self.kind && self.object.metadata.name != ''", []),
        ("self.replicas.foo() && self.a__dash__b.size() && self.namespace == self.__namespace__", []),
        ("self.any.thing == 1 || self.port.x == 1 || self.list[0].x == 1 || self.list.all(x, x.y)", []),
        ("self.?nothing.orValue(1) == 1 || x.self.y || 'self.nothing' == 'a' // self.nothing", []),
        ("self.list.all(self, self.nothing)", []),
    ],
)
def test_a_field_that_a_rule_names_and_the_schema_has_not_is_refused(rule: str, undefined: list[str]) -> None:
    found = [
        cause.message.partition("undefined field ")[2] for cause in explain_definition(with_rule(FIELDS, rule), ROOT)
    ]
    assert found == undefined


def test_right_rules_are_not_refused() -> None:
    known_again = {"type": "array", **BY_KEY, "items": with_rule({}, "self == oldSelf")}
    assert list(explain_rules(SCHEMA, ROOT)) == []
    assert list(explain_rules({"type": "object", "properties": {"a": known_again}}, ROOT)) == []
    every = {"rule": "self == oldSelf.value()", "message": "no", "messageExpression": "'a'", "optionalOldSelf": True,
             "reason": "FieldValueForbidden", "fieldPath": ".a"}  # fmt: skip
    assert list(explain_rules(with_rule({}, every), ROOT)) == []


@pytest.mark.parametrize(
    ("more", "kind", "detail", "field", "message", "reason"),
    [
        ({}, "failed", "", "spec", 'Invalid value: "object": failed rule: self.a', "FieldValueInvalid"),
        ({"message": " no "}, "failed", "", "spec", 'Invalid value: "object": no', "FieldValueInvalid"),
        ({"message": "no"}, "failed", "computed", "spec", 'Invalid value: "object": computed', "FieldValueInvalid"),
        ({"message": "no"}, "error", "no such key: a", "spec",
         'Invalid value: "object": no such key: a evaluating rule: no', "FieldValueInvalid"),
        ({"reason": "FieldValueForbidden"}, "failed", "no", "spec", "Forbidden: no", "FieldValueForbidden"),
        ({"reason": "FieldValueRequired"}, "failed", "no", "spec", "Required value: no", "FieldValueRequired"),
        ({"reason": "FieldValueDuplicate"}, "failed", "no", "spec", 'Duplicate value: "object"', "FieldValueDuplicate"),
        ({"fieldPath": ".a['b']"}, "failed", "no", "spec.a['b']", 'Invalid value: "object": no', "FieldValueInvalid"),
    ],
)  # fmt: skip
def test_a_wrong_value_is_told_as_kubernetes_does(
    more: Any, kind: str, detail: str, field: str, message: str, reason: str
) -> None:
    rules = find_rules(with_rule({"type": "object"}, {"rule": "self.a", **more}))
    judgement = judge(rules, [Verdict(kind, 0, ("spec",), detail)])
    (cause,) = judgement.causes
    assert (cause.field, cause.message, cause.reason) == (field, message, reason)
    assert judgement.warnings == ()


def test_what_is_kept_or_not_known_is_a_warning_that_names_it() -> None:
    rules = find_rules(SCHEMA)
    verdicts = [
        Verdict("kept", 2, ("size",), "", 9), Verdict("unknown", 3, ("items", 0, "size"), "why"),
        Verdict("unknown", 3, ("items", 1, "size"), "other"), Verdict("unknown", 0, (), "why"),
    ]  # fmt: skip
    judgement = judge(rules, verdicts)
    assert judgement.causes == ()
    assert judgement.warnings == (
        "size: Invalid value: 9: too large",
        "rule 'self > 0' of items[*].size was not evaluated: why",
        "rule 'self.size == 1' of the object was not evaluated: why",
    )


def test_warnings_are_bounded() -> None:
    rules = find_rules(with_rule({"type": "object"}, *[f"self.a{n}" + "x" * 5_000 for n in range(MOST_RULES + 5)]))
    judgement = judge(rules, [Verdict("unknown", number, (), "y" * 5_000) for number in range(500)])
    assert len(judgement.warnings) == MOST_WARNINGS + 1
    assert judgement.warnings[-1] == f"{500 + 1 - MOST_WARNINGS} other rules were not evaluated either"
    assert max(map(len, judgement.warnings)) < 500
    absent = explain_absence("Widget", rules).warnings
    assert len(absent) == 1 and len(absent[0]) < 800 and absent[0].endswith("more")


def test_without_cel_one_warning_says_what_to_install() -> None:
    (warning,) = explain_absence("Widget", find_rules(with_rule({"type": "object"}, "self.a"))).warnings
    assert warning == (
        "validation rules of Widget were not evaluated, as CEL is not installed (pip install 'paddock-jobs[cel]'):"
        " rule 'self.a' of the object"
    )


def test_only_what_kubernetes_cannot_compile_either_refuses_a_definition() -> None:
    schema = with_rule({"type": "object"}, {"rule": "self.a +", "messageExpression": "1"}, "self.b()")
    expressions = find_expressions([{}], [find_rules(schema)])
    assert [(one.path, one.type) for one in expressions] == [
        (f"{ROOT}.{KEYWORD}[0].rule", "BOOL"),
        (f"{ROOT}.{KEYWORD}[0].messageExpression", "STRING"),
        (f"{ROOT}.{KEYWORD}[1].rule", "BOOL"),
    ]
    judgement = judge_definition(
        expressions,
        [Problem(0, "Syntax error", True), Problem(2, "ERROR: <input>:1:9: b? (in container '')\n | ^", False)],
    )
    assert [(cause.field, cause.message) for cause in judgement.causes] == [
        (f"{ROOT}.{KEYWORD}[0].rule", 'Invalid value: "self.a +": compilation failed: Syntax error')
    ]
    assert judgement.warnings == (f"{ROOT}.{KEYWORD}[1].rule is not evaluated here, as it is not understood: b?",)


def call(name: str, *values: Any) -> Any:
    found = [one for one in FUNCTIONS if one.name == name and len(one.parameters) == len(values)]
    kinds = {str: "string", list: "list", dict: "map", int: "int"}
    wanted = tuple(kinds[type(value)] for value in values)
    (one,) = (one for one in found if one.parameters == wanted)
    return one.call(*values)


@pytest.mark.parametrize(
    ("name", "values", "result"),
    [
        ("quantity", ["0.5"], {"quantity": "1/2"}), ("isQuantity", [" 1"], False), ("isQuantity", ["1Ki"], True),
        ("asInteger", [{"quantity": "3"}], 3), ("sign", [{"quantity": "-1/2"}], -1), ("min", [[2, 1.5]], 1.5),
        ("sub", [{"quantity": "3"}, 1], {"quantity": "2"}), ("isSorted", [["a", "b"]], True), ("sum", [[]], 0),
        ("isURL", ["/a"], True), ("isURL", ["a\n"], False), ("isURL", ["a"], False),
        ("getPort", [{"url": "http://a/"}], ""), ("findAll", ["a1b2", "[0-9]", 1], ["1"]), ("find", ["a", "b"], ""),
        ("isIP", ["::ffff:1.2.3.4"], False), ("isIP", ["1.2.3.04"], False),
        ("ip", ["2001:DB8::1"], {"ip": "2001:db8::1"}), ("findAll", ["a1b2", "[0-9]"], ["1", "2"]),
        ("isGlobalUnicast", [{"ip": "255.255.255.255"}], False), ("isCIDR", ["10.0.0.0/33"], False),
        ("masked", [{"cidr": "10.1.2.3/8"}], {"cidr": "10.0.0.0/8"}), ("isCIDR", ["10.0.0.0/255.0.0.0"], False),
        ("containsCIDR", [{"cidr": "10.0.0.0/8"}, "10.1.0.0/16"], True),
        ("containsIP", [{"cidr": "10.0.0.0/8"}, "::1"], False),
    ],
)  # fmt: skip
def test_a_function_of_kubernetes_gives_what_it_gives_there(name: str, values: list[Any], result: Any) -> None:
    assert call(name, *values) == result


@pytest.mark.parametrize(
    ("name", "values"),
    [
        ("isGreaterThan", [{"ip": "::1"}, {"quantity": "1"}]), ("sum", [["a"]]), ("max", [[1, "a"]]),
        ("find", ["a", "(?=a)"]), ("find", ["a", "["]), ("find", ["a\n", "a$"]), ("isURL", ["http://a/ä"]),
        ("url", ["http://a/b c"]),
    ],
)  # fmt: skip
def test_a_function_says_where_it_does_not_know(name: str, values: list[Any]) -> None:
    with pytest.raises(NotEvaluated):
        call(name, *values)
