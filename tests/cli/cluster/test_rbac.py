"""401 and 403 of a cluster, explained with what to do."""

from __future__ import annotations

import datetime
import re

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from paddock.cli.cluster.errors import Failed, explain_error
from paddock.cli.cluster.places import build_cluster
from paddock.cli.cluster.rbac import explain_forbidden, explain_unauthorized, explained_refusals, read_expiry
from paddock.cli.output.local_times import format_local_time
from paddock.client.kubeconfig import Config
from paddock.kube.errors import Forbidden, NotFound, Unauthorized

NOW = 1_800_000_000.0


def test_a_missing_right_is_named_with_what_gives_it() -> None:
    message = (
        'paddlejobs.batch.paddlepaddle.org is forbidden: User "system:serviceaccount:ci:runner" cannot create resource '
        '"paddlejobs" in API group "batch.paddlepaddle.org" in the namespace "team"'
    )
    assert str(explain_forbidden(Forbidden(message))).splitlines() == [
        "system:serviceaccount:ci:runner may not create paddlejobs.batch.paddlepaddle.org in namespace team. Who "
        "administers the cluster can allow what paddock needs there:",
        "",
        "kubectl apply -f - <<'END'",
        "apiVersion: rbac.authorization.k8s.io/v1",
        "kind: Role",
        'metadata: {name: "paddock-system:serviceaccount:ci:runner", namespace: team}',
        "rules:",
        "- {apiGroups: [batch.paddlepaddle.org], resources: [paddlejobs], "
        "verbs: [get, list, watch, create, patch, delete]}",
        '- {apiGroups: [""], resources: [pods], verbs: [get, list, watch, delete]}',
        '- {apiGroups: [""], resources: [pods/log], verbs: [get]}',
        '- {apiGroups: [""], resources: [configmaps], verbs: [create, patch, delete]}',
        '- {apiGroups: [""], resources: [events], verbs: [list]}',
        '- {apiGroups: [""], resources: [resourcequotas], verbs: [list]}',
        '- {apiGroups: [""], resources: [limitranges], verbs: [list]}',
        "---",
        "apiVersion: rbac.authorization.k8s.io/v1",
        "kind: RoleBinding",
        'metadata: {name: "paddock-system:serviceaccount:ci:runner", namespace: team}',
        'roleRef: {apiGroup: rbac.authorization.k8s.io, kind: Role, name: "paddock-system:serviceaccount:ci:runner"}',
        "subjects: [{kind: ServiceAccount, name: runner, namespace: ci}]",
        "END",
    ]


@pytest.mark.parametrize(
    ("verb", "resource", "group", "rule"),
    [
        ("update", "configmaps", "",
         '- {apiGroups: [""], resources: [configmaps], verbs: [create, patch, delete, update]}'),
        ("create", "podgroups", "scheduling.volcano.sh",
         "- {apiGroups: [scheduling.volcano.sh], resources: [podgroups], verbs: [create]}"),
        ("list", "paddlejobs", "kubeflow.org",
         "- {apiGroups: [kubeflow.org], resources: [paddlejobs], verbs: [get, list, watch, create, patch, delete]}"),
    ],
)  # fmt: skip
def test_what_was_refused_is_among_the_rights(verb: str, resource: str, group: str, rule: str) -> None:
    message = f'x: User "alice" cannot {verb} resource "{resource}" in API group "{group}" in the namespace "team"'
    lines = str(explain_forbidden(Forbidden(message))).splitlines()
    assert rule in lines
    assert not any("pods]" in line and "create" in line for line in lines), "a pod reads any Secret of its namespace"


def test_a_missing_right_of_the_whole_cluster_asks_for_no_more_than_it() -> None:
    message = 'nodes is forbidden: User "alice" cannot list resource "nodes" in API group "" at the cluster scope'
    assert str(explain_forbidden(Forbidden(message))).splitlines()[1:] == [
        "",
        "kubectl apply -f - <<'END'",
        "apiVersion: rbac.authorization.k8s.io/v1",
        "kind: ClusterRole",
        'metadata: {name: "paddock-alice-list-nodes"}',
        "rules:",
        '- {apiGroups: [""], resources: [nodes], verbs: [get, list]}',
        "---",
        "apiVersion: rbac.authorization.k8s.io/v1",
        "kind: ClusterRoleBinding",
        'metadata: {name: "paddock-alice-list-nodes"}',
        'roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: "paddock-alice-list-nodes"}',
        'subjects: [{apiGroup: rbac.authorization.k8s.io, kind: User, name: "alice"}]',
        "END",
    ]


def name_roles(
    user: str, verb: str, resource: str, group: str = "", place: str = ' in the namespace "team"'
) -> set[str]:
    message = f'x: User "{user}" cannot {verb} resource "{resource}" in API group "{group}"{place}'
    return set(re.findall(r'metadata: {name: ("[^"]*")', str(explain_forbidden(Forbidden(message)))))


@pytest.mark.parametrize("verb", ["get", "create", "patch", "delete"])
def test_what_a_feature_needs_is_asked_for_at_once(verb: str) -> None:
    """Else an administrator is asked again for each verb."""
    message = f'x: User "alice" cannot {verb} resource "secrets" in API group "" in the namespace "team"'
    said = str(explain_forbidden(Forbidden(message)))
    assert '- {apiGroups: [""], resources: [secrets], verbs: [get, create, update, patch, delete]}' in said
    assert name_roles("alice", verb, "secrets") == {'"paddock-alice-secrets"'}


def test_no_command_takes_away_what_another_has_given() -> None:
    """The objects of two commands are the same where all that they say is the same, and only there."""
    usual = name_roles("alice", "list", "pods")
    assert usual == name_roles("alice", "create", "paddlejobs", "batch.paddlepaddle.org")
    others = [
        name_roles("bob", "list", "pods"),
        name_roles("alice", "update", "pods"),
        name_roles("alice", "list", "datasets", "paddock.dev"),
        name_roles("alice", "list", "pods", place=""),
        name_roles("bob", "list", "pods", place=""),
        name_roles("alice", "list", "nodes", place=""),
    ]
    assert name_roles("alice", "create", "datasets", "paddock.dev") == name_roles(
        "alice", "list", "datasets", "paddock.dev"
    )
    assert all(len(each) == 1 for each in [usual, *others])
    assert len(set.union(usual, *others)) == 1 + len(others)
    assert name_roles("https://id.example/#alice", "list", "pods") == {'"paddock-https:--id.example-#alice"'}


def test_a_quota_that_takes_no_more_jobs_says_what_counts() -> None:
    kind = "count/paddlejobs.batch.paddlepaddle.org"
    message = (
        f'paddlejobs.batch.paddlepaddle.org "two" is forbidden: exceeded quota: training, requested: {kind}=1, used: '
        f"{kind}=20, limited: {kind}=20"
    )
    assert str(explain_forbidden(Forbidden(message))) == (
        "the quota training allows 20 of paddlejobs.batch.paddlepaddle.org, and 20 are there; those that have ended "
        "count too, until they are deleted"
    )


def test_a_403_of_an_admission_plugin_is_unchanged() -> None:
    assert explain_forbidden(Forbidden("pods x is forbidden: exceeded quota: y")) == (
        "pods x is forbidden: exceeded quota: y"
    )


def make_certificate(until: float) -> str:
    key, name = ec.generate_private_key(ec.SECP256R1()), x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "me")])
    end = datetime.datetime.fromtimestamp(until, datetime.UTC)
    built = x509.CertificateBuilder(name, name, key.public_key(), 1, end - datetime.timedelta(days=1), end)
    return built.sign(key, hashes.SHA256()).public_bytes(serialization.Encoding.PEM).decode()


@pytest.mark.parametrize(
    ("until", "said"),
    [
        (NOW - 60, f"the client certificate of f, context c: it expired at {format_local_time(NOW - 60)}"),
        (NOW + 60, "does not know who you are (Unauthorized): the token or certificate of f, context c is wrong"),
        (None, "does not know who you are (Unauthorized)"),
    ],
)
def test_a_401_is_explained(until: float | None, said: str) -> None:
    certificate = None if until is None else make_certificate(until)
    config = Config("https://1.2.3.4", source="f, context c", certificate=certificate)
    place = build_cluster(config, "c", None)
    assert said in str(explain_unauthorized(place, Unauthorized("Unauthorized"), NOW))


def test_a_certificate_that_cannot_be_read_has_no_end() -> None:
    assert read_expiry("nonsense") is None


@pytest.mark.parametrize("error", [Unauthorized("x"), Forbidden("x")])
def test_a_refusal_fails_the_command(error: Exception) -> None:
    place = build_cluster(Config("https://1.2.3.4", source="f"), "c", None)
    with pytest.raises(Failed) as failed, explained_refusals(place):
        raise error
    known = explain_error(failed.value)
    assert known is not None and known.exit_code == 1
    with pytest.raises(NotFound), explained_refusals(place):
        raise NotFound("x")
