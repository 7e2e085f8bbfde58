"""Custom kinds: what their definitions must say, and objects read along their schemas."""

import copy
import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from paddock.apiserver.admission.validation import read_object
from paddock.apiserver.kinds.registry import Registry, read_crd
from paddock.kube.errors import BadRequest, Invalid

INT_OR_STRING = {"x-kubernetes-int-or-string": True}
SPEC_SCHEMA = {
    "type": "object",
    "required": ["size"],
    "properties": {
        "size": {"type": "integer", "minimum": 1, "maximum": 10},
        "ratio": {"type": "number", "minimum": 0, "exclusiveMinimum": True, "maximum": 1, "exclusiveMaximum": True},
        "step": {"type": "integer", "multipleOf": 5},
        "count": {"type": "integer", "format": "int32"},
        "color": {"type": "string", "enum": ["red", "blue"], "default": "red"},
        "code": {"type": "string", "minLength": 2, "maxLength": 3, "pattern": "^[a-z]+$"},
        "when": {"type": "string", "format": "date-time"},
        "names": {
            "type": "array",
            "minItems": 1,
            "maxItems": 2,
            "items": {"type": "string"},
            "x-kubernetes-list-type": "set",
        },
        "ports": {
            "type": "array",
            "items": {"type": "object", "properties": {"n": {"type": "integer"}}},
            "x-kubernetes-list-type": "map",
            "x-kubernetes-list-map-keys": ["n"],
        },
        "maybe": {"type": "string", "nullable": True},
        "port": INT_OR_STRING,
        "anything": {"x-kubernetes-preserve-unknown-fields": True},
        "open": {
            "type": "object",
            "x-kubernetes-preserve-unknown-fields": True,
            "properties": {"n": {"type": "integer"}},
        },
        "table": {"type": "object", "additionalProperties": {"type": "integer"}, "maxProperties": 2},
        "inner": {
            "type": "object",
            "default": {},
            "properties": {"depth": {"type": "integer", "default": 3}, "on": {"type": "boolean"}},
        },
        "object": {"type": "object", "x-kubernetes-embedded-resource": True},
        "either": {"type": "object", "properties": {"a": {"type": "string"}, "b": {"type": "string"}},
                   "oneOf": [{"required": ["a"]}, {"required": ["b"]}]},
        "amount": {"anyOf": [{"type": "integer"}, {"type": "string"}], **INT_OR_STRING},
        "never": {"type": "string", "not": {"enum": ["x"]}},
    },
}  # fmt: skip
CRD = {
    "apiVersion": "apiextensions.k8s.io/v1",
    "kind": "CustomResourceDefinition",
    "metadata": {"name": "widgets.shop.example.org"},
    "spec": {
        "group": "shop.example.org",
        "scope": "Namespaced",
        "names": {"plural": "widgets", "kind": "Widget", "shortNames": ["wd"], "categories": ["all"]},
        "versions": [
            {
                "name": "v1",
                "served": True,
                "storage": True,
                "schema": {
                    "openAPIV3Schema": {
                        "type": "object",
                        "required": ["spec"],
                        "properties": {
                            "spec": SPEC_SCHEMA,
                            "status": {"type": "object", "properties": {"phase": {"type": "string"}}},
                        },
                    }
                },
                "subresources": {
                    "status": {},
                    "scale": {"specReplicasPath": ".spec.size", "statusReplicasPath": ".status.size"},
                },
                "additionalPrinterColumns": [{"name": "Phase", "type": "string", "jsonPath": ".status.phase"}],
            }
        ],
    },
}
VERSION = ("spec", "versions", 0)
ROOT = (*VERSION, "schema", "openAPIV3Schema")
WIDGET = {
    "apiVersion": "shop.example.org/v1",
    "kind": "Widget",
    "metadata": {"name": "x", "namespace": "default"},
    "spec": {"size": 2},
}
WIDGETS = read_crd(CRD)[0]


def changed(base, path, value):
    base = copy.deepcopy(base)
    place = base
    for part in path[:-1]:
        place = place.setdefault(part, {}) if isinstance(place, dict) else place[part]
    if value is ...:
        del place[path[-1]]
    else:
        place[path[-1]] = value
    return base


def read_spec(strict=True, **spec):
    return read_object(WIDGETS, {**WIDGET, "spec": {"size": 2, **spec}}, strict=strict)[0]["spec"]


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("size", "two", 'Invalid value: "two": spec.size in body must be of type integer: "string"'),
        ("size", 0, "Invalid value: 0: spec.size in body should be greater than or equal to 1"),
        ("size", 11, "Invalid value: 11: spec.size in body should be less than or equal to 10"),
        ("size", 1.5, 'must be of type integer: "number"'),
        ("size", 10**9, "should be less than or equal to 10"),
        ("size", 10**400, "must be of type integer"),
        ("size", True, 'must be of type integer: "boolean"'),
        ("size", None, "Required value"),
        ("ratio", 0, "should be greater than 0"),
        ("ratio", 1, "should be less than 1"),
        ("ratio", math.nan, "must be of type number"),
        ("ratio", math.inf, "must be of type number"),
        ("step", 7, "should be a multiple of 5"),
        ("count", 2**31, "must be of type int32"),
        ("color", "green", 'Unsupported value: "green": supported values: "red", "blue"'),
        ("code", "a", "should be at least 2 chars long"),
        ("code", "abcd", "Too long: may not be more than 3 bytes"),
        ("code", "AB", "spec.code in body should match '^[a-z]+$'"),
        ("when", "yesterday", "must be of type date-time"),
        ("names", [], "should have at least 1 items"),
        ("names", ["a", "b", "c"], "Too many: 3: must have at most 2 items"),
        ("names", {}, 'must be of type array: "object"'),
        ("port", 1.5, 'must be of type integer,string: "number"'),
        ("port", [], "must be of type integer,string"),
        ("table", {"a": 1, "b": 2, "c": 3}, "Too many: 3: must have at most 2 items"),
        ("inner", [], 'must be of type object: "array"'),
        ("inner", None, None),
        ("maybe", None, None),
        ("either", {}, "must validate one and only one schema (oneOf)"),
        ("either", {"a": "1", "b": "2"}, "must validate one and only one schema (oneOf)"),
        ("either", {"a": "1"}, None),
        ("amount", 3, None),
        ("amount", "3", None),
        ("never", "x", "must not validate the schema (not)"),
        ("port", "http", None),
        ("size", 3.0, None),
        ("when", "2026-11-20T08:12:00Z", None),
    ],
)
def test_a_value_is_judged_by_its_schema(name, value, message):
    if message is None:
        read_spec(**{name: value})
        return
    with pytest.raises(Invalid) as refused:
        read_spec(**{name: value})
    (cause,) = refused.value.causes
    assert cause.field == f"spec.{name}"
    assert message in cause.message
    assert refused.value.message == f'Widget.shop.example.org "x" is invalid: spec.{name}: {cause.message}'


@pytest.mark.parametrize(
    ("name", "value", "field"),
    [
        ("names", ["a", "a"], "spec.names[1]"),
        ("ports", [{"n": 1}, {"n": 2}, {"n": 1}], "spec.ports[2]"),
        ("names", ["a", 1], "spec.names[1]"),
        ("table", {"a": "x"}, "spec.table.a"),
        ("open", {"n": "x"}, "spec.open.n"),
        ("object", {"kind": "Pod"}, "spec.object.apiVersion"),
    ],
)
def test_a_wrong_part_is_named_by_its_path(name, value, field):
    with pytest.raises(Invalid) as refused:
        read_spec(**{name: value})
    assert [cause.field for cause in refused.value.causes] == [field]


def test_a_missing_field_is_required():
    with pytest.raises(Invalid, match=r'Widget.shop.example.org "x" is invalid: spec.size: Required value'):
        read_object(WIDGETS, {**WIDGET, "spec": {}}, strict=True)


def test_defaults_are_filled_in_also_inside_defaults():
    assert read_spec() == {"size": 2, "color": "red", "inner": {"depth": 3}}
    assert read_spec(color=None)["color"] == "red"


def test_a_whole_number_is_stored_as_one():
    assert isinstance(read_spec(size=3.0)["size"], int)


def test_unknown_fields_go_where_the_schema_does_not_keep_them():
    spec = read_spec(strict=False, typo=1, open={"x": {"y": 1}}, anything={"a": 1}, inner={"zzz": 1}, table={"k": 1})
    assert "typo" not in spec
    assert spec["inner"] == {"depth": 3}
    assert (spec["open"], spec["anything"], spec["table"]) == ({"x": {"y": 1}}, {"a": 1}, {"k": 1})


def test_strict_names_the_nearest_field():
    with pytest.raises(BadRequest) as refused:
        read_spec(colour="red")
    assert refused.value.message == (
        'Widget in version "v1" cannot be handled as a Widget: strict decoding error: unknown field "spec.colour" '
        '(did you mean "spec.color"?)'
    )


def test_an_embedded_resource_keeps_what_every_object_has():
    pod = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p", "labels": {"a": "b"}}}
    assert read_spec(object=pod)["object"] == pod


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=8,
)


@given(st.dictionaries(st.sampled_from(sorted(SPEC_SCHEMA["properties"])), JSON, max_size=3))
def test_any_spec_is_read_once_and_for_all_or_refused(spec):
    manifest = {**WIDGET, "spec": {"size": 2, **spec}}
    try:
        first, _ = read_object(WIDGETS, manifest, strict=False)
    except (BadRequest, Invalid):
        return
    assert read_object(WIDGETS, first, strict=True) == (first, ())


def test_a_definition_says_what_is_served():
    served = WIDGETS
    assert (served.resource.group, served.resource.version, served.resource.kind, served.resource.plural) == (
        "shop.example.org",
        "v1",
        "Widget",
        "widgets",
    )
    assert (served.singular, served.list_name, served.short_names) == ("widget", "WidgetList", ("wd",))
    assert served.subresources == {"status", "scale"}
    assert served.scale["specReplicasPath"] == ".spec.size"
    assert served.custom and served.storage and served.resource.namespaced


def test_a_version_that_is_not_served_is_left_out():
    old = {**CRD["spec"]["versions"][0], "name": "v1beta1", "served": False, "storage": False}
    crd = changed(CRD, ("spec", "versions"), [*CRD["spec"]["versions"], old])
    assert [served.resource.version for served in read_crd(crd)] == ["v1"]


@pytest.mark.parametrize(
    ("path", "value", "field", "message"),
    [
        (("metadata", "name"), "widget.shop.example.org", "metadata.name", 'spec.names.plural+"."+spec.group'),
        (("spec", "scope"), "World", "spec.scope", 'supported values: "Cluster", "Namespaced"'),
        (("spec", "group"), "Shop", "spec.group", "RFC 1123 subdomain"),
        (("spec", "names", "plural"), "Widgets", "metadata.name", "widgets"),
        (("spec", "versions"), [], "spec.versions", "must have exactly one version marked as storage version"),
        ((*VERSION, "storage"), False, "spec.versions", "must have exactly one version marked as storage version"),
        ((*VERSION, "schema"), ..., "spec.versions[0].schema.openAPIV3Schema", "schemas are required"),
        ((*ROOT, "type"), "string", "spec.versions[0].schema.openAPIV3Schema.type", "must be object at the root"),
        ((*ROOT, "properties", "spec"), {},
         "spec.versions[0].schema.openAPIV3Schema.properties[spec].type", "Required value"),
        ((*ROOT, "properties", "spec", "type"), "int",
         "spec.versions[0].schema.openAPIV3Schema.properties[spec].type", "Unsupported value"),
        ((*ROOT, "properties", "spec", "pattern"), "(",
         "spec.versions[0].schema.openAPIV3Schema.properties[spec].pattern", "must be a valid regular expression"),
        ((*ROOT, "properties", "spec", "pattern"), "(?=a)",
         "spec.versions[0].schema.openAPIV3Schema.properties[spec].pattern", "invalid or unsupported Perl syntax"),
        ((*ROOT, "properties", "spec"), {"type": "array"},
         "spec.versions[0].schema.openAPIV3Schema.properties[spec].items", "Required value"),
        ((*ROOT, "properties", "spec", "minimum"), "1",
         "spec.versions[0].schema.openAPIV3Schema.properties[spec].minimum", "must be of type"),
        ((*VERSION, "additionalPrinterColumns", 0, "type"), "text",
         "spec.versions[0].additionalPrinterColumns[0].type", "Unsupported value"),
        ((*VERSION, "additionalPrinterColumns", 0, "jsonPath"), ".a[",
         "spec.versions[0].additionalPrinterColumns[0].jsonPath", "is not a path"),
        ((*VERSION, "additionalPrinterColumns", 0, "jsonPath"), "." + "a" * 2_000,
         "spec.versions[0].additionalPrinterColumns[0].jsonPath", "a path has at most 1024 characters"),
        ((*VERSION, "additionalPrinterColumns"), [{"name": "x", "type": "string", "jsonPath": ".x"}] * 101,
         "spec.versions[0].additionalPrinterColumns", "must have at most 100 items"),
    ],
)  # fmt: skip
def test_a_wrong_definition_is_refused(path, value, field, message):
    crd = changed(CRD, path, value)
    with pytest.raises(Invalid) as refused:
        read_crd(crd)
    found = [cause for cause in refused.value.causes if cause.field == field]
    assert any(message in cause.message for cause in found), refused.value
    definitions = Registry().find("apiextensions.k8s.io", "v1", "customresourcedefinitions")
    with pytest.raises(Invalid) as again:
        read_object(definitions, crd, strict=False)
    assert [cause.field for cause in again.value.causes] == [cause.field for cause in refused.value.causes]


@given(
    st.sampled_from(
        [
            ("spec",), ("spec", "names"), ("spec", "versions"), VERSION, ROOT, (*ROOT, "properties"),
            (*ROOT, "properties", "spec"), (*ROOT, "properties", "spec", "enum"),
            (*ROOT, "properties", "spec", "allOf"),
            (*ROOT, "properties", "spec", "required"), (*ROOT, "properties", "spec", "default"),
            (*VERSION, "subresources"), (*VERSION, "additionalPrinterColumns"), ("metadata",),
        ]
    ),
    JSON,
)  # fmt: skip
def test_any_definition_is_read_or_refused_and_what_it_serves_reads_anything(path, value):
    try:
        served = read_crd(changed(CRD, path, value))
    except Invalid:
        return
    for one in served:
        try:
            read_object(one, {"metadata": {"name": "x"}, "spec": value}, strict=False)
        except (BadRequest, Invalid):
            pass
