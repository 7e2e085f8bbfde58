"""The pages for a platform team: what they link to and name exists, and their manifests are what the code says."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml
from click.testing import CliRunner

from paddock.cli.cluster.rbac import _NEEDED
from paddock.cli.main import cli
from paddock.install.console import CLIENT
from paddock.install.console import PORT as CONSOLE_PORT
from paddock.install.deployment import (
    DEPLOYMENT,
    HEALTH_PORT,
    METRICS_CLIENT,
    METRICS_PORT,
    Installation,
    build_operator,
)
from paddock.install.rights import LEASE
from paddock.install.webhook import NAME, PORT
from paddock.jobs.apis.registry import PADDLEPADDLE
from paddock.jobs.frameworks import jax, paddle, pytorch
from paddock.jobs.frameworks.paddle_rendezvous import DEFAULT_PORT, PORT_NAME
from paddock.jobs.labels import JOB_LABEL
from paddock.jobs.model import PORTS_IN_BLOCK
from paddock.jobs.policies.ports import FIRST_PORT, LAST_PORT
from paddock.kube.meta import Manifest

ROOT = Path(__file__).resolve().parents[2]
PAGES = sorted((ROOT / "docs" / "operations").glob("*.md"))
TEXTS = {page.name: page.read_text() for page in PAGES}


def commands(page: str) -> list[str]:
    """The indented lines of a page."""
    return re.findall(r"^    (\S.*)$", TEXTS[page], re.MULTILINE)


def manifests(page: str) -> Iterator[Manifest]:
    for block in re.findall(r"^```yaml\n(.*?)^```", TEXTS[page], re.MULTILINE | re.DOTALL):
        yield from (each for each in yaml.safe_load_all(block) if "kind" in each)


def manifest(page: str, kind: str, name: str) -> Manifest:
    return next(each for each in manifests(page) if (each["kind"], each["metadata"]["name"]) == (kind, name))


@pytest.mark.parametrize(
    "page",
    [*PAGES, *ROOT.glob("README*.md"), *(ROOT / "docs").glob("*.md"), *(ROOT / "docs" / "places").glob("*.md")],
    ids=lambda page: page.name,
)
def test_every_link_leads_somewhere(page: Path) -> None:
    for target in re.findall(r"\]\(([^)\s]+)\)", page.read_text()):
        if "://" in target:
            continue
        file, _, anchor = target.partition("#")
        there = (page.parent / file).resolve() if file else page
        assert there.exists(), target
        assert not anchor or anchor in anchors(there), target


def anchors(page: Path) -> set[str]:
    """As GitHub makes them of headings."""
    headings = re.findall(r"^#+ (.+)$", page.read_text(), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading).strip().lower().replace(" ", "-") for heading in headings}


@pytest.mark.parametrize("page", [page for page in TEXTS if not page.endswith(".zh-CN.md")])
def test_the_pages_are_listed_where_a_reader_looks(page: str) -> None:
    chinese = page.replace(".md", ".zh-CN.md")
    for place in ("README.md", "README.zh-CN.md", "docs/kubernetes.md"):
        wanted = chinese if place.endswith(".zh-CN.md") and chinese in TEXTS else page
        assert f"operations/{wanted})" in (ROOT / place).read_text(), place


@pytest.mark.parametrize("page", TEXTS)
def test_the_files_and_objects_of_the_commands_exist(page: str) -> None:
    names = {name for name in re.findall(r"deploy/[\w./-]+\w", TEXTS[page]) if "*" not in name}
    assert [name for name in names if not (ROOT / name).exists()] == []
    assert {name for line in commands(page) for name in re.findall(r"deployment/([\w-]+)", line)} <= {DEPLOYMENT, NAME}
    assert set(re.findall(r"\blease (\S+\.\S+)", TEXTS[page])) <= {LEASE}


@pytest.mark.parametrize(
    "command",
    sorted(
        {line.partition(" | ")[0] for page in TEXTS for line in commands(page) if line.startswith("paddock manifests")}
    ),
)
def test_what_is_printed_for_kubectl_is_printed(command: str) -> None:
    result = CliRunner().invoke(cli, [*command.split()[1:], "-o", "json"], prog_name="paddock")
    assert result.exit_code == 0, result.output
    assert json.loads(result.output)["kind"]


# Security.


def test_the_ports_of_the_page_are_those_of_the_code() -> None:
    listed = re.findall(r"^\| (\d+(?: to \d+)?) \|", TEXTS["security.md"], re.MULTILINE)
    assert listed == [
        str(METRICS_PORT),
        str(HEALTH_PORT),
        str(CONSOLE_PORT),
        str(PORT),
        f"{paddle.default_port} to {paddle.default_port + PORTS_IN_BLOCK - 1}",
        f"{FIRST_PORT} to {LAST_PORT}",
        str(pytorch.default_port),
        str(DEFAULT_PORT),
        str(jax.default_port),
    ]
    assert f"another port `{PORT_NAME}`" in TEXTS["security.md"]


def test_the_policy_of_the_operator_selects_it_and_lets_it_out_alone() -> None:
    """Whom it lets in says the policy that is installed: one of the same name would be in its way."""
    spec = manifest("security.md", "NetworkPolicy", "paddle-manager")["spec"]
    installed = {each["kind"]: each for each in build_operator(Installation())}
    labels = installed["Deployment"]["spec"]["template"]["metadata"]["labels"]
    assert spec["podSelector"]["matchLabels"].items() <= labels.items()
    assert spec["policyTypes"] == ["Egress"]
    assert installed["NetworkPolicy"]["metadata"]["name"] != "paddle-manager"


@pytest.mark.parametrize(("page", "label"), [("console", CLIENT), ("monitoring", METRICS_CLIENT)])
@pytest.mark.parametrize("end", [".md", ".zh-CN.md"])
def test_the_label_that_lets_pods_in_is_typed_on_the_page_and_named_beside_the_ports(
    page: str, label: str, end: str
) -> None:
    assert [line for line in commands(page + end) if re.fullmatch(rf"kubectl label namespace \S+ {label}=true", line)]
    assert f"`{label}=true`" in TEXTS[f"security{end}"]


def test_the_policy_of_ranks_selects_pods_of_jobs() -> None:
    spec = manifest("security.md", "NetworkPolicy", "ranks")["spec"]
    of_jobs = {"matchExpressions": [{"key": JOB_LABEL, "operator": "Exists"}]}
    assert (spec["podSelector"], spec["ingress"]) == (of_jobs, [{"from": [{"podSelector": of_jobs}]}])


# Tenants.


def test_the_role_of_a_user_is_what_paddock_prints_to_who_lacks_it() -> None:
    rules = manifest("tenants.md", "Role", "paddock-user")["rules"]
    given = {
        (group, name): tuple(rule["verbs"])
        for rule in rules
        for group in rule["apiGroups"]
        for name in rule["resources"]
    }
    assert given == dict(_NEEDED)


def test_the_quota_counts_jobs_by_the_name_of_their_kind() -> None:
    hard = manifest("tenants.md", "ResourceQuota", "training")["spec"]["hard"]
    assert f"count/{PADDLEPADDLE.resource.qualified}" in hard
