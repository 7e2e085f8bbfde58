"""The Helm chart gives the objects of `paddock manifests`, and refuses wrong values by their names.

What it shares with Python is written into its files: `pytest tests/chart --rewrite-goldens`.
"""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
import yaml

from chart.chart import CHART, ROOT, build_definition_files, build_rights_file, helm, render
from chart.combinations import CASES
from paddock.install.deployment import EXAMPLE_IMAGE, METRICS_CLIENT
from paddock.install.foreign import build_table
from paddock.jobs.apis.registry import KINDS
from paddock.kube.meta import Manifest, name_of, namespace_of
from paddock.version import __version__
from support.tiers import keep_light

KEEP = "helm.sh/resource-policy"
"""The only thing that the chart adds to an object: Helm leaves the definition when it removes the release."""


def build_files() -> dict[str, str]:
    rules = (ROOT / "deploy" / "monitoring" / "rules.yaml").read_text(encoding="utf-8")
    return {
        **build_definition_files(),
        "files/rights.json": build_rights_file(),
        "files/foreign.json": json.dumps(build_table(), indent=2) + "\n",
        "files/rules.yaml": rules[rules.index("groups:") :],
    }


@pytest.mark.parametrize("path", build_files())
def test_what_the_chart_shares_with_python_is_generated(path: str, match_golden: Callable[[str, str], None]) -> None:
    match_golden(str(CHART / path), build_files()[path])


def test_the_chart_has_no_other_files() -> None:
    found = {str(path.relative_to(CHART)) for path in (CHART / "files").rglob("*") if path.is_file()}
    assert found == set(build_files())


def test_versions_are_paddocks() -> None:
    chart = yaml.safe_load((CHART / "Chart.yaml").read_text())
    assert (chart["version"], chart["appVersion"]) == (__version__, __version__)


@pytest.mark.slow
@pytest.mark.parametrize("values", [(), ("webhook.enabled=true", "console.enabled=true", "namespaces=all")])
def test_helm_finds_nothing_to_say_of_it(values: tuple[str, ...]) -> None:
    done = helm("lint", "--strict", str(CHART), *[word for value in values for word in ("--set", value)])
    assert (done.returncode, re.findall(r"\[(?:WARNING|ERROR)\].*", done.stdout)) == (0, []), done.stdout


@pytest.mark.slow
def test_helm_packs_it(tmp_path: Path) -> None:
    done = helm("package", str(CHART), "-d", str(tmp_path))
    assert done.returncode == 0, done.stderr
    (archive,) = tmp_path.iterdir()
    assert archive.name == f"paddock-{__version__}.tgz"
    # A release holds the chart and its objects in a Secret, which may have 1 MiB.
    assert archive.stat().st_size < 100_000
    from_archive = helm("template", "paddock", str(archive), "-n", "paddle-system")
    assert from_archive.stdout == helm("template", "paddock", str(CHART), "-n", "paddle-system").stdout


def by_name(manifests: list[Manifest]) -> dict[tuple[str, str, str, str], Manifest]:
    found = {(each["apiVersion"], each["kind"], namespace_of(each), name_of(each)): each for each in manifests}
    assert len(found) == len(manifests), "an object is there twice"
    return found


@pytest.mark.parametrize(
    "case", [pytest.param(case, marks=pytest.mark.slow if number > 3 else ()) for number, case in enumerate(CASES)]
)
def test_the_objects_are_those_of_paddock_manifests(case: str) -> None:
    namespace, values, build, edit = CASES[case]
    expected = build()
    if edit:
        edit(expected)
    found = by_name(render(namespace, *values.split()))
    for each in found.values():
        if each["kind"] == "CustomResourceDefinition":
            assert each["metadata"].pop("annotations") == {KEEP: "keep"}
    wanted = by_name(expected)
    assert set(found) == set(wanted)
    for key, manifest in wanted.items():
        assert found[key] == manifest, key


def test_nothing_is_latest_and_no_image_has_no_version() -> None:
    every = render("paddle-system", "webhook.enabled=true", "console.enabled=true")
    images = re.findall(r'"image": "([^"]+)"', json.dumps(every))
    assert images == [EXAMPLE_IMAGE] * 3


def write_notes(place: Path, *values: str) -> str:
    """What Helm prints after an installation, of which `helm template` says nothing: read as text of an object."""
    chart = shutil.copytree(CHART, place / "chart")
    shutil.move(chart / "templates" / "NOTES.txt", chart / "files" / "notes")
    note = '{"apiVersion": "v1", "kind": "Notes", "text": {{ tpl (.Files.Get "files/notes") . | toJson }}}\n'
    (chart / "templates" / "notes.yaml").write_text(note)
    words = [word for value in values for word in ("--set", value)]
    done = helm("template", "paddock", str(chart), "-n", "ops", "--show-only", "templates/notes.yaml", *words)
    assert done.returncode == 0, done.stderr
    return str(yaml.safe_load(done.stdout)["text"])


def test_the_notes_say_that_an_image_of_ones_own_is_missing_and_how_it_is_named(tmp_path: Path) -> None:
    said = write_notes(tmp_path / "without")
    assert f"Its pods cannot start: {EXAMPLE_IMAGE} stands for an image of your own" in said
    assert "    helm upgrade paddock CHART -n ops --reset-then-reuse-values --set image.repository=" in said
    assert "cannot start" not in write_notes(tmp_path / "with", "image.repository=harbor.example/paddock")


@pytest.mark.slow
def test_the_notes_say_which_label_lets_prometheus_in(tmp_path: Path) -> None:
    command = f"kubectl label namespace NAMESPACE {METRICS_CLIENT}=true"
    assert command in write_notes(tmp_path / "with", "monitoring.serviceMonitor=true")
    assert command not in write_notes(tmp_path / "without")


BAD: dict[str, tuple[str, str]] = {
    "operator.replica=2": ("operator", "Additional property replica is not allowed"),
    "replicas=2": ("(root)", "Additional property replicas is not allowed"),
    "operator.replicas=-1": ("operator.replicas", "Must be greater than or equal to 0"),
    "operator.replicas=two": ("operator.replicas", "Expected: integer, given: string"),
    "operator.lossLimit=1.5": ("operator.lossLimit", "given: string"),
    "namespaces=team-a": ("namespaces", "Must validate one and only one schema"),
    "namespaces={Team_A}": ("namespaces.0", "Does not match pattern"),
    "namespaces={a,a}": ("namespaces", "items[0,1] must be unique"),
    "scope=cluster-wide": ("scope", 'must be one of the following: "cluster", "namespace"'),
    "kinds={paddlejobs}": ("kinds.0", "kinds.0 must be one of the following"),
    "kinds=": ("kinds", "Expected: array, given: string"),
    "image.tag=1": ("image.tag", "Expected: string, given: integer"),
    "image.tag=a b": ("image.tag", "Does not match pattern"),
    "image.digest=0123": ("image.digest", "Does not match pattern"),
    "image.pullPolicy=always": ("image.pullPolicy", '"Always", "IfNotPresent", "Never"'),
    "registryMirror=https://m.daocloud.io": ("registryMirror", "Does not match pattern"),
    "imagePullSecrets={my-registry}": ("imagePullSecrets.0", "Expected: object, given: string"),
    "gangScheduler.podGroups=yunikorn": ("gangScheduler.podGroups", '"volcano", "scheduler-plugins"'),
    "console.namespace=Console": ("console.namespace", "Must validate one and only one schema"),
    "console.oidc.issuer=http://id": ("console.oidc.issuer", "Does not match pattern"),
    "console.oidc.issuer=https://id": ("console.oidc.issuer", "belong together"),
    "console.oidc.clientId=us": ("console.oidc.clientId", "belong together"),
    "foreignOperator=adopt": ("foreignOperator", '"refuse", "takeOver", "ignore"'),
    "webhook.enabled=yes": ("webhook.enabled", "Expected: boolean, given: string"),
    "scope=namespace,namespaces=all": ("namespaces=all", "scope=namespace does not give"),
    "scope=namespace": ("crds=true", "set crds=false"),
    "scope=namespace,crds=false,webhook.enabled=true": ("webhook.enabled=true", "scope=namespace leaves out"),
    "datasets.image=mine:1": ("datasets.image=mine:1", "needs datasets.enabled=true"),
    "datasets.enabled=yes": ("datasets.enabled", "Expected: boolean, given: string"),
    "scope=namespace,crds=false,console.enabled=true": ("console.namespace=paddle-console", "makes that Namespace"),
    "operator.shards=6": ("operator.shards=6", "shares several namespaces out, and here is one"),
    "operator.shards=6,namespaces={a}": ("operator.shards=6", "set namespaces=all, or name them"),
    "gangScheduler.name=volcano": ("gangScheduler.name=volcano", "needs gangScheduler.podGroups"),
}
"""What is set, the value that is named, and what is said of it."""


@pytest.mark.parametrize("value", keep_light(BAD, [*BAD][::4]))
def test_a_wrong_value_is_refused_by_its_name(value: str) -> None:
    place, said = BAD[value]
    done = helm("template", "paddock", str(CHART), "--set", value)
    lines = done.stderr.splitlines()
    assert done.returncode == 1
    assert any(place in line and said in line for line in lines), done.stderr


def test_each_value_has_a_comment_and_stands_in_the_schema() -> None:
    """Values and schema have the same keys; above each value, or above the part it belongs to, is a comment."""
    values = yaml.safe_load((CHART / "values.yaml").read_text())
    schema = json.loads((CHART / "values.schema.json").read_text())
    assert {*values, "global"} == set(schema["properties"])
    for name in (
        "image",
        "gangScheduler",
        "datasets",
        "serviceAccount",
        "operator",
        "webhook",
        "console",
        "monitoring",
    ):
        assert set(values[name]) == set(schema["properties"][name]["properties"]), name
    lines = (CHART / "values.yaml").read_text().splitlines()
    bare = {"repository", "resources", "nodeSelector", "tolerations", "affinity", "enabled", "replicas"}
    for above, line in zip(["", *lines], lines, strict=False):
        if (key := re.match(r"  (\w+):", line)) and key[1] not in bare | {"requests", "limits"}:
            assert above.strip().startswith("#"), f"no comment above {line.strip()}"


def test_the_schema_has_the_kinds_of_job() -> None:
    schema = json.loads((CHART / "values.schema.json").read_text())
    groups = dict.fromkeys(kind.group for kind in KINDS)
    assert schema["properties"]["kinds"]["items"]["enum"] == [*groups, *(kind.qualified for kind in KINDS)]


PLACES = {"resources", "nodeSelector", "tolerations", "affinity"}
"""What the three programs have alike: one row of the page's table."""


def list_values() -> set[str]:
    """The names of all values, but those that the programs have alike: `operator.replicas`."""
    found: set[str] = set()
    for name, value in yaml.safe_load((CHART / "values.yaml").read_text()).items():
        found |= {f"{name}.{each}" for each in value if each not in PLACES} if isinstance(value, dict) else {name}
    return found


def test_the_page_has_a_row_for_each_value() -> None:
    page = (ROOT / "docs" / "kubernetes.md").read_text()
    table = page[page.index("| Value | Default |") : page.index("### An operator of somebody else")]
    rows = [line.split("|")[1] for line in table.splitlines() if line.startswith("| `")]
    named = {name for row in rows for name in re.findall(r"`([\w.]+)`", row)}
    assert named == list_values() | PLACES | {"operator", "webhook", "console"}
