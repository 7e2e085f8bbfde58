"""The page of every field of one kind, from its CustomResourceDefinition. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from manual.reference.field_notes import NO_EFFECT, VALUES
from manual.reference.markdown import code, join, prose, table
from manual.reference.reader import Reader
from paddock.app.kinds import build_crds
from paddock.kube.meta import Manifest

_SHOWN = ("batch.paddlepaddle.org", "kubeflow.org", "paddock.dev")
_PODS = "https://kubernetes.io/docs/reference/kubernetes-api/workload-resources/pod-v1/"


@dataclass(frozen=True, slots=True)
class Field:
    """A field of a kind. `path`: with `<NAME>` for any key and `[]` for any item."""

    path: str
    schema: Mapping[str, Any]
    required: bool

    @property
    def is_template(self) -> bool:
        """Whether it is a pod template, whose fields are Kubernetes' own."""
        return self.path.endswith(".template") and "containers" in str(self.schema.get("properties", {}))


def list_kinds() -> tuple[Manifest, ...]:
    """The definitions that have a page: those of jobs, and all of paddock.dev."""
    return tuple(crd for crd in build_crds() if crd["spec"]["group"] in _SHOWN)


def list_fields(crd: Mapping[str, Any]) -> tuple[Field, ...]:
    """Every field of `spec` and `status`, but for those of pod templates."""
    schema = crd["spec"]["versions"][0]["schema"]["openAPIV3Schema"]
    parts = {name: inner for name, inner in schema["properties"].items() if name in ("spec", "status")}
    return tuple(each for name, inner in parts.items() for each in _walk(name, inner, required=False))


def _walk(path: str, schema: Mapping[str, Any], *, required: bool) -> Iterator[Field]:
    field = Field(path, schema, required)
    yield field
    if field.is_template:
        return
    for name, inner in schema.get("properties", {}).items():
        yield from _walk(f"{path}.{name}", inner, required=name in schema.get("required", ()))
    for word, step in (("items", "[]"), ("additionalProperties", ".<NAME>")):
        inner = schema.get(word)
        if isinstance(inner, Mapping) and inner.get("properties"):
            yield from _walk(path + step, inner, required=False)


def group_fields(crd: Mapping[str, Any]) -> Mapping[str, list[Field]]:
    """The fields by the path of what they are in: `spec.runPolicy` has `spec.runPolicy.suspend`."""
    groups: dict[str, list[Field]] = {}
    for field in list_fields(crd):
        parent, dot, name = field.path.rpartition(".")
        if dot and name != "<NAME>" and not name.endswith("[]"):
            groups.setdefault(parent, []).append(field)
    return groups


def build_fields(crd: Mapping[str, Any], reader: Reader) -> str:
    """The page of one kind: a section for each object, in the order of the definition."""
    say, spec = reader.say, crd["spec"]
    version, kind = spec["versions"][0]["name"], spec["names"]["kind"]
    return join(
        [
            f"# {kind}, {spec['group']}/{version}",
            say("Every field, from the definition that `paddock manifests` prints. `kubectl explain` says the same."),
            f"```yaml\napiVersion: {spec['group']}/{version}\nkind: {kind}\n```",
            *_build_names(crd, reader),
            f"## {say('What you write')}",
            *_build_groups(crd, "spec", reader),
            f"## {say('What Paddock writes')}",
            *_build_groups(crd, "status", reader),
        ]
    )


def _build_groups(crd: Mapping[str, Any], top: str, reader: Reader) -> Iterator[str]:
    head = [reader.say(each) for each in ("Field", "Type and values", "What it does")]
    for parent, fields in group_fields(crd).items():
        if parent.partition(".")[0] == top:
            yield f"### {code(parent)}"
            yield table(head, (_build_row(crd["metadata"]["name"], each, reader) for each in fields))


def _build_names(crd: Mapping[str, Any], reader: Reader) -> Iterator[str]:
    names = crd["spec"]["names"]
    short = [names["plural"], *names.get("shortNames", ())]
    scope = "in a namespace" if crd["spec"]["scope"] == "Namespaced" else "of the whole cluster"
    yield f"{reader.say('For kubectl:')} {', '.join(map(code, short))} ({reader.say(scope)})"


def _build_row(crd: str, field: Field, reader: Reader) -> tuple[str, str, str]:
    comma = ", " if reader.language == "en" else "，"
    values = comma.join((_name_type(field.schema), *_list_values(crd, field, reader)))
    return code(field.path.rpartition(".")[2]), values, _explain(crd, field, reader)


def _name_type(schema: Mapping[str, Any]) -> str:
    found = str(schema.get("type") or ("number or text" if "anyOf" in schema else "any"))
    if found == "array":
        return f"[]{schema['items'].get('type', 'any')}"
    if found == "string" and "format" in schema:
        return str(schema["format"])
    return found


def _list_values(crd: str, field: Field, reader: Reader) -> Iterator[str]:
    schema = field.schema
    if field.required:
        yield reader.say("required")
    known = VALUES.get((crd, field.path)) or VALUES.get(("*", field.path)) or ()
    for number, value in enumerate(known or (each for each in schema.get("enum", ()) if each)):
        yield f"{code(str(value))} ({reader.say('default')})" if known and number == 0 else code(str(value))
    if "minimum" in schema and "maximum" in schema:
        yield f"{schema['minimum']}–{schema['maximum']}"
    elif "minimum" in schema:
        yield f"≥ {schema['minimum']}"
    if "default" in schema and schema["default"] != {} and not known:
        yield f"{code(str(schema['default']).lower())} ({reader.say('default')})"


def _explain(crd: str, field: Field, reader: Reader) -> str:
    said = prose(reader.say(str(field.schema.get("description", ""))))
    if field.is_template:
        said += f" [{reader.say('Its fields are those of Kubernetes.')}]({_PODS})"
    note = next(
        (note for (kind, path), note in NO_EFFECT.items() if kind in (crd, "*") and _is_in(field.path, path)), ""
    )
    return f"**{reader.say('No effect.')}** {reader.say(note)}" if note else said


def _is_in(path: str, top: str) -> bool:
    return path == top or path.startswith((f"{top}.", f"{top}[]"))
