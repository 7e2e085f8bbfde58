"""ConfigMaps, Secrets, Services, claims, Deployments, roles, priority classes: their own rules."""

from __future__ import annotations

from typing import Any

from apiserver.conformance.cases import (
    CLAIMS,
    CONFIG_MAPS,
    DEPLOYMENTS,
    LEASES,
    RBAC,
    SECRETS,
    SERVICES,
    Case,
    case,
    config,
    deployment,
    home,
    patch,
    post,
    put,
    quietly,
    secret,
    service,
)

_ROLES, _BINDINGS = home("roles", RBAC), home("rolebindings", RBAC)
_API = "rbac.authorization.k8s.io"


def _config(name: str, /, *see: str, **fields: Any) -> Case:
    return case(name, post(CONFIG_MAPS, {**config(), **fields}, *(see or ("data", "binaryData"))))


def _secret(name: str, /, *see: str, **fields: Any) -> Case:
    return case(name, post(SECRETS, secret(**fields), *(see or ("data", "type", "stringData"))))


def _service(name: str, /, *see: str, ports: Any = ({"port": 80},), **spec: Any) -> Case:
    return case(
        name,
        post(
            SERVICES,
            service(ports=list(ports), **{"clusterIP": "None", **spec}),
            *(see or ("spec.ports", "spec.type", "spec.sessionAffinity")),
        ),
    )


def _role(name: str, *rules: Any) -> Case:
    return case(
        name,
        post(_ROLES, {"apiVersion": RBAC, "kind": "Role", "metadata": {"name": "x"}, "rules": list(rules)}, "rules"),
    )


def _binding(name: str, /, **fields: Any) -> Case:
    made = {
        "apiVersion": RBAC,
        "kind": "RoleBinding",
        "metadata": {"name": "x"},
        "roleRef": {"apiGroup": _API, "kind": "Role", "name": "r"},
        "subjects": [{"kind": "User", "name": "u", "apiGroup": _API}],
    }
    return case(name, post(_BINDINGS, {**made, **fields}, "roleRef", "subjects"))


def _deployment(name: str, /, *see: str, **spec: Any) -> Case:
    made = deployment(**{"replicas": 0, **spec})
    made["spec"] = {key: value for key, value in made["spec"].items() if value is not None}
    return case(name, post(DEPLOYMENTS, made, *(see or ("spec.replicas",))))


def _claim(name: str, /, *see: str, **spec: Any) -> Case:
    wanted = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}, **spec}
    wanted = {key: value for key, value in wanted.items() if value is not None}
    return case(
        name,
        post(
            CLAIMS,
            {"metadata": {"name": "x"}, "spec": wanted},
            *(see or ("spec.accessModes", "spec.volumeMode", "spec.resources", "status.phase")),
        ),
    )


_RULE = {"apiGroups": [""], "resources": ["pods"], "verbs": ["get"]}
_PEOPLE = ({"matchLabels": {"a": "b"}},)

CASES = (
    _config("data are texts", data={"a": "1", "b.c_d-e": "two\nlines"}),
    _config("a text that is a number in JSON is refused", data={"a": 1}),
    _config("a text that is null in JSON", data={"a": None}),
    _config("a key with a space is refused", data={"a b": "1"}),
    _config("a key with a slash is refused", data={"a/b": "1"}),
    _config("a key that is two dots is refused", data={"..": "1"}),
    _config("a key that begins with two dots is refused", data={"..a": "1"}),
    _config("a key that is one dot is refused", data={".": "1"}),
    _config("a key of 254 characters is refused", data={"a" * 254: "1"}),
    _config("an empty key is refused", data={"": "1"}),
    _config("a key of texts and of bytes is refused", data={"a": "1"}, binaryData={"a": "AA=="}),
    _config("bytes are in base64", binaryData={"a": "AA=="}),
    _config("bytes that are no base64 are refused", binaryData={"a": "!"}),
    _config("data of more than 1 MiB are refused", data={"a": "b" * (1024 * 1024 + 1)}),
    _config("data that are a list are refused", data=["a"]),
    _config("an empty map of data is not stored", "data", "metadata.name", data={}),
    _secret("a Secret is opaque by default", data={"a": "YQ=="}),
    _secret("texts of a Secret become data", stringData={"a": "b"}),
    _secret("texts of a Secret win", data={"a": "YQ=="}, stringData={"a": "b"}),
    _secret("data of a Secret that are no base64 are refused", data={"a": "plain!"}),
    _secret("data of a Secret that are half of base64 are refused", data={"a": "YQ"}),
    _secret("a Secret's key with a space is refused", data={"a b": "YQ=="}),
    _secret("a Secret's text that is a number in JSON is refused", stringData={"a": 1}),
    _secret("a Secret of TLS has its two keys", type="kubernetes.io/tls", data={"tls.crt": "YQ=="}),
    _secret("a Secret of a password has a name or a password", type="kubernetes.io/basic-auth", data={}),
    _secret("a Secret of SSH has its key", type="kubernetes.io/ssh-auth", data={}),
    _secret(
        "a Secret of a registry is JSON", type="kubernetes.io/dockerconfigjson", data={".dockerconfigjson": "YQ=="}
    ),
    _secret("a Secret of a registry has its key", type="kubernetes.io/dockerconfigjson", data={}),
    _secret("a Secret of an account names it", type="kubernetes.io/service-account-token"),
    _secret("data of more than 1 MiB of a Secret are refused", data={"a": "YWFh" * (350 * 1024)}),
    case(
        "a merge patch of texts changes data",
        *quietly(post(SECRETS, secret(data={"a": "YQ=="}))),
        patch(f"{SECRETS}/x", {"stringData": {"b": "c"}}, "data"),
    ),
    _service("a Service has defaults"),
    _service("a port's target is the port", "spec.ports", ports=[{"port": 80}]),
    _service("a target may be a name", "spec.ports", ports=[{"port": 80, "targetPort": "http"}]),
    _service("a Service without ports may be headless", "spec.clusterIP", ports=()),
    _service("a port of a Service of 0 is refused", ports=[{"port": 0}]),
    _service("a port of a Service of 70000 is refused", ports=[{"port": 70000}]),
    _service("a target of 0", ports=[{"port": 80, "targetPort": 70000}]),
    _service("two ports of a Service have names", ports=[{"port": 80}, {"port": 81}]),
    _service(
        "two ports of a Service of one name are refused", ports=[{"port": 80, "name": "a"}, {"port": 81, "name": "a"}]
    ),
    _service(
        "two ports of a Service of one number are refused", ports=[{"port": 80, "name": "a"}, {"port": 80, "name": "b"}]
    ),
    _service(
        "one number may be of two protocols",
        "spec.ports[*].protocol",
        ports=[{"port": 80, "name": "a"}, {"port": 80, "name": "b", "protocol": "UDP"}],
    ),
    _service("a port's name with capitals is refused", ports=[{"port": 80, "name": "A"}]),
    _service("an unknown protocol of a Service is refused", ports=[{"port": 80, "protocol": "ICMP"}]),
    _service("an unknown type of a Service is refused", type="Magic"),
    _service("an unknown affinity is refused", sessionAffinity="Both"),
    _service("a selector's value is a label's", selector={"a": "b c"}),
    case("a Service needs ports", post(SERVICES, service(ports=[]))),
    case("an external name is a name", post(SERVICES, service(type="ExternalName", externalName="A b"))),
    case("a Service of an external name has one", post(SERVICES, service(type="ExternalName"))),
    case(
        "a Service of an external name needs no ports",
        post(
            SERVICES,
            {"metadata": {"name": "x"}, "spec": {"type": "ExternalName", "externalName": "example.org"}},
            "spec.externalName",
            "spec.type",
        ),
    ),
    case("a Service without a spec is refused", post(SERVICES, {"metadata": {"name": "x"}})),
    case(
        "a Service is not replaced without a version",
        *quietly(post(SERVICES, service(clusterIP="None"))),
        put(f"{SERVICES}/x", service(clusterIP="None")),
    ),
    _deployment(
        "a Deployment has defaults", "spec.strategy", "spec.revisionHistoryLimit", "spec.progressDeadlineSeconds"
    ),
    _deployment("a Deployment has one replica by default", replicas=None),
    _deployment("a Deployment's selector fits its template", selector={"matchLabels": {"other": "b"}}),
    _deployment("a Deployment has a selector", selector=None),
    _deployment("a Deployment's selector is not empty", selector={}),
    _deployment("a Deployment's replicas are not negative", replicas=-1),
    _deployment(
        "a Deployment's pods always restart",
        template={
            "metadata": {"labels": {"app": "a"}},
            "spec": {"containers": [{"name": "c", "image": "i"}], "restartPolicy": "Never"},
        },
    ),
    _deployment(
        "a Deployment's template has containers",
        template={"metadata": {"labels": {"app": "a"}}, "spec": {"containers": []}},
    ),
    _deployment("an unknown strategy is refused", strategy={"type": "Magic"}),
    _claim("a claim has defaults"),
    _claim("a claim has modes", accessModes=None),
    _claim("a claim has a size", resources=None),
    _claim("an unknown mode of access is refused", accessModes=["ReadSometimes"]),
    _claim("a size of 0 is refused", resources={"requests": {"storage": "0"}}),
    _claim("a size that is no quantity is refused", resources={"requests": {"storage": "big"}}),
    case(
        "a claim's modes of access stay",
        *quietly(
            post(
                CLAIMS,
                {
                    "metadata": {"name": "x"},
                    "spec": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}},
                },
            )
        ),
        patch(f"{CLAIMS}/x", {"spec": {"accessModes": ["ReadWriteMany"]}}),
    ),
    _role("a rule of resources", _RULE),
    _role("a rule without verbs is refused", {**_RULE, "verbs": []}),
    _role("a rule without groups is refused", {"resources": ["pods"], "verbs": ["get"]}),
    _role("a rule without resources is refused", {"apiGroups": [""], "verbs": ["get"]}),
    _role("a rule of paths in a namespace is refused", {"nonResourceURLs": ["/a"], "verbs": ["get"]}),
    case(
        "a rule of paths and of resources is refused",
        post(
            "/apis/rbac.authorization.k8s.io/v1/clusterroles",
            {"metadata": {"name": "@ns@"}, "rules": [{**_RULE, "nonResourceURLs": ["/a"]}]},
        ),
    ),
    _binding("a binding of a role"),
    _binding(
        "a binding fills in groups",
        roleRef={"kind": "Role", "name": "r"},
        subjects=[
            {"kind": "User", "name": "u"},
            {"kind": "Group", "name": "g"},
            {"kind": "ServiceAccount", "name": "s", "namespace": "n"},
        ],
    ),
    _binding(
        "a binding of an unknown kind of role is refused", roleRef={"apiGroup": _API, "kind": "Rule", "name": "r"}
    ),
    _binding("a binding of no role's name is refused", roleRef={"apiGroup": _API, "kind": "Role", "name": ""}),
    _binding("a binding of another group is refused", roleRef={"apiGroup": "a.b", "kind": "Role", "name": "r"}),
    _binding("a subject of an unknown kind is refused", subjects=[{"kind": "Robot", "name": "u"}]),
    _binding("a subject without a name is refused", subjects=[{"kind": "User", "apiGroup": _API, "name": ""}]),
    _binding(
        "an account of another group is refused", subjects=[{"kind": "ServiceAccount", "name": "u", "apiGroup": _API}]
    ),
    case(
        "an account without a namespace is refused for the cluster",
        post(
            "/apis/rbac.authorization.k8s.io/v1/clusterrolebindings",
            {
                "metadata": {"name": "@ns@"},
                "roleRef": {"apiGroup": _API, "kind": "ClusterRole", "name": "r"},
                "subjects": [{"kind": "ServiceAccount", "name": "u"}],
            },
        ),
    ),
    case(
        "a binding of the cluster is of a ClusterRole",
        post(
            "/apis/rbac.authorization.k8s.io/v1/clusterrolebindings",
            {"metadata": {"name": "@ns@"}, "roleRef": {"apiGroup": _API, "kind": "Role", "name": "r"}},
        ),
    ),
    case(
        "a lease is kept",
        post(
            LEASES,
            {
                "metadata": {"name": "x"},
                "spec": {"holderIdentity": "a", "leaseDurationSeconds": 5, "renewTime": "2026-01-01T00:00:00.000000Z"},
            },
            "spec",
        ),
    ),
    case(
        "a lease's duration is not 0",
        post(LEASES, {"metadata": {"name": "x"}, "spec": {"holderIdentity": "a", "leaseDurationSeconds": 0}}),
    ),
    case("a lease's time has microseconds", post(LEASES, {"metadata": {"name": "x"}, "spec": {"renewTime": "now"}})),
    case(
        "an event names what it is of",
        post(
            home("events"),
            {"metadata": {"name": "x"}, "involvedObject": {"kind": "Pod", "name": "p", "namespace": "default"}},
        ),
    ),
)
