"""What a platform team watches: alerts, dashboard and scraping name what exists, and alerts fire when they should."""

from __future__ import annotations

import json
import re
import subprocess
from collections.abc import Callable, Iterator
from fractions import Fraction
from itertools import combinations
from pathlib import Path
from typing import Any

import pytest
import yaml

from monitoring.promql import Selector, read_groupings, read_selectors
from paddock.install.deployment import METRICS_PORT, Installation, Scope, build_operator
from paddock.jobs.apis.registry import PADDLEPADDLE
from paddock.jobs.model import Phase
from paddock.kube.meta import PODS, Key, Manifest
from paddock.operator.metrics import Prometheus
from paddock.operator.transitions import Finished, Ran, Restarted
from support.programs import need

ROOT = Path(__file__).resolve().parents[2]
MONITORING = ROOT / "deploy" / "monitoring"
PAGE = ROOT / "docs" / "operations" / "monitoring.md"
TARGET = {"instance", "job", "namespace", "pod", "service", "le"}
"""Labels that Prometheus gives to every series it scrapes, and a histogram's own."""

_SUFFIXES = {
    "counter": ("_total",),
    "gauge": ("",),
    "histogram": ("_bucket", "_sum", "_count"),
    "info": ("_info",),
}


def read_metrics() -> dict[str, set[str]]:
    """The labels of every series that the operator exports, by its name."""
    found: dict[str, set[str]] = {}
    for collector in Prometheus("1").registry._collector_to_names:
        kind = getattr(collector, "_type", "")
        if kind:
            labels = {"version"} if kind == "info" else set(vars(collector)["_labelnames"])
            found |= {f"{vars(collector)['_name']}{suffix}": labels for suffix in _SUFFIXES[kind]}
        else:  # what is told of the process
            samples = (sample for family in collector.collect() for sample in family.samples)
            found |= {sample.name: set(sample.labels) for sample in samples}
    return found


METRICS = read_metrics()
FOREIGN = {"DCGM_FI_DEV_GPU_UTIL": {"gpu", "exported_namespace", "exported_pod"}}
"""Of NVIDIA's dcgm-exporter."""
RULES = yaml.safe_load((MONITORING / "rules.yaml").read_text())
ALERTS = [rule for group in RULES["groups"] for rule in group["rules"]]
DASHBOARD = json.loads((MONITORING / "dashboard.json").read_text())
PANELS = [panel for panel in DASHBOARD["panels"] if panel["type"] != "row"]


def read_expressions() -> Iterator[tuple[str, str]]:
    """Where an expression stands, and the expression."""
    for alert in ALERTS:
        yield alert["alert"], alert["expr"]
    for panel in PANELS:
        for target in panel["targets"]:
            yield f"{panel['title']}, {target['refId']}", target["expr"]
    for variable in DASHBOARD["templating"]["list"]:
        if variable["type"] == "query":
            name, label = re.fullmatch(r"label_values\((\w+), (\w+)\)", variable["definition"]).groups()  # type: ignore[union-attr]
            yield f"${variable['name']}", f'{name}{{{label}=""}}'
    for number, line in enumerate(re.findall(r"^    (\S.*paddock_.*)$", PAGE.read_text(), re.MULTILINE)):
        yield f"monitoring.md, {number}", line


EXPRESSIONS = dict(read_expressions())


def test_the_metrics_of_an_expression_are_found() -> None:
    """Else the tests below would be vacuous."""
    expression = """
        sum by (kind, le) (rate(one_bucket{kind=~"a|b{", code!="on"}[5m])) / on (instance) group_left two_total > 1.5
        and max_over_time(three[5m:1m]) unless absent(four{}) or vector(0)
    """
    assert read_selectors(expression) == [
        Selector("one_bucket", ("kind", "code")),
        Selector("two_total", ()),
        Selector("three", ()),
        Selector("four", ()),
    ]
    assert list(read_groupings(expression)) == ["kind", "le", "instance"]
    assert {"paddock_jobs", "paddock_jobs_finished_total", "paddock_pass_duration_seconds_bucket"} <= set(METRICS)
    assert {"paddock_build_info", "process_resident_memory_bytes", "process_cpu_seconds_total"} <= set(METRICS)


@pytest.mark.parametrize("place", EXPRESSIONS)
def test_every_metric_and_label_of_an_expression_exists(place: str) -> None:
    selectors = read_selectors(EXPRESSIONS[place])
    assert selectors
    for selector in selectors:
        assert selector.metric in METRICS | FOREIGN, place
        assert set(selector.labels) <= (METRICS | FOREIGN)[selector.metric] | TARGET, place
    known = set().union(*((METRICS | FOREIGN)[selector.metric] for selector in selectors)) | TARGET
    assert set(read_groupings(EXPRESSIONS[place])) <= known, place


def test_every_metric_is_on_the_dashboard() -> None:
    shown = {
        selector.metric for panel in PANELS for each in panel["targets"] for selector in read_selectors(each["expr"])
    }
    ours = {name for name in METRICS if name.startswith("paddock_")}
    assert {_family(name) for name in ours} == {_family(name) for name in shown if name.startswith("paddock_")}


def _family(name: str) -> str:
    return re.sub(r"_(bucket|sum|count)$", "", name)


# Files.


def test_the_rule_of_prometheus_operator_is_the_rule_file(match_golden: Callable[[str, str], None]) -> None:
    """`pytest tests/monitoring --rewrite-goldens` writes it from rules.yaml."""
    text = (MONITORING / "rules.yaml").read_text()
    groups = text[text.index("groups:") :]
    head = (
        "# rules.yaml for prometheus-operator; written from it by `pytest tests/monitoring --rewrite-goldens`.\n"
        "apiVersion: monitoring.coreos.com/v1\nkind: PrometheusRule\nmetadata:\n  name: paddle-manager\n  labels:\n"
        "    app.kubernetes.io/name: paddock\n    app.kubernetes.io/component: operator\nspec:\n"
    )
    match_golden(str(MONITORING / "prometheusrule.yaml"), head + "".join(f"  {line}\n" for line in groups.splitlines()))
    assert read("monitoring/prometheusrule.yaml")[0]["spec"] == RULES


def read(file: str) -> list[Manifest]:
    return list(yaml.safe_load_all((ROOT / "deploy" / file).read_text()))


@pytest.mark.parametrize("scope", Scope)
def test_what_selects_the_operator_selects_the_pods_of_its_deployment(scope: Scope) -> None:
    service, monitor = read("monitoring/service.yaml")
    (budget,) = read("v1/disruption-budget.yaml")
    pod = next(each for each in build_operator(Installation(scope=scope)) if each["kind"] == "Deployment")["spec"][
        "template"
    ]
    labels = pod["metadata"]["labels"].items()
    assert service["spec"]["selector"].items() <= labels
    assert budget["spec"]["selector"]["matchLabels"].items() <= labels
    assert monitor["spec"]["selector"]["matchLabels"].items() <= service["metadata"]["labels"].items()
    (port,), (endpoint,) = service["spec"]["ports"], monitor["spec"]["endpoints"]
    assert endpoint["port"] == port["name"]
    declared = {each["name"]: each["containerPort"] for each in pod["spec"]["containers"][0]["ports"]}
    assert (declared[port["targetPort"]], port["port"]) == (METRICS_PORT, METRICS_PORT)
    assert endpoint["honorLabels"] is True, "else the namespace of a job is exported_namespace"


def test_one_operator_alone_can_be_drained() -> None:
    """`minAvailable: 1` would keep the node of a single operator for ever."""
    (budget,) = read("v1/disruption-budget.yaml")
    assert (budget["spec"].get("minAvailable"), budget["spec"]["maxUnavailable"]) == (None, 1)


@pytest.mark.parametrize(
    "file", ["monitoring/service.yaml", "monitoring/prometheusrule.yaml", "v1/disruption-budget.yaml"]
)
def test_the_files_go_to_the_namespace_that_kubectl_is_told(file: str) -> None:
    assert all("namespace" not in each["metadata"] for each in read(file))


def test_the_panels_of_the_dashboard_lie_side_by_side() -> None:
    everything = DASHBOARD["panels"]
    assert len({panel["id"] for panel in everything}) == len(everything)
    for one, other in combinations(everything, 2):
        a, b = one["gridPos"], other["gridPos"]
        beside = a["x"] + a["w"] <= b["x"] or b["x"] + b["w"] <= a["x"]
        assert beside or a["y"] + a["h"] <= b["y"] or b["y"] + b["h"] <= a["y"], (one["title"], other["title"])
    assert all(panel["gridPos"]["x"] + panel["gridPos"]["w"] <= 24 for panel in everything)


def test_the_dashboard_takes_any_prometheus() -> None:
    sources = [panel["datasource"] for panel in PANELS] + [
        each["datasource"] for panel in PANELS for each in panel["targets"]
    ]
    assert {source["uid"] for source in sources} == {"${datasource}"}
    assert "__inputs" not in DASHBOARD


# The page.


@pytest.mark.parametrize("alert", ALERTS, ids=lambda alert: alert["alert"])
def test_every_alert_says_what_it_is_and_where_to_read_what_to_do(alert: dict[str, Any]) -> None:
    assert set(alert["annotations"]) == {"summary", "description", "runbook_url"}
    assert alert["labels"]["severity"] in ("critical", "warning", "info")
    address, _, anchor = alert["annotations"]["runbook_url"].partition("#")
    assert address.endswith("/docs/operations/monitoring.md")
    assert anchor == alert["alert"].lower()
    assert f"### {alert['alert']}\n" in PAGE.read_text()


def test_the_page_has_no_other_alerts() -> None:
    assert re.findall(r"^### (Paddock\w+)$", PAGE.read_text(), re.MULTILINE) == [alert["alert"] for alert in ALERTS]


# promtool.


def promtool(*words: str, stdin: str = "") -> subprocess.CompletedProcess[str]:
    command = [need("promtool"), *words]
    return subprocess.run(command, input=stdin, capture_output=True, text=True, timeout=60, check=False)


def test_names_and_help_of_the_metrics_follow_the_conventions_of_prometheus() -> None:
    measures, jobs, key = Prometheus("1"), PADDLEPADDLE.resource, Key("team", "demo")
    measures.set_sources(lambda: 1, lambda: True, lambda: 1.0, 6)
    measures.count_job(jobs, key, Phase.RUNNING)
    for transition in (Ran(3.0), Restarted("Resumed", False), Finished(Phase.COMPLETED, "Completed", 3.0)):
        measures.passed(jobs, key, transition)
    measures.set_terms(lambda _: "leads")
    measures.held(jobs, key, {"cpu": Fraction(1)})
    measures.reconciled(jobs, "ok", 0.1)
    measures.waited(0.1)
    measures.requested("get", PODS, 200, 0.1)
    measures.watch_ended(PODS)
    measures.halted(jobs, lambda: 1.0)
    text = measures.scrape()[0].decode()
    assert all(f"\n{name}" in text for name in METRICS if not name.startswith("process_")), "each has a series"
    ended = promtool("check", "metrics", stdin=text)
    assert (ended.returncode, ended.stdout + ended.stderr) == (0, "")


def test_prometheus_takes_the_rules() -> None:
    ended = promtool("check", "rules", str(MONITORING / "rules.yaml"))
    assert ended.returncode == 0, ended.stdout + ended.stderr


def test_alerts_fire_when_they_should_and_only_then() -> None:
    """Series and the alerts that follow from them are in alerts.yaml."""
    told = yaml.safe_load((Path(__file__).parent / "alerts.yaml").read_text())
    tested = {case["alertname"] for test in told["tests"] for case in test["alert_rule_test"] if case.get("exp_alerts")}
    assert tested == {alert["alert"] for alert in ALERTS}
    ended = promtool("test", "rules", str(Path(__file__).parent / "alerts.yaml"))
    assert ended.returncode == 0, ended.stdout + ended.stderr


def test_prometheus_understands_every_expression(tmp_path: Path) -> None:
    """Those of the dashboard and of the page, with Grafana's variables filled in."""
    rules = [
        {"record": f"expression:{number}", "expr": fill(expression)}
        for number, expression in enumerate(EXPRESSIONS.values())
    ]
    file = tmp_path / "rules.yaml"
    file.write_text(yaml.safe_dump({"groups": [{"name": "expressions", "rules": rules}]}))
    ended = promtool("check", "rules", str(file))
    assert ended.returncode == 0, ended.stdout + ended.stderr


def fill(expression: str) -> str:
    for name, value in {"$__rate_interval": "5m", "$namespace": ".*", "$kind": ".*"}.items():
        expression = expression.replace(name, value)
    assert not re.search(r"\$[a-z_]", expression)
    return expression


def test_prometheus_takes_the_configuration_of_the_page(tmp_path: Path) -> None:
    (config,) = re.findall(r"```yaml\n(scrape_configs:.*?)```", PAGE.read_text(), re.DOTALL)
    (tmp_path / "rules.yaml").write_text((MONITORING / "rules.yaml").read_text())
    read = yaml.safe_load(config)
    for job in read["scrape_configs"]:
        # Debian's promtool is built without Kubernetes.
        assert job.pop("kubernetes_sd_configs") == [{"role": "pod", "namespaces": {"names": ["paddle-system"]}}]
    file = tmp_path / "prometheus.yaml"
    file.write_text(yaml.safe_dump(read))
    ended = promtool("check", "config", str(file))
    assert ended.returncode == 0, ended.stdout + ended.stderr
