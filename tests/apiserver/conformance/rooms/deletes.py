"""Delete: options, preconditions, propagation, grace, collections, evictions."""

from __future__ import annotations

from typing import Any

from apiserver.conformance.cases import (
    CONFIG_MAPS,
    PODS,
    SERVICES,
    Ask,
    case,
    config,
    delete,
    get,
    patch,
    pod,
    post,
    quietly,
)

_ONE, _POD = f"{CONFIG_MAPS}/x", f"{PODS}/x"
_MADE = quietly(post(CONFIG_MAPS, config()))
_HELD = quietly(post(CONFIG_MAPS, config(finalizers=["example.org/a"])))
_OTHER = "6f0e4b9c-0000-4000-8000-000000000001"
_BOUND = quietly(post(PODS, pod(nodeName="nowhere")))


def _options(**fields: Any) -> dict[str, Any]:
    return {"kind": "DeleteOptions", "apiVersion": "v1", **fields}


def _owned(block: bool = False, owner: int = 0, name: str = "owned") -> Ask:
    reference = {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "name": "x",
        "uid": f"@{owner}.metadata.uid@",
        "blockOwnerDeletion": block,
    }
    return quietly(post(CONFIG_MAPS, config(name, ownerReferences=[reference])))[0]


CASES = (
    case("a delete answers a Status with what is gone", *_MADE, delete(_ONE), get(_ONE)),
    case("a delete of what is not there is not found", delete(_ONE)),
    case("a delete of another uid is a conflict", *_MADE, delete(_ONE, _options(preconditions={"uid": _OTHER}))),
    case("a delete of the same uid is done", *_MADE, delete(_ONE, _options(preconditions={"uid": "@0.metadata.uid@"}))),
    case(
        "a delete of another version is a conflict",
        *_MADE,
        delete(_ONE, _options(preconditions={"resourceVersion": "1"})),
    ),
    case(
        "a delete of the same version is done",
        *_MADE,
        delete(_ONE, _options(preconditions={"resourceVersion": "@0.metadata.resourceVersion@"})),
    ),
    case("a finalizer holds the object", *_HELD, delete(_ONE, None, "metadata"), get(_ONE, "metadata")),
    case(
        "a second delete of what is held changes nothing",
        *_HELD,
        *quietly(delete(_ONE)),
        delete(_ONE, None, "metadata"),
    ),
    case(
        "the last finalizer that goes lets the object go",
        *_HELD,
        *quietly(delete(_ONE)),
        patch(_ONE, {"metadata": {"finalizers": None}}, "metadata.finalizers"),
        get(_ONE),
    ),
    case(
        "no finalizer comes while an object is deleted",
        *_HELD,
        *quietly(delete(_ONE)),
        patch(_ONE, {"metadata": {"finalizers": ["example.org/a", "example.org/b"]}}),
    ),
    case(
        "labels change while an object is deleted",
        *_HELD,
        *quietly(delete(_ONE)),
        patch(_ONE, {"metadata": {"labels": {"a": "b"}}}, "metadata.labels"),
    ),
    case("a name is not free while its object is deleted", *_HELD, *quietly(delete(_ONE)), post(CONFIG_MAPS, config())),
    case(
        "a delete by background takes the dependents",
        *_MADE,
        _owned(),
        delete(f"{_ONE}?propagationPolicy=Background"),
        get(f"{CONFIG_MAPS}/owned", until=404),
    ),
    case(
        "a delete takes the dependents by default",
        *_MADE,
        _owned(),
        delete(_ONE),
        get(f"{CONFIG_MAPS}/owned", until=404),
    ),
    case(
        "a foreground delete waits for the dependents that block",
        *_MADE,
        _owned(block=True),
        delete(_ONE, _options(propagationPolicy="Foreground"), "metadata.finalizers", "metadata.name"),
        get(f"{CONFIG_MAPS}/owned", until=404),
        get(_ONE, until=404),
    ),
    case(
        "an orphaning delete leaves the dependents without that owner",
        *_MADE,
        _owned(),
        *quietly(delete(_ONE, _options(propagationPolicy="Orphan"))),
        get(_ONE, until=404),
        get(f"{CONFIG_MAPS}/owned", "metadata"),
    ),
    case(
        "orphanDependents is still heard",
        *_MADE,
        _owned(),
        *quietly(delete(_ONE, _options(orphanDependents=True))),
        get(_ONE, until=404),
        get(f"{CONFIG_MAPS}/owned", "metadata.name"),
    ),
    case(
        "a dependent with another owner stays",
        *_MADE,
        *quietly(post(CONFIG_MAPS, config("y"))),
        *quietly(
            post(
                CONFIG_MAPS,
                config(
                    "owned",
                    ownerReferences=[
                        {"apiVersion": "v1", "kind": "ConfigMap", "name": n, "uid": f"@{i}.metadata.uid@"}
                        for i, n in enumerate("xy")
                    ],
                ),
            )
        ),
        *quietly(delete(_ONE)),
        get(_ONE, until=404),
        get(f"{CONFIG_MAPS}/owned", "metadata.name"),
    ),
    case(
        "both ways of propagation at once are refused",
        *_MADE,
        delete(_ONE, _options(propagationPolicy="Orphan", orphanDependents=True)),
    ),
    case("an unknown propagation is refused", *_MADE, delete(f"{_ONE}?propagationPolicy=Sideways")),
    case("an unknown propagation in the body is refused", *_MADE, delete(_ONE, _options(propagationPolicy="Sideways"))),
    case("a dry run deletes nothing", *_MADE, delete(f"{_ONE}?dryRun=All"), get(_ONE, "metadata.name")),
    case(
        "a dry run in the body deletes nothing",
        *_MADE,
        delete(_ONE, _options(dryRun=["All"])),
        get(_ONE, "metadata.name"),
    ),
    case("a dry run in the body that is not All is refused", *_MADE, delete(_ONE, _options(dryRun=["Some"]))),
    case("a body that is no DeleteOptions is refused", *_MADE, delete(_ONE, {"kind": "ConfigMap", "apiVersion": "v1"})),
    case("a body of a delete that is no JSON is refused", *_MADE, Ask("DELETE", _ONE, "{")),
    case("a grace period that is no number is refused", *_MADE, delete(f"{_ONE}?gracePeriodSeconds=soon")),
    case(
        "a pod without a node is gone at once",
        *quietly(post(PODS, pod())),
        delete(_POD, None, "metadata.name", "kind"),
        get(_POD),
    ),
    case(
        "a pod on a node has its grace period",
        *_BOUND,
        delete(_POD, None, "metadata.deletionGracePeriodSeconds", "metadata.deletionTimestamp"),
        get(_POD, "metadata.name"),
    ),
    case(
        "a grace period may be asked for",
        *_BOUND,
        delete(f"{_POD}?gracePeriodSeconds=5", None, "metadata.deletionGracePeriodSeconds"),
    ),
    case(
        "a grace period may be asked for in the body",
        *_BOUND,
        delete(_POD, _options(gracePeriodSeconds=7), "metadata.deletionGracePeriodSeconds"),
    ),
    case(
        "a grace period of 0 ends a pod at once",
        *_BOUND,
        delete(f"{_POD}?gracePeriodSeconds=0", None, "metadata.name"),
        get(_POD),
    ),
    case(
        "a second delete shortens the grace period",
        *_BOUND,
        *quietly(delete(f"{_POD}?gracePeriodSeconds=20")),
        delete(f"{_POD}?gracePeriodSeconds=5", None, "metadata.deletionGracePeriodSeconds"),
    ),
    case(
        "a second delete does not lengthen the grace period",
        *_BOUND,
        *quietly(delete(f"{_POD}?gracePeriodSeconds=5")),
        delete(f"{_POD}?gracePeriodSeconds=20", None, "metadata.deletionGracePeriodSeconds"),
    ),
    case(
        "a pod's own grace period is the default",
        *quietly(post(PODS, pod(nodeName="nowhere", terminationGracePeriodSeconds=3))),
        delete(_POD, None, "metadata.deletionGracePeriodSeconds"),
    ),
    case(
        "a ConfigMap has no grace period",
        *_HELD,
        delete(f"{_ONE}?gracePeriodSeconds=5", None, "metadata.deletionGracePeriodSeconds"),
    ),
    case(
        "a collection is deleted by labels",
        *quietly(post(CONFIG_MAPS, config("a", labels={"k": "1"})), post(CONFIG_MAPS, config("b", labels={"k": "2"}))),
        delete(f"{CONFIG_MAPS}?labelSelector=k%3D1", None, "kind", "items[*].metadata.name"),
        get(f"{CONFIG_MAPS}?labelSelector=k", "items[*].metadata.name"),
    ),
    case(
        "a collection is deleted by fields",
        *_MADE,
        *quietly(post(CONFIG_MAPS, config("y"))),
        delete(f"{CONFIG_MAPS}?fieldSelector=metadata.name%3Dx", None, "items[*].metadata.name"),
        get(f"{CONFIG_MAPS}/y", "metadata.name"),
    ),
    case(
        "a dry run of a collection deletes nothing",
        *_MADE,
        delete(f"{CONFIG_MAPS}?fieldSelector=metadata.name%3Dx&dryRun=All", None, "items[*].metadata.name"),
        get(_ONE, "metadata.name"),
    ),
    case(
        "a collection with nothing in it is deleted",
        delete(f"{CONFIG_MAPS}?labelSelector=k%3D1", None, "kind", "items"),
    ),
    case("a collection with a wrong selector is not deleted", delete(f"{CONFIG_MAPS}?labelSelector=a%3D%3D%3Db")),
    case("a collection of Services is not deleted", delete(SERVICES)),
    case(
        "an eviction deletes a pod",
        *quietly(post(PODS, pod())),
        post(f"{_POD}/eviction", {"apiVersion": "policy/v1beta1", "kind": "Eviction", "metadata": {"name": "x"}}),
        get(_POD),
    ),
    case(
        "an eviction of another pod is refused",
        *quietly(post(PODS, pod())),
        post(f"{_POD}/eviction", {"apiVersion": "policy/v1beta1", "kind": "Eviction", "metadata": {"name": "y"}}),
    ),
    case(
        "an eviction of what is not there is not found",
        post(f"{_POD}/eviction", {"apiVersion": "policy/v1beta1", "kind": "Eviction", "metadata": {"name": "x"}}),
    ),
    case(
        "a dry run of an eviction deletes nothing",
        *quietly(post(PODS, pod())),
        post(
            f"{_POD}/eviction",
            {
                "apiVersion": "policy/v1beta1",
                "kind": "Eviction",
                "metadata": {"name": "x"},
                "deleteOptions": {"dryRun": ["All"]},
            },
        ),
        get(_POD, "metadata.name"),
    ),
    case(
        "the generation counts a deletion",
        *quietly(
            post(
                "/apis/apps/v1/namespaces/@ns@/deployments",
                {
                    "metadata": {"name": "x", "finalizers": ["example.org/a"]},
                    "spec": {
                        "replicas": 0,
                        "selector": {"matchLabels": {"a": "b"}},
                        "template": {
                            "metadata": {"labels": {"a": "b"}},
                            "spec": {"containers": [{"name": "c", "image": "i"}]},
                        },
                    },
                },
            )
        ),
        delete("/apis/apps/v1/namespaces/@ns@/deployments/x", None, "metadata.generation"),
    ),
)
