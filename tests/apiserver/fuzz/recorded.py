"""What clients really send, which the other inputs are made of: kubectl 1.20 to 1.36, the Python clients, controllers.

The queries and headers are those that a logging proxy saw in front of a real kube-apiserver; the objects are small ones
of each kind that is served.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from apiserver.embedded import widget, widget_crd
from paddock.apiserver.http.protobuf import encode_field

NAMESPACE = "/api/v1/namespaces/default"
CRDS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
WIDGETS = "/apis/example.org/v1/namespaces/default/widgets"
_RBAC = "/apis/rbac.authorization.k8s.io/v1"
TABLE = (
    "application/json;as=Table;v=v1;g=meta.k8s.io,application/json;as=Table;v=v1beta1;g=meta.k8s.io,application/json"
)
DISCOVERY = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList,application/json"
PROTOBUF = "application/vnd.kubernetes.protobuf"

_META: Mapping[str, Any] = {
    "name": "a", "namespace": "default", "labels": {"app": "a"}, "annotations": {"note": "x"},
    "finalizers": ["example.org/f"],
    "ownerReferences": [{"apiVersion": "v1", "kind": "Pod", "name": "o", "uid": "u-1", "controller": True}],
}  # fmt: skip
_CONTAINER: Mapping[str, Any] = {
    "name": "main", "image": "busybox:1", "command": ["sh", "-c"], "args": ["exit 0"], "workingDir": "/tmp",
    "env": [{"name": "A", "value": "1"}, {"name": "B", "valueFrom": {"fieldRef": {"fieldPath": "status.podIP"}}},
            {"name": "C", "valueFrom": {"secretKeyRef": {"name": "s", "key": "k", "optional": True}}}],
    "envFrom": [{"prefix": "P_", "configMapRef": {"name": "c", "optional": True}}],
    "ports": [{"name": "http", "containerPort": 80, "protocol": "TCP"}],
    "resources": {"limits": {"cpu": "500m", "memory": "1Gi"}, "requests": {"cpu": 1, "nvidia.com/gpu": "1"}},
    "volumeMounts": [{"name": "v", "mountPath": "/v", "subPath": "x", "readOnly": True}],
    "livenessProbe": {"exec": {"command": ["true"]}, "periodSeconds": 5, "failureThreshold": 3},
    "readinessProbe": {"httpGet": {"path": "/", "port": "http", "scheme": "HTTP"}, "initialDelaySeconds": 1},
    "startupProbe": {"tcpSocket": {"port": 80}}, "lifecycle": {"preStop": {"exec": {"command": ["true"]}}},
    "securityContext": {"runAsUser": 0, "privileged": False, "capabilities": {"add": ["SYS_ADMIN"]}},
    "imagePullPolicy": "IfNotPresent", "terminationMessagePath": "/dev/termination-log", "tty": False,
}  # fmt: skip
_POD_SPEC: Mapping[str, Any] = {
    "containers": [_CONTAINER],
    "initContainers": [{"name": "init", "image": "busybox", "restartPolicy": "Always"}],
    "volumes": [{"name": "v", "emptyDir": {"sizeLimit": "1Gi", "medium": "Memory"}},
                {"name": "c", "configMap": {"name": "c", "items": [{"key": "k", "path": "p"}], "defaultMode": 420}},
                {"name": "h", "hostPath": {"path": "/tmp", "type": "Directory"}},
                {"name": "p", "projected": {"sources": [{"downwardAPI": {"items": [
                    {"path": "l", "fieldRef": {"fieldPath": "metadata.labels"}}]}}]}},
                {"name": "d", "persistentVolumeClaim": {"claimName": "claim"}}],
    "restartPolicy": "Never", "terminationGracePeriodSeconds": 5, "activeDeadlineSeconds": 60, "nodeName": "laptop",
    "nodeSelector": {"a": "b"}, "tolerations": [{"key": "k", "operator": "Exists", "effect": "NoSchedule"}],
    "affinity": {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [
        {"matchExpressions": [{"key": "k", "operator": "In", "values": ["v"]}]}]}}},
    "serviceAccountName": "default", "priorityClassName": "", "hostAliases": [{"ip": "1.2.3.4", "hostnames": ["h"]}],
    "schedulerName": "volcano", "subdomain": "s", "hostname": "h", "imagePullSecrets": [{"name": "s"}],
    "topologySpreadConstraints": [{"maxSkew": 1, "topologyKey": "z", "whenUnsatisfiable": "DoNotSchedule"}],
}  # fmt: skip
_SELECTOR = {"matchLabels": {"app": "a"}, "matchExpressions": [{"key": "k", "operator": "In", "values": ["v"]}]}
_POD_STATUS = {
    "phase": "Running", "podIP": "127.0.0.2", "startTime": "2026-11-20T08:12:00Z", "reason": "R", "message": "m",
    "conditions": [{"type": "Ready", "status": "True", "lastTransitionTime": "2026-11-20T08:12:00Z"}],
    "containerStatuses": [{"name": "main", "ready": True, "restartCount": 1, "image": "i", "imageID": "",
                           "state": {"running": {"startedAt": "2026-11-20T08:12:00Z"}},
                           "lastState": {"terminated": {"exitCode": 1, "signal": 9, "reason": "Error"}}}],
    "initContainerStatuses": [{"name": "init", "ready": False, "restartCount": 0, "image": "i", "imageID": "",
                               "state": {"waiting": {"reason": "PodInitializing"}}}],
}  # fmt: skip

OBJECTS: Mapping[str, Any] = {
    f"{NAMESPACE}/pods": {"metadata": _META, "spec": _POD_SPEC, "status": _POD_STATUS},
    f"{NAMESPACE}/configmaps": {"metadata": _META, "data": {"k": "v"}, "binaryData": {"b": "AAA="}, "immutable": False},
    f"{NAMESPACE}/secrets": {"metadata": _META, "type": "Opaque", "data": {"k": "dg=="}, "stringData": {"t": "u"}},
    f"{NAMESPACE}/services": {"metadata": _META, "spec": {
        "selector": {"app": "a"}, "ports": [{"name": "p", "port": 80, "targetPort": "http", "nodePort": 30000}],
        "clusterIP": "None", "type": "ClusterIP", "publishNotReadyAddresses": True}},
    f"{NAMESPACE}/serviceaccounts": {"metadata": _META, "secrets": [{"name": "s"}],
    "imagePullSecrets": [{"name": "s"}]},
    f"{NAMESPACE}/events": {
        "metadata": _META, "type": "Normal", "reason": "R", "message": "m", "count": 2,
        "involvedObject": {"kind": "Pod", "name": "p", "namespace": "default", "uid": "u", "apiVersion": "v1"},
        "firstTimestamp": "2026-11-20T08:12:00Z", "lastTimestamp": "2026-11-20T08:12:00Z",
        "eventTime": "2026-11-20T08:12:00.000001Z", "source": {"component": "c", "host": "h"},
        "series": {"count": 2, "lastObservedTime": "2026-11-20T08:12:00.000001Z"}, "reportingComponent": "c"},
    f"{NAMESPACE}/resourcequotas": {"metadata": _META, "spec": {
        "hard": {"pods": "4", "requests.cpu": "1", "count/configmaps": "9", "limits.memory": "1Gi"},
        "scopes": ["NotTerminating"], "scopeSelector": {"matchExpressions": [
            {"scopeName": "PriorityClass", "operator": "In", "values": ["high"]}]}}},
    f"{NAMESPACE}/limitranges": {"metadata": _META, "spec": {"limits": [
        {"type": "Container", "max": {"cpu": "2"}, "min": {"cpu": "1m"}, "default": {"cpu": "1"},
         "defaultRequest": {"memory": "1Mi"}, "maxLimitRequestRatio": {"cpu": "10"}}]}},
    "/apis/events.k8s.io/v1/namespaces/default/events": {
        "metadata": _META, "eventTime": "2026-11-20T08:12:00.000001Z", "reason": "R", "action": "A", "note": "n",
        "type": "Normal", "reportingController": "c", "reportingInstance": "i",
        "regarding": {"kind": "Pod", "name": "p", "namespace": "default"}, "series": {"count": 2}},
    f"{NAMESPACE}/persistentvolumeclaims": {"metadata": _META, "spec": {
        "accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}, "volumeName": "v"}},
    f"{NAMESPACE}/endpoints": {"metadata": _META, "subsets": [
        {"addresses": [{"ip": "127.0.0.2", "targetRef": {"kind": "Pod", "name": "p"}}], "ports": [{"port": 80}]}]},
    "/api/v1/persistentvolumes": {"metadata": {"name": "a"}, "spec": {
        "capacity": {"storage": "1Gi"}, "accessModes": ["ReadWriteOnce"], "hostPath": {"path": "/tmp"},
        "claimRef": {"name": "c", "namespace": "default"}, "persistentVolumeReclaimPolicy": "Retain"}},
    "/api/v1/namespaces": {"metadata": {"name": "a", "labels": {"l": "m"}}, "spec": {"finalizers": ["kubernetes"]}},
    "/api/v1/nodes": {
        "metadata": {"name": "a"}, "spec": {"unschedulable": True, "taints": [{"key": "k", "effect": "NoSchedule"}]},
        "status": {"capacity": {"cpu": "4"}, "allocatable": {"memory": "8Gi"},
                   "addresses": [{"type": "InternalIP", "address": "127.0.0.1"}],
                   "conditions": [{"type": "Ready", "status": "True"}], "nodeInfo": {"kubeletVersion": "v1"}}},
    "/apis/coordination.k8s.io/v1/namespaces/default/leases": {"metadata": _META, "spec": {
        "holderIdentity": "h", "leaseDurationSeconds": 15, "renewTime": "2026-11-20T08:12:00.000001Z",
        "acquireTime": "2026-11-20T08:12:00.000001Z", "leaseTransitions": 1}},
    "/apis/apps/v1/namespaces/default/deployments": {"metadata": _META, "spec": {
        "replicas": 2, "selector": _SELECTOR, "template": {"metadata": {"labels": {"app": "a"}}, "spec": _POD_SPEC},
        "strategy": {"rollingUpdate": {"maxSurge": "25%", "maxUnavailable": 1}}}},
    f"{_RBAC}/namespaces/default/roles": {"metadata": _META, "rules": [
        {"verbs": ["get", "*"], "apiGroups": [""], "resources": ["pods/log"], "resourceNames": ["x"]}]},
    f"{_RBAC}/namespaces/default/rolebindings": {
        "metadata": _META, "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": "a"},
        "subjects": [{"kind": "ServiceAccount", "name": "default", "namespace": "default"},
                     {"kind": "User", "name": "u", "apiGroup": "rbac.authorization.k8s.io"}]},
    f"{_RBAC}/clusterroles": {
        "metadata": {"name": "a"}, "rules": [{"verbs": ["get"], "nonResourceURLs": ["/version", "/api/*"]}],
        "aggregationRule": {"clusterRoleSelectors": [_SELECTOR]}},
    f"{_RBAC}/clusterrolebindings": {
        "metadata": {"name": "a"}, "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole",
        "name": "a"},
        "subjects": [{"kind": "Group", "name": "g", "apiGroup": "rbac.authorization.k8s.io"}]},
    "/apis/scheduling.k8s.io/v1/priorityclasses": {
        "metadata": {"name": "a"}, "value": 5, "globalDefault": False, "preemptionPolicy": "Never", "description": "d"},
    WIDGETS: {**widget("a", size=1, replicas=2), "metadata": _META, "status": {"x": [1, {"y": None}]}},
    CRDS: widget_crd(additionalPrinterColumns=[
        {"name": "Size", "type": "integer", "jsonPath": ".spec.size", "priority": 1, "format": "int32"},
        {"name": "Age", "type": "date", "jsonPath": ".metadata.creationTimestamp"}]),
}  # fmt: skip
"""By the path of their collection. Kind and apiVersion may be left out, as some clients do."""

_ATTRIBUTES = {"namespace": "default", "verb": "get", "group": "", "version": "v1", "resource": "pods", "name": "p"}
REVIEWS: Mapping[str, Any] = {
    "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews": {"spec": {"resourceAttributes": _ATTRIBUTES}},
    "/apis/authorization.k8s.io/v1/subjectaccessreviews": {
        "spec": {"user": "u", "groups": ["g"], "uid": "1", "nonResourceAttributes": {"path": "/x", "verb": "get"}}},
    "/apis/authorization.k8s.io/v1/selfsubjectrulesreviews": {"spec": {"namespace": "default"}},
    "/apis/authentication.k8s.io/v1/selfsubjectreviews": {},
    "/apis/authentication.k8s.io/v1/tokenreviews": {"spec": {"token": "a.b.c", "audiences": ["x"]}},
    f"{NAMESPACE}/serviceaccounts/default/token": {"spec": {
        "audiences": ["https://kubernetes.default.svc.cluster.local"], "expirationSeconds": 3600,
        "boundObjectRef": {"kind": "Pod", "apiVersion": "v1", "name": "p", "uid": ""}}},
    f"{NAMESPACE}/pods/p/eviction": {"metadata": {"name": "p"}, "deleteOptions": {"gracePeriodSeconds": 0}},
    f"{NAMESPACE}/pods/p/binding": {"metadata": {"name": "p", "labels": {"a": "b"}}, "target": {"kind": "Node",
    "name": "n"}},
}  # fmt: skip
"""What is posted and answered at once."""

JSON_PATCHES: Sequence[Any] = [
    [{"op": "add", "path": "/metadata/labels/x", "value": "y"}, {"op": "remove", "path": "/metadata/labels/x"}],
    [{"op": "test", "path": "/metadata/name", "value": "a"}, {"op": "replace", "path": "/spec", "value": {}}],
    [{"op": "copy", "from": "/metadata/labels", "path": "/metadata/annotations"}],
    [{"op": "move", "from": "/metadata/labels/app", "path": "/metadata/annotations/~1app~0"}],
    [{"op": "add", "path": "/spec/containers/-", "value": {"name": "b"}}],
]
STRATEGIC_PATCHES: Sequence[Any] = [
    {"spec": {"$setElementOrder/containers": [{"name": "main"}], "containers": [{"name": "main", "image": "x"}]}},
    {"spec": {"containers": [{"$patch": "delete", "name": "main"}], "$retainKeys": ["containers"]}},
    {"metadata": {"$deleteFromPrimitiveList/finalizers": ["example.org/f"], "finalizers": ["x/y"], "labels": None}},
    {"spec": {"$patch": "replace", "containers": [{"name": "n", "ports": [{"containerPort": 80}]}]}},
    {"metadata": {"annotations": {"kubectl.kubernetes.io/restartedAt": "2026-11-20T08:12:00Z"}}},
]
DELETE_OPTIONS: Sequence[Any] = [
    {"propagationPolicy": "Background"}, {"gracePeriodSeconds": 0, "propagationPolicy": "Foreground"},
    {"kind": "DeleteOptions", "apiVersion": "v1", "preconditions": {"uid": "x", "resourceVersion": "1"},
    "dryRun": ["All"]},
    {"orphanDependents": True},
]  # fmt: skip

QUERIES: Sequence[str] = [
    "timeout=32s", "limit=500", "limit=500&continue=WzEsImRlZmF1bHQiLCJhIl0", "labelSelector=a%3Db%2Cc+in+%28d%2Ce%29",
    "fieldSelector=metadata.name%3Da", "resourceVersion=0&resourceVersionMatch=NotOlderThan",
    "fieldSelector=involvedObject.name%3Dp%2CinvolvedObject.namespace%3Ddefault&limit=500", "dryRun=All",
    "fieldManager=kubectl&fieldValidation=Strict&force=false", "fieldManager=kubectl-create&fieldValidation=Warn",
    "force=true&fieldManager=x&dryRun=All", "gracePeriodSeconds=-1&propagationPolicy=Orphan", "includeObject=Object",
    "container=main&tailLines=10&sinceSeconds=60&timestamps=true&limitBytes=100", "previous=true",
    "sinceTime=2026-11-20T08%3A12%3A00Z&follow=False", "pretty=true", "orphanDependents=false", "",
]  # fmt: skip
WATCHES: Sequence[str] = [
    "watch=true&timeoutSeconds=1",
    "watch=1&timeoutSeconds=1&resourceVersion=0&allowWatchBookmarks=true",
    "watch=True&timeoutSeconds=1&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true",
    "watch=true&timeoutSeconds=1&fieldSelector=metadata.name%3Da&resourceVersion=1",
]
ACCEPTS: Sequence[str] = [
    "*/*", "application/json", TABLE, DISCOVERY, f"{PROTOBUF},application/json", f"{PROTOBUF}, */*", "",
    "application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io", "text/plain", "application/json;as=Table;v=v2",
    "application/com.github.proto-openapi.spec.v2@v1.0+protobuf",
]  # fmt: skip
PATCHES: Mapping[str, Sequence[Any]] = {
    "application/json-patch+json": JSON_PATCHES,
    "application/strategic-merge-patch+json": STRATEGIC_PATCHES,
    "application/merge-patch+json": [
        *STRATEGIC_PATCHES,
        {"spec": {"replicas": 3}},
        {"metadata": {"labels": {"a": None}}},
    ],
}
DOCUMENTS: Sequence[str] = [
    "/version", "/version/", "/api", "/apis", "/api/v1", "/apis/apps", "/apis/apps/v1", "/apis/example.org/v1",
    "/openapi/v2", "/openapi/v3", "/openapi/v3/api/v1", "/openapi/v3/apis/example.org/v1", "/readyz", "/livez/ping",
    "/metrics", "/healthz", "/paddock", "/",
]  # fmt: skip


def protobuf(kind: str, raw: bytes, version: str = "v1") -> bytes:
    """A body as kubectl 1.32 and later send it."""
    type_meta = encode_field(1, version) + encode_field(2, kind)
    return b"k8s\0" + encode_field(1, type_meta) + encode_field(2, raw) + encode_field(3, "") + encode_field(4, "")


_RAW_META = encode_field(1, encode_field(1, "a") + encode_field(3, "default") + encode_field(8, b""))
_ENTRY = encode_field(1, "k") + encode_field(2, "v")
_RAW_CONTAINER = (
    encode_field(1, "main") + encode_field(2, "busybox") + encode_field(3, "sh") + encode_field(4, "-c")
    + encode_field(7, encode_field(1, "A") + encode_field(2, "1"))
    + encode_field(8, encode_field(1, encode_field(1, "cpu") + encode_field(2, encode_field(1, "1"))))
)  # fmt: skip
PROTOBUFS: Sequence[bytes] = [
    protobuf("Namespace", _RAW_META + encode_field(2, b"") + encode_field(3, encode_field(1, ""))),
    protobuf("ConfigMap", _RAW_META + encode_field(2, _ENTRY) + encode_field(3, _ENTRY) + b"\x20\x01"),
    protobuf("Secret", _RAW_META + encode_field(2, _ENTRY) + encode_field(3, "Opaque")),
    protobuf("Pod", _RAW_META + encode_field(2, encode_field(2, _RAW_CONTAINER) + encode_field(3, "Never"))),
    protobuf("PriorityClass", _RAW_META + b"\x10" + b"\xff" * 9 + b"\x01", "scheduling.k8s.io/v1"),
    protobuf("Role", _RAW_META + encode_field(2, encode_field(1, "get") + encode_field(3, "pods")),
             "rbac.authorization.k8s.io/v1"),
    protobuf("SelfSubjectAccessReview", encode_field(2, encode_field(1, encode_field(2, "get"))),
             "authorization.k8s.io/v1"),
]  # fmt: skip

YAMLS: Sequence[bytes] = [
    b"apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\ndata:\n  k: |\n    text\n  n: '5'\n",
    b"a: [1, 2.5, 0x1f, 017, 1:30, yes, null, ~, 2026-11-20, .inf, -.5e+3]\nb: &x {c: d}\nc: *x\n",
    b"? {a: b}\n: !!binary AAAA\n<<: {e: f}\n--- \nsecond: !!float 3\n", b'{"apiVersion": "v1", "kind": "ConfigMap"}',
    b'"\\u00e9\\x41 \\\n  folded": >-\n  a\n\n  b\n# comment\n...\n', b"!!set {a, b}\n", b"!!timestamp 2026-01-01\n",
    b"!!omap [a: 1]\n", b"!!pairs [a: 1]\n", b"!!int '5'\n", b"%YAML 1.1\n---\n- - - a\n",
]  # fmt: skip


def manifests() -> list[bytes]:
    """The objects as JSON."""
    return [json.dumps(each).encode() for each in OBJECTS.values()]
