"""Create, read, replace: conflicts, preconditions, dry runs, immutable fields."""

from __future__ import annotations

from apiserver.conformance.cases import (
    CONFIG_MAPS,
    DEPLOYMENTS,
    LEASES,
    PODS,
    RBAC,
    SECRETS,
    SERVICES,
    case,
    config,
    deployment,
    get,
    home,
    patch,
    pod,
    post,
    put,
    quietly,
    secret,
    service,
)

_ONE = f"{CONFIG_MAPS}/x"
_MADE = quietly(post(CONFIG_MAPS, config(data={"a": "1"})))
_BINDING = {
    "apiVersion": RBAC,
    "kind": "RoleBinding",
    "metadata": {"name": "x"},
    "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": "r"},
    "subjects": [{"kind": "User", "name": "u", "apiGroup": "rbac.authorization.k8s.io"}],
}
_BINDINGS = home("rolebindings", RBAC)

CASES = (
    case("what is not there is not found", get(_ONE)),
    case("what is not there is not replaced", put(_ONE, config(resourceVersion="1"))),
    case("a replace without a version creates no ConfigMap", put(_ONE, config())),
    case("what is not there is not patched", patch(_ONE, {"data": {}})),
    case("what was created is read", *_MADE, get(_ONE)),
    case(
        "a lease may be created by a replace",
        put(f"{LEASES}/x", {"metadata": {"name": "x"}, "spec": {}}, "kind", "metadata.name"),
    ),
    case("a replace without a version wins", *_MADE, put(_ONE, config(data={"a": "2"}), "data"), get(_ONE, "data")),
    case(
        "a replace of the version that is there is taken",
        *_MADE,
        put(_ONE, config(data={"a": "2"}, resourceVersion="@0.metadata.resourceVersion@"), "data"),
    ),
    case(
        "a replace of an older version is a conflict",
        *_MADE,
        *quietly(put(_ONE, config(data={"a": "2"}))),
        put(_ONE, config(data={"a": "3"}, resourceVersion="@0.metadata.resourceVersion@")),
    ),
    case("a replace of a version that is no number is refused", *_MADE, put(_ONE, config(resourceVersion="abc"))),
    case(
        "a replace of another uid is a conflict", *_MADE, put(_ONE, config(uid="6f0e4b9c-0000-4000-8000-000000000001"))
    ),
    case(
        "a replace of the same uid is taken", *_MADE, put(_ONE, config(data={"a": "2"}, uid="@0.metadata.uid@"), "data")
    ),
    case("a replace with another name in the body is refused", *_MADE, put(_ONE, config("y"))),
    case("a replace with no name in the body is refused", *_MADE, put(_ONE, {"data": {"a": "2"}})),
    case("a replace takes away what it does not have", *_MADE, put(_ONE, config(), "data", "metadata.name"), get(_ONE)),
    case("a replace of another kind is refused", *_MADE, put(_ONE, secret())),
    case("a replace in another namespace is refused", *_MADE, put(_ONE, config(namespace="default"))),
    case(
        "a write that changes nothing keeps its version",
        *_MADE,
        put(_ONE, config(data={"a": "1"}), "data"),
        get(f"{_ONE}?resourceVersion=0", "data"),
    ),
    case(
        "a dry run of a create stores nothing",
        post(f"{CONFIG_MAPS}?dryRun=All", config(data={"a": "1"}), "data", "metadata.name"),
        get(_ONE),
    ),
    case("a dry run of a create that exists is a conflict", *_MADE, post(f"{CONFIG_MAPS}?dryRun=All", config())),
    case(
        "a dry run of a replace stores nothing",
        *_MADE,
        put(f"{_ONE}?dryRun=All", config(data={"a": "2"}), "data"),
        get(_ONE, "data"),
    ),
    case(
        "a dry run of a patch stores nothing",
        *_MADE,
        patch(f"{_ONE}?dryRun=All", {"data": {"a": "2"}}, "data"),
        get(_ONE, "data"),
    ),
    case("a dry run that is not All is refused", post(f"{CONFIG_MAPS}?dryRun=true", config())),
    case(
        "an immutable ConfigMap's data stays",
        *quietly(post(CONFIG_MAPS, {**config(data={"a": "1"}), "immutable": True})),
        patch(_ONE, {"data": {"a": "2"}}),
    ),
    case(
        "an immutable ConfigMap stays immutable",
        *quietly(post(CONFIG_MAPS, {**config(), "immutable": True})),
        patch(_ONE, {"immutable": False}),
    ),
    case(
        "an immutable ConfigMap's binary data stays",
        *quietly(post(CONFIG_MAPS, {**config(), "binaryData": {"a": "AA=="}, "immutable": True})),
        patch(_ONE, {"binaryData": {"a": "AQ=="}}),
    ),
    case(
        "an immutable ConfigMap's labels change",
        *quietly(post(CONFIG_MAPS, {**config(), "immutable": True})),
        patch(_ONE, {"metadata": {"labels": {"a": "b"}}}, "metadata.labels"),
    ),
    case("a ConfigMap becomes immutable", *_MADE, patch(_ONE, {"immutable": True}, "immutable")),
    case(
        "an immutable Secret's data stays",
        *quietly(post(SECRETS, secret(data={"a": "AA=="}, immutable=True))),
        patch(f"{SECRETS}/x", {"data": {"a": "AQ=="}}),
    ),
    case(
        "a Secret's type stays",
        *quietly(post(SECRETS, secret(type="example.org/a"))),
        patch(f"{SECRETS}/x", {"type": "example.org/b"}),
    ),
    case(
        "a pod's image changes",
        *quietly(post(PODS, pod())),
        patch(
            f"{PODS}/x",
            [{"op": "replace", "path": "/spec/containers/0/image", "value": "busybox:2"}],
            "spec.containers[0].image",
            kind="application/json-patch+json",
        ),
    ),
    case(
        "a pod's command stays",
        *quietly(post(PODS, pod())),
        patch(
            f"{PODS}/x",
            [{"op": "add", "path": "/spec/containers/0/command", "value": ["a"]}],
            kind="application/json-patch+json",
        ),
    ),
    case(
        "a pod's node is not changed by a patch",
        *quietly(post(PODS, pod())),
        patch(f"{PODS}/x", {"spec": {"nodeName": "n"}}),
    ),
    case(
        "a pod's labels change",
        *quietly(post(PODS, pod())),
        patch(f"{PODS}/x", {"metadata": {"labels": {"a": "b"}}}, "metadata.labels"),
    ),
    case(
        "a pod's restart policy stays",
        *quietly(post(PODS, pod())),
        patch(f"{PODS}/x", {"spec": {"restartPolicy": "Never"}}),
    ),
    case(
        "a pod's deadline may come",
        *quietly(post(PODS, pod())),
        patch(f"{PODS}/x", {"spec": {"activeDeadlineSeconds": 5}}, "spec.activeDeadlineSeconds"),
    ),
    case(
        "a pod's deadline does not grow",
        *quietly(post(PODS, pod(activeDeadlineSeconds=5))),
        patch(f"{PODS}/x", {"spec": {"activeDeadlineSeconds": 6}}),
    ),
    case(
        "a pod's deadline does not go",
        *quietly(post(PODS, pod(activeDeadlineSeconds=5))),
        patch(f"{PODS}/x", {"spec": {"activeDeadlineSeconds": None}}),
    ),
    case(
        "a pod's toleration may come",
        *quietly(post(PODS, pod())),
        patch(
            f"{PODS}/x",
            [{"op": "add", "path": "/spec/tolerations", "value": [{"key": "a", "operator": "Exists"}]}],
            "spec.tolerations[key=a]",
            kind="application/json-patch+json",
        ),
    ),
    case(
        "a container is not added to a pod",
        *quietly(post(PODS, pod())),
        patch(
            f"{PODS}/x",
            [{"op": "add", "path": "/spec/containers/-", "value": {"name": "b", "image": "i"}}],
            kind="application/json-patch+json",
        ),
    ),
    case(
        "a binding's role stays",
        *quietly(post(_BINDINGS, _BINDING)),
        patch(f"{_BINDINGS}/x", {"roleRef": {"name": "s"}}),
    ),
    case(
        "a binding's subjects change",
        *quietly(post(_BINDINGS, _BINDING)),
        patch(f"{_BINDINGS}/x", {"subjects": None}, "subjects", "metadata.name"),
    ),
    case(
        "a deployment's selector stays",
        *quietly(post(DEPLOYMENTS, deployment(replicas=0))),
        patch(
            f"{DEPLOYMENTS}/x",
            {"spec": {"selector": {"matchLabels": {"b": "c"}}, "template": {"metadata": {"labels": {"b": "c"}}}}},
        ),
    ),
    case(
        "a deployment's generation counts changes of its spec",
        *quietly(post(DEPLOYMENTS, deployment(replicas=0))),
        patch(f"{DEPLOYMENTS}/x", {"spec": {"paused": True}}, "metadata.generation"),
        patch(f"{DEPLOYMENTS}/x", {"metadata": {"labels": {"a": "b"}}}, "metadata.generation"),
    ),
    case(
        "a Service's cluster address stays",
        *quietly(post(SERVICES, service(clusterIP="None"))),
        patch(f"{SERVICES}/x", {"spec": {"clusterIP": "10.96.3.4"}}),
    ),
    case(
        "a field that no manager may be called by is refused", post(f"{CONFIG_MAPS}?fieldManager={'a' * 129}", config())
    ),
    case("a manager's name is printable", post(f"{CONFIG_MAPS}?fieldManager=a%07", config())),
    case("a manager may be named", post(f"{CONFIG_MAPS}?fieldManager=me", config(), "metadata.name")),
    case(
        "an answer to a create is 201, to a replace 200",
        post(CONFIG_MAPS, config(), "kind"),
        put(_ONE, config(), "kind"),
    ),
    case("a create on an object's path is not allowed", post(_ONE, config())),
    case("a create in all namespaces is not allowed", post("/api/v1/configmaps", config())),
    case("a replace of a collection is not allowed", put(CONFIG_MAPS, config())),
    case("a patch of a collection is not allowed", patch(CONFIG_MAPS, {})),
    case("an unknown kind's path is not found", get(home("nothings"))),
    case("an unknown group's path is not found", get(home("nothings", "nowhere.example.org/v1"))),
    case("an unknown subresource is not found", *_MADE, get(f"{_ONE}/nothing")),
    case("an unknown version's path is not found", get("/api/v9/namespaces/@ns@/configmaps")),
    case("a namespaced path of what has no namespaces is not found", get("/api/v1/namespaces/@ns@/nodes")),
)
