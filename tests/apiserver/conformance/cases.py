"""A case of the corpus: a rule of the Kubernetes API as a sentence, and the requests whose answers show it.

Texts of a request name what only the run knows, between two `@`: `@ns@` is the case's own namespace,
`@0.metadata.uid@` a value of the answer to its first request. Each case has a namespace of its own; what is not in a
namespace has `@ns@` in its name.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from paddock.kube.meta import Manifest

MERGE = "application/merge-patch+json"
JSON_PATCH = "application/json-patch+json"
STRATEGIC = "application/strategic-merge-patch+json"
APPLY = "application/apply-patch+yaml"
YAML = "application/yaml"
PROTOBUF = "application/vnd.kubernetes.protobuf"
TABLE = {"Accept": "application/json;as=Table;v=v1;g=meta.k8s.io"}
PARTIAL = {"Accept": "application/json;as=PartialObjectMetadata;v=v1;g=meta.k8s.io"}
PARTIALS = {"Accept": "application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io"}


@dataclass(frozen=True, slots=True)
class Ask:
    """One request, and what of its answer is compared."""

    method: str
    path: str
    body: Any = None
    """JSON values, or text or bytes that are sent as they are."""
    headers: Mapping[str, str] = field(default_factory=dict)
    see: tuple[str, ...] = ()
    """Paths of the body that are compared (`spec.ports[0]`, `items[*].metadata.name`); all of it where there are none.
    An error is always compared as a whole."""
    heads: tuple[str, ...] = ()
    """Headers of the answer that are compared too."""
    until: int | None = None
    """Ask again until the answer has this status: what a controller does takes a while."""
    lines: int | None = None
    """Of a watch: how many events are read. None: until the server ends it."""
    quiet: bool = False
    """A step on the way, whose answer is compared by another case: it must be no error."""

    def seeing(self, *paths: str) -> Ask:
        return replace(self, see=paths)

    def having(self, **headers: str) -> Ask:
        return replace(self, headers={**self.headers, **{n.replace("_", "-"): v for n, v in headers.items()}})

    def with_heads(self, *names: str) -> Ask:
        return replace(self, heads=names)


@dataclass(frozen=True, slots=True)
class Case:
    """`name`: the rule, as a sentence."""

    name: str
    asks: tuple[Ask, ...]
    since: str = ""
    """The Kubernetes whose rule it is, where it is newer than the server that gave the goldens: then `expected` is
    written by hand."""
    source: str = ""
    """Of a rule that is written by hand: where Kubernetes says so."""
    expected: tuple[Mapping[str, Any], ...] = ()


def case(name: str, *asks: Ask) -> Case:
    return Case(name, asks)


def newer(name: str, since: str, source: str, *steps: tuple[Ask, Mapping[str, Any] | None]) -> Case:
    """A rule of a Kubernetes that is newer than the goldens. Each request comes with what is expected of its answer,
    None of a step on the way."""
    asks = tuple(replace(ask, quiet=True) if wanted is None else ask for ask, wanted in steps)
    return Case(name, asks, since, source, tuple(wanted for _, wanted in steps if wanted is not None))


def home(plural: str, group: str = "", namespace: str = "@ns@") -> str:
    """The path of a collection: `home("roles", "rbac.authorization.k8s.io/v1")`."""
    root = f"/apis/{group}" if group else "/api/v1"
    return f"{root}/namespaces/{namespace}/{plural}" if namespace else f"{root}/{plural}"


def get(path: str, *see: str, until: int | None = None, **headers: str) -> Ask:
    return Ask("GET", path, see=see, until=until, headers=_headers(headers))


def post(path: str, body: Any, *see: str, **headers: str) -> Ask:
    return Ask("POST", path, body, see=see, headers=_headers(headers))


def put(path: str, body: Any, *see: str, **headers: str) -> Ask:
    return Ask("PUT", path, body, see=see, headers=_headers(headers))


def delete(path: str, body: Any = None, *see: str) -> Ask:
    return Ask("DELETE", path, body, see=see)


def patch(path: str, body: Any, *see: str, kind: str = MERGE) -> Ask:
    return Ask("PATCH", path, body, {"Content-Type": kind}, see)


def watch(path: str, query: str = "", lines: int | None = None, *see: str, **headers: str) -> Ask:
    """Its events: `see` is of each of them (`type`, `object.metadata.name`)."""
    wanted = "watch=1&timeoutSeconds=1" if lines is None else "watch=1&timeoutSeconds=20"
    asked = f"{path}?{wanted}" + (f"&{query}" if query else "")
    return Ask("GET", asked, see=see, lines=-1 if lines is None else lines, headers=_headers(headers))


def quietly(*asks: Ask) -> tuple[Ask, ...]:
    return tuple(replace(ask, quiet=True) for ask in asks)


def _headers(given: Mapping[str, str]) -> dict[str, str]:
    return {name.replace("_", "-"): value for name, value in given.items()}


# Objects

CONFIG_MAPS, SECRETS, PODS, SERVICES = home("configmaps"), home("secrets"), home("pods"), home("services")
ACCOUNTS, CLAIMS, LEASES = (
    home("serviceaccounts"),
    home("persistentvolumeclaims"),
    home("leases", "coordination.k8s.io/v1"),
)
DEPLOYMENTS = home("deployments", "apps/v1")
RBAC = "rbac.authorization.k8s.io/v1"
CRDS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
WIDGETS = home("widgets", "@ns@.example.org/v1")


def config(name: str = "x", data: Mapping[str, str] | None = None, **meta: Any) -> Manifest:
    made: Manifest = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name, **meta}}
    return made | ({"data": dict(data)} if data is not None else {})


def secret(name: str = "x", **fields: Any) -> Manifest:
    return {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": name}, **fields}


MAIN: Manifest = {"name": "main", "image": "busybox:1"}


def pod(name: str = "x", *containers: Manifest, meta: Mapping[str, Any] | None = None, **spec: Any) -> Manifest:
    return {
        "apiVersion": "v1", "kind": "Pod", "metadata": {"name": name, **(meta or {})},
        "spec": {"containers": list(containers or (MAIN,)), **spec},
    }  # fmt: skip


def container(**fields: Any) -> Manifest:
    return {**MAIN, **fields}


def service(name: str = "x", ports: Sequence[Manifest] = ({"port": 80},), **spec: Any) -> Manifest:
    return {"apiVersion": "v1", "kind": "Service", "metadata": {"name": name}, "spec": {"ports": list(ports), **spec}}


def deployment(name: str = "x", **spec: Any) -> Manifest:
    labels = {"app": "a"}
    wanted = {
        "replicas": 1, "selector": {"matchLabels": labels},
        "template": {"metadata": {"labels": labels}, "spec": {"containers": [MAIN]}}, **spec,
    }  # fmt: skip
    return {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": name}, "spec": wanted}


SCHEMA: Manifest = {
    "type": "object",
    "properties": {
        "spec": {
            "type": "object",
            "properties": {
                "size": {"type": "integer", "default": 3, "minimum": 1, "maximum": 100},
                "replicas": {"type": "integer"},
                "color": {"type": "string", "enum": ["red", "green"]},
                "names": {"type": "array", "items": {"type": "string", "maxLength": 5}, "maxItems": 3},
                "limits": {"type": "object", "additionalProperties": {"x-kubernetes-int-or-string": True}},
                "free": {"type": "object", "x-kubernetes-preserve-unknown-fields": True},
                "maybe": {"type": "string", "nullable": True},
                "code": {"type": "string", "pattern": "^[a-z]+$"},
            },
        },
        "status": {"type": "object", "properties": {"ready": {"type": "integer"}, "phase": {"type": "string"}}},
    },
}  # fmt: skip
SCALE = {"specReplicasPath": ".spec.replicas", "statusReplicasPath": ".status.ready"}


def version(name: str = "v1", schema: Manifest | None = None, **fields: Any) -> Manifest:
    return {
        "name": name, "served": True, "storage": True,
        "schema": {"openAPIV3Schema": SCHEMA if schema is None else schema},
        "subresources": {"status": {}, "scale": SCALE}, **fields,
    }  # fmt: skip


def definition(*versions: Manifest, scope: str = "Namespaced", names: Mapping[str, Any] | None = None) -> Manifest:
    """Of Widgets, in a group of the case's own."""
    return {
        "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "metadata": {"name": "widgets.@ns@.example.org"},
        "spec": {
            "group": "@ns@.example.org", "scope": scope,
            "names": {"kind": "Widget", "plural": "widgets", **(names or {})},
            "versions": list(versions or (version(),)),
        },
    }  # fmt: skip


def widget(name: str = "w", spec: Any = None, api: str = "v1", **fields: Any) -> Manifest:
    made = {"apiVersion": f"@ns@.example.org/{api}", "kind": "Widget", "metadata": {"name": name}, **fields}
    return made | ({"spec": spec} if spec is not None else {})


def widgets(*versions: Manifest, path: str = WIDGETS, **fields: Any) -> tuple[Ask, ...]:
    """The steps that make Widgets a kind that is served."""
    return quietly(post(CRDS, definition(*versions, **fields)), get(path, until=200))
