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
        ("size", 10**400, "must be of type integer"),
        ("size", True, 'must be of type integer: "boolean"'),
        ("size", None, "Required value"),
        ("ratio", math.nan, "must be of type number"),
        ("ratio", math.inf, "must be of type number"),
        ("count", 2**31, "must be of type int32"),
        ("port", 1.5, 'must be of type integer,string: "number"'),
        ("port", [], "must be of type integer,string"),
        ("inner", None, None),
        ("either", {"a": "1"}, None),
        ("amount", 3, None),
        ("amount", "3", None),
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
        ("open", {"n": "x"}, "spec.open.n"),
        ("object", {"kind": "Pod"}, "spec.object.apiVersion"),
    ],
)
def test_a_wrong_part_is_named_by_its_path(name, value, field):
    with pytest.raises(Invalid) as refused:
        read_spec(**{name: value})
    assert [cause.field for cause in refused.value.causes] == [field]


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


@pytest.mark.parametrize(
    ("path", "value", "field", "message"),
    [
        (("spec", "group"), "Shop", "spec.group", "RFC 1123 subdomain"),
        ((*ROOT, "properties", "spec", "pattern"), "(?=a)",
         "spec.versions[0].schema.openAPIV3Schema.properties[spec].pattern", "invalid or unsupported Perl syntax"),
        ((*ROOT, "properties", "spec", "minimum"), "1",
         "spec.versions[0].schema.openAPIV3Schema.properties[spec].minimum", "must be of type"),
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
