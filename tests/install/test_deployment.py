"""What puts the operator onto a cluster: paddle-operator's names, the least rights, a locked-down pod; the examples."""

from __future__ import annotations

from pathlib import Path

import pytest

from paddock.console.token_sign_in import HEALTH
from paddock.install.console import Keep, build_console
from paddock.install.deployment import EXAMPLE_IMAGE, Installation, Scope, build_operator
from paddock.install.rights import LEASE, Where, allows, build_rights, build_rules
from paddock.install.webhook import PORT, build_webhook
from paddock.jobs.apis.registry import KINDS
from paddock.jobs.labels import SETTINGS_ANNOTATION, VERSION_ANNOTATION
from paddock.kube.meta import LEASES, NODES, Key, Manifest, key_of, name_of, namespace_of
from paddock.kube.validation.names import DNS_LABEL
from paddock.preflight import check, read_bytes
from paddock.version import __version__

EXAMPLES = Path(__file__).resolve().parents[2] / "deploy" / "examples"
DOCUMENTS = Path(__file__).resolve().parents[2] / "examples" / "documents"
SHIPPED = build_operator(Installation())


def find(kind: str, manifests: tuple[Manifest, ...] = SHIPPED, name: str = "") -> Manifest:
    return next(each for each in manifests if each["kind"] == kind and name in ("", name_of(each)))


def pod_of(manifests: tuple[Manifest, ...] = SHIPPED) -> Manifest:
    found: Manifest = find("Deployment", manifests)["spec"]["template"]
    return found


def test_the_names_are_paddle_operators() -> None:
    """So that `kubectl apply` replaces it, and the documents of both stay true."""
    assert [(each["kind"], key_of(each)) for each in SHIPPED] == [
        ("Namespace", Key("", "paddle-system")),
        ("ServiceAccount", Key("paddle-system", "paddle-manager-sa")),
        ("Role", Key("paddle-system", "paddle-leader-election-role")),
        ("RoleBinding", Key("paddle-system", "paddle-leader-election-rolebinding")),
        ("Role", Key("paddle-system", "paddle-manager-role")),
        ("RoleBinding", Key("paddle-system", "paddle-manager-rolebinding")),
        ("ClusterRole", Key("", "paddle-manager-role")),
        ("ClusterRoleBinding", Key("", "paddle-manager-rolebinding")),
        ("ClusterRole", Key("", "paddlejob-editor-role")),
        ("ClusterRole", Key("", "paddlejob-viewer-role")),
        ("PriorityClass", Key("", "paddle-manager-priority")),
        ("NetworkPolicy", Key("paddle-system", "paddle-controller-manager")),
        ("Deployment", Key("paddle-system", "paddle-controller-manager")),
    ]
    assert find("Deployment")["spec"]["selector"] == {"matchLabels": {"control-plane": "controller-manager"}}


def test_the_pod_may_do_nothing_but_speak() -> None:
    spec = pod_of()["spec"]
    container = spec["containers"][0]
    assert spec["securityContext"] == {
        "runAsNonRoot": True,
        "runAsUser": 65532,
        "runAsGroup": 65532,
        "seccompProfile": {"type": "RuntimeDefault"},
    }
    assert container["securityContext"] == {
        "allowPrivilegeEscalation": False,
        "readOnlyRootFilesystem": True,
        "capabilities": {"drop": ["ALL"]},
    }
    assert "tolerations" not in spec
    assert "volumes" not in spec


def test_every_object_has_the_labels_that_tools_look_for() -> None:
    """The selector stays paddle-operator's: Kubernetes lets nobody change that of a Deployment."""
    ours = {"app.kubernetes.io/name": "paddock", "app.kubernetes.io/component": "operator"}
    for each in (*SHIPPED, pod_of()):
        assert ours.items() <= each["metadata"]["labels"].items(), each["kind"]
    for each in (find("Deployment"), pod_of()):
        assert each["metadata"]["labels"]["app.kubernetes.io/version"] == __version__
    assert find("Deployment")["spec"]["selector"]["matchLabels"].items() <= pod_of()["metadata"]["labels"].items()


def test_the_operator_is_placed_before_jobs_and_apart_from_its_standby() -> None:
    spec = pod_of()["spec"]
    assert spec["priorityClassName"] == name_of(find("PriorityClass"))
    assert 0 < find("PriorityClass")["value"] < 1_000_000_000, "the largest that is not Kubernetes' own"
    assert "globalDefault" not in find("PriorityClass")
    (term,) = spec["affinity"]["podAntiAffinity"]["preferredDuringSchedulingIgnoredDuringExecution"]
    selector = term["podAffinityTerm"]["labelSelector"]["matchLabels"]
    assert selector.items() <= pod_of()["metadata"]["labels"].items()
    assert "control-plane" not in selector, "other operators have that label too"
    theirs = build_operator(Installation(namespace="team-a"))
    assert pod_of(theirs)["spec"]["priorityClassName"] == name_of(find("PriorityClass", theirs))
    assert "priorityClassName" not in pod_of(build_operator(Installation(scope=Scope.NAMESPACE)))["spec"]


def test_the_image_has_the_version_of_the_manifests() -> None:
    assert EXAMPLE_IMAGE.endswith(f":{__version__}")
    assert pod_of()["spec"]["containers"][0]["image"] == EXAMPLE_IMAGE


def test_probes_and_metrics_are_where_the_arguments_say() -> None:
    container = pod_of()["spec"]["containers"][0]
    ports = {each["name"]: each["containerPort"] for each in container["ports"]}
    probes = [container[f"{kind}Probe"]["httpGet"] for kind in ("liveness", "readiness")]
    assert [(probe["path"], probe["port"]) for probe in probes] == [("/healthz", "health"), ("/readyz", "health")]
    assert f"--health-probe-bind-address=:{ports['health']}" in container["args"]
    assert f"--metrics-bind-address=:{ports['metrics']}" in container["args"]


CONSOLE = build_console()


def test_the_console_has_no_rights_and_no_token() -> None:
    """Its readers' tokens go along with each request."""
    kinds = [each["kind"] for each in CONSOLE]
    assert kinds == ["Namespace", "ServiceAccount", "Service", "NetworkPolicy", "Deployment"]
    spec = pod_of(CONSOLE)["spec"]
    assert (spec["automountServiceAccountToken"], find("ServiceAccount", CONSOLE)["automountServiceAccountToken"]) == (
        False,
        False,
    )
    assert "secret" not in str(CONSOLE).lower().replace("/var/run/secrets/", "")
    assert spec["securityContext"] == pod_of()["spec"]["securityContext"]
    assert spec["containers"][0]["securityContext"] == pod_of()["spec"]["containers"][0]["securityContext"]


KEEPING = build_console(keep=Keep("kept", "90d,50GiB"))


def test_a_console_that_keeps_may_read_jobs_pods_and_logs_and_nothing_else() -> None:
    account = find("ServiceAccount", KEEPING)
    (bound,) = find("ClusterRoleBinding", KEEPING)["subjects"]
    assert (bound["name"], bound["namespace"]) == (name_of(account), "paddle-console")
    rules = find("ClusterRole", KEEPING)["rules"]
    granted = {(plural, verb) for rule in rules for plural in rule["resources"] for verb in rule["verbs"]}
    jobs = {kind.plural for kind in KINDS}
    assert granted == {
        *((plural, verb) for plural in (*jobs, "pods") for verb in ("list", "watch")),
        ("pods/log", "get"),
    }
    pod = pod_of(KEEPING)["spec"]
    assert (pod["serviceAccountName"], pod["automountServiceAccountToken"]) == (name_of(account), True)
    assert pod["securityContext"].items() >= pod_of()["spec"]["securityContext"].items()
    assert pod["containers"][0]["args"][-2:] == ["--keep=/var/lib/paddock", "--keep-logs=90d,50GiB"]
    claims = [each["persistentVolumeClaim"]["claimName"] for each in pod["volumes"] if "persistentVolumeClaim" in each]
    assert claims == ["kept"]
    assert find("Deployment", KEEPING)["spec"]["strategy"] == {"type": "Recreate"}


def test_everybody_may_reach_a_console_that_keeps_where_nothing_else_runs() -> None:
    """In a namespace with other pods, a port could be forwarded to those too."""
    assert find("RoleBinding", KEEPING)["subjects"][0]["name"] == "system:authenticated"
    elsewhere = [each["kind"] for each in build_console("team-a", keep=Keep("kept"))]
    assert "RoleBinding" not in elsewhere and "Role" not in elsewhere and "ClusterRoleBinding" in elsewhere


@pytest.mark.parametrize("namespace", ["paddle-console", "team-a"])
def test_the_consoles_parts_lead_to_each_other(namespace: str) -> None:
    manifests = build_console(namespace)
    service, pod, policy = find("Service", manifests), pod_of(manifests), find("NetworkPolicy", manifests)
    container = pod["spec"]["containers"][0]
    (port,) = container["ports"]
    assert service["spec"]["ports"][0]["targetPort"] == port["name"]
    assert policy["spec"]["ingress"][0]["ports"] == [{"protocol": "TCP", "port": port["containerPort"]}]
    assert f"--bind-address=:{port['containerPort']}" in container["args"]
    for selector in (
        service["spec"]["selector"],
        policy["spec"]["podSelector"]["matchLabels"],
        find("Deployment", manifests)["spec"]["selector"]["matchLabels"],
    ):
        assert selector.items() <= pod["metadata"]["labels"].items()
    assert pod["spec"]["serviceAccountName"] == name_of(find("ServiceAccount", manifests))
    mounted = {each["name"] for each in container["volumeMounts"]}
    assert mounted == {each["name"] for each in pod["spec"]["volumes"]}
    for probe in ("livenessProbe", "readinessProbe"):
        assert container[probe]["httpGet"] == {"path": HEALTH, "port": port["name"]}


WEBHOOK = build_webhook(Installation(watched=()))


def test_the_webhooks_pod_may_do_as_little_as_the_operators() -> None:
    theirs, ours = pod_of(WEBHOOK)["spec"], pod_of()["spec"]
    assert theirs["securityContext"] == ours["securityContext"]
    assert theirs["containers"][0]["securityContext"] == ours["containers"][0]["securityContext"]
    assert "volumes" not in theirs
    (rule,) = find("ClusterRole", WEBHOOK)["rules"]
    assert rule == {
        "apiGroups": ["admissionregistration.k8s.io"],
        "resources": ["validatingwebhookconfigurations"],
        "resourceNames": [name_of(find("ValidatingWebhookConfiguration", WEBHOOK))],
        "verbs": ["get", "update"],
    }


@pytest.mark.parametrize("namespace", ["paddle-system", "team-a"])
def test_the_webhooks_parts_lead_to_each_other(namespace: str) -> None:
    manifests = build_webhook(Installation(namespace=namespace, watched=()))
    (configured,) = find("ValidatingWebhookConfiguration", manifests)["webhooks"]
    service, pod = find("Service", manifests), pod_of(manifests)
    container = pod["spec"]["containers"][0]
    named = configured["clientConfig"]["service"]
    assert (named["namespace"], named["name"]) == key_of(service)
    assert named["port"] == service["spec"]["ports"][0]["port"]
    assert service["spec"]["selector"].items() <= pod["metadata"]["labels"].items()
    assert find("Deployment", manifests)["spec"]["selector"]["matchLabels"].items() <= pod["metadata"]["labels"].items()
    assert container["ports"] == [{"name": service["spec"]["ports"][0]["targetPort"], "containerPort": PORT}]
    name = name_of(find("ValidatingWebhookConfiguration", manifests))
    assert container["args"] == [f"--configuration={name}", f"--bind-address=:{PORT}"]
    assert find("ClusterRole", manifests)["rules"][0]["resourceNames"] == [name]
    assert find("ClusterRoleBinding", manifests)["roleRef"]["name"] == name_of(find("ClusterRole", manifests))
    operator = find("Deployment", build_operator(Installation(namespace=namespace)))
    assert not operator["spec"]["selector"]["matchLabels"].items() <= pod["metadata"]["labels"].items()


def test_the_webhook_stands_in_nobodys_way() -> None:
    (configured,) = find("ValidatingWebhookConfiguration", WEBHOOK)["webhooks"]
    assert (configured["failurePolicy"], configured["timeoutSeconds"], configured["sideEffects"]) == (
        "Ignore",
        5,
        "None",
    )
    assert {name for rule in configured["rules"] for name in rule["resources"]} == {"paddlejobs"}, "and no status"
    assert "Namespace" not in {each["kind"] for each in WEBHOOK}, "deleting the file would delete the operator"


def test_an_old_cluster_hears_of_seccomp_by_an_annotation() -> None:
    """The field came with Kubernetes 1.19, and kubectl refuses what a server does not know."""
    old = pod_of(build_operator(Installation(old=True)))
    assert old["metadata"]["annotations"] == {"seccomp.security.alpha.kubernetes.io/pod": "runtime/default"}
    assert "seccompProfile" not in old["spec"]["securityContext"]


@pytest.mark.parametrize("scope", Scope)
@pytest.mark.parametrize("watched", [(), ("team-a",), ("team-a", "team-b", "team-c")], ids=len)
def test_two_installations_share_nothing(scope: Scope, watched: tuple[str, ...]) -> None:
    """The second installation would take over shared objects, and removing one would delete them."""
    three = [
        {
            (each["kind"], key_of(each))
            for each in build_operator(Installation(namespace=namespace, watched=watched, scope=scope))
        }
        for namespace in ("team-a", "team-b", "paddle-system")
    ]
    assert len(set.union(*three)) == sum(map(len, three))


def test_a_binding_gives_the_role_that_comes_with_it() -> None:
    manifests = build_operator(Installation(namespace="team-a"))
    binding = find("ClusterRoleBinding", manifests)
    assert name_of(binding) == "paddle-manager-rolebinding-team-a"
    assert binding["roleRef"]["name"] == "paddle-manager-role-team-a"
    assert find("ClusterRole", manifests, "paddle-manager-role-team-a")["rules"]
    assert binding["subjects"][0]["namespace"] == "team-a"


CLUSTER = ("ClusterRole", "")
WATCHED: list[tuple[tuple[str, ...], Scope, dict[tuple[str, str], set[Where]]]] = [
    (("ops",), Scope.CLUSTER, {("Role", "ops"): {Where.OWN, Where.JOBS}, CLUSTER: {Where.CLUSTER}}),
    (("ops",), Scope.NAMESPACE, {("Role", "ops"): {Where.OWN, Where.JOBS}}),
    (
        ("team-a", "team-b"),
        Scope.CLUSTER,
        {
            ("Role", "ops"): {Where.OWN},
            ("Role", "team-a"): {Where.JOBS},
            ("Role", "team-b"): {Where.JOBS},
            CLUSTER: {Where.CLUSTER},
        },
    ),
    (
        ("team-a",),
        Scope.NAMESPACE,
        {("Role", "ops"): {Where.OWN}, ("Role", "team-a"): {Where.JOBS}},
    ),
    ((), Scope.CLUSTER, {("Role", "ops"): {Where.OWN}, CLUSTER: {Where.JOBS, Where.CLUSTER}}),
]


@pytest.mark.parametrize(("watched", "scope", "given"), WATCHED)
def test_rights_are_given_where_they_are_needed_and_nowhere_else(
    watched: tuple[str, ...], scope: Scope, given: dict[tuple[str, str], set[Where]]
) -> None:
    manifests = build_operator(Installation(namespace="ops", watched=watched, scope=scope))
    rights = build_rights(Installation().kinds)
    found: dict[tuple[str, str], list[Manifest]] = {}
    for binding in (each for each in manifests if each["kind"].endswith("Binding")):
        reference, place = binding["roleRef"], namespace_of(binding)
        assert binding["subjects"] == [{"kind": "ServiceAccount", "name": "paddle-manager-sa", "namespace": "ops"}]
        (role,) = (
            each
            for each in manifests
            if (each["kind"], key_of(each)) == (reference["kind"], Key(place, reference["name"]))
        )
        found.setdefault((role["kind"], place), []).extend(role["rules"])
    assert found == {
        place: [
            rule
            for where in sorted(wheres, key=list(Where).index, reverse=Where.OWN in wheres)
            for rule in build_rules(right for right in rights if right.where is where)
        ]
        for place, wheres in given.items()
    }


def test_rules_say_no_more_than_rights() -> None:
    """No star, no secret, no exec, no verb on all of a kind that only one object needs."""
    for rule in build_rules(build_rights(KINDS, datasets=True)):
        assert "*" not in {*rule["apiGroups"], *rule["resources"], *rule["verbs"]}
        assert not {"secrets", "pods/exec", "roles", "serviceaccounts"} & set(rule["resources"])
        assert "deletecollection" not in rule["verbs"]
    leases = [rule for rule in build_rules(build_rights(KINDS)) if rule["resources"] == ["leases"]]
    assert leases == [
        {"apiGroups": ["coordination.k8s.io"], "resources": ["leases"], "verbs": ["create"]},
        {
            "apiGroups": ["coordination.k8s.io"],
            "resources": ["leases"],
            "resourceNames": [LEASE],
            "verbs": ["get", "update"],
        },
    ]


def test_operators_that_share_need_all_leases_and_of_their_own_namespace_alone() -> None:
    def read(shards: int) -> dict[str, list[Manifest]]:
        manifests = build_operator(Installation(watched=("team-a",), shards=shards))
        return {
            each["metadata"]["name"]: each["rules"] for each in manifests if each["kind"] in ("Role", "ClusterRole")
        }

    alone, sharing = read(1), read(6)
    assert sharing.pop("paddle-leader-election-role")[0] == {
        "apiGroups": ["coordination.k8s.io"],
        "resources": ["leases"],
        "verbs": ["get", "list", "create", "update", "delete"],
    }
    del alone["paddle-leader-election-role"]
    assert sharing == alone


def test_a_right_on_one_name_is_none_on_another() -> None:
    rights = build_rights(KINDS)
    assert allows(rights, "update", LEASES, name=LEASE)
    assert not allows(rights, "update", LEASES, name="other")
    assert not allows(rights, "list", NODES)


def test_users_get_their_rights_with_kubernetes_own_roles() -> None:
    editor, viewer = (find("ClusterRole", name=f"paddlejob-{user}-role") for user in ("editor", "viewer"))
    assert editor["metadata"]["labels"]["rbac.authorization.k8s.io/aggregate-to-edit"] == "true"
    assert viewer["metadata"]["labels"]["rbac.authorization.k8s.io/aggregate-to-view"] == "true"
    verbs = {verb for rule in viewer["rules"] for verb in rule["verbs"]}
    assert verbs == {"get", "list", "watch"}


@pytest.mark.parametrize("word", [LEASE, VERSION_ANNOTATION, SETTINGS_ANNOTATION, DNS_LABEL.pattern])
def test_what_two_sides_have_to_agree_on_is_written_once(word: str) -> None:
    """The operator writes it, the command line reads it."""
    source = Path(__file__).resolve().parents[2] / "src" / "paddock"
    assert sum(path.read_text().count(f'"{word}"') for path in source.rglob("*.py")) == 1


@pytest.mark.parametrize("path", sorted(EXAMPLES.glob("*.yaml")), ids=lambda path: path.stem)
def test_the_examples_have_no_mistakes(path: Path) -> None:
    assert [problem for document in read_bytes(path.read_bytes()) for problem in check(document)] == []


@pytest.mark.parametrize(
    ("example", "document"),
    [("wide_and_deep", "wide_and_deep"), ("resnet", "resnet"), ("wide_and_deep_volcano", "volcano")],
)
def test_the_documents_own_examples_are_theirs_to_the_letter(example: str, document: str) -> None:
    assert (EXAMPLES / f"{example}.yaml").read_text() == (DOCUMENTS / f"{document}.yaml").read_text()
