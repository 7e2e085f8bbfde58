"""Namespaces: what they hold while they live, and how they end; status and scale subresources."""

from __future__ import annotations

from apiserver.conformance.cases import (
    CONFIG_MAPS,
    DEPLOYMENTS,
    WIDGETS,
    case,
    config,
    delete,
    deployment,
    get,
    newer,
    patch,
    post,
    put,
    quietly,
    widget,
    widgets,
)

_NS = "/api/v1/namespaces/@ns@"
_ONE = f"{CONFIG_MAPS}/x"
_W, _STATUS, _SCALE = f"{WIDGETS}/w", f"{WIDGETS}/w/status", f"{WIDGETS}/w/scale"
_MADE = (*widgets(), *quietly(post(WIDGETS, widget(spec={"replicas": 2}))))
_DEPLOYED = quietly(post(DEPLOYMENTS, deployment(replicas=0)))
_LABEL = "https://kubernetes.io/docs/reference/labels-annotations-taints/#kubernetes-io-metadata-name"
_HELD = quietly(post(CONFIG_MAPS, config(finalizers=["example.org/a"])), delete(_NS))

CASES = (
    case("a namespace is active", get(_NS, "spec.finalizers", "status.phase", "kind")),
    case(
        "an object in a namespace that is not there is not found",
        post("/api/v1/namespaces/nowhere/configmaps", config()),
    ),
    case("an object of a namespace that is not there is not found", get("/api/v1/namespaces/nowhere/configmaps/x")),
    case(
        "a dry run in a namespace that is not there is not found",
        post("/api/v1/namespaces/nowhere/configmaps?dryRun=All", config()),
    ),
    case("the namespace default is not deleted", delete("/api/v1/namespaces/default")),
    case("the namespace kube-system is not deleted", delete("/api/v1/namespaces/kube-system")),
    case("a delete of a namespace answers it as terminating", *_HELD, get(_NS, "status.phase", "spec.finalizers")),
    case("nothing is created in a namespace that terminates", *_HELD, post(CONFIG_MAPS, config("y"))),
    case("objects are changed in a namespace that terminates", *_HELD, patch(_ONE, {"data": {"a": "1"}}, "data")),
    case(
        "a namespace ends when its last object has",
        *_HELD,
        *quietly(patch(_ONE, {"metadata": {"finalizers": None}})),
        get(_NS, until=404),
    ),
    case(
        "a namespace takes its objects",
        *quietly(post(CONFIG_MAPS, config()), delete(_NS)),
        get(_NS, until=404),
        get(_ONE),
    ),
    case(
        "a namespace takes its custom objects",
        *widgets(),
        *quietly(post(WIDGETS, widget(spec={})), delete(_NS)),
        get(_NS, until=404),
        get(_W),
    ),
    case("a namespace exists once", post("/api/v1/namespaces", {"metadata": {"name": "@ns@"}})),
    case("namespaces are not deleted together", delete("/api/v1/namespaces")),
    case("labels of a namespace change", patch(_NS, {"metadata": {"labels": {"a": "b"}}}, "metadata.labels.a")),
    case(
        "a dry run of a namespace's end ends nothing",
        delete(f"{_NS}?dryRun=All", None, "metadata.name"),
        get(_NS, "status.phase"),
    ),
    newer(
        "a namespace has its name as a label",
        "1.21",
        _LABEL,
        (
            get(_NS, "metadata.labels"),
            {"status": 200, "body": {"metadata.labels": {"kubernetes.io/metadata.name": "NS"}}},
        ),
    ),
    newer(
        "a namespace's name stays its label",
        "1.21",
        _LABEL,
        (
            patch(_NS, {"metadata": {"labels": {"kubernetes.io/metadata.name": None}}}, "metadata.labels"),
            {"status": 200, "body": {"metadata.labels": {"kubernetes.io/metadata.name": "NS"}}},
        ),
    ),
    case("a status is read at its path", *_MADE, get(_STATUS, "kind", "spec")),
    case("a status is set at its path", *_MADE, patch(_STATUS, {"status": {"ready": 1}}, "status"), get(_W, "status")),
    case(
        "a status is not set beside its path",
        *_MADE,
        patch(_W, {"status": {"ready": 1}}, "status", "metadata.generation"),
    ),
    case(
        "a spec is not set at the path of the status",
        *_MADE,
        patch(_STATUS, {"spec": {"size": 9}, "status": {"ready": 1}}, "spec.size", "status"),
    ),
    case(
        "labels are not set at the path of the status",
        *_MADE,
        patch(_STATUS, {"metadata": {"labels": {"a": "b"}}, "status": {"ready": 1}}, "metadata.labels", "status"),
    ),
    case("a status keeps the generation", *_MADE, patch(_STATUS, {"status": {"ready": 1}}, "metadata.generation")),
    case("a status of a wrong type is refused", *_MADE, patch(_STATUS, {"status": {"ready": "all"}})),
    case(
        "an unknown field of a status is dropped", *_MADE, patch(_STATUS, {"status": {"ready": 1, "more": 2}}, "status")
    ),
    case(
        "a replace of a status",
        *_MADE,
        put(
            _STATUS,
            {
                **widget(status={"ready": 2}),
                "metadata": {"name": "w", "resourceVersion": "@2.metadata.resourceVersion@"},
            },
            "status",
            "spec",
        ),
    ),
    case("a status is not created", *_MADE, post(_STATUS, widget(status={"ready": 2}))),
    case("a status is not deleted", *_MADE, delete(_STATUS)),
    case("a status of what is not there is not found", *widgets(), get(_STATUS)),
    case("a scale is read", *_MADE, get(_SCALE)),
    case(
        "a scale is replaced",
        *_MADE,
        put(
            _SCALE,
            {
                "apiVersion": "autoscaling/v1",
                "kind": "Scale",
                "metadata": {"name": "w", "namespace": "@ns@"},
                "spec": {"replicas": 5},
            },
            "spec",
            "kind",
        ),
        get(_W, "spec.replicas", "metadata.generation"),
    ),
    case("a scale is patched", *_MADE, patch(_SCALE, {"spec": {"replicas": 4}}, "spec"), get(_W, "spec.replicas")),
    case("a scale is not negative", *_MADE, patch(_SCALE, {"spec": {"replicas": -1}})),
    case("a scale is a number", *_MADE, patch(_SCALE, {"spec": {"replicas": "two"}})),
    case(
        "a scale of an older version is a conflict",
        *_MADE,
        *quietly(patch(_W, {"spec": {"size": 9}})),
        patch(_SCALE, {"metadata": {"resourceVersion": "@2.metadata.resourceVersion@"}, "spec": {"replicas": 4}}),
    ),
    case(
        "a scale shows the replicas that are ready",
        *_MADE,
        *quietly(patch(_STATUS, {"status": {"ready": 1}})),
        get(_SCALE, "status"),
    ),
    case("a scale of what has no replicas", *widgets(), *quietly(post(WIDGETS, widget(spec={}))), get(_SCALE)),
    case("a scale of a Deployment is read", *_DEPLOYED, get(f"{DEPLOYMENTS}/x/scale")),
    case(
        "a scale of a Deployment is patched",
        *_DEPLOYED,
        patch(f"{DEPLOYMENTS}/x/scale", {"spec": {"replicas": 0}}, "spec", "kind", "apiVersion"),
    ),
    case("a scale of what is not there is not found", get(f"{DEPLOYMENTS}/x/scale")),
    case("a ConfigMap has no scale", *quietly(post(CONFIG_MAPS, config())), get(f"{_ONE}/scale")),
)
