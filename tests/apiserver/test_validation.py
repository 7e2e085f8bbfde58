"""Reading objects of built-in kinds: one valid base, one change per row, and its message."""

import copy

import pytest
from hypothesis import given
from hypothesis import strategies as st

from paddock.apiserver.admission.validation import DEPTH_LIMIT, read_object
from paddock.apiserver.kinds.registry import BUILT_INS, Registry
from paddock.kube.errors import BadRequest, Invalid

REGISTRY = Registry()
PODS = REGISTRY.find("", "v1", "pods")
POD = {
    "apiVersion": "v1",
    "kind": "Pod",
    "metadata": {"name": "trainer", "namespace": "default", "labels": {"app": "demo"}},
    "spec": {
        "volumes": [{"name": "data"}],
        "containers": [
            {
                "name": "paddle",
                "image": "registry.example/paddle:3.0",
                "env": [{"name": "A", "value": "1"}],
                "ports": [{"containerPort": 2379}],
                "volumeMounts": [{"name": "data", "mountPath": "/data"}],
                "resources": {"limits": {"cpu": "500m", "memory": "1Gi"}},
            }
        ],
    },
}
C = ("spec", "containers", 0)
V, AT = ("spec", "volumes", 0), "spec.volumes[0]"


def changed(base, path, value):
    """A copy of `base` with `value` at `path`; an Ellipsis removes the field."""
    base = copy.deepcopy(base)
    place = base
    for part in path[:-1]:
        place = place[part]
    if value is ...:
        del place[path[-1]]
    else:
        place[path[-1]] = value
    return base


def read(manifest, served=PODS, strict=False, subresource=""):
    return read_object(served, manifest, strict=strict, subresource=subresource)[0]


def causes_of(manifest, served=PODS):
    with pytest.raises(Invalid) as refused:
        read_object(served, manifest, strict=True)
    return [f"{cause.field}: {cause.message}" for cause in refused.value.causes]


SUBDOMAIN = "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must"
LABEL = "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start"


@pytest.mark.parametrize(
    ("path", "value", "field", "message"),
    [
        (("metadata", "name"), 7, "metadata.name", 'metadata.name in body must be of type string: "integer"'),
        (("metadata", "namespace"), "a.b", "metadata.namespace", LABEL),
        (("metadata", "labels"), {"a": 1}, "metadata.labels.a", 'must be of type string: "integer"'),
        (("spec", "containers"), "sh", "spec.containers",
         'Invalid value: "sh": spec.containers in body must be of type array: "string"'),
        (("spec", "terminationGracePeriodSeconds"), -1, "spec.terminationGracePeriodSeconds",
         "greater than or equal to 0"),
        (("spec", "terminationGracePeriodSeconds"), 10**40, "spec.terminationGracePeriodSeconds",
         "must be of type integer"),
        (("spec", "hostNetwork"), "yes", "spec.hostNetwork", 'must be of type boolean: "string"'),
        (("spec", "activeDeadlineSeconds"), True, "spec.activeDeadlineSeconds", 'must be of type integer: "boolean"'),
        (("spec", "nodeSelector"), {"a b": "c"}, "spec.nodeSelector", "name part must consist of"),
        (("spec", "hostname"), "a.b", "spec.hostname", LABEL),
        ((*V, "configMap"), {"items": [{"key": "k", "path": "/x"}]}, f"{AT}.configMap.items[0].path", "relative path"),
        ((*V, "secret"), {"items": [{"key": "k", "path": "a/../x"}]}, f"{AT}.secret.items[0].path", "not contain '..'"),
        ((*V, "configMap"), {"items": [{"key": "", "path": "..x"}]}, f"{AT}.configMap.items[0].path", "not start with"),
        ((*V, "downwardAPI"), {"items": [{"path": ".."}]}, f"{AT}.downwardAPI.items[0].path", "not contain '..'"),
        (
            (*V, "projected"), {"sources": [{"configMap": {"items": [{"key": "k", "path": "../x"}]}}]},
            f"{AT}.projected.sources[0].configMap.items[0].path", "not contain '..'",
        ),
        (
            (*V, "projected"), {"sources": [{"serviceAccountToken": {"path": "/x"}}]},
            f"{AT}.projected.sources[0].serviceAccountToken.path", "relative path",
        ),
        ((*C, "command"), ["sh", "a\0b"], "spec.containers[0].command[1]", "NUL"),
        ((*C, "args"), ["\0"], "spec.containers[0].args[0]", "NUL"),
        ((*C, "env", 0, "value"), "\0", "spec.containers[0].env[0].value", "NUL"),
        ((*C, "image"), "a\0", "spec.containers[0].image", "NUL"),
        ((*C, "workingDir"), "/\0", "spec.containers[0].workingDir", "NUL"),
        ((*C, "volumeMounts", 0, "mountPath"), "/\0", "spec.containers[0].volumeMounts[0].mountPath", "NUL"),
        ((*V, "hostPath"), {"path": "/\0"}, f"{AT}.hostPath.path", "NUL"),
        ((*C, "env", 0, "value"), 1, "spec.containers[0].env[0].value", 'must be of type string: "integer"'),
        ((*C, "env", 0, "valueFrom"), {}, "spec.containers[0].env[0].valueFrom", "may not be specified when `value`"),
        ((*C, "ports", 0, "protocol"), "tcp", "spec.containers[0].ports[0].protocol", "Unsupported value"),
        ((*C, "resources", "limits", "cpu"), "half", "spec.containers[0].resources.limits[cpu]", "must be a quantity"),
        ((*C, "resources", "limits", "cpu"), "-1", "spec.containers[0].resources.limits[cpu]",
         "greater than or equal to 0"),
        ((*C, "resources", "limits", "cpu"), [1], "spec.containers[0].resources.limits.cpu",
         "must be of type integer,string"),
    ],
)  # fmt: skip
def test_a_wrong_pod_is_refused_with_the_field_and_the_reason(path, value, field, message):
    found = causes_of(changed(POD, path, value))
    assert any(one.startswith(f"{field}: ") and message in one for one in found), found


def test_all_errors_come_at_once_in_one_sentence():
    pod = changed(changed(POD, ("spec", "hostNetwork"), "yes"), ("metadata", "name"), "A")
    with pytest.raises(Invalid) as refused:
        read(pod)
    assert refused.value.message.startswith('Pod "A" is invalid: [spec.hostNetwork: Invalid value: "yes": ')
    assert ", metadata.name: Invalid value: " in refused.value.message
    assert refused.value.message.endswith("]")
    assert (refused.value.kind, refused.value.name) == ("Pod", "A")


def test_a_pod_gets_the_defaults_of_kubernetes():
    pod = read(POD)
    spec, container = pod["spec"], pod["spec"]["containers"][0]
    assert (spec["restartPolicy"], spec["dnsPolicy"], spec["terminationGracePeriodSeconds"]) == (
        "Always",
        "ClusterFirst",
        30,
    )
    assert container["terminationMessagePath"] == "/dev/termination-log"
    assert container["terminationMessagePolicy"] == "File"
    assert container["ports"] == [{"containerPort": 2379, "protocol": "TCP"}]
    assert container["resources"]["requests"] == {"cpu": "500m", "memory": "1Gi"}
    assert spec["volumes"] == [{"name": "data", "emptyDir": {}}]


@pytest.mark.parametrize(
    ("image", "policy"),
    [
        ("paddle", "Always"),
        ("paddle:latest", "Always"),
        ("host:5000/paddle", "Always"),
        ("host:5000/paddle:3.0", "IfNotPresent"),
        ("paddle@sha256:abc", "IfNotPresent"),
        ("paddle:latest@sha256:abc", "IfNotPresent"),
    ],
)
def test_the_pull_policy_follows_the_tag(image, policy):
    assert read(changed(POD, (*C, "image"), image))["spec"]["containers"][0]["imagePullPolicy"] == policy


def test_amounts_may_be_numbers_as_kubernetes_decodes_them():
    limits = read(changed(POD, (*C, "resources", "limits"), {"cpu": 0.5, "memory": 1024}))
    assert limits["spec"]["containers"][0]["resources"]["limits"] == {"cpu": "500m", "memory": "1024"}


def test_null_means_absent():
    pod = changed(changed(POD, ("metadata", "creationTimestamp"), None), ("spec", "nodeSelector"), None)
    read_pod = read(pod, strict=True)
    assert "creationTimestamp" not in read_pod["metadata"]
    assert "nodeSelector" not in read_pod["spec"]


def test_an_argument_is_never_changed():
    before = copy.deepcopy(POD)
    read(POD)
    assert before == POD


def test_unknown_fields_are_pruned_with_a_warning():
    pod, warnings = read_object(PODS, changed(POD, (*C, "comand"), ["sh"]), strict=False)
    assert warnings == ('unknown field "spec.containers[0].comand"',)
    assert "comand" not in pod["spec"]["containers"][0]


def test_strict_refuses_unknown_fields_in_the_words_of_kubernetes():
    pod = changed(changed(POD, (*C, "comand"), ["sh"]), ("metadata", "zzz"), 1)
    pod = changed(pod, ("metadata", "lables"), {})
    with pytest.raises(BadRequest) as refused:
        read(pod, strict=True)
    told = refused.value.message.removeprefix('Pod in version "v1" cannot be handled as a Pod: strict decoding error: ')
    assert sorted(told.split(", ")) == [
        'unknown field "metadata.lables" (did you mean "metadata.labels"?)',
        'unknown field "metadata.zzz"',
        'unknown field "spec.containers[0].comand" (did you mean "spec.containers[0].command"?)',
    ]


@pytest.mark.parametrize(
    ("manifest", "sentence"),
    [
        ([], "the body must be a JSON object, a Pod; found array"),
        (None, "found null"),
        ({"kind": "Job", "metadata": {"name": "x"}}, "cannot be handled as a Pod"),
        ({"apiVersion": "v2"}, "the API version in the data (v2) does not match the expected API version (v1)"),
        ({"metadata": "x"}, "metadata must be an object; found string"),
        ({"kind": 1}, "kind must be a string; found integer"),
    ],
)
def test_a_body_that_is_not_a_pod_is_a_bad_request(manifest, sentence):
    with pytest.raises(BadRequest, match=sentence.replace("(", r"\(").replace(")", r"\)")):
        read(manifest)


def test_too_deep_nesting_is_a_bad_request():
    deep = {}
    for _ in range(DEPTH_LIMIT * 50):
        deep = {"a": [deep]}
    with pytest.raises(BadRequest, match="nests deeper than 100 levels"):
        read(changed(POD, ("spec",), deep))


def test_a_missing_kind_is_that_of_the_path():
    pod = read({"metadata": POD["metadata"], "spec": POD["spec"]})
    assert (pod["apiVersion"], pod["kind"]) == ("v1", "Pod")


SERVICE = {"metadata": {"name": "ps-0"}, "spec": {"clusterIP": "None", "ports": [{"port": 2379}]}}


@pytest.mark.parametrize(
    ("plural", "manifest", "field", "message"),
    [
        ("configmaps", {"metadata": {"name": "x"}, "binaryData": {".": ""}}, "binaryData[.]", "must not be '.'"),
        ("secrets", {"metadata": {"name": "x"}, "stringData": {"..a": "b"}}, "data[..a]", "must not start with '..'"),
        ("configmaps", {"metadata": {"name": "x"}, "data": {"a": "ä" * 2**19, "b": "x"}}, "data", "Too long"),
        ("configmaps", {"metadata": {"name": "x"}, "data": {"a": "x"}, "binaryData": {"b": "AAAA" * 349_526}},
         "data", "more than 1048576 bytes"),
        ("secrets", {"metadata": {"name": "x"}, "stringData": {"a": "x" * (2**20 + 1)}}, "data", "Too long"),
        ("configmaps", {"metadata": {"name": "x"}, "data": {"a": 1}}, "data.a", 'must be of type string: "integer"'),
        ("secrets", {"metadata": {"name": "x"}, "data": {"a": "pass word"}}, "data[a]", "must be base64"),
    ],
)  # fmt: skip
def test_other_kinds_have_their_rules(plural, manifest, field, message):
    found = causes_of(manifest, REGISTRY.find("", "v1", plural))
    assert any(one.startswith(f"{field}: ") and message in one for one in found), found


def test_a_megabyte_of_data_is_allowed():
    secrets, config_maps = (REGISTRY.find("", "v1", plural) for plural in ("secrets", "configmaps"))
    assert read({"metadata": {"name": "x"}, "stringData": {".a": "x" * 2**20}}, secrets)
    assert read({"metadata": {"name": "x"}, "data": {"a..b": "x" * 2**20}}, config_maps)


def test_a_secret_that_is_not_encoded_is_not_repeated_in_the_message():
    with pytest.raises(Invalid) as refused:
        read({"metadata": {"name": "x"}, "data": {"a": "pass word"}}, REGISTRY.find("", "v1", "secrets"))
    assert "pass word" not in refused.value.message


def test_a_cluster_scoped_object_has_no_namespace():
    node = read({"metadata": {"name": "n", "namespace": "default"}}, REGISTRY.find("", "v1", "nodes"))
    assert node["metadata"] == {"name": "n"}


def test_a_binding_and_a_scale_are_read_as_their_own_kinds():
    binding = read({"target": {"kind": "Node", "name": "n"}}, subresource="binding")
    assert (binding["kind"], binding["target"]["name"]) == ("Binding", "n")
    with pytest.raises(Invalid, match=r"target: Required value"):
        read({}, subresource="binding")
    deployments = REGISTRY.find("apps", "v1", "deployments")
    assert read({"spec": {"replicas": 3}}, deployments, subresource="scale")["kind"] == "Scale"


def test_a_status_is_checked_without_checking_the_spec_again():
    old = changed(POD, (*C, "volumeMounts", 0, "name"), "gone")
    assert read({**old, "status": {"phase": "Running"}}, subresource="status")["status"] == {"phase": "Running"}
    with pytest.raises(Invalid, match=r"status.phase in body must be of type string"):
        read({**old, "status": {"phase": 1}}, subresource="status")


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=12,
)
PLACES = [
    ("metadata",), ("metadata", "name"), ("metadata", "labels"), ("metadata", "ownerReferences"), ("spec",),
    ("spec", "volumes"), ("spec", "containers"), C, (*C, "name"), (*C, "image"), (*C, "env"), (*C, "env", 0),
    (*C, "ports"),
    (*C, "ports", 0, "containerPort"), (*C, "resources"), (*C, "resources", "limits", "cpu"), (*C, "volumeMounts", 0),
    ("status",), ("apiVersion",), ("kind",), ("spec", "restartPolicy"), (*C, "livenessProbe"),
    ("spec", "securityContext"),
]  # fmt: skip


def check_reading(served, manifest):
    """Reading raises only errors of the API, and a second reading changes nothing and gives no warning."""
    try:
        first, _ = read_object(served, manifest, strict=False)
    except (BadRequest, Invalid):
        return
    assert read_object(served, first, strict=True) == (first, ())


@given(st.sampled_from(PLACES), JSON)
def test_any_json_anywhere_in_a_pod_is_read_or_refused(path, value):
    check_reading(PODS, changed(POD, path, value))


@given(st.sampled_from(BUILT_INS), st.dictionaries(st.sampled_from(["spec", "data", "rules", "value"]), JSON), JSON)
def test_any_json_is_read_or_refused_for_every_kind(served, body, whole):
    check_reading(served, {"metadata": {"name": "x"}, **body})
    check_reading(served, whole)
