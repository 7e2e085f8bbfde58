"""CustomResourceDefinitions and the objects of their kinds."""

from __future__ import annotations

from copy import deepcopy
from dataclasses import replace
from typing import Any

from apiserver.conformance.cases import (
    CRDS,
    SCHEMA,
    TABLE,
    WIDGETS,
    Ask,
    Case,
    case,
    definition,
    delete,
    get,
    home,
    newer,
    patch,
    post,
    put,
    quietly,
    version,
    widget,
    widgets,
)

_CRD = f"{CRDS}/widgets.@ns@.example.org"
_W = f"{WIDGETS}/w"
_SPEC = ("spec",)


def _crd(name: str, change: Any = None, *see: str) -> Case:
    """A definition that is sent with a change."""
    made = definition()
    if change is not None:
        change(made)
    return case(name, post(CRDS, made, *(see or ("spec",))))


def _set(path: str, value: Any) -> Any:
    def change(crd: Any) -> None:
        *steps, last = [int(step) if step.isdigit() else step for step in path.split("/")]
        place = crd
        for step in steps:
            place = place[step]
        if value is None:
            place.pop(last)
        else:
            place[last] = value

    return change


_SCHEMA = "spec/versions/0/schema/openAPIV3Schema"


def _schema(name: str, schema: Any) -> Case:
    return _crd(name, _set(_SCHEMA, schema), "spec.versions[0].schema")


def _refused(body: Any) -> Ask:
    """A patch of the definition that is refused once it is established, of which a real server hears a moment later."""
    return replace(patch(f"{_CRD}?dryRun=All", body), until=422)


def _prop(name: str, schema: Any) -> Case:
    return _schema(name, {"type": "object", "properties": {"spec": schema}})


def _object(name: str, spec: Any, *see: str, **fields: Any) -> Case:
    return case(name, *widgets(), post(WIDGETS, widget(spec=spec, **fields), *(see or _SPEC)))


def _with(name: str, schema: Any, spec: Any) -> Case:
    """An object of a kind whose `spec` has this schema."""
    return case(
        name,
        *widgets(version(schema={"type": "object", "properties": {"spec": schema}}, subresources={})),
        post(WIDGETS, widget(spec=spec), "spec"),
    )


_LIST = {
    "type": "object",
    "properties": {
        "l": {
            "type": "array",
            "items": {
                "type": "object",
                "properties": {"k": {"type": "string"}, "v": {"type": "integer"}},
                "required": ["k"],
            },
            "x-kubernetes-list-type": "map",
            "x-kubernetes-list-map-keys": ["k"],
        }
    },
}
_SET = {
    "type": "object",
    "properties": {"l": {"type": "array", "items": {"type": "string"}, "x-kubernetes-list-type": "set"}},
}
_STRICT = "https://kubernetes.io/docs/reference/using-api/api-concepts/#field-validation"


def _int(**rules: Any) -> Any:
    return {"type": "object", "properties": {"n": {"type": "integer", **rules}}}


def _str(**rules: Any) -> Any:
    return {"type": "object", "properties": {"s": {"type": "string", **rules}}}


def _two_versions() -> tuple[Any, ...]:
    old = version("v1", storage=False)
    return old, version("v2", deepcopy(SCHEMA))


def _status(text: str, code: int = 400) -> Any:
    return {
        "status": code,
        "body": {
            "kind": "Status",
            "apiVersion": "v1",
            "metadata": {},
            "status": "Failure",
            "message": text,
            "reason": "BadRequest",
            "code": code,
        },
    }


_COLUMNS = [
    {"name": "Size", "type": "integer", "jsonPath": ".spec.size"},
    {"name": "Color", "type": "string", "jsonPath": ".spec.color", "priority": 1, "description": "of the widget"},
    {"name": "Age", "type": "date", "jsonPath": ".metadata.creationTimestamp"},
]
_ROW = (
    "columnDefinitions[*].name",
    "columnDefinitions[*].type",
    "columnDefinitions[*].priority",
    "rows[*].cells[0]",
    "rows[*].cells[1]",
    "rows[*].cells[2]",
)

CASES = (
    case(
        "a definition is established, and its kind is served",
        *widgets(),
        get(
            _CRD,
            "status.conditions[*].type",
            "status.conditions[*].status",
            "status.acceptedNames",
            "status.storedVersions",
        ),
        get(WIDGETS, "kind"),
    ),
    _crd("a definition has defaults", None, "spec.names", "spec.conversion", "spec.scope"),
    _crd("a definition's name is its plural and group", _set("metadata/name", "widgets.example.org")),
    _crd("a definition has a scope", _set("spec/scope", None)),
    _crd("a definition of an unknown scope is refused", _set("spec/scope", "Galactic")),
    _crd("a definition has a kind", _set("spec/names/kind", None)),
    _crd("a definition has a plural", _set("spec/names/plural", None)),
    _crd("a definition has a group", _set("spec/group", None)),
    _crd("a definition has versions", _set("spec/versions", [])),
    _crd("a definition has one storage version", _set("spec/versions/0/storage", False)),
    case("a definition has not two storage versions", post(CRDS, definition(version("v1"), version("v2")))),
    case("a definition has no version twice", post(CRDS, definition(version("v1"), version("v1", storage=False)))),
    _crd("a version's name is a label", _set("spec/versions/0/name", "V1")),
    _crd("a version has a schema", _set("spec/versions/0/schema", None)),
    _crd("a kind that is no name is refused", _set("spec/names/kind", "Wid get")),
    _crd("a plural with capitals is refused", _set("spec/names/plural", "Widgets")),
    _crd("a short name with capitals is refused", _set("spec/names/shortNames", ["WG"])),
    _crd("a singular with capitals is refused", _set("spec/names/singular", "Widget")),
    _crd("a conversion that is unknown is refused", _set("spec/conversion", {"strategy": "Magic"})),
    _crd("a conversion by webhook needs a webhook", _set("spec/conversion", {"strategy": "Webhook"})),
    _crd("a column has a path", _set("spec/versions/0/additionalPrinterColumns", [{"name": "A", "type": "string"}])),
    _crd(
        "a column has a known type",
        _set("spec/versions/0/additionalPrinterColumns", [{"name": "A", "type": "text", "jsonPath": ".a"}]),
    ),
    _crd(
        "a column has a path that is one",
        _set("spec/versions/0/additionalPrinterColumns", [{"name": "A", "type": "string", "jsonPath": "a["}]),
    ),
    _crd(
        "a scale has a path to its replicas",
        _set("spec/versions/0/subresources", {"scale": {"statusReplicasPath": ".status.n"}}),
    ),
    _crd(
        "a scale's paths are below spec and status",
        _set(
            "spec/versions/0/subresources",
            {"scale": {"specReplicasPath": ".status.n", "statusReplicasPath": ".spec.n"}},
        ),
    ),
    _crd("unknown fields are not kept by a definition that says so", _set("spec/preserveUnknownFields", True)),
    _schema("a schema is an object at its root", {"type": "string"}),
    _schema("a schema without a type at its root is refused", {"properties": {"spec": {"type": "string"}}}),
    _prop("a schema is structural: each field has a type", {"properties": {"a": {"type": "string"}}}),
    _prop("a schema is structural: items have a type", {"type": "array", "items": {}}),
    _prop("a list has a schema of its items", {"type": "array"}),
    _prop("a schema of an unknown type is refused", {"type": "text"}),
    _prop("a schema's default fits", {"type": "integer", "default": "three"}),
    _prop("a schema's default fits its bounds", {"type": "integer", "minimum": 5, "default": 3}),
    _prop(
        "a schema's default needs no type in it",
        {"type": "object", "default": {"a": 1}, "properties": {"a": {"type": "string"}}},
    ),
    _prop("a schema's pattern is one", {"type": "string", "pattern": "["}),
    _prop("a schema has no $ref", {"$ref": "#/definitions/a"}),
    _prop("a schema has no uniqueItems", {"type": "array", "uniqueItems": True, "items": {"type": "string"}}),
    _prop(
        "a schema has not both properties and additional ones",
        {"type": "object", "properties": {"a": {"type": "string"}}, "additionalProperties": {"type": "string"}},
    ),
    _prop("a type inside anyOf is refused", {"type": "object", "anyOf": [{"type": "object"}]}),
    _prop("a default inside not is refused", {"type": "object", "not": {"properties": {"a": {"default": "b"}}}}),
    _prop("an integer or text needs no type", {"x-kubernetes-int-or-string": True}),
    _prop("an integer or text with a type is refused", {"type": "integer", "x-kubernetes-int-or-string": True}),
    _prop(
        "a keyed list has keys",
        {
            "type": "array",
            "x-kubernetes-list-type": "map",
            "items": {"type": "object", "properties": {"k": {"type": "string"}}},
        },
    ),
    _prop(
        "a keyed list's keys are required or have defaults",
        {
            "type": "array",
            "x-kubernetes-list-type": "map",
            "x-kubernetes-list-map-keys": ["k"],
            "items": {"type": "object", "properties": {"k": {"type": "string"}}},
        },
    ),
    _prop(
        "a keyed list's keys are fields",
        {
            "type": "array",
            "x-kubernetes-list-type": "map",
            "x-kubernetes-list-map-keys": ["z"],
            "items": {"type": "object", "required": ["z"], "properties": {"k": {"type": "string"}}},
        },
    ),
    _prop(
        "a list type that is unknown is refused",
        {"type": "array", "x-kubernetes-list-type": "bag", "items": {"type": "string"}},
    ),
    _prop("unknown fields may be kept below a field", {"type": "object", "x-kubernetes-preserve-unknown-fields": True}),
    _prop(
        "unknown fields are kept, or not, but never not kept by word",
        {"type": "object", "x-kubernetes-preserve-unknown-fields": False},
    ),
    _prop("an embedded object is an object", {"type": "string", "x-kubernetes-embedded-resource": True}),
    _prop("a nullable field", {"type": "string", "nullable": True}),
    _prop("an enum of texts", {"type": "string", "enum": ["a", "b"]}),
    case("a definition is created once", *widgets(), post(CRDS, definition())),
    case("a definition's group stays", *widgets(), _refused({"spec": {"group": "other.example.org"}})),
    case("a definition's scope stays", *widgets(), _refused({"spec": {"scope": "Cluster"}})),
    case(
        "a definition's kind may not change",
        *widgets(),
        _refused({"spec": {"names": {"kind": "Gadget", "listKind": "GadgetList", "singular": "gadget"}}}),
    ),
    case(
        "a definition's short names may change",
        *widgets(),
        patch(_CRD, {"spec": {"names": {"shortNames": ["wg"]}}}, "spec.names.shortNames"),
    ),
    case(
        "two versions show one object",
        *widgets(*_two_versions()),
        *quietly(post(WIDGETS, widget(spec={"size": 4})), get(home("widgets", "@ns@.example.org/v2"), until=200)),
        get(home("widgets/w", "@ns@.example.org/v2"), "apiVersion", "spec"),
        get(_W, "apiVersion", "spec"),
    ),
    case(
        "a version that is not served is not found",
        *widgets(version("v1"), version("v2", storage=False, served=False)),
        get(home("widgets", "@ns@.example.org/v2")),
    ),
    case(
        "a cluster's kind has no namespace",
        *widgets(path="/apis/@ns@.example.org/v1/widgets", scope="Cluster"),
        post("/apis/@ns@.example.org/v1/widgets", widget(spec={}), "metadata", "spec"),
        get(WIDGETS),
    ),
    case(
        "a definition that is deleted takes its objects and its kind",
        *widgets(),
        *quietly(post(WIDGETS, widget(spec={}))),
        *quietly(delete(_CRD)),
        get(_CRD, until=404),
        get(WIDGETS, until=404),
    ),
    case("a definition's status is its own", *widgets(), get(f"{_CRD}/status", "kind", "status.acceptedNames.plural")),
    _object("a default is filled in", {}),
    _object("a default of what is not there at all is not", None, "spec", "metadata.name"),
    _object("an unknown field is dropped", {"size": 4, "unknown": 5}),
    _object("an unknown field at the root is dropped", {}, "spec", "more", more={"a": 1}),
    _object("unknown fields are kept where the schema says so", {"free": {"a": {"b": [1, "c"]}}}),
    _object("a null of a field with a default becomes the default", {"size": None}),
    _object("a null of a field that may be null is kept", {"maybe": None}),
    _object("a null of another field is dropped or refused", {"color": None}),
    _object("a wrong type is refused", {"size": "big"}),
    _object("a number with a fraction is no integer", {"size": 1.5}),
    _object("a number that is whole is an integer", {"size": 4.0}),
    _object("a number below the minimum is refused", {"size": 0}),
    _object("a number above the maximum is refused", {"size": 101}),
    _object("a word that is not in the enum is refused", {"color": "blue"}),
    _object("a text that does not match is refused", {"code": "A1"}),
    _object("a list that is too long is refused", {"names": ["a", "b", "c", "d"]}),
    _object("a text that is too long is refused", {"names": ["abcdef"]}),
    _object("an item of a wrong type is refused", {"names": [1]}),
    _object("a list in place of an object is refused", ["a"]),
    _object("an object in place of a list is refused", {"names": {"a": "b"}}),
    _object("an integer or text takes both", {"limits": {"a": 1, "b": "2Gi"}}),
    _object("an integer or text takes no truth", {"limits": {"a": True}}),
    _object("two wrong fields are two causes", {"size": 0, "color": "blue"}),
    _object("a status is not created with its object", {}, "status", "spec", status={"ready": 1}),
    _object("a new custom object has generation 1", {}, "metadata"),
    case(
        "a custom object without a kind is refused",
        *widgets(),
        post(WIDGETS, {"apiVersion": "@ns@.example.org/v1", "metadata": {"name": "w"}}),
    ),
    case(
        "a custom object without a version is refused",
        *widgets(),
        post(WIDGETS, {"kind": "Widget", "metadata": {"name": "w"}}),
    ),
    case(
        "a custom object of another kind is refused",
        *widgets(),
        post(WIDGETS, {"apiVersion": "@ns@.example.org/v1", "kind": "Gadget", "metadata": {"name": "w"}}),
    ),
    case(
        "a custom object of another version is refused",
        *widgets(),
        post(WIDGETS, {"apiVersion": "@ns@.example.org/v2", "kind": "Widget", "metadata": {"name": "w"}}),
    ),
    case("a custom object's name is checked", *widgets(), post(WIDGETS, widget("W"))),
    case(
        "a custom object's labels are checked",
        *widgets(),
        post(WIDGETS, {**widget(), "metadata": {"name": "w", "labels": {"a": "b c"}}}),
    ),
    case(
        "a custom object's unknown metadata is dropped",
        *widgets(),
        post(WIDGETS, {**widget(), "metadata": {"name": "w", "nonsense": 1}}, "metadata"),
    ),
    case(
        "a custom object is not replaced without a version",
        *widgets(),
        *quietly(post(WIDGETS, widget(spec={}))),
        put(_W, widget(spec={"size": 5})),
    ),
    case(
        "a custom object is replaced with its version",
        *widgets(),
        *quietly(post(WIDGETS, widget(spec={}))),
        put(
            _W,
            {**widget(spec={"size": 5}), "metadata": {"name": "w", "resourceVersion": "@2.metadata.resourceVersion@"}},
            "spec",
            "metadata.generation",
        ),
    ),
    case(
        "a custom object's generation counts changes of its spec",
        *widgets(),
        *quietly(post(WIDGETS, widget(spec={}))),
        patch(_W, {"spec": {"size": 5}}, "metadata.generation"),
        patch(_W, {"metadata": {"labels": {"a": "b"}}}, "metadata.generation"),
    ),
    case(
        "a custom object's update is checked",
        *widgets(),
        *quietly(post(WIDGETS, widget(spec={}))),
        patch(_W, {"spec": {"size": 500}}),
    ),
    _with(
        "a required field is missed", {"type": "object", "required": ["a"], "properties": {"a": {"type": "string"}}}, {}
    ),
    _with(
        "a required field with a default is there",
        {"type": "object", "required": ["a"], "properties": {"a": {"type": "string", "default": "b"}}},
        {},
    ),
    _with(
        "a default within an item",
        {
            "type": "object",
            "properties": {
                "l": {
                    "type": "array",
                    "items": {"type": "object", "properties": {"a": {"type": "integer", "default": 1}}},
                }
            },
        },
        {"l": [{}, {"a": 2}]},
    ),
    _with(
        "a default of an object fills those in it",
        {
            "type": "object",
            "properties": {
                "o": {"type": "object", "default": {}, "properties": {"a": {"type": "integer", "default": 1}}}
            },
        },
        {},
    ),
    _with("an item twice in a set is refused", _SET, {"l": ["a", "a"]}),
    _with("a key twice in a keyed list is refused", _LIST, {"l": [{"k": "a", "v": 1}, {"k": "a", "v": 2}]}),
    _with("a key that is missed in a keyed list is refused", _LIST, {"l": [{"v": 1}]}),
    _with(
        "additional properties have a schema",
        {"type": "object", "additionalProperties": {"type": "integer"}},
        {"a": 1, "b": "c"},
    ),
    _with("a number is a multiple", _int(multipleOf=5), {"n": 7}),
    _with("a number is above an exclusive minimum", _int(minimum=5, exclusiveMinimum=True), {"n": 5}),
    _with("a number is below an exclusive maximum", _int(maximum=5, exclusiveMaximum=True), {"n": 5}),
    _with("a text has at least so many characters", _str(minLength=3), {"s": "ab"}),
    _with("a text has at most so many characters", _str(maxLength=3), {"s": "abcd"}),
    _with("a time has its format", _str(format="date-time"), {"s": "yesterday"}),
    _with("an unknown format is no rule", _str(format="colour"), {"s": "blue"}),
    _with("a number has the bounds of its format", _int(format="int32"), {"n": 3000000000}),
    _with(
        "a list has at least so many items",
        {"type": "object", "properties": {"l": {"type": "array", "minItems": 2, "items": {"type": "string"}}}},
        {"l": ["a"]},
    ),
    _with(
        "an object has at least so many fields",
        {"type": "object", "minProperties": 2, "x-kubernetes-preserve-unknown-fields": True},
        {"a": 1},
    ),
    _with(
        "an object has at most so many fields",
        {"type": "object", "maxProperties": 1, "x-kubernetes-preserve-unknown-fields": True},
        {"a": 1, "b": 1},
    ),
    _with(
        "one of two is wanted: none holds",
        {
            "type": "object",
            "properties": {"a": {"type": "string"}, "b": {"type": "string"}},
            "oneOf": [{"required": ["a"]}, {"required": ["b"]}],
        },
        {},
    ),
    _with(
        "one of two is wanted: both hold",
        {
            "type": "object",
            "properties": {"a": {"type": "string"}, "b": {"type": "string"}},
            "oneOf": [{"required": ["a"]}, {"required": ["b"]}],
        },
        {"a": "1", "b": "2"},
    ),
    _with(
        "any of two is wanted: none holds",
        {
            "type": "object",
            "properties": {"a": {"type": "string"}, "b": {"type": "string"}},
            "anyOf": [{"required": ["a"]}, {"required": ["b"]}],
        },
        {},
    ),
    _with(
        "what is not wanted holds",
        {"type": "object", "properties": {"a": {"type": "string"}}, "not": {"required": ["a"]}},
        {"a": "1"},
    ),
    _with(
        "all of two is wanted: one holds",
        {
            "type": "object",
            "properties": {"a": {"type": "string"}, "b": {"type": "string"}},
            "allOf": [{"required": ["a"]}, {"required": ["b"]}],
        },
        {"a": "1"},
    ),
    _with(
        "an embedded object keeps its own fields",
        {
            "type": "object",
            "properties": {
                "o": {
                    "type": "object",
                    "x-kubernetes-embedded-resource": True,
                    "x-kubernetes-preserve-unknown-fields": True,
                }
            },
        },
        {"o": {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "a"}, "spec": {"a": 1}}},
    ),
    _with(
        "an embedded object has a kind",
        {
            "type": "object",
            "properties": {
                "o": {
                    "type": "object",
                    "x-kubernetes-embedded-resource": True,
                    "x-kubernetes-preserve-unknown-fields": True,
                }
            },
        },
        {"o": {"metadata": {"name": "a"}}},
    ),
    case(
        "columns of a definition",
        *widgets(version(additionalPrinterColumns=_COLUMNS)),
        *quietly(post(WIDGETS, widget(spec={"size": 4, "color": "red"}))),
        get(WIDGETS, *_ROW, **TABLE),
    ),
    case(
        "a kind without columns has its age",
        *widgets(),
        *quietly(post(WIDGETS, widget(spec={}))),
        get(WIDGETS, "columnDefinitions[*].name", "rows[*].cells[0]", **TABLE),
    ),
    case(
        "a column of what is not there is empty",
        *widgets(version(additionalPrinterColumns=_COLUMNS)),
        *quietly(post(WIDGETS, widget(spec={}))),
        get(WIDGETS, "rows[0].cells[2]", **TABLE),
    ),
    case(
        "categories and short names are discovered",
        *widgets(names={"categories": ["all"], "shortNames": ["wg"]}),
        get("/apis/@ns@.example.org/v1", "resources", until=200),
    ),
    case("a group of a definition is discovered", *widgets(*_two_versions()), get("/apis/@ns@.example.org", until=200)),
    case("a group without definitions is not found", get("/apis/@ns@.example.org")),
    case(
        "a plural of another definition in the same group is taken",
        *widgets(),
        post(
            CRDS,
            {
                **definition(names={"kind": "Widget", "plural": "others"}),
                "metadata": {"name": "others.@ns@.example.org"},
            },
            "metadata.name",
        ),
        get(f"{CRDS}/others.@ns@.example.org", "spec.names.kind"),
        Ask("GET", f"{CRDS}/others.@ns@.example.org", see=("metadata.name",)),
    ),
    newer(
        "an unknown field is refused by strict validation",
        "1.25",
        _STRICT,
        *((ask, None) for ask in widgets()),
        (
            post(f"{WIDGETS}?fieldValidation=Strict", widget(spec={"unknown": 5})),
            _status(
                'Widget in version "v1" cannot be handled as a Widget: strict decoding error: unknown field '
                '"spec.unknown"'
            ),
        ),
    ),
    newer(
        "an unknown field is warned of by default",
        "1.25",
        _STRICT,
        *((ask, None) for ask in widgets()),
        (
            post(WIDGETS, widget(spec={"unknown": 5}), "spec"),
            {"status": 201, "body": {"spec": {"size": 3}}, "warnings": ['299 - "unknown field \\"spec.unknown\\""']},
        ),
    ),
    newer(
        "an unknown field is dropped without a word where that is asked for",
        "1.25",
        _STRICT,
        *((ask, None) for ask in widgets()),
        (
            post(f"{WIDGETS}?fieldValidation=Ignore", widget(spec={"unknown": 5}), "spec"),
            {"status": 201, "body": {"spec": {"size": 3}}},
        ),
    ),
)
