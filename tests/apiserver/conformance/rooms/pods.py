"""Pods: defaults and the most usual errors of their fields."""

from __future__ import annotations

from typing import Any

from apiserver.conformance.cases import MAIN, PODS, Case, case, container, get, patch, pod, post, put, quietly


def _with(name: str, /, *see: str, **fields: Any) -> Case:
    """A pod whose one container has these fields."""
    return case(name, post(PODS, pod("x", container(**fields)), *(see or ("spec.containers",))))


def _pod(name: str, /, *see: str, **spec: Any) -> Case:
    return case(name, post(PODS, pod(**spec), *(see or ("metadata.name",))))


def _volume(name: str, *volumes: Any, mounts: Any = (), see: tuple[str, ...] = ("spec.volumes[name=v]",)) -> Case:
    made = pod("x", container(volumeMounts=list(mounts)), volumes=list(volumes))
    return case(name, post(PODS, made, *see))


_V = {"name": "v", "emptyDir": {}}
_C = "spec.containers[0]"
_HTTP = {"httpGet": {"port": 80}}
_STATUS = f"{PODS}/x/status"

CASES = (
    case(
        "a pod has defaults",
        post(
            PODS,
            pod(),
            "spec.restartPolicy",
            "spec.dnsPolicy",
            "spec.terminationGracePeriodSeconds",
            "spec.schedulerName",
            "spec.securityContext",
            "spec.enableServiceLinks",
            "status",
        ),
    ),
    _with(
        "a container has defaults",
        f"{_C}.imagePullPolicy",
        f"{_C}.terminationMessagePath",
        f"{_C}.terminationMessagePolicy",
        f"{_C}.resources",
    ),
    _with("an image without a tag is always pulled", f"{_C}.imagePullPolicy", image="busybox"),
    _with("an image that is latest is always pulled", f"{_C}.imagePullPolicy", image="busybox:latest"),
    _with("an image of a registry with a port has no tag", f"{_C}.imagePullPolicy", image="example.org:5000/busybox"),
    _with("limits are the default of requests", f"{_C}.resources", resources={"limits": {"cpu": "1", "memory": "1Gi"}}),
    _with("a number of CPUs is written as a text", f"{_C}.resources", resources={"requests": {"cpu": 2}}),
    _with("a port has a protocol", f"{_C}.ports", ports=[{"containerPort": 80}]),
    _with("a probe has defaults", f"{_C}.livenessProbe", livenessProbe=_HTTP),
    _with(
        "a variable of a field has a version",
        f"{_C}.env",
        env=[{"name": "A", "valueFrom": {"fieldRef": {"fieldPath": "metadata.name"}}}],
    ),
    case(
        "a pod with limits of CPU and memory is guaranteed",
        post(PODS, pod("x", container(resources={"limits": {"cpu": "1", "memory": "1Gi"}})), "status.qosClass"),
    ),
    case(
        "a pod with a request is burstable",
        post(PODS, pod("x", container(resources={"requests": {"cpu": "1"}})), "status.qosClass"),
    ),
    case(
        "a pod with limits below requests is refused",
        post(PODS, pod("x", container(resources={"limits": {"cpu": "1"}, "requests": {"cpu": "2"}}))),
    ),
    case("a pod without a spec is refused", post(PODS, {"metadata": {"name": "x"}})),
    case("a pod without containers is refused", post(PODS, {"metadata": {"name": "x"}, "spec": {"containers": []}})),
    _with("a container without a name is refused", name=""),
    _with("a container without an image is refused", image=""),
    _with("an image with spaces around it is refused", image=" busybox "),
    _with("a container's name with capitals is refused", name="Main"),
    _with("a container's name of 64 characters is refused", name="a" * 64),
    case("two containers of one name are refused", post(PODS, pod("x", MAIN, MAIN))),
    case("an init container of a container's name is refused", post(PODS, pod(initContainers=[MAIN]))),
    _pod("an unknown restart policy is refused", restartPolicy="Sometimes"),
    _pod("an unknown DNS policy is refused", dnsPolicy="Mine"),
    _pod("a negative grace period is refused", terminationGracePeriodSeconds=-1),
    _pod("a deadline of 0 is refused", activeDeadlineSeconds=0),
    _pod("an unknown field of a pod", "metadata.name", nonsense=1),
    _with("an unknown pull policy is refused", imagePullPolicy="Perhaps"),
    _with("a port of 0 is refused", ports=[{"containerPort": 0}]),
    _with("a port of 70000 is refused", ports=[{"containerPort": 70000}]),
    _with("a port without a number is refused", ports=[{"name": "http"}]),
    _with("an unknown protocol is refused", ports=[{"containerPort": 80, "protocol": "ICMP"}]),
    _with(
        "two ports of one name are refused",
        ports=[{"containerPort": 80, "name": "a"}, {"containerPort": 81, "name": "a"}],
    ),
    _with("a port's name of 16 characters is refused", ports=[{"containerPort": 80, "name": "a" * 16}]),
    _with(
        "two ports of one number are taken",
        f"{_C}.ports[*].containerPort",
        ports=[{"containerPort": 80}, {"containerPort": 80}],
    ),
    _with("a variable without a name is refused", env=[{"value": "1"}]),
    _with("a variable that begins with a digit is refused", env=[{"name": "1A", "value": "1"}]),
    _with("a variable with a space is refused", env=[{"name": "A B", "value": "1"}]),
    _with("a variable with dots and dashes is taken", f"{_C}.env", env=[{"name": "a.b-c", "value": "1"}]),
    _with(
        "a variable with a value and a source is refused",
        env=[{"name": "A", "value": "1", "valueFrom": {"fieldRef": {"fieldPath": "metadata.name"}}}],
    ),
    _with("a variable of no source is refused", env=[{"name": "A", "valueFrom": {}}]),
    _with(
        "a variable of an unknown field is refused",
        env=[{"name": "A", "valueFrom": {"fieldRef": {"fieldPath": "spec.nothing"}}}],
    ),
    _with(
        "a variable of a Secret without a key is refused",
        env=[{"name": "A", "valueFrom": {"secretKeyRef": {"name": "s"}}}],
    ),
    _with("a variable that is a number in JSON is refused", env=[{"name": "A", "value": 1}]),
    _with(
        "a variable that comes twice is taken",
        f"{_C}.env",
        env=[{"name": "A", "value": "1"}, {"name": "A", "value": "2"}],
    ),
    _with("all of a ConfigMap that has no name is refused", envFrom=[{"configMapRef": {"name": ""}}]),
    _with("all of nothing is refused", envFrom=[{}]),
    _with("a request of a wrong quantity is refused", resources={"requests": {"cpu": "much"}}),
    _with("a negative request is refused", resources={"requests": {"cpu": "-1"}}),
    _with("a request of an unknown resource is refused", resources={"requests": {"nonsense": "1"}}),
    _with("a GPU's limit is its request", f"{_C}.resources", resources={"limits": {"nvidia.com/gpu": 1}}),
    _with("a GPU that is requested alone is refused", resources={"requests": {"nvidia.com/gpu": 1}}),
    _with("half a GPU is refused", resources={"limits": {"nvidia.com/gpu": "500m"}}),
    _with("a command that is a text is refused", command="true"),
    _with("args that are numbers in JSON are refused", args=[1]),
    _with("a probe without a handler is refused", livenessProbe={"periodSeconds": 5}),
    _with("a probe with two handlers is refused", livenessProbe={**_HTTP, "exec": {"command": ["a"]}}),
    _with("a probe by nothing is refused", livenessProbe={"exec": {"command": []}}),
    _with("a liveness probe succeeds at once", livenessProbe={**_HTTP, "successThreshold": 2}),
    _with("a negative period is refused", livenessProbe={**_HTTP, "periodSeconds": -1}),
    _with("a probe's unknown scheme is refused", livenessProbe={"httpGet": {"port": 80, "scheme": "FTP"}}),
    _with("a probe's port of 0 is refused", livenessProbe={"tcpSocket": {"port": 0}}),
    _with("a hook without a handler is refused", lifecycle={"preStop": {}}),
    _with("an unknown message policy is refused", terminationMessagePolicy="Elsewhere"),
    _volume("a volume of nothing is a directory", {"name": "v"}),
    _volume("a volume of a ConfigMap has a mode", {"name": "v", "configMap": {"name": "c"}}),
    _volume("a volume of a Secret has a mode", {"name": "v", "secret": {"secretName": "s"}}),
    _volume("a volume of the host has no type", {"name": "v", "hostPath": {"path": "/a"}}),
    _volume("a volume of a claim", {"name": "v", "persistentVolumeClaim": {"claimName": "c"}}),
    _volume("two volumes of one name are refused", _V, _V),
    _volume("a volume without a name is refused", {"emptyDir": {}}),
    _volume("a volume's name with capitals is refused", {"name": "V", "emptyDir": {}}),
    _volume("a volume of two sources is refused", {"name": "v", "emptyDir": {}, "hostPath": {"path": "/a"}}),
    _volume("a ConfigMap without a name is refused", {"name": "v", "configMap": {}}),
    _volume("a Secret without a name is refused", {"name": "v", "secret": {}}),
    _volume("a claim without a name is refused", {"name": "v", "persistentVolumeClaim": {}}),
    _volume("a path of the host that goes up is refused", {"name": "v", "hostPath": {"path": "/a/../b"}}),
    _volume("a path of the host is there", {"name": "v", "hostPath": {}}),
    _volume("a mode beyond 0777 is refused", {"name": "v", "configMap": {"name": "c", "defaultMode": 512}}),
    _volume("an item has a key", {"name": "v", "configMap": {"name": "c", "items": [{"path": "a"}]}}),
    _volume(
        "an item's path does not go up",
        {"name": "v", "configMap": {"name": "c", "items": [{"key": "a", "path": "../a"}]}},
    ),
    _volume("a projected volume of nothing", {"name": "v", "projected": {"sources": [{}]}}),
    _volume("a mount of a volume that is not there is refused", mounts=[{"name": "v", "mountPath": "/a"}]),
    _volume("a mount without a path is refused", _V, mounts=[{"name": "v"}]),
    _volume("a mount without a name is refused", _V, mounts=[{"mountPath": "/a"}]),
    _volume(
        "two mounts at one path are refused",
        _V,
        mounts=[{"name": "v", "mountPath": "/a"}, {"name": "v", "mountPath": "/a"}],
    ),
    _volume("a path within a volume does not go up", _V, mounts=[{"name": "v", "mountPath": "/a", "subPath": "../b"}]),
    _volume("a path within a volume is relative", _V, mounts=[{"name": "v", "mountPath": "/a", "subPath": "/b"}]),
    _pod("a host name is a label", hostname="A.b"),
    _pod("a subdomain is a label", subdomain="A.b"),
    _pod("a node selector's value is a label's", nodeSelector={"a": "b c"}),
    _pod("a toleration's unknown operator is refused", tolerations=[{"key": "a", "operator": "Near"}]),
    _pod("a toleration that exists has no value", tolerations=[{"key": "a", "operator": "Exists", "value": "b"}]),
    _pod(
        "a toleration of an unknown effect is refused",
        tolerations=[{"key": "a", "operator": "Exists", "effect": "Bad"}],
    ),
    _pod("an account's name is a name", serviceAccountName="A b"),
    _pod("a pull secret has a name", "spec.imagePullSecrets", imagePullSecrets=[{"name": "a"}]),
    _pod("a priority class that is not there is refused", priorityClassName="nowhere"),
    _pod("two errors are two causes", restartPolicy="Sometimes", dnsPolicy="Mine"),
    _pod("a wrong type names the field", containers="main"),
    _pod("a text in place of a number is refused", terminationGracePeriodSeconds="long"),
    case("a status of a pod is not created", post(PODS, {**pod(), "status": {"phase": "Running"}}, "status.phase")),
    case(
        "a status of a pod is set by its subresource",
        *quietly(post(PODS, pod())),
        patch(_STATUS, {"status": {"phase": "Running", "podIP": "10.0.0.1"}}, "status.phase", "status.podIP"),
        get(f"{PODS}/x", "status.phase"),
    ),
    case(
        "a patch of a pod does not set its status",
        *quietly(post(PODS, pod())),
        patch(f"{PODS}/x", {"status": {"phase": "Running"}}, "status.phase"),
    ),
    case(
        "a patch of a status does not set the spec",
        *quietly(post(PODS, pod())),
        patch(
            _STATUS,
            {"spec": {"activeDeadlineSeconds": 5}, "status": {"message": "a"}},
            "spec.activeDeadlineSeconds",
            "status.message",
        ),
    ),
    case(
        "a patch of a status does not set labels of a pod",
        *quietly(post(PODS, pod())),
        patch(_STATUS, {"metadata": {"labels": {"a": "b"}}}, "metadata.labels", "metadata.name"),
    ),
    case(
        "a replace of a status takes another version's",
        *quietly(post(PODS, pod()), patch(f"{PODS}/x", {"metadata": {"labels": {"a": "b"}}})),
        put(
            _STATUS,
            {
                **pod(),
                "metadata": {"name": "x", "resourceVersion": "@0.metadata.resourceVersion@"},
                "status": {"phase": "Running"},
            },
        ),
    ),
    case(
        "a binding gives a pod its node",
        *quietly(post(PODS, pod())),
        post(f"{PODS}/x/binding", {"metadata": {"name": "x"}, "target": {"kind": "Node", "name": "n"}}),
        get(f"{PODS}/x", "spec.nodeName", "status.conditions[type=PodScheduled].status"),
    ),
    case(
        "a pod that is bound is not bound again",
        *quietly(post(PODS, pod(nodeName="m"))),
        post(f"{PODS}/x/binding", {"metadata": {"name": "x"}, "target": {"kind": "Node", "name": "n"}}),
    ),
    case(
        "a binding has a target",
        *quietly(post(PODS, pod())),
        post(f"{PODS}/x/binding", {"metadata": {"name": "x"}, "target": {}}),
    ),
    case("a log of a pod without a node is refused", *quietly(post(PODS, pod())), get(f"{PODS}/x/log")),
    case(
        "a log of a container that is not there is refused",
        *quietly(post(PODS, pod(nodeName="n"))),
        get(f"{PODS}/x/log?container=none"),
    ),
    case(
        "a log of one of two containers needs a name",
        *quietly(post(PODS, pod("x", MAIN, {"name": "b", "image": "i"}, nodeName="n"))),
        get(f"{PODS}/x/log"),
    ),
    case("a log of what is not there is not found", get(f"{PODS}/x/log")),
    case("an exec in what is not there is not found", get(f"{PODS}/x/exec?command=a&stdout=1")),
    case(
        "an exec in a pod without a node is refused",
        *quietly(post(PODS, pod())),
        get(f"{PODS}/x/exec?command=a&stdout=1"),
    ),
)
