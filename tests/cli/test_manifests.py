"""`paddock manifests`, and that the files in `deploy/` are what it prints.

`pytest tests/cli/test_manifests.py --rewrite-goldens` writes them anew.
"""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Callable
from pathlib import Path

import pytest
import yaml
from click.testing import CliRunner, Result

from paddock.cli.main import cli
from paddock.install.deployment import EXAMPLE_IMAGE
from paddock.install.foreign import OWN_IMAGE
from paddock.jobs.apis.registry import KINDS
from paddock.kube.meta import Manifest, name_of, namespace_of
from paddock.version import __version__

DEPLOY = Path(__file__).resolve().parents[2] / "deploy"
KUBEFLOW = "paddlejobs.kubeflow.org"
OF_KUBEFLOW = [kind.qualified for kind in KINDS if kind.group == "kubeflow.org"]
LISTENS = ["--metrics-bind-address=:8080", "--health-probe-bind-address=:8081"]


def call(*words: str) -> Result:
    return CliRunner().invoke(cli, ["manifests", *words], prog_name="paddock")


def read(*words: str) -> list[Manifest]:
    """As JSON, of which reading takes no time. Another `--image` of `words` is the one that counts."""
    result = call("--image", EXAMPLE_IMAGE, *words, "-o", "json")
    assert result.exit_code == 0, result.output
    found = json.loads(result.output)
    return list(found["items"]) if found["kind"] == "List" else [found]


@pytest.mark.parametrize(
    ("file", "words"),
    [
        ("v1/crd.yaml", "crd"),
        ("v1/operator.yaml", "operator"),
        ("v1/operator-all-namespaces.yaml", "operator -A"),
        ("v1/kubeflow.yaml", "crd --kinds kubeflow.org"),
        ("v1/operator-kubeflow.yaml", "operator -A --kinds batch.paddlepaddle.org,kubeflow.org"),
        ("v1/operator-logs.yaml", "logs"),
        ("v1/webhook.yaml", "webhook"),
        ("v1/console.yaml", "console"),
        ("v1beta1/crd.yaml", "crd --api-version v1beta1"),
        ("v1beta1/operator.yaml", "operator --api-version v1beta1"),
    ],
)
def test_the_files_in_deploy_are_what_it_prints(
    file: str, words: str, match_golden: Callable[[str, str], None]
) -> None:
    result = call(*words.split(), *(() if words.split()[0] in ("crd", "logs") else ("--image", EXAMPLE_IMAGE)))
    assert result.exit_code == 0
    match_golden(str(DEPLOY / file), result.output)


def test_there_are_no_other_manifests_in_deploy() -> None:
    """Every file is held by a test: those of the operator above, the examples in tests/install/test_deployment.py, what
    is watched and the budget in tests/monitoring, the chart's in tests/chart, those of Argo CD and Flux in
    tests/clients/test_gitops.py."""
    found = (str(path.relative_to(DEPLOY)) for path in DEPLOY.rglob("*.yaml"))
    assert sorted(name for name in found if not name.startswith("chart/")) == [
        "examples/resnet.yaml",
        "examples/wide_and_deep.yaml",
        "examples/wide_and_deep_podip.yaml",
        "examples/wide_and_deep_service.yaml",
        "examples/wide_and_deep_volcano.yaml",
        "gitops/argocd/application.yaml",
        "gitops/argocd/health.yaml",
        "gitops/flux/kustomization.yaml",
        "monitoring/prometheusrule.yaml",
        "monitoring/rules.yaml",
        "monitoring/service.yaml",
        "v1/console.yaml",
        "v1/crd.yaml",
        "v1/disruption-budget.yaml",
        "v1/kubeflow.yaml",
        "v1/operator-all-namespaces.yaml",
        "v1/operator-kubeflow.yaml",
        "v1/operator-logs.yaml",
        "v1/operator.yaml",
        "v1/webhook.yaml",
        "v1beta1/crd.yaml",
        "v1beta1/operator.yaml",
    ]


def test_all_is_the_definitions_and_then_the_operator() -> None:
    assert read() == [*read("crd"), *read("operator")]


def test_json_and_yaml_are_the_same() -> None:
    assert list(yaml.safe_load_all(call("operator", "--image", EXAMPLE_IMAGE).output)) == read("operator")


def test_the_documents_edit_is_a_line_with_a_comment_above_it() -> None:
    lines = call("operator", "--image", EXAMPLE_IMAGE).output.splitlines()
    place = next(number for number, line in enumerate(lines) if line.strip() == "- --namespace=paddle-system")
    assert lines[place - 1].strip().startswith("#")


def test_the_documents_edit_and_that_of_the_rights_give_what_is_printed_for_that_namespace() -> None:
    """What the comment says: the argument, and where the Role and the RoleBinding are."""
    text = call("operator", "--image", EXAMPLE_IMAGE).output
    for kind, name in (("Role", "paddle-manager-role"), ("RoleBinding", "paddle-manager-rolebinding")):
        old = f"kind: {kind}\nmetadata:\n  name: {name}\n  namespace: paddle-system\n"
        assert text.count(old) == 1
        text = text.replace(old, old.replace("paddle-system", "team-a"))
    edited = list(yaml.safe_load_all(text.replace("--namespace=paddle-system", "--namespace=team-a")))
    printed = read("operator", "--jobs-in", "team-a")
    for each in printed:  # its Role has another name, for a second installation in that namespace
        if namespace_of(each) == "team-a":
            each["metadata"]["name"] = name_of(each).removesuffix("-paddle-system")
            each.get("roleRef", {})["name"] = name_of(each).replace("binding", "")
    assert edited == printed


def test_another_namespace_is_everywhere() -> None:
    found = read("operator", "--namespace", "team-a")
    assert "paddle-system" not in yaml.safe_dump_all(found)
    assert {namespace_of(each) for each in found} == {"", "team-a"}
    assert name_of(found[0]) == "team-a"
    assert container_of(found)["args"] == ["--leader-elect", "--namespace=team-a", *LISTENS]


def test_jobs_in_other_namespaces_are_run_with_a_role_in_each_and_no_wider_right() -> None:
    found = read("operator", "--jobs-in", "team-a,team-b", "--jobs-in", "team-a")
    assert container_of(found)["args"][1] == "--namespace=team-a,team-b"
    roles = [(namespace_of(each), name_of(each)) for each in found if each["kind"] == "Role"]
    assert roles == [
        ("paddle-system", "paddle-leader-election-role"),
        ("team-a", "paddle-manager-role-paddle-system"),
        ("team-b", "paddle-manager-role-paddle-system"),
    ]
    (wide,) = (each for each in found if each["kind"] == "ClusterRole" and name_of(each) == "paddle-manager-role")
    assert wide["rules"] == [{"apiGroups": [""], "resources": ["nodes"], "verbs": ["get"]}]


def test_all_namespaces_and_another_image() -> None:
    container = container_of(read("operator", "-A", "--image", "registry.example/paddock:1"))
    assert (container["args"], container["image"]) == (
        ["--leader-elect", *LISTENS],
        "registry.example/paddock:1",
    )


def test_replicas_are_those_of_the_operator_and_nothing_else_changes() -> None:
    one, three = (
        read("operator", "-A", "--shards", "6"),
        read("operator", "-A", "--shards", "6", "--replicas", "3"),
    )
    (deployment,) = (each for each in three if each["kind"] == "Deployment")
    assert deployment["spec"].pop("replicas") == 3
    (deployment,) = (each for each in one if each["kind"] == "Deployment")
    assert deployment["spec"].pop("replicas") == 1
    assert one == three


def test_a_group_stands_for_all_its_kinds() -> None:
    assert [name_of(each) for each in read("crd", "--kinds", "kubeflow.org")] == OF_KUBEFLOW
    assert read("crd", "--kinds", f"kubeflow.org,{KUBEFLOW}") == read("crd", "--kinds", "kubeflow.org")


def test_users_of_kubeflow_may_make_the_jobs_of_kubeflow() -> None:
    def aggregated(*words: str) -> set[str]:
        roles = [each for each in read("operator", *words) if name_of(each).startswith("paddlejob-")]
        return {label for each in roles for label in each["metadata"]["labels"] if "aggregate-to" in label}

    of_kubernetes = {f"rbac.authorization.k8s.io/aggregate-to-{role}" for role in ("edit", "view")}
    of_kubeflow = {f"rbac.authorization.kubeflow.org/aggregate-to-kubeflow-{role}" for role in ("edit", "view")}
    assert aggregated() == of_kubernetes
    assert aggregated("--kinds", "kubeflow.org") == of_kubernetes | of_kubeflow


def test_kubeflows_kind_comes_with_its_definition_its_rights_and_its_argument() -> None:
    both = f"paddlejobs.batch.paddlepaddle.org,{KUBEFLOW}"
    found = read("all", "--kinds", both)
    assert [name_of(each) for each in found[:2]] == both.split(",")
    assert f"--kinds={both}" in container_of(found)["args"]
    role = next(each for each in found if name_of(each) == "paddle-manager-role")
    assert {"kubeflow.org", "batch.paddlepaddle.org"} <= {
        group for rule in role["rules"] for group in rule["apiGroups"]
    }


def test_datasets_come_with_their_definition_their_rights_and_their_arguments_and_only_if_asked_for() -> None:
    assert "dataset" not in json.dumps(read("operator")).lower()
    assert "datasets.paddock.dev" not in map(name_of, read("crd"))
    found = read("all", "--datasets", "--image", "mirror/paddock:1")
    assert [name_of(each) for each in found[:2]] == ["paddlejobs.batch.paddlepaddle.org", "datasets.paddock.dev"]
    container = container_of(found)
    assert ("--datasets" in container["args"], container["env"]) == (
        True,
        [{"name": "PADDOCK_IMAGE", "value": "mirror/paddock:1"}],
    )
    roles: dict[str, list[Manifest]] = {}
    for each in found:
        roles.setdefault(name_of(each), []).extend(each.get("rules") or ())
    allowed = {(plural, verb) for rule in roles["paddle-manager-role"] for plural in rule["resources"]
               for verb in rule["verbs"]}  # fmt: skip
    assert {("datasets/status", "patch"), ("persistentvolumeclaims", "create"), ("jobs", "create"),
            ("pods/log", "get"), ("events", "list")} <= allowed  # fmt: skip
    assert not {plural for plural, _ in allowed} & {"secrets", "persistentvolumes", "pods/exec"}
    for user in ("editor", "viewer"):
        assert "datasets" in [each for rule in roles[f"paddlejob-{user}-role"] for each in rule["resources"]]


def test_another_image_for_datasets() -> None:
    args = container_of(read("operator", "--datasets", "--datasets-image", "mine:1"))["args"]
    assert args[2:4] == ["--datasets", "--datasets-image=mine:1"]


def test_rights_in_one_namespace_are_all_that_a_tenant_gives() -> None:
    found = read("operator", "-n", "team-a", "--scope", "namespace")
    assert {each["kind"] for each in found} == {"ServiceAccount", "Role", "RoleBinding", "NetworkPolicy", "Deployment"}
    assert {namespace_of(each) for each in found} == {"team-a"}


def test_the_webhook_checks_all_kinds_of_job_of_all_namespaces_unless_told() -> None:
    def configured(*words: str) -> tuple[list[str], list[str], str]:
        (found,) = (each for each in read("webhook", *words) if each["kind"] == "ValidatingWebhookConfiguration")
        (webhook,) = found["webhooks"]
        (selected,) = webhook["namespaceSelector"]["matchExpressions"]
        kinds = [
            f"{plural}.{group}"
            for rule in webhook["rules"]
            for group in rule["apiGroups"]
            for plural in rule["resources"]
        ]
        return kinds, [selected["operator"], *selected["values"]], webhook["clientConfig"]["service"]["namespace"]

    assert configured() == ([kind.qualified for kind in KINDS], ["NotIn", "kube-system"], "paddle-system")
    assert configured("--kinds", KUBEFLOW, "-n", "ops") == ([KUBEFLOW], ["NotIn", "kube-system"], "ops")
    assert configured("--jobs-in", "team-a,team-b")[1] == ["In", "team-a", "team-b"]


def test_the_console_has_a_namespace_of_its_own_unless_one_is_named() -> None:
    """With `kubectl delete -f` goes what was applied, and no operator and no job."""
    own, named = read("console"), read("console", "-n", "ops", "--image", "mirror/paddock:1")
    assert [each["kind"] for each in own] == ["Namespace", *(each["kind"] for each in named)]
    assert {each["metadata"].get("namespace", each["metadata"]["name"]) for each in own} == {"paddle-console"}
    assert {each["metadata"]["namespace"] for each in named} == {"ops"}
    assert container_of(named)["image"] == "mirror/paddock:1"


@pytest.mark.parametrize(
    ("words", "label", "port"),
    [
        ("operator", "paddock.dev/metrics-client", 8080),
        ("operator -n team-a --scope namespace", "paddock.dev/metrics-client", 8080),
        ("operator --api-version v1beta1", "paddock.dev/metrics-client", 8080),
        ("console", "paddock.dev/console-client", 8765),
    ],
)
def test_one_port_of_a_pod_is_reached_and_only_from_namespaces_with_a_label(words: str, label: str, port: int) -> None:
    found = read(*words.split())
    (policy,) = (each for each in found if each["kind"] == "NetworkPolicy")
    (deployment,) = (each for each in found if each["kind"] == "Deployment")
    template = deployment["spec"]["template"]
    spec = policy["spec"]
    assert namespace_of(policy) == namespace_of(deployment)
    assert spec["podSelector"]["matchLabels"].items() <= template["metadata"]["labels"].items()
    assert (spec["policyTypes"], spec["ingress"]) == (
        ["Ingress"],
        [
            {
                "from": [{"namespaceSelector": {"matchLabels": {label: "true"}}}],
                "ports": [{"protocol": "TCP", "port": port}],
            }
        ],
    )
    assert port in [each["containerPort"] for each in template["spec"]["containers"][0]["ports"]]


def test_the_webhook_has_no_policy_as_the_address_of_an_api_server_is_no_pods() -> None:
    assert "NetworkPolicy" not in [each["kind"] for each in read("webhook")]


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ("crd --kinds paddlejobs.kubeflow", f"did you mean {KUBEFLOW}?"),
        ("crd --kinds pods", "there are paddlejobs.batch.paddlepaddle.org, paddlejobs.kubeflow.org"),
        ("operator -A --scope namespace", "--scope namespace does not give"),
        ("operator -n Team_A", "'Team_A' is not a valid name for a namespace"),
        ("operator --jobs-in team-a,", "'' is not a valid name for a namespace"),
        ("operator -A --jobs-in team-a", "--all-namespaces and --jobs-in do not go together"),
        ("webhook -n team-a --scope namespace", "a webhook is the cluster's own"),
        ("operator --datasets-image mine:1", "--datasets-image needs --datasets"),
        ("webhook --shards 6", "--shards is of the operator: webhook has none"),
        ("crd --replicas 2", "--replicas is of the operator: crd has none"),
        ("operator --replicas 0", "0 is not in the range 1<=x<=64"),
        ("operator --shards 6", "here is one: add -A"),
        ("all -n team-a --scope namespace --shards 6", "here is one: add -A"),
        ("operator --jobs-in team-a,team-a --shards 6", "here is one: add -A"),
        ("webhook --datasets", "--datasets is of the operator and the definitions: webhook has none"),
        ("operator --datasets --api-version v1beta1", "datasets need Kubernetes 1.16 or later"),
        ("webhook --api-version v1beta1", "needs Kubernetes 1.20 or later"),
        ("operators", "'crd', 'operator', 'logs', 'webhook', 'console', 'all'"),
    ],
)
def test_wrong_options_are_usage_errors(words: str, said: str) -> None:
    result = call(*words.split())
    assert (result.exit_code, said in result.output) == (2, True), result.output


@pytest.mark.parametrize(
    "words", ["", "all", "operator -A", "operator --api-version v1beta1", "webhook", "console -n ops"]
)
@pytest.mark.parametrize("image", ["", "--image="])
def test_no_pod_is_printed_without_an_image_of_the_readers_own(words: str, image: str) -> None:
    result = call(*words.split(), *image.split())
    assert (result.exit_code, result.stdout) == (2, "")
    what = words.split(" ")[0] or "all"
    assert f"--image is missing: the pods of `paddock manifests {what}` run in an image" in result.stderr


def test_the_definitions_need_no_image() -> None:
    assert call("crd", "--kinds", "kubeflow.org", "--datasets").exit_code == 0


def test_the_commands_that_are_named_build_push_and_print_one_image() -> None:
    """tests/app/test_operator_image.py says that the source archive has the Dockerfile and what it copies, and
    tests/tools/test_wheel.py how it is named."""
    said = call("operator").stderr
    assert f"(paddock_jobs-{__version__}.tar.gz, " in " ".join(said.split())
    build, push = (shlex.split(line) for line in re.findall(r"^    (docker .+)$", said, re.MULTILINE))
    _, _, _, file, _, name, place = build
    assert build == ["docker", "build", "-f", file, "-t", name, place]
    assert (DEPLOY.parent / place / file).resolve() == DEPLOY / "Dockerfile"
    assert push == ["docker", "push", name]
    (option,) = re.findall(r"(--image \S+)$", said, re.MULTILINE)
    container = container_of(read("operator", *option.split()))
    assert container["image"] == name
    assert re.search(OWN_IMAGE, name)


def container_of(manifests: list[Manifest]) -> Manifest:
    deployment = next(each for each in manifests if each["kind"] == "Deployment")
    found: Manifest = deployment["spec"]["template"]["spec"]["containers"][0]
    return found
