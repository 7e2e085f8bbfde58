"""What a server says of itself, and in which form: tables, discovery, OpenAPI, media types, HTTP."""

from __future__ import annotations

from apiserver.conformance.cases import (
    CONFIG_MAPS,
    DEPLOYMENTS,
    LEASES,
    PARTIAL,
    PODS,
    RBAC,
    SECRETS,
    SERVICES,
    TABLE,
    YAML,
    Ask,
    Case,
    case,
    config,
    delete,
    get,
    home,
    newer,
    pod,
    post,
    put,
    quietly,
    secret,
    service,
)

_ONE = f"{CONFIG_MAPS}/x"
_MADE = quietly(post(CONFIG_MAPS, config(data={"a": "1"})))
_COLUMNS = ("kind", "apiVersion", "columnDefinitions[*].name", "columnDefinitions[*].priority")
_RESOURCE = ("name", "singularName", "namespaced", "kind", "verbs", "shortNames", "categories")
_AGGREGATED = {"Accept": "application/json;v=v2;g=apidiscovery.k8s.io;as=APIGroupDiscoveryList"}
_DISCOVERY = "https://kubernetes.io/docs/concepts/overview/kubernetes-api/#aggregated-discovery"
_V3 = "https://kubernetes.io/docs/concepts/overview/kubernetes-api/#openapi-v3"


def _table(name: str, path: str) -> Case:
    return case(name, get(path, *_COLUMNS, **TABLE))


def _resource(name: str, path: str, plural: str) -> Case:
    return case(name, get(path, *(f"resources[name={plural}].{field}" for field in _RESOURCE)))


def _raw(name: str, body: str, media: str = "application/json", method: str = "POST", path: str = CONFIG_MAPS) -> Case:
    headers = {"Content-Type": media}
    return case(name, Ask(method, path, body, headers, see=("kind", "metadata.name", "data")))


CASES = (
    _table("columns of pods", PODS),
    _table("columns of Services", SERVICES),
    _table("columns of ConfigMaps", CONFIG_MAPS),
    _table("columns of Secrets", SECRETS),
    _table("columns of namespaces", "/api/v1/namespaces"),
    _table("columns of nodes", "/api/v1/nodes"),
    _table("columns of events", home("events")),
    _table("columns of accounts", home("serviceaccounts")),
    _table("columns of claims", home("persistentvolumeclaims")),
    _table("columns of volumes", "/api/v1/persistentvolumes"),
    _table("columns of endpoints", home("endpoints")),
    _table("columns of leases", LEASES),
    _table("columns of Deployments", DEPLOYMENTS),
    _table("columns of roles", home("roles", RBAC)),
    _table("columns of bindings", home("rolebindings", RBAC)),
    _table("columns of definitions", "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"),
    _table("columns of priority classes", "/apis/scheduling.k8s.io/v1/priorityclasses"),
    case(
        "a row of a ConfigMap",
        *_MADE,
        get(
            _ONE, "rows[*].cells[0]", "rows[*].cells[1]", "rows[*].object.kind", "rows[*].object.metadata.name", **TABLE
        ),
    ),
    case(
        "a row of a Secret",
        *quietly(post(SECRETS, secret(data={"a": "YQ=="}))),
        get(f"{SECRETS}/x", "rows[*].cells[0]", "rows[*].cells[1]", "rows[*].cells[2]", **TABLE),
    ),
    case(
        "a row of a Service",
        *quietly(post(SERVICES, service(clusterIP="None", selector={"a": "b"}))),
        get(f"{SERVICES}/x", *(f"rows[*].cells[{i}]" for i in (0, 1, 2, 3, 4, 6)), **TABLE),
    ),
    case(
        "a row of a pod",
        *quietly(post(PODS, pod())),
        get(f"{PODS}/x", *(f"rows[*].cells[{i}]" for i in (0, 1, 2, 3, 5, 6)), **TABLE),
    ),
    case("a row of a namespace", get("/api/v1/namespaces/@ns@", "rows[*].cells[0]", "rows[*].cells[1]", **TABLE)),
    case(
        "a row may have the whole object",
        *_MADE,
        get(f"{_ONE}?includeObject=Object", "rows[0].object.data", "rows[0].object.kind", **TABLE),
    ),
    case(
        "a row may have no object",
        *_MADE,
        get(f"{_ONE}?includeObject=None", "rows[0].object", "rows[0].cells[0]", **TABLE),
    ),
    case(
        "a table may be of v1beta1",
        *_MADE,
        get(_ONE, "kind", "apiVersion", Accept="application/json;as=Table;v=v1beta1;g=meta.k8s.io"),
    ),
    case("a create may be answered as a table", post(CONFIG_MAPS, config(), "kind", "rows[0].cells[0]", **TABLE)),
    case("an error is no table", get(_ONE, **TABLE)),
    case("metadata of an object alone", *_MADE, get(_ONE, "kind", "apiVersion", "metadata.name", "data", **PARTIAL)),
    case("an unknown form is not acceptable", *_MADE, get(_ONE, Accept="application/json;as=Chart;v=v1;g=meta.k8s.io")),
    case(
        "the next form that is known is taken",
        *_MADE,
        get(_ONE, "kind", "data", Accept="application/json;as=Chart;v=v1;g=meta.k8s.io,application/json"),
    ),
    case("any form is JSON", *_MADE, get(_ONE, "kind", Accept="*/*")),
    case("any form of an application is JSON", *_MADE, get(_ONE, "kind", Accept="application/*")),
    case("no wish is JSON", *_MADE, get(_ONE, "kind")),
    case("HTML is not acceptable", *_MADE, get(_ONE, Accept="text/html")),
    case("HTML or anything is JSON", *_MADE, get(_ONE, "kind", Accept="text/html,*/*")),
    case("YAML may be wished", *_MADE, get(_ONE, "nothing", Accept=YAML)),
    _raw("a body in YAML", "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: x\ndata:\n  a: '1'\n", YAML),
    _raw("a body in YAML that is JSON", '{"metadata": {"name": "x"}}', YAML),
    _raw("a body in YAML that is none is refused", "a: b: c", YAML),
    _raw("a body of an unknown type is refused", "a", "text/plain"),
    _raw("a body of XML is refused", "<a/>", "application/xml"),
    _raw("a body with a character set", '{"metadata": {"name": "x"}}', "application/json; charset=utf-8"),
    _raw("a body that is no JSON is refused", "{"),
    _raw("a body with something behind it is refused", '{"metadata": {"name": "x"}} more'),
    _raw("a body that is cut is refused", '{"metadata": {"name": "x"'),
    _raw("a body that is a list is refused", "[]"),
    _raw("a body that is a text is refused", '"a"'),
    _raw("a body that is a number is refused", "5"),
    _raw("a body that is null is refused", "null"),
    _raw("an empty body is refused", ""),
    _raw("a body with a key twice", '{"metadata": {"name": "x"}, "data": {"a": "1", "a": "2"}}'),
    _raw("a replace with an empty body is refused", "", method="PUT", path=_ONE),
    case(
        "a create without a type is JSON",
        Ask("POST", CONFIG_MAPS, '{"metadata": {"name": "x"}}', {"Content-Type": ""}, see=("kind",)),
    ),
    case("an unknown method is not allowed", *_MADE, Ask("PROPFIND", _ONE)),
    case("a head has no body", *_MADE, Ask("HEAD", _ONE)),
    case("a post to an object is not allowed", *_MADE, post(_ONE, config())),
    case("a path that is unknown is not found", get("/nothing", "nothing")),
    case("a path below an object is not found", *_MADE, get(f"{_ONE}/a/b")),
    case("discovery: the core", get("/api", "kind", "versions")),
    _resource("discovery: pods", "/api/v1", "pods"),
    _resource("discovery: the status of pods", "/api/v1", "pods/status"),
    _resource("discovery: the log of pods", "/api/v1", "pods/log"),
    _resource("discovery: binding of pods", "/api/v1", "pods/binding"),
    _resource("discovery: ConfigMaps", "/api/v1", "configmaps"),
    _resource("discovery: Secrets", "/api/v1", "secrets"),
    _resource("discovery: Services", "/api/v1", "services"),
    _resource("discovery: namespaces", "/api/v1", "namespaces"),
    _resource("discovery: nodes", "/api/v1", "nodes"),
    _resource("discovery: events", "/api/v1", "events"),
    _resource("discovery: accounts", "/api/v1", "serviceaccounts"),
    _resource("discovery: claims", "/api/v1", "persistentvolumeclaims"),
    _resource("discovery: volumes", "/api/v1", "persistentvolumes"),
    _resource("discovery: endpoints", "/api/v1", "endpoints"),
    _resource("discovery: Deployments", "/apis/apps/v1", "deployments"),
    _resource("discovery: the scale of Deployments", "/apis/apps/v1", "deployments/scale"),
    _resource("discovery: leases", "/apis/coordination.k8s.io/v1", "leases"),
    _resource("discovery: roles", f"/apis/{RBAC}", "roles"),
    _resource("discovery: ClusterRoles", f"/apis/{RBAC}", "clusterroles"),
    _resource("discovery: definitions", "/apis/apiextensions.k8s.io/v1", "customresourcedefinitions"),
    _resource("discovery: priority classes", "/apis/scheduling.k8s.io/v1", "priorityclasses"),
    _resource("discovery: tokens of accounts", "/api/v1", "serviceaccounts/token"),
    case(
        "discovery: groups",
        get("/apis", "kind", "groups[name=rbac.authorization.k8s.io].name", "groups[name=coordination.k8s.io].name"),
    ),
    case("discovery: a group", get("/apis/rbac.authorization.k8s.io", "kind", "name", "preferredVersion")),
    case("discovery: a group that is not there", get("/apis/nowhere.example.org")),
    case("discovery: a version that is not there", get("/apis/apps/v9")),
    newer(
        "discovery: all at once",
        "1.30",
        _DISCOVERY,
        (
            get(
                "/api", "kind", "apiVersion", "items[0].versions[0].resources[resource=configmaps].scope", **_AGGREGATED
            ).with_heads("Content-Type"),
            {
                "status": 200,
                "body": {
                    "kind": "APIGroupDiscoveryList",
                    "apiVersion": "apidiscovery.k8s.io/v2",
                    "items[0].versions[0].resources[resource=configmaps].scope": "Namespaced",
                },
                "heads": {"Content-Type": "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"},
            },
        ),
    ),
    newer(
        "OpenAPI v3: what there is",
        "1.27",
        _V3,
        (get("/openapi/v3", "paths[nowhere]"), {"status": 200, "body": {"paths[nowhere]": []}}),
    ),
    newer(
        "OpenAPI v3: a document",
        "1.27",
        _V3,
        (
            get(
                "/openapi/v3/api/v1",
                "components.schemas[io.k8s.api.core.v1.ConfigMap].properties.data.type",
                "components.schemas[io.k8s.api.core.v1.ConfigMap].x-kubernetes-group-version-kind",
            ),
            {
                "status": 200,
                "body": {
                    "components.schemas[io.k8s.api.core.v1.ConfigMap].properties.data.type": "object",
                    "components.schemas[io.k8s.api.core.v1.ConfigMap].x-kubernetes-group-version-kind": [
                        {"group": "", "kind": "ConfigMap", "version": "v1"}
                    ],
                },
            },
        ),
    ),
    newer(
        "OpenAPI v3: a document that is not there",
        "1.27",
        _V3,
        (get("/openapi/v3/apis/nowhere.example.org/v1", "nothing"), {"status": 404}),
    ),
    case(
        "OpenAPI v2 tells of ConfigMaps",
        get("/openapi/v2", "swagger", "definitions[io.k8s.api.core.v1.ConfigMap].type"),
    ),
    case("a probe of life", get("/livez")),
    case("a probe of readiness", get("/readyz")),
    case("a probe of health", get("/healthz")),
    case("the version is told", get("/version", "major", "platform")),
    case("without a token nothing is told", get(_ONE, Authorization="Bearer nonsense")),
    case("who nobody is may ask for life", get("/livez", Authorization="")),
    case(
        "deletes and creates tell their own kind",
        *_MADE,
        delete(_ONE, None, "kind", "status", "details.kind", "details.name"),
    ),
    case(
        "a long list is compressed where that is wished",
        *quietly(*(post(CONFIG_MAPS, config(f"n{i}", data={"a": "b" * 60000})) for i in range(4))),
        get(CONFIG_MAPS, "kind", Accept_Encoding="gzip").with_heads("Content-Encoding"),
    ),
    case(
        "a short answer is not compressed",
        *_MADE,
        get(_ONE, "kind", Accept_Encoding="gzip").with_heads("Content-Encoding"),
    ),
    case("an answer is not to be kept", *_MADE, get(_ONE, "kind").with_heads("Cache-Control", "Content-Type")),
    case("a slash at the end of a collection", get(f"{CONFIG_MAPS}/", "kind")),
    case("a replace of nothing by JSON that is no object is refused", put(_ONE, "[]")),
)
