"""Lists: selectors, pages, versions, shapes."""

from __future__ import annotations

from apiserver.conformance.cases import (
    CONFIG_MAPS,
    LEASES,
    PARTIALS,
    PODS,
    SECRETS,
    SERVICES,
    TABLE,
    WIDGETS,
    Case,
    case,
    config,
    get,
    home,
    pod,
    post,
    quietly,
    secret,
    widget,
    widgets,
)

_NAMES = "items[*].metadata.name"
_MANY = quietly(
    *(
        post(CONFIG_MAPS, config(f"n{i}", labels={"k": str(i % 2), "only": "yes", **({"odd": "x"} if i % 2 else {})}))
        for i in range(5)
    )
)
_JOB = {
    "apiVersion": "batch/v1",
    "kind": "Job",
    "metadata": {"name": "x"},
    "spec": {"template": {"spec": {"restartPolicy": "Never", "containers": [{"name": "main", "image": "a"}]}}},
}
_ONLY = "labelSelector=only%3Dyes"


def _labels(name: str, selector: str) -> Case:
    """Of five ConfigMaps: `k` is 0 or 1, `odd` is on two of them."""
    return case(name, *_MANY, get(f"{CONFIG_MAPS}?labelSelector={selector}", _NAMES))


def _no_labels(name: str, selector: str) -> Case:
    return case(name, get(f"{CONFIG_MAPS}?labelSelector={selector}"))


def _pods(name: str, selector: str) -> Case:
    made = quietly(
        post(PODS, pod("a", nodeName="n1")), post(PODS, pod("b", restartPolicy="Never", serviceAccountName="default"))
    )
    return case(name, *made, get(f"{PODS}?fieldSelector={selector}", _NAMES))


_BOTH = (_NAMES, "metadata.remainingItemCount", "metadata.continue")

CASES = (
    case("an empty list has no items", get(SECRETS.replace("secrets", "endpoints"))),
    case("a list names the kind of a list", *_MANY, get(f"{CONFIG_MAPS}?{_ONLY}", "kind", "apiVersion", "metadata")),
    case(
        "items of a list do not name their kind",
        *_MANY,
        get(f"{CONFIG_MAPS}?{_ONLY}&limit=1", "items[0].kind", "items[0].apiVersion"),
    ),
    case("a list is in the order of names", *_MANY, get(f"{CONFIG_MAPS}?{_ONLY}", _NAMES)),
    _labels("a label with a value", "k%3D1"),
    _labels("a label with a value, with two equal signs", "k%3D%3D1"),
    _labels("a label without a value", "only,k!%3D1"),
    _labels("a label that is there", "odd"),
    _labels("a label that is not there", "only,!odd"),
    _labels("a label in a set", "k%20in%20(1,2)"),
    _labels("a label not in a set", "only,k%20notin%20(1,2)"),
    _labels("two labels are both wanted", "only%3Dyes,k%3D1"),
    _labels("a label with no value", "only%3D"),
    _labels("a set with spaces", "k%20in%20(%201%20,%202%20)"),
    _labels("not in a set holds where there is no such label", "only,odd%20notin%20(x)"),
    _labels("a label greater than a number", "k%3E0"),
    _labels("a label less than a number", "k%3C1"),
    _no_labels("three equal signs are refused", "a%3D%3D%3Db"),
    _no_labels("a set that does not end is refused", "a%20in%20(b"),
    _no_labels("an empty set is taken", "a%20in%20()"),
    _no_labels("a word that is no operator is refused", "a%20within%20(b)"),
    _no_labels("a comma at the end", "a%3Db,"),
    _no_labels("a wrong value in a selector is refused", "a%3Db%20c"),
    _no_labels("a wrong key in a selector is refused", "a%2Fb%2Fc%3Dd"),
    _no_labels("a text that is greater than a number is refused", "a%3Eb"),
    case("a field: the name", *_MANY, get(f"{CONFIG_MAPS}?fieldSelector=metadata.name%3Dn3", _NAMES)),
    case("a field: not the name", *_MANY, get(f"{CONFIG_MAPS}?{_ONLY}&fieldSelector=metadata.name!%3Dn3", _NAMES)),
    case(
        "a field: the namespace",
        *_MANY,
        get(f"/api/v1/configmaps?{_ONLY}&fieldSelector=metadata.namespace%3D@ns@", _NAMES),
    ),
    case(
        "a field and a label are both wanted",
        *_MANY,
        get(f"{CONFIG_MAPS}?labelSelector=k%3D0&fieldSelector=metadata.name%3Dn3", _NAMES),
    ),
    case("an unknown field is refused", get(f"{CONFIG_MAPS}?fieldSelector=data.a%3Db")),
    case("a field selector without an operator is refused", get(f"{CONFIG_MAPS}?fieldSelector=metadata.name")),
    case("an unknown field of pods is refused", get(f"{PODS}?fieldSelector=spec.hostname%3Da")),
    case("an unknown field of leases is refused", get(f"{LEASES}?fieldSelector=spec.holderIdentity%3Da")),
    _pods("pods by their node", "spec.nodeName%3Dn1"),
    _pods("pods without a node", "spec.nodeName%3D"),
    _pods("pods by their restart policy", "spec.restartPolicy%3DNever"),
    _pods("pods by their account", "spec.serviceAccountName%3Ddefault"),
    _pods("pods by their phase", "status.phase%3DPending"),
    _pods("pods not in a phase", "status.phase!%3DPending"),
    _pods("pods by their scheduler", "spec.schedulerName%3Ddefault-scheduler"),
    case(
        "secrets by their type",
        *quietly(post(SECRETS, secret(type="example.org/a"))),
        get(f"{SECRETS}?fieldSelector=type%3Dexample.org%2Fa", _NAMES),
    ),
    case(
        "events by what they are of",
        *quietly(
            post(
                "/api/v1/namespaces/@ns@/events",
                {
                    "metadata": {"name": "e"},
                    "involvedObject": {"kind": "Pod", "name": "p", "namespace": "@ns@"},
                    "reason": "R",
                    "type": "Normal",
                },
            )
        ),
        get(
            "/api/v1/namespaces/@ns@/events?fieldSelector=involvedObject.name%3Dp,involvedObject.kind%3DPod,reason%3DR,type%3DNormal",
            _NAMES,
        ),
        get("/api/v1/namespaces/@ns@/events?fieldSelector=involvedObject.name%3Dq", "items"),
    ),
    case("an unknown field of a custom kind is refused", *widgets(), get(f"{WIDGETS}?fieldSelector=spec.size%3D3")),
    case(
        "custom objects by name",
        *widgets(),
        *quietly(post(WIDGETS, widget()), post(WIDGETS, widget("v"))),
        get(f"{WIDGETS}?fieldSelector=metadata.name%3Dv", _NAMES),
    ),
    case(
        "custom objects in a list name their kind",
        *widgets(),
        *quietly(post(WIDGETS, widget())),
        get(WIDGETS, "kind", "apiVersion", "items[0].kind", "items[0].apiVersion"),
    ),
    case(
        "a limit cuts a list",
        *_MANY,
        get(f"{CONFIG_MAPS}?fieldSelector=metadata.name!%3Dkube-root-ca.crt&limit=2", _NAMES, "metadata.continue"),
    ),
    case(
        "a page tells how many are left",
        *quietly(*(post(LEASES, {"metadata": {"name": f"l{i}"}, "spec": {}}) for i in range(5))),
        get(f"{LEASES}?limit=2", *_BOTH),
    ),
    case(
        "a page with a selector does not tell how many are left", *_MANY, get(f"{CONFIG_MAPS}?{_ONLY}&limit=2", *_BOTH)
    ),
    case(
        "the next page goes on",
        *_MANY,
        *quietly(get(f"{CONFIG_MAPS}?{_ONLY}&limit=2")),
        get(f"{CONFIG_MAPS}?{_ONLY}&limit=2&continue=@5.metadata.continue@", _NAMES, "metadata.continue"),
    ),
    case(
        "the last page has no more",
        *_MANY,
        *quietly(get(f"{CONFIG_MAPS}?{_ONLY}&limit=3")),
        get(f"{CONFIG_MAPS}?{_ONLY}&limit=3&continue=@5.metadata.continue@", *_BOTH),
    ),
    case("a limit that is just enough has no next page", *_MANY, get(f"{CONFIG_MAPS}?{_ONLY}&limit=5", *_BOTH)),
    case("a limit of 0 is none", *_MANY, get(f"{CONFIG_MAPS}?{_ONLY}&limit=0", *_BOTH)),
    case("a continue token that is none is refused", get(f"{CONFIG_MAPS}?limit=2&continue=abc")),
    case(
        "a continue token with a version is refused",
        *quietly(
            *(post(LEASES, {"metadata": {"name": f"l{i}"}, "spec": {}}) for i in range(3)), get(f"{LEASES}?limit=2")
        ),
        get(f"{LEASES}?limit=2&continue=@3.metadata.continue@&resourceVersion=5"),
    ),
    case("a limit that is no number is refused", get(f"{CONFIG_MAPS}?limit=few")),
    case("a negative limit", *_MANY, get(f"{CONFIG_MAPS}?{_ONLY}&limit=-1", _NAMES)),
    case("a list of a version that does not exist yet", get(f"{CONFIG_MAPS}?resourceVersion=99999999999")),
    case("a list of a version that is no number is refused", get(f"{CONFIG_MAPS}?resourceVersion=abc")),
    case(
        "a list of version 0 is any",
        *_MANY,
        get(f"{CONFIG_MAPS}?labelSelector=k%3D0,only&resourceVersion=0&fieldSelector=metadata.name%3Dn2", _NAMES),
    ),
    case(
        "a list not older than a version",
        *_MANY,
        get(
            f"{CONFIG_MAPS}?fieldSelector=metadata.name%3Dn2&resourceVersion=@4.metadata.resourceVersion@&resourceVersionMatch=NotOlderThan",
            _NAMES,
        ),
    ),
    case("a match of versions needs a version", get(f"{CONFIG_MAPS}?resourceVersionMatch=NotOlderThan")),
    case(
        "an unknown match of versions is refused", get(f"{CONFIG_MAPS}?resourceVersion=1&resourceVersionMatch=Roughly")
    ),
    case("an exact match of version 0 is refused", get(f"{CONFIG_MAPS}?resourceVersion=0&resourceVersionMatch=Exact")),
    case(
        "a list of all namespaces",
        *_MANY,
        get(f"/api/v1/configmaps?{_ONLY}&fieldSelector=metadata.namespace%3D@ns@", _NAMES, "kind"),
    ),
    case(
        "a list of a namespace that is not there is empty",
        get("/api/v1/namespaces/nowhere/configmaps", "kind", "items"),
    ),
    case(
        "a list of metadata alone",
        *_MANY,
        get(
            f"{CONFIG_MAPS}?labelSelector=odd",
            "kind",
            "apiVersion",
            "items[*].kind",
            "items[*].metadata.name",
            "items[*].data",
            **PARTIALS,
        ),
    ),
    case(
        "a list of Jobs of a namespace without any is empty",
        get(home("jobs", "batch/v1"), "kind", "apiVersion", "items"),
    ),
    case(
        "a list of all ReplicationControllers where there are none is empty",
        get(home("replicationcontrollers", "", ""), "kind", "apiVersion", "items"),
    ),
    case("a table of no Jobs has no rows", get(home("jobs", "batch/v1"), "kind", "apiVersion", "rows", **TABLE)),
    case("a list of another system's kind that is not installed is not found", get(home("tfjobs", "kubeflow.org/v1"))),
    case(
        "a Job is stored",
        post(home("jobs", "batch/v1") + "?dryRun=All", _JOB, "kind", "spec.template.spec.containers[0].name"),
    ),
    case("a list of an unknown kind is not found", get("/api/v1/namespaces/@ns@/nothings")),
    case(
        "what a list does not know in its query is ignored",
        *_MANY,
        get(f"{CONFIG_MAPS}?{_ONLY}&nonsense=1&pretty=false", _NAMES),
    ),
    case("a get with a version", *_MANY, get(f"{CONFIG_MAPS}/n1?resourceVersion=0", "metadata.name")),
    case("a get with a version that is no number is refused", *_MANY, get(f"{CONFIG_MAPS}/n1?resourceVersion=abc")),
    case("Services by an unknown field are refused", get(f"{SERVICES}?fieldSelector=spec.foo%3Da")),
)
