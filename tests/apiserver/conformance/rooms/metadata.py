"""Names, labels, annotations, finalizers, owners: what every object has."""

from __future__ import annotations

from typing import Any

from apiserver.conformance.cases import (
    ACCOUNTS,
    CONFIG_MAPS,
    PODS,
    RBAC,
    SECRETS,
    SERVICES,
    Case,
    case,
    config,
    get,
    home,
    pod,
    post,
    put,
    quietly,
    secret,
    service,
)

_OWNER = {"apiVersion": "v1", "kind": "ConfigMap", "name": "o", "uid": "6f0e4b9c-0000-4000-8000-000000000001"}


def _meta(name: str, **meta: Any) -> Case:
    return case(name, post(CONFIG_MAPS, config(**meta), "metadata"))


def _named(name: str, wanted: Any) -> Case:
    return case(name, post(CONFIG_MAPS, config(wanted), "metadata.name"))


_ROLE = {"apiVersion": RBAC, "kind": "Role", "metadata": {"name": "a:B c"}, "rules": []}

CASES = (
    _named("a name of small letters and digits is taken", "abc-1.d"),
    _named("a name with capitals is refused", "Abc"),
    _named("a name that begins with a dash is refused", "-abc"),
    _named("a name that ends with a dot is refused", "abc."),
    _named("a name with an underscore is refused", "a_b"),
    _named("a name with two dots in a row is refused", "a..b"),
    _named("a name of 253 characters is taken", "a" * 253),
    _named("a name of 254 characters is refused", "a" * 254),
    _named("a name that is a number in JSON is refused", 5),
    _named("an empty name is refused", ""),
    case("an object without metadata is refused", post(CONFIG_MAPS, {"apiVersion": "v1", "kind": "ConfigMap"})),
    case("metadata that is a list is refused", post(CONFIG_MAPS, {"metadata": ["x"]})),
    case("metadata that is null is no metadata", post(CONFIG_MAPS, {"metadata": None})),
    case("a Service's name begins with a letter", post(SERVICES, service("1a"))),
    case("a Service's name has no dots", post(SERVICES, service("a.b"))),
    case("a Namespace's name has no dots", post("/api/v1/namespaces", {"metadata": {"name": "a.b"}})),
    case("a Namespace's name has at most 63 characters", post("/api/v1/namespaces", {"metadata": {"name": "a" * 64}})),
    case("a Role's name may have capitals, colons and spaces", post(home("roles", RBAC), _ROLE, "metadata.name")),
    case("a Role's name has no slash", post(home("roles", RBAC), {**_ROLE, "metadata": {"name": "a/b"}})),
    case("a Role's name is not two dots", post(home("roles", RBAC), {**_ROLE, "metadata": {"name": ".."}})),
    case("a pod's name may have dots", post(PODS, pod("a.b"), "metadata.name")),
    case(
        "a generated name has five more characters",
        post(CONFIG_MAPS, {"metadata": {"generateName": "abc-"}}, "metadata"),
    ),
    case("a name wins over a prefix", post(CONFIG_MAPS, config("n", generateName="g-"), "metadata.name")),
    case(
        "a long prefix is cut, so that the name has 63 characters",
        post(CONFIG_MAPS, {"metadata": {"generateName": "a" * 70}}, "metadata"),
    ),
    case("a prefix with capitals is refused", post(CONFIG_MAPS, {"metadata": {"generateName": "Abc-"}})),
    case("the same name twice is a conflict", *quietly(post(CONFIG_MAPS, config())), post(CONFIG_MAPS, config())),
    case("names of different kinds do not meet", post(CONFIG_MAPS, config(), "kind"), post(SECRETS, secret(), "kind")),
    _meta("labels are kept as they are", labels={"a": "1", "example.org/b": "", "C_d.e": "F-g_h.i"}),
    _meta("a label's value has no spaces", labels={"a": "b c"}),
    _meta("a label's value has at most 63 characters", labels={"a": "b" * 64}),
    _meta("a label's value ends with a letter or digit", labels={"a": "b-"}),
    _meta("a label's key has no second slash", labels={"a/b/c": "1"}),
    _meta("a label's key has a prefix in small letters", labels={"Example.org/a": "1"}),
    _meta("a label's key is not empty", labels={"": "1"}),
    _meta("a label's key has a name behind its prefix", labels={"example.org/": "1"}),
    _meta("a label's key has a name of at most 63 characters", labels={"a" * 64: "1"}),
    _meta("a label that is a number in JSON is refused", labels={"a": 1}),
    _meta("a label that is true in JSON is refused", labels={"a": True}),
    _meta("labels that are a list are refused", labels=["a"]),
    _meta("two wrong labels are two causes", labels={"a": "b c", "b": "-"}),
    _meta("no labels are not stored", labels={}),
    _meta("annotations hold any text", annotations={"a": 'b c\n"d" ü', "example.org/e": ""}),
    _meta("an annotation's key may have capitals in its prefix", annotations={"Example.org/a": "1"}),
    _meta("an annotation's key has no spaces", annotations={"a b": "1"}),
    _meta("an annotation that is a number in JSON is refused", annotations={"a": 1}),
    _meta("annotations have at most 256 KiB", annotations={"a": "b" * 262144}),
    _meta("annotations of nearly 256 KiB are taken", annotations={"a": "b" * 200}),
    _meta("a finalizer has a prefix", finalizers=["example.org/a"]),
    _meta("a finalizer without a prefix is refused", finalizers=["abc"]),
    _meta("a finalizer with a space is refused", finalizers=["example.org/a b"]),
    _meta("Kubernetes' own finalizers need no prefix", finalizers=["orphan"]),
    _meta("both propagation finalizers at once are refused", finalizers=["orphan", "foregroundDeletion"]),
    _meta("an owner is kept", ownerReferences=[_OWNER]),
    _meta("an owner has a uid", ownerReferences=[{**_OWNER, "uid": ""}]),
    _meta("an owner has a name", ownerReferences=[{**_OWNER, "name": ""}]),
    _meta("an owner has a kind", ownerReferences=[{**_OWNER, "kind": ""}]),
    _meta("an owner has a version", ownerReferences=[{**_OWNER, "apiVersion": ""}]),
    _meta("an event owns nothing", ownerReferences=[{**_OWNER, "kind": "Event"}]),
    _meta(
        "one controller may be among the owners", ownerReferences=[_OWNER, {**_OWNER, "name": "p", "controller": True}]
    ),
    _meta(
        "two controllers are refused",
        ownerReferences=[{**_OWNER, "controller": True}, {**_OWNER, "name": "p", "controller": True}],
    ),
    _meta("a client does not choose the uid", uid="6f0e4b9c-0000-4000-8000-000000000001"),
    _meta("a client does not choose the time of creation", creationTimestamp="2001-01-01T00:00:00Z"),
    _meta("a client does not choose the generation", generation=7),
    _meta("a client does not choose the time of deletion", deletionTimestamp="2001-01-01T00:00:00Z"),
    _meta("a time that is none is refused", creationTimestamp="yesterday"),
    _meta("an object with a resourceVersion is not created", resourceVersion="5"),
    _meta("another namespace than the path's is refused", namespace="default"),
    _meta("the path's namespace may be named", namespace="@ns@"),
    case(
        "a wrong kind in the body is refused",
        post(CONFIG_MAPS, {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "x"}}),
    ),
    case(
        "a wrong version in the body is refused",
        post(CONFIG_MAPS, {"apiVersion": "v2", "kind": "ConfigMap", "metadata": {"name": "x"}}),
    ),
    case(
        "a body that names no kind has the path's", post(CONFIG_MAPS, {"metadata": {"name": "x"}}, "kind", "apiVersion")
    ),
    case(
        "a kind in small letters is refused",
        post(CONFIG_MAPS, {"apiVersion": "v1", "kind": "configmap", "metadata": {"name": "x"}}),
    ),
    case("a new object has a uid, a time and a version", post(CONFIG_MAPS, config(data={"a": "b"}))),
    case("a pod has no generation of its own", post(ACCOUNTS, {"metadata": {"name": "x"}}, "metadata")),
    case(
        "a deployment begins with generation 1",
        post(
            home("deployments", "apps/v1"),
            {
                "metadata": {"name": "x"},
                "spec": {
                    "replicas": 0,
                    "selector": {"matchLabels": {"a": "b"}},
                    "template": {
                        "metadata": {"labels": {"a": "b"}},
                        "spec": {"containers": [{"name": "c", "image": "i"}]},
                    },
                },
            },
            "metadata.generation",
        ),
    ),
    case(
        "the last label that is taken away leaves no labels",
        *quietly(post(CONFIG_MAPS, config(labels={"a": "b"}))),
        put(f"{CONFIG_MAPS}/x", config(labels={}), "metadata"),
        get(f"{CONFIG_MAPS}/x", "metadata"),
    ),
    case(
        "labels of an update are checked too",
        *quietly(post(CONFIG_MAPS, config())),
        put(f"{CONFIG_MAPS}/x", config(labels={"a": "b c"})),
    ),
    case(
        "a prefix is kept beside the name that was made of it",
        post(CONFIG_MAPS, {"metadata": {"generateName": "p"}}, "metadata.generateName"),
    ),
)
