"""JSON patches, merge patches, strategic patches."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from apiserver.conformance.cases import (
    ACCOUNTS,
    CONFIG_MAPS,
    DEPLOYMENTS,
    JSON_PATCH,
    MAIN,
    MERGE,
    PODS,
    SERVICES,
    STRATEGIC,
    WIDGETS,
    Ask,
    Case,
    case,
    config,
    container,
    deployment,
    get,
    patch,
    pod,
    post,
    quietly,
    service,
    widget,
    widgets,
)

_ONE, _POD, _DEPLOYMENT, _SERVICE = f"{CONFIG_MAPS}/x", f"{PODS}/x", f"{DEPLOYMENTS}/x", f"{SERVICES}/x"
_MADE = quietly(post(CONFIG_MAPS, config(data={"a": "1", "b": "2"}, labels={"l": "1"})))
_DATA = ("data", "metadata.labels")
_TEMPLATE = "spec.template.spec"


def _json(name: str, *steps: Any) -> Case:
    return case(name, *_MADE, patch(_ONE, list(steps), *_DATA, kind=JSON_PATCH))


def _merge(name: str, body: Any) -> Case:
    return case(name, *_MADE, patch(_ONE, body, *_DATA))


_CONTAINERS = (
    container(
        env=[{"name": "A", "value": "1"}, {"name": "B", "value": "2"}],
        args=["a", "b"],
        ports=[{"containerPort": 80, "name": "http"}, {"containerPort": 81}],
    ),
    {"name": "side", "image": "side:1", "volumeMounts": [{"name": "v", "mountPath": "/v"}]},
)
_VOLUMES = [{"name": "v", "emptyDir": {}}, {"name": "w", "configMap": {"name": "c"}}]


def _made_deployment() -> tuple[Ask, ...]:
    labels = {"app": "a"}
    spec = {
        "containers": list(_CONTAINERS),
        "volumes": _VOLUMES,
        "tolerations": [{"key": "t", "operator": "Exists"}],
        "nodeSelector": {"n": "1"},
        "imagePullSecrets": [{"name": "one"}, {"name": "two"}],
    }
    made = deployment(replicas=0, template={"metadata": {"labels": labels, "finalizers": []}, "spec": spec})
    return quietly(post(DEPLOYMENTS, made))


def _strategic(name: str, spec: Any, *see: str, spec_of: str = "template") -> Case:
    body = {"spec": {"template": {"spec": spec}}} if spec_of == "template" else {"spec": spec}
    return case(name, *_made_deployment(), patch(_DEPLOYMENT, body, *see, kind=STRATEGIC))


def _wrong(name: str, kind: str, body: Any) -> Case:
    return case(name, *_MADE, patch(_ONE, body, *_DATA, kind=kind))


_NAMES = (f"{_TEMPLATE}.containers[*].name",)
_ENV, _PORTS = (f"{_TEMPLATE}.containers[name=main].env",), (f"{_TEMPLATE}.containers[name=main].ports",)


def _main(**fields: Any) -> dict[str, Any]:
    return {"containers": [{"name": "main", **fields}]}


def _of_account(name: str, body: Any, *see: str) -> Case:
    made = {
        "metadata": {"name": "a", "finalizers": ["example.org/a", "example.org/b"]},
        "imagePullSecrets": [{"name": "one"}, {"name": "two"}],
    }
    return case(name, *quietly(post(ACCOUNTS, made)), patch(f"{ACCOUNTS}/a", body, *see, kind=STRATEGIC))


def _of_service(name: str, body: Any, ports: Sequence[Any] = ()) -> Case:
    made = service(ports=ports or [{"name": "a", "port": 80}, {"name": "b", "port": 81}])
    return case(
        name,
        *quietly(post(SERVICES, made)),
        patch(_SERVICE, body, "spec.ports[*].name", "spec.ports[*].port", kind=STRATEGIC),
    )


_FINALIZERS = ("metadata.finalizers",)

CASES = (
    _json("a JSON patch adds", {"op": "add", "path": "/data/c", "value": "3"}),
    _json("a JSON patch adds over what is there", {"op": "add", "path": "/data/a", "value": "3"}),
    _json("a JSON patch replaces", {"op": "replace", "path": "/data/a", "value": "3"}),
    _json("a JSON patch replaces nothing that is not there", {"op": "replace", "path": "/data/c", "value": "3"}),
    _json("a JSON patch removes", {"op": "remove", "path": "/data/a"}),
    _json("a JSON patch removes nothing that is not there", {"op": "remove", "path": "/data/c"}),
    _json("a JSON patch moves", {"op": "move", "from": "/data/a", "path": "/data/c"}),
    _json("a JSON patch copies", {"op": "copy", "from": "/data/a", "path": "/data/c"}),
    _json(
        "a JSON patch's test that holds",
        {"op": "test", "path": "/data/a", "value": "1"},
        {"op": "remove", "path": "/data/a"},
    ),
    _json(
        "a JSON patch's test that fails changes nothing",
        {"op": "test", "path": "/data/a", "value": "9"},
        {"op": "remove", "path": "/data/a"},
    ),
    _json("a JSON patch without a parent is refused", {"op": "add", "path": "/nowhere/c", "value": "3"}),
    _json("a JSON patch of an unknown operation is refused", {"op": "turn", "path": "/data/a"}),
    _json("a JSON patch without a path is refused", {"op": "add", "value": "3"}),
    _json("a JSON patch of no steps changes nothing"),
    _json("a JSON patch with an escaped slash", {"op": "add", "path": "/metadata/labels/example.org~1a", "value": "b"}),
    _json("a JSON patch with an escaped tilde", {"op": "remove", "path": "/data/a~0b"}),
    _json(
        "a JSON patch that makes an invalid object is refused",
        {"op": "add", "path": "/metadata/labels/l", "value": "a b"},
    ),
    _json("a JSON patch that makes a wrong type is refused", {"op": "add", "path": "/data", "value": 5}),
    _json("a JSON patch does not change the name", {"op": "replace", "path": "/metadata/name", "value": "y"}),
    _json(
        "a JSON patch does not change the uid",
        {"op": "replace", "path": "/metadata/uid", "value": "6f0e4b9c-0000-4000-8000-000000000001"},
    ),
    _json(
        "a JSON patch of another version is a conflict",
        {"op": "replace", "path": "/metadata/resourceVersion", "value": "1"},
    ),
    case(
        "a JSON patch puts into a list",
        *quietly(post(ACCOUNTS, {"metadata": {"name": "a"}, "imagePullSecrets": [{"name": "one"}]})),
        patch(
            f"{ACCOUNTS}/a",
            [
                {"op": "add", "path": "/imagePullSecrets/0", "value": {"name": "zero"}},
                {"op": "add", "path": "/imagePullSecrets/-", "value": {"name": "two"}},
            ],
            "imagePullSecrets",
            kind=JSON_PATCH,
        ),
    ),
    case(
        "a JSON patch beyond the end of a list is refused",
        *quietly(post(ACCOUNTS, {"metadata": {"name": "a"}, "imagePullSecrets": [{"name": "one"}]})),
        patch(f"{ACCOUNTS}/a", [{"op": "add", "path": "/imagePullSecrets/9", "value": {"name": "x"}}], kind=JSON_PATCH),
    ),
    _wrong("a JSON patch that is an object is refused", JSON_PATCH, {"data": {}}),
    _wrong("a JSON patch that is no JSON is refused", JSON_PATCH, "[{"),
    _merge("a merge patch adds", {"data": {"c": "3"}}),
    _merge("a merge patch replaces", {"data": {"a": "3"}}),
    _merge("a merge patch's null removes", {"data": {"a": None}}),
    _merge("a merge patch's null of all removes all", {"data": None}),
    _merge("a merge patch's null of what is not there is nothing", {"data": {"z": None}}),
    _merge("an empty merge patch changes nothing", {}),
    _merge("a merge patch that makes a wrong type is refused", {"data": {"a": 5}}),
    _merge("a merge patch that makes an invalid object is refused", {"data": {"a b": "c"}}),
    _merge(
        "a merge patch of another version is a conflict", {"metadata": {"resourceVersion": "1"}, "data": {"a": "3"}}
    ),
    _merge("a merge patch of another name is refused", {"metadata": {"name": "y"}}),
    _merge("a merge patch of another namespace is refused", {"metadata": {"namespace": "default"}}),
    _merge("a merge patch of another kind is refused", {"kind": "Secret"}),
    _merge("a merge patch replaces a list", {"metadata": {"finalizers": ["example.org/a"]}}),
    _wrong("a merge patch that is a list is refused", MERGE, ["a"]),
    _wrong("a merge patch that is no JSON is refused", MERGE, "{"),
    _wrong("a merge patch that is a text is refused", MERGE, '"a"'),
    _wrong("a merge patch that is empty is refused", MERGE, ""),
    _wrong("a patch in plain JSON is refused", "application/json", {"data": {"a": "3"}}),
    _wrong("a patch of an unknown type is refused", "text/plain", "a"),
    case("a patch without a type is refused", *_MADE, Ask("PATCH", _ONE, '{"data": {"a": "3"}}', {"Content-Type": ""})),
    case(
        "a patch's type may have a character set",
        *_MADE,
        patch(_ONE, {"data": {"a": "3"}}, "data", kind=f"{MERGE}; charset=utf-8"),
    ),
    _strategic("a strategic patch merges containers by name", _main(image="new:1"), f"{_TEMPLATE}.containers[*].image"),
    _strategic(
        "a strategic patch puts a new container first", {"containers": [{"name": "more", "image": "more:1"}]}, *_NAMES
    ),
    _strategic(
        "a strategic patch deletes a container", {"containers": [{"name": "side", "$patch": "delete"}]}, *_NAMES
    ),
    _strategic(
        "a strategic patch replaces all containers",
        {"containers": [{"name": "only", "image": "o"}, {"$patch": "replace"}]},
        *_NAMES,
    ),
    _strategic(
        "a strategic patch deletes what is not there", {"containers": [{"name": "none", "$patch": "delete"}]}, *_NAMES
    ),
    _strategic(
        "a strategic patch sets the order of containers",
        {"$setElementOrder/containers": [{"name": "side"}, {"name": "main"}]},
        *_NAMES,
    ),
    _strategic(
        "a strategic patch with a new item and an order",
        {
            "$setElementOrder/containers": [{"name": "main"}, {"name": "more"}, {"name": "side"}],
            "containers": [{"name": "more", "image": "m"}],
        },
        *_NAMES,
    ),
    _strategic("a strategic patch's item needs its key", {"containers": [{"image": "m"}]}, *_NAMES),
    _strategic(
        "a strategic patch of an unknown directive is refused",
        {"containers": [{"name": "main", "$patch": "turn"}]},
        *_NAMES,
    ),
    _strategic(
        "a strategic patch merges variables by name",
        _main(env=[{"name": "B", "value": "3"}, {"name": "C", "value": "4"}]),
        *_ENV,
    ),
    _strategic("a strategic patch deletes a variable", _main(env=[{"name": "A", "$patch": "delete"}]), *_ENV),
    _strategic("a strategic patch's null removes a list", _main(env=None), *_ENV, *_NAMES),
    _strategic(
        "a strategic patch merges ports by number", _main(ports=[{"containerPort": 81, "name": "more"}]), *_PORTS
    ),
    _strategic("a strategic patch replaces a plain list", _main(args=["c"]), f"{_TEMPLATE}.containers[name=main].args"),
    _strategic(
        "a strategic patch merges volumes by name",
        {"volumes": [{"name": "w", "configMap": {"name": "d"}}]},
        f"{_TEMPLATE}.volumes[*].name",
        f"{_TEMPLATE}.volumes[name=w].configMap.name",
    ),
    _strategic(
        "a strategic patch retains the named keys of a volume",
        {"volumes": [{"name": "v", "$retainKeys": ["name", "configMap"], "configMap": {"name": "d"}}]},
        f"{_TEMPLATE}.volumes[name=v]",
    ),
    _strategic(
        "a strategic patch replaces tolerations",
        {"tolerations": [{"key": "u", "operator": "Exists"}]},
        f"{_TEMPLATE}.tolerations",
    ),
    _strategic("a strategic patch merges maps", {"nodeSelector": {"m": "2"}}, f"{_TEMPLATE}.nodeSelector"),
    _strategic(
        "a strategic patch's null removes of a map", {"nodeSelector": {"n": None}}, f"{_TEMPLATE}.nodeSelector", *_NAMES
    ),
    _strategic(
        "a strategic patch replaces a map",
        {"nodeSelector": {"$patch": "replace", "m": "2"}},
        f"{_TEMPLATE}.nodeSelector",
    ),
    _strategic(
        "a strategic patch deletes a map", {"nodeSelector": {"$patch": "delete"}}, f"{_TEMPLATE}.nodeSelector", *_NAMES
    ),
    _strategic(
        "a strategic patch retains the keys of the strategy",
        {"strategy": {"$retainKeys": ["type"], "type": "Recreate"}},
        "spec.strategy",
        spec_of="spec",
    ),
    _strategic(
        "a strategy that changes without its keys is refused",
        {"strategy": {"type": "Recreate"}},
        "spec.strategy",
        spec_of="spec",
    ),
    _of_account("a strategic patch adds to a set", {"metadata": {"finalizers": ["example.org/c"]}}, *_FINALIZERS),
    _of_account(
        "a strategic patch adds nothing twice to a set", {"metadata": {"finalizers": ["example.org/b"]}}, *_FINALIZERS
    ),
    _of_account(
        "a strategic patch deletes from a set",
        {"metadata": {"$deleteFromPrimitiveList/finalizers": ["example.org/a"]}},
        *_FINALIZERS,
    ),
    _of_account(
        "a strategic patch orders a set",
        {"metadata": {"$setElementOrder/finalizers": ["example.org/b", "example.org/a"]}},
        *_FINALIZERS,
    ),
    _of_account(
        "a strategic patch merges pull secrets by name", {"imagePullSecrets": [{"name": "three"}]}, "imagePullSecrets"
    ),
    _of_account(
        "a strategic patch deletes a pull secret",
        {"imagePullSecrets": [{"name": "one", "$patch": "delete"}]},
        "imagePullSecrets",
    ),
    _of_service(
        "a strategic patch merges a Service's ports by number", {"spec": {"ports": [{"port": 81, "name": "c"}]}}
    ),
    _of_service("a strategic patch deletes a Service's port", {"spec": {"ports": [{"port": 80, "$patch": "delete"}]}}),
    _wrong("a strategic patch that is a list is refused", STRATEGIC, [{"op": "add"}]),
    _wrong("a strategic patch that is no JSON is refused", STRATEGIC, "{"),
    case(
        "a strategic patch's null removes a label",
        *_MADE,
        patch(_ONE, {"metadata": {"labels": {"l": None}}}, "metadata.labels", "metadata.name", kind=STRATEGIC),
    ),
    case(
        "a strategic patch of a custom kind is refused",
        *widgets(),
        *quietly(post(WIDGETS, widget(spec={}))),
        patch(f"{WIDGETS}/w", {"spec": {"size": 4}}, kind=STRATEGIC),
    ),
    case(
        "a merge patch of a custom kind",
        *widgets(),
        *quietly(post(WIDGETS, widget(spec={"names": ["a", "b"]}))),
        patch(f"{WIDGETS}/w", {"spec": {"names": ["c"], "size": None}}, "spec"),
    ),
    case(
        "a JSON patch of a custom kind",
        *widgets(),
        *quietly(post(WIDGETS, widget(spec={"names": ["a"]}))),
        patch(f"{WIDGETS}/w", [{"op": "add", "path": "/spec/names/0", "value": "z"}], "spec", kind=JSON_PATCH),
    ),
    case("a patch of a subresource that is not there is not found", *_MADE, patch(f"{_ONE}/status", {"data": {}})),
    case(
        "a strategic patch of a pod's status merges conditions by type",
        *quietly(
            post(PODS, pod()),
            patch(
                f"{_POD}/status",
                {
                    "status": {
                        "conditions": [{"type": "Ready", "status": "False"}, {"type": "PodScheduled", "status": "True"}]
                    }
                },
                kind=STRATEGIC,
            ),
        ),
        patch(
            f"{_POD}/status",
            {"status": {"conditions": [{"type": "Ready", "status": "True"}]}},
            "status.conditions[*].type",
            "status.conditions[type=Ready].status",
            kind=STRATEGIC,
        ),
    ),
    case(
        "a merge patch of a pod's status replaces conditions",
        *quietly(
            post(PODS, pod()),
            patch(
                f"{_POD}/status",
                {"status": {"conditions": [{"type": "Ready", "status": "False"}, {"type": "A", "status": "True"}]}},
            ),
        ),
        patch(
            f"{_POD}/status",
            {"status": {"conditions": [{"type": "Ready", "status": "True"}]}},
            "status.conditions[*].type",
        ),
    ),
    case(
        "a patch that changes nothing wakes nobody",
        *_MADE,
        patch(_ONE, {"data": {"a": "1"}}, "data"),
        get(_ONE, "data"),
    ),
    case(
        "a pod's container is not deleted by a patch",
        *quietly(post(PODS, pod("x", MAIN, {"name": "b", "image": "i"}))),
        patch(_POD, {"spec": {"containers": [{"name": "b", "$patch": "delete"}]}}, kind=STRATEGIC),
    ),
)
