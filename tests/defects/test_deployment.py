"""The shipped files could not be installed, or differed from the documents. Here `paddock manifests` replaces
the chart; its options replace the chart's values.

35  test_the_operator_serves_the_namespace_that_the_documents_say_and_another_when_told
36  test_what_is_printed_for_an_installation_is_valid_whole_and_has_nothing_twice
37  test_what_is_shipped_is_text_runs_on_any_machine_and_tells_how_jobs_are
"""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from paddock.cli.main import cli
from paddock.install.crd import build_crds
from paddock.install.deployment import EXAMPLE_IMAGE
from paddock.kube.meta import Manifest, name_of, namespace_of
from support.documents import read_documents

DEPLOY = Path(__file__).resolve().parents[2] / "deploy"


def printed(*words: str) -> list[Manifest]:
    result = CliRunner().invoke(cli, ["manifests", "--image", EXAMPLE_IMAGE, *words], prog_name="paddock")
    assert result.exit_code == 0, result.output
    return [each for each in read_documents(result.output) if each]


def container_of(manifests: list[Manifest]) -> dict[str, Any]:
    (deployment,) = (each for each in manifests if each["kind"] == "Deployment")
    (container,) = deployment["spec"]["template"]["spec"]["containers"]
    return dict(container)


def test_the_operator_serves_the_namespace_that_the_documents_say_and_another_when_told() -> None:
    """35: the documents said "this namespace only", and the file served all of them."""
    shipped = read_documents((DEPLOY / "v1" / "operator.yaml").read_text())
    assert "--namespace=paddle-system" in container_of(shipped)["args"]
    told = container_of(printed("operator", "--namespace", "team"))["args"]
    assert [each for each in told if each.startswith("--namespace=")] == ["--namespace=team"]


@pytest.mark.parametrize("words", [(), ("--namespace", "team"), ("--image", "registry.example.org/paddock:2")])
def test_what_is_printed_for_an_installation_is_valid_whole_and_has_nothing_twice(words: tuple[str, ...]) -> None:
    """36: the chart was no YAML, held the definition twice, and the values were written into its schema as well."""
    manifests = printed(*words)
    names = Counter((each["kind"], namespace_of(each), name_of(each)) for each in manifests)
    assert [name for name, count in names.items() if count > 1] == []
    kinds = {each["kind"] for each in manifests}
    assert {"CustomResourceDefinition", "Namespace", "ServiceAccount", "Deployment"} <= kinds
    (definition,) = (each for each in manifests if each["kind"] == "CustomResourceDefinition")
    assert definition in build_crds()
    account = container_of(manifests) and next(each for each in manifests if each["kind"] == "ServiceAccount")
    bound = [each["subjects"][0] for each in manifests if each["kind"].endswith("RoleBinding")]
    assert {(each["name"], each["namespace"]) for each in bound} == {(name_of(account), namespace_of(account))}


def test_what_is_shipped_is_text_runs_on_any_machine_and_tells_how_jobs_are() -> None:
    """37: a compiled program for one kind of processor lay beside the manifests, always logging for debugging."""
    for path in (each for each in DEPLOY.rglob("*") if each.is_file()):
        path.read_text(encoding="utf-8")
    dockerfile = (DEPLOY / "Dockerfile").read_text()
    assert "amd64" not in dockerfile and "x86" not in dockerfile
    container = container_of(printed("operator"))
    assert not [each for each in container["args"] if "debug" in each or "zap" in each]
    assert any(each.startswith("--metrics-bind-address=") for each in container["args"])
