"""Server-side apply: creates, owners, conflicts, force, what is dropped, dry runs. Sequences of several managers are in
`apiserver.apply_sequences`."""

from __future__ import annotations

from typing import Any

from apiserver.conformance.cases import (
    APPLY,
    CONFIG_MAPS,
    DEPLOYMENTS,
    MAIN,
    SERVICES,
    WIDGETS,
    Ask,
    case,
    config,
    deployment,
    get,
    patch,
    post,
    quietly,
    service,
    widget,
    widgets,
)

_ONE = f"{CONFIG_MAPS}/x"


def _apply(path: str, body: Any, *see: str, manager: str = "a", more: str = "") -> Ask:
    return patch(f"{path}?fieldManager={manager}{more}", body, *see, kind=APPLY)


def _config(labels: Any = None, **data: str) -> Any:
    return config(data=data, **({"labels": labels} if labels else {}))


_FORCE = "&force=true"
_A = quietly(_apply(_ONE, _config(k="1", l="1")))

CASES = (
    case(
        "an apply of what is not there creates it",
        _apply(_ONE, _config(k="1"), "data", "metadata.name"),
        get(_ONE, "data"),
    ),
    case("an apply of what is there merges", *_A, _apply(_ONE, _config(m="2"), "data", manager="b"), get(_ONE, "data")),
    case("an apply takes away what its manager drops", *_A, _apply(_ONE, _config(k="1"), "data"), get(_ONE, "data")),
    case(
        "an apply leaves what another manager owns too",
        *_A,
        *quietly(_apply(_ONE, _config(l="1"), manager="b")),
        _apply(_ONE, _config(k="1"), "data"),
    ),
    case("an apply of the same again changes nothing", *_A, _apply(_ONE, _config(k="1", l="1"), "data")),
    case("an apply of another's field is a conflict", *_A, _apply(_ONE, _config(k="2"), manager="b")),
    case("two fields of another are two causes", *_A, _apply(_ONE, _config(k="2", l="2"), manager="b")),
    case(
        "an apply of another's field with the same value shares it",
        *_A,
        _apply(_ONE, _config(k="1"), "data", manager="b"),
    ),
    case("force takes another's field", *_A, _apply(_ONE, _config(k="2"), "data", manager="b", more=_FORCE)),
    case(
        "a field that was taken by force is lost by its former owner",
        *_A,
        *quietly(_apply(_ONE, _config(k="2"), manager="b", more=_FORCE)),
        _apply(_ONE, _config(k="3", l="1")),
    ),
    case("an apply without a manager is refused", patch(_ONE, _config(k="1"), kind=APPLY)),
    case("an apply of a list is refused", _apply(_ONE, ["a"])),
    case(
        "an apply with managedFields is refused",
        _apply(_ONE, {**_config(), "metadata": {"name": "x", "managedFields": [{"manager": "a"}]}}),
    ),
    case("an apply of another name is refused", _apply(_ONE, config("y"))),
    case("an apply without a kind is refused", _apply(_ONE, {"metadata": {"name": "x"}, "data": {"k": "1"}})),
    case(
        "an apply of another kind is refused",
        _apply(_ONE, {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "x"}}),
    ),
    case(
        "an apply in YAML",
        _apply(_ONE, "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: x\ndata:\n  k: '1'\n", "data"),
    ),
    case("an apply of no YAML is refused", _apply(_ONE, "a: b: c")),
    case("an apply of a wrong type is refused", _apply(_ONE, {**config(), "data": {"k": 5}})),
    case("an apply of an unknown field is refused", _apply(_ONE, {**config(), "dota": {"k": "1"}})),
    case("an apply of an invalid object is refused", _apply(_ONE, config(labels={"a": "b c"}))),
    case(
        "a dry run of an apply that creates stores nothing",
        _apply(_ONE, _config(k="1"), "data", more="&dryRun=All"),
        get(_ONE),
    ),
    case(
        "a dry run of an apply that merges stores nothing",
        *_A,
        _apply(_ONE, _config(k="1"), "data", more="&dryRun=All"),
        get(_ONE, "data"),
    ),
    case(
        "a dry run of an apply tells of conflicts", *_A, _apply(_ONE, _config(k="2"), manager="b", more="&dryRun=All")
    ),
    case("an apply with a uid creates nothing", _apply(_ONE, config(uid="6f0e4b9c-0000-4000-8000-000000000001"))),
    case("an apply of another version is a conflict", *_A, _apply(_ONE, config(resourceVersion="1"))),
    case(
        "an update by another manager makes a conflict for the apply",
        *_A,
        *quietly(patch(f"{_ONE}?fieldManager=u", {"data": {"k": "9"}})),
        _apply(_ONE, _config(k="1", l="1")),
    ),
    case(
        "an update that removes a field leaves it to the next apply",
        *_A,
        *quietly(patch(f"{_ONE}?fieldManager=u", {"data": {"k": None}})),
        _apply(_ONE, _config(k="1", l="1"), "data"),
    ),
    case("force of a merge patch is refused", *_A, patch(f"{_ONE}?force=true", {"data": {}})),
    case(
        "labels are applied one by one",
        *quietly(_apply(_ONE, _config({"a": "1", "b": "1"}))),
        _apply(_ONE, _config({"c": "1"}), "metadata.labels", manager="b"),
    ),
    case(
        "a label that is dropped goes",
        *quietly(_apply(_ONE, _config({"a": "1", "b": "1"}))),
        _apply(_ONE, _config({"a": "1"}), "metadata.labels"),
    ),
    case(
        "containers are applied by name",
        *quietly(_apply(f"{DEPLOYMENTS}/x", deployment(replicas=0))),
        _apply(
            f"{DEPLOYMENTS}/x",
            {
                "apiVersion": "apps/v1",
                "kind": "Deployment",
                "metadata": {"name": "x"},
                "spec": {"template": {"spec": {"containers": [{"name": "side", "image": "s"}]}}},
            },
            "spec.template.spec.containers[*].name",
            manager="b",
        ),
    ),
    case(
        "a container's image of another is a conflict",
        *quietly(_apply(f"{DEPLOYMENTS}/x", deployment(replicas=0))),
        _apply(
            f"{DEPLOYMENTS}/x",
            {
                "apiVersion": "apps/v1",
                "kind": "Deployment",
                "metadata": {"name": "x"},
                "spec": {"template": {"spec": {"containers": [{"name": "main", "image": "s"}]}}},
            },
            manager="b",
        ),
    ),
    case(
        "replicas that are not applied stay with who scaled",
        *quietly(
            _apply(f"{DEPLOYMENTS}/x", deployment(replicas=0)),
            _apply(
                f"{DEPLOYMENTS}/x",
                {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "x"}, "spec": {"replicas": 0}},
                manager="b",
            ),
        ),
        _apply(
            f"{DEPLOYMENTS}/x",
            {
                "apiVersion": "apps/v1",
                "kind": "Deployment",
                "metadata": {"name": "x"},
                "spec": {
                    "selector": {"matchLabels": {"app": "a"}},
                    "template": {"metadata": {"labels": {"app": "a"}}, "spec": {"containers": [MAIN]}},
                },
            },
            "spec.replicas",
        ),
    ),
    case(
        "ports are applied by number and protocol",
        *quietly(_apply(f"{SERVICES}/x", service(ports=[{"name": "a", "port": 80, "protocol": "TCP"}]))),
        _apply(
            f"{SERVICES}/x",
            service(ports=[{"name": "b", "port": 80, "protocol": "UDP"}]),
            "spec.ports[*].name",
            manager="b",
        ),
    ),
    case(
        "a custom object is applied",
        *widgets(),
        _apply(f"{WIDGETS}/w", widget(spec={"size": 5}), "spec"),
        _apply(f"{WIDGETS}/w", widget(spec={"color": "red"}), "spec", manager="b"),
    ),
    case(
        "a custom object's field of another is a conflict",
        *widgets(),
        *quietly(_apply(f"{WIDGETS}/w", widget(spec={"size": 5}))),
        _apply(f"{WIDGETS}/w", widget(spec={"size": 6}), manager="b"),
    ),
    case(
        "a plain list of a custom object is one field",
        *widgets(),
        *quietly(_apply(f"{WIDGETS}/w", widget(spec={"names": ["a"]}))),
        _apply(f"{WIDGETS}/w", widget(spec={"names": ["b"]}), manager="b"),
    ),
    case(
        "a status is applied apart",
        *widgets(),
        *quietly(_apply(f"{WIDGETS}/w", widget(spec={}))),
        _apply(f"{WIDGETS}/w/status", widget(status={"phase": "Up"}), "status", manager="s"),
        get(f"{WIDGETS}/w", "status"),
    ),
    case(
        "an apply of a status of what is not there is not found",
        *widgets(),
        _apply(f"{WIDGETS}/w/status", widget(status={"phase": "Up"})),
    ),
    case(
        "what was created plainly belongs to its creator",
        *quietly(post(f"{CONFIG_MAPS}?fieldManager=c", config(data={"k": "1"}))),
        _apply(_ONE, _config(k="2")),
    ),
)
