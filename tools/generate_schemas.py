"""Writes `src/paddock/kube/data/schemas.json.gz`: the OpenAPI definitions of those kinds of Kubernetes that we serve.

Source: the classes of lightkube-models (a development dependency). They are read as text, not imported:
importing them needs a whole client. What the classes do not say is in the tables here: the types of maps, and where
`required` is meant for readers of an answer and not for those who write the object.

    python tools/generate_schemas.py           writes the file
    python tools/generate_schemas.py --check   says whether the file is the one that would be written
"""

from __future__ import annotations

import ast
import gzip
import json
import sys
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Any

Schema = dict[str, Any]

TARGET = Path(__file__).parents[1] / "src/paddock/kube/data/schemas.json.gz"
PREFIXES = {
    "core_v1": "io.k8s.api.core.v1",
    "apps_v1": "io.k8s.api.apps.v1",
    "autoscaling_v1": "io.k8s.api.autoscaling.v1",
    "coordination_v1": "io.k8s.api.coordination.v1",
    "rbac_v1": "io.k8s.api.rbac.v1",
    "scheduling_v1": "io.k8s.api.scheduling.v1",
    "meta_v1": "io.k8s.apimachinery.pkg.apis.meta.v1",
    "resource": "io.k8s.apimachinery.pkg.api.resource",
    "util_intstr": "io.k8s.apimachinery.pkg.util.intstr",
    "runtime": "io.k8s.apimachinery.pkg.runtime",
    "apiextensions_v1": "io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1",
}
ROOTS = {
    "core_v1": (
        "Binding", "ConfigMap", "Endpoints", "Event", "LimitRange", "Namespace", "Node", "PersistentVolume",
        "PersistentVolumeClaim", "Pod", "PodTemplateSpec", "ResourceQuota", "Secret", "Service", "ServiceAccount",
    ),
    "apps_v1": ("Deployment",),
    "autoscaling_v1": ("Scale",),
    "coordination_v1": ("Lease",),
    "rbac_v1": ("ClusterRole", "ClusterRoleBinding", "Role", "RoleBinding"),
    "scheduling_v1": ("PriorityClass",),
    "meta_v1": ("DeleteOptions", "LabelSelector", "ListMeta", "ObjectMeta", "Status"),
    "apiextensions_v1": ("CustomResourceDefinition",),
}  # fmt: skip

ANYTHING: Schema = {"x-kubernetes-preserve-unknown-fields": True}
OPEN_OBJECT: Schema = {"type": "object", **ANYTHING}
QUANTITY: Schema = {"x-kubernetes-int-or-string": True}
SCALARS: dict[str, Schema] = {
    "str": {"type": "string"},
    "int": {"type": "integer"},
    "float": {"type": "number"},
    "bool": {"type": "boolean"},
    "dict": OPEN_OBJECT,
    "Dict": OPEN_OBJECT,
    "Any": ANYTHING,
    "JSON": ANYTHING,
}
# These stand for themselves in Kubernetes' documents too, so references to them are worth keeping.
LEAVES: dict[str, Schema] = {
    "meta_v1.Time": {"type": "string", "format": "date-time", "nullable": True},
    "meta_v1.MicroTime": {"type": "string", "format": "date-time", "nullable": True},
    "meta_v1.FieldsV1": OPEN_OBJECT,
    "resource.Quantity": QUANTITY,
    "util_intstr.IntOrString": {"x-kubernetes-int-or-string": True},
    "runtime.RawExtension": OPEN_OBJECT,
    # A schema inside a schema: no structural schema can say "and so on", so a CRD's own schemas are left open here.
    "apiextensions_v1.JSONSchemaProps": OPEN_OBJECT,
    "apiextensions_v1.CustomResourceSubresourceStatus": OPEN_OBJECT,
}
QUANTITY_MAPS = {
    "allocatable", "allocatedResources", "capacity", "default", "defaultRequest", "hard", "limits", "max",
    "maxLimitRequestRatio", "min", "overhead", "requests", "used",
}  # fmt: skip
# A template's metadata is written by people: what only a server sets has no place in it.
OBJECT_META, TEMPLATE_META = "meta_v1.ObjectMeta", "meta_v1.TemplateMeta"
TEMPLATE_FIELDS = ("annotations", "creationTimestamp", "finalizers", "generateName", "labels", "name", "namespace")
# Kubernetes decodes these objects without asking for every field; its lists of required fields are promises to readers.
WRITTEN_IN_PARTS = ("Status", "Condition", "NodeSystemInfo", "ContainerStateTerminated", "NodeAddress")


def read_classes(directory: Path) -> dict[str, ast.ClassDef]:
    """Every class of the modules we know, by `module.Class`."""
    classes = {}
    for module in PREFIXES:
        for node in ast.parse((directory / f"{module}.py").read_text()).body:
            if isinstance(node, ast.ClassDef):
                classes[f"{module}.{node.name}"] = node
    return classes


def full_name(reference: str) -> str:
    module, name = reference.split(".")
    return f"{PREFIXES[module]}.{name}"


def build_type(annotation: str, module: str, field: str) -> Schema:
    """The schema of one annotation: `Optional[List[meta_v1.Time]]`."""
    for wrapper in ("Optional[", "List["):
        if annotation.startswith(wrapper):
            inner = build_type(annotation.removeprefix(wrapper).removesuffix("]"), module, field)
            return inner if wrapper == "Optional[" else {"type": "array", "items": inner}
    if annotation == "dict":
        return {"type": "object", "additionalProperties": QUANTITY if field in QUANTITY_MAPS else {"type": "string"}}
    if annotation.startswith("JSONSchemaPropsOr"):
        return ANYTHING
    if annotation in SCALARS:
        return SCALARS[annotation]
    reference = annotation if "." in annotation else f"{module}.{annotation}"
    return {"$ref": f"#/components/schemas/{full_name(reference)}"}


def build_class(reference: str, node: ast.ClassDef) -> Schema:
    module, name = reference.split(".")
    properties: Schema = {}
    required = []
    for field, annotation, wanted in fields_of(node):
        template = name.endswith(("TemplateSpec", "ClaimTemplate")) and field == "metadata"
        properties[field] = build_type(TEMPLATE_META if template else annotation, module, field)
        if wanted:
            required.append(field)
    schema: Schema = {"type": "object", "properties": properties}
    if required and not name.endswith(WRITTEN_IN_PARTS):
        schema["required"] = sorted(required)
    return schema


def fields_of(node: ast.ClassDef) -> Iterator[tuple[str, str, bool]]:
    """(name in JSON, annotation, whether it has no default)."""
    for statement in node.body:
        if not (isinstance(statement, ast.AnnAssign) and isinstance(statement.target, ast.Name)):
            continue
        name, value = statement.target.id, statement.value
        if isinstance(value, ast.Call) and value.keywords and value.keywords[0].arg == "metadata":
            name = ast.literal_eval(value.keywords[0].value)["json"]
            value = next((word.value for word in value.keywords if word.arg == "default"), None)
        yield name, str(ast.literal_eval(statement.annotation)), value is None


def build_definition(reference: str, classes: dict[str, ast.ClassDef]) -> Schema:
    if reference == TEMPLATE_META:
        whole = build_class(OBJECT_META, classes[OBJECT_META])
        return {"type": "object", "properties": {name: whole["properties"][name] for name in TEMPLATE_FIELDS}}
    return LEAVES[reference] if reference in LEAVES else build_class(reference, classes[reference])


def references(schema: Any) -> Iterator[str]:
    if isinstance(schema, dict):
        if "$ref" in schema:
            yield schema["$ref"].rsplit("/", 1)[1]
        for value in schema.values():
            yield from references(value)


def build_definitions(directory: Path) -> dict[str, Schema]:
    """The definitions of ROOTS and of all that they refer to, by their full names."""
    classes = read_classes(directory)
    by_full_name = {full_name(reference): reference for reference in (*classes, *LEAVES, TEMPLATE_META)}
    wanted = [full_name(f"{module}.{name}") for module, names in ROOTS.items() for name in names]
    done: dict[str, Schema] = {}
    while wanted:
        name = wanted.pop()
        if name in done:
            continue
        done[name] = build_definition(by_full_name[name], classes)
        wanted += references(done[name])
    return dict(sorted(done.items()))


def build_data() -> bytes:
    found = find_spec("lightkube")
    if found is None or not found.submodule_search_locations:
        raise SystemExit("lightkube-models is not installed: it is in the development dependencies")
    directory = Path(next(iter(found.submodule_search_locations))) / "models"
    return json.dumps(build_definitions(directory), separators=(",", ":"), sort_keys=True).encode()


def main() -> None:
    data = build_data()
    if "--check" in sys.argv:
        if gzip.decompress(TARGET.read_bytes()) != data:
            raise SystemExit(f"{TARGET.name} is stale: run python tools/generate_schemas.py")
        return
    TARGET.parent.mkdir(exist_ok=True)
    TARGET.write_bytes(gzip.compress(data, mtime=0))
    print(f"{TARGET.name}: {len(json.loads(data))} definitions, {len(data)} bytes, {TARGET.stat().st_size} compressed")


if __name__ == "__main__":
    main()
