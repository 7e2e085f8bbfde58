"""Beside the operator no pod of a job acts as Paddock: every kind, either field, either way of watching."""

from __future__ import annotations

import base64
import json
from pathlib import Path

import pytest

from jobs.gangs import NOW
from jobs.samples import SAMPLES, find_kind, read_manifest
from paddock.app.cluster import Options, build_lease_annotations, build_settings
from paddock.app.own_accounts import find_account
from paddock.client.kubeconfig import Config
from paddock.install.own_accounts import build_own_accounts
from paddock.jobs.actions import Create, Plan
from paddock.jobs.apis.registry import KINDS
from paddock.jobs.model import Observed, Status
from paddock.jobs.plan import plan
from paddock.jobs.sentences.explain import explain
from paddock.kube.meta import PODS, Key, Manifest
from paddock.kube.service_accounts import read_account
from paddock.views.operators import read_leader

HOME, ELSEWHERE = "paddle-system", "team-a"
INSTALLED = ("paddle-manager-sa", "paddle-webhook-sa", "paddle-console-sa")
BY_KIND = {find_kind(read_manifest(name)).resource: name for name in SAMPLES}
WAYS = {"all namespaces": Options(HOME), "two namespaces": Options(HOME, namespaces=(HOME, ELSEWHERE))}


def build(kind: str, namespace: str, **spec: object) -> Manifest:
    """A job whose last role has these fields in its pods."""
    manifest = read_manifest(kind)
    manifest["metadata"]["namespace"] = namespace
    roles = next((each for name, each in manifest["spec"].items() if name.endswith("ReplicaSpecs")), manifest["spec"])
    last = [role for role in roles.values() if isinstance(role, dict) and "template" in role][-1]
    last["template"]["spec"] |= spec
    return manifest


def decide(manifest: Manifest, options: Options) -> Plan:
    job = find_kind(manifest).read_job(manifest)
    return plan(job, Status(), Observed(), NOW, build_settings(options))


def count_pods(planned: Plan) -> int:
    return sum(isinstance(action, Create) and action.resource == PODS for action in planned.actions)


def test_there_is_a_sample_of_each_kind() -> None:
    assert BY_KIND.keys() == KINDS.keys()


@pytest.mark.parametrize("options", WAYS.values(), ids=WAYS)
@pytest.mark.parametrize("field", ["serviceAccountName", "serviceAccount"])
@pytest.mark.parametrize("kind", BY_KIND.values())
def test_no_pod_of_a_job_beside_the_operator_has_its_account(kind: str, field: str, options: Options) -> None:
    for account in INSTALLED:
        here = decide(build(kind, HOME, **{field: account}), options)
        assert here.actions == ()
        assert here.status.cause is not None
        assert here.status.cause.reason == "OwnAccountNamed"
        assert here.status.cause.args["field"] == f"template.spec.{field}"
        elsewhere = decide(build(kind, ELSEWHERE, **{field: account}), options)
        assert count_pods(elsewhere) > 0, "in another namespace it is another account"
    for other in ("", "default", "trainer"):
        assert count_pods(decide(build(kind, HOME, **{field: other}), options)) > 0


def test_a_token_of_that_account_is_not_mounted_either() -> None:
    volumes = [{"name": "v", "secret": {"secretName": "paddle-webhook-sa-token-x7k2p"}}]
    planned = decide(build("kubeflow_run_check", HOME, volumes=volumes), Options(HOME))
    assert planned.actions == ()
    assert planned.status.cause is not None
    assert explain(planned.status.cause) == (
        "waiting, and no pod is created: worker.template.spec.volumes[0].secret.secretName names the Secret "
        "paddle-webhook-sa-token-x7k2p, a token of paddle-webhook-sa, the service account of Paddock itself in "
        "namespace paddle-system; any other Secret is allowed. Take it out, or create the job in another namespace"
    )


def test_the_sentence_says_where_what_and_what_to_do() -> None:
    planned = decide(build("resnet", HOME, serviceAccountName="paddle-manager-sa"), Options(HOME))
    assert planned.status.cause is not None
    assert explain(planned.status.cause) == (
        "waiting, and no pod is created: worker.template.spec.serviceAccountName is paddle-manager-sa, the service "
        "account of Paddock itself in namespace paddle-system; any other account is allowed, and none at all. Edit it, "
        "or create the job in another namespace"
    )
    assert [note.message for note in planned.events] == [explain(planned.status.cause)]


def test_the_account_that_the_operator_really_has_counts_and_default_never_does() -> None:
    options = Options(HOME, account=Key(HOME, "trainer-of-all"))
    assert count_pods(decide(build("resnet", HOME, serviceAccountName="trainer-of-all"), options)) == 0
    assert count_pods(decide(build("resnet", HOME), Options(HOME, account=Key(HOME, "default")))) > 0
    elsewhere = Options("leases", account=Key(HOME, "paddle-manager-sa"))
    assert count_pods(decide(build("resnet", HOME, serviceAccountName="paddle-webhook-sa"), elsewhere)) == 0


def test_the_console_has_a_namespace_of_its_own() -> None:
    assert Key("paddle-console", "paddle-console-sa") in build_own_accounts(HOME, None)


def test_who_reads_the_lease_plans_with_the_same_accounts() -> None:
    options = Options(HOME, account=Key(HOME, "trainer-of-all"))
    lease = {"metadata": {"namespace": HOME, "annotations": build_lease_annotations(options)}}
    assert read_leader(lease).settings.own_accounts == build_settings(options).own_accounts


def token(claims: object) -> str:
    body = base64.urlsafe_b64encode(json.dumps(claims).encode()).decode().rstrip("=")
    return f"eyJhbGciOiJSUzI1NiJ9.{body}.c2lnbmVk"


@pytest.mark.parametrize(
    ("text", "account"),
    [
        (token({"sub": "system:serviceaccount:ops:paddle-manager-sa"}), Key("ops", "paddle-manager-sa")),
        (token({"sub": "alice"}), None),
        (token({"sub": "system:node:n1"}), None),
        (token({"sub": ["system", "serviceaccount", "a", "b"]}), None),
        (token([]), None),
        (token({}), None),
        ("a.b.c", None),
        ("a.\x80.c", None),
        ("abcdef.0123456789abcdef", None),
        ("", None),
    ],
)
def test_the_token_of_a_pod_says_whose_it_is(text: str, account: Key | None) -> None:
    assert read_account(text) == account
    assert find_account(Config("https://x", token=text)) == account


def test_the_account_is_read_from_the_file_that_the_kubelet_mounts(tmp_path: Path) -> None:
    file = tmp_path / "token"
    config = Config("https://x", token_file=file)
    assert find_account(config) is None
    file.write_text(token({"sub": "system:serviceaccount:ops:mine"}) + "\n")
    assert find_account(config) == Key("ops", "mine")
