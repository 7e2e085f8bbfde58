"""`paddock usage`: what it prints of the runs of this machine, of a cluster's jobs, and of a Prometheus."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import parse_qs

import pytest

from paddock.app.home import Home
from paddock.cli.main import run
from paddock.history.records import Attempt, RunRecord, write_record
from paddock.kube.gpu_shares import GPU
from paddock.views.usage import By, Row
from paddock.views.usage_rows import build_table, explain_total, explain_unasked, format_hours
from support.printed import take_printed

API, KIND = "batch.paddlepaddle.org/v1", "PaddleJob"


class Answer(NamedTuple):
    exit_code: int
    stdout: str
    stderr: str


Ask = Callable[..., Answer]


def build_run(name: str, hours: float, gpus: int, namespace: str = "default", person: str = "") -> RunRecord:
    now = time.time()
    limits = {"limits": {GPU: str(gpus)}, "requests": {"cpu": "2"}}
    template = {"spec": {"containers": [{"name": "a", "image": "x", "resources": limits}]}}
    begun = now - 3600 * hours - 60
    return RunRecord(
        API, KIND, namespace, name, f"u-{name}", 1, begun, ended=now - 60, finished=True, phase="Completed",
        spec={"worker": {"replicas": 2, "template": template}}, attempts=(Attempt(0, begun, placed=begun),),
        annotations={"paddock.dev/created-by": person} if person else {},
    )  # fmt: skip


@pytest.fixture
def ask(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Ask:
    for kept in (build_run("a", 1, 4, person="ann"), build_run("b", 2, 1), build_run("c", 3, 0, "team", "ann")):
        write_record(Home(tmp_path, tmp_path).history, kept)
    monkeypatch.setenv("PADDOCK_HOME", str(tmp_path))
    monkeypatch.delenv("PADDOCK_PROMETHEUS", raising=False)
    monkeypatch.delenv("PADDOCK_PROMETHEUS_TOKEN", raising=False)

    def ask(*words: str) -> Answer:
        code = run(["usage", *words])
        return Answer(code, *capsys.readouterr())

    return ask


@pytest.mark.parametrize(
    ("words", "lines"),
    [
        ((), ["NAMESPACE   KIND        JOBS   GPU-HOURS   CPU-HOURS   POD-HOURS",
              "default     PaddleJob   2      12.0        12.0        6.0"]),
        (("-A", "--by", "kind"), ["KIND        JOBS   GPU-HOURS   CPU-HOURS   POD-HOURS",
                                  "PaddleJob   3      12.0        24.0        12.0"]),
        (("--by", "namespace"), ["NAMESPACE   JOBS   GPU-HOURS   CPU-HOURS   POD-HOURS",
                                 "default     2      12.0        12.0        6.0",
                                 "team        1      0           12.0        6.0"]),
        (("--by", "name"), ["NAMESPACE   KIND        NAME   GPU-HOURS   CPU-HOURS   POD-HOURS",
                            "default     PaddleJob   a      8.0         4.0         2.0",
                            "default     PaddleJob   b      4.0         8.0         4.0"]),
        (("-A", "--by", "person"), ["PERSON   JOBS   GPU-HOURS   CPU-HOURS   POD-HOURS",
                                    "ann      2      8.0         16.0        8.0",
                                    "-        1      4.0         8.0         4.0"]),
    ],
)  # fmt: skip
def test_what_the_runs_of_this_machine_held_is_added_up(ask: Ask, words: tuple[str, ...], lines: list[str]) -> None:
    found = ask(*words)
    assert found.stdout.splitlines() == lines
    assert "in the history, which keeps runs for 7d, and at most 1.0 GiB of logs" in found.stderr


def test_the_words_of_other_tools_lead_here(ask: Ask, capsys: pytest.CaptureFixture[str]) -> None:
    for word in ("sreport", "gpu-hours"):
        assert run([word]) == 2
        command = take_printed(capsys.readouterr().err, "paddock usage")
        assert ask(*command.split()[2:]).stdout.startswith("NAMESPACE   KIND")


def test_a_window_cuts_what_began_before_it(ask: Ask) -> None:
    rows = json.loads(ask("-A", "--by", "name", "--since", "61m", "-o", "json").stdout)["rows"]
    assert {row["name"]: row["hours"]["pods"] for row in rows} == pytest.approx({"a": 2, "b": 2, "c": 2}, abs=0.02)


def test_where_nothing_was_held_it_says_so(ask: Ask) -> None:
    found = ask("-n", "nobody")
    assert (found.stdout, found.exit_code) == ("", 0)
    assert "no job of namespace nobody has held anything" in found.stderr
    assert json.loads(ask("-n", "nobody", "-o", "json").stdout)["rows"] == []


def test_chinese(ask: Ask, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LC_ALL", "zh_CN.UTF-8")
    said = ask("-A", "--by", "name").stderr
    assert "最近 30d" in said and "保留" in said


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--since", "1y"), "'1y' is no time to look back: a whole number with m, h, d or w"),
        (("--since", "9999d"), "no more than ten years"),
        (("--since", "0d"), "is no time to look back"),
        (("--prometheus", "prom"), "the address of a Prometheus is http://HOST:PORT"),
        (("--prometheus", "http://p", "--by", "name"), "leave --prometheus out (and PADDOCK_PROMETHEUS) for --by name"),
    ],
)
def test_what_cannot_be_asked_is_refused(ask: Ask, words: tuple[str, ...], said: str) -> None:
    found = ask(*words)
    assert found.exit_code == 2
    assert said in " ".join(found.stderr.split())


@pytest.fixture
def prometheus() -> Iterator[tuple[str, list[Any]]]:
    """Its address, and what it was asked."""
    asked: list[Any] = []
    labels = {"namespace": "team", "kind": "paddlejobs.batch.paddlepaddle.org"}
    series: list[Any] = [
        {"metric": {**labels, "resource": resource}, "value": [1, value]}
        for resource, value in ((GPU, "7200"), ("amd.com/gpu", "3600"), ("cpu", "100"))
    ]
    body = json.dumps({"status": "success", "data": {"resultType": "vector", "result": series}}).encode()

    class Played(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            asked.append(parse_qs(self.rfile.read(int(self.headers["Content-Length"])).decode())["query"][0])
            self.send_response(200)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: Any) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Played) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_port}", asked
        finally:
            server.shutdown()
            thread.join()


def test_a_prometheus_is_asked_for_one_namespace_or_all(ask: Ask, prometheus: tuple[str, list[Any]]) -> None:
    url, asked = prometheus
    found = ask("--prometheus", url, "--since", "7d", "-A")
    assert found.stdout.splitlines() == [
        "NAMESPACE   KIND        GPU-HOURS   amd.com/gpu-HOURS   CPU-HOURS   POD-HOURS",
        "team        PaddleJob   2.0         1.0                 <0.1        0",
    ]
    assert f"by the Prometheus at {url}, also of deleted jobs" in found.stderr
    assert ask("--prometheus", url, "-n", "team").exit_code == 0
    assert asked == [
        "sum by (namespace, kind, resource) (increase(paddock_resource_seconds_total[604800s]))",
        'sum by (namespace, kind, resource) (increase(paddock_resource_seconds_total{namespace="team"}[2592000s]))',
    ]


def test_the_variable_is_for_a_kubernetes_and_not_for_the_history_of_this_machine(
    ask: Ask, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PADDOCK_PROMETHEUS", "http://127.0.0.1:1")
    assert ask().exit_code == 0
    found = ask("--prometheus", "http://127.0.0.1:1")
    assert (found.exit_code, found.stderr.strip()) == (
        1, "the Prometheus at http://127.0.0.1:1 cannot be reached: Connection refused",
    )  # fmt: skip


def test_a_token_is_sent_to_no_prometheus_where_others_could_read_it(
    ask: Ask, monkeypatch: pytest.MonkeyPatch, prometheus: tuple[str, list[Any]]
) -> None:
    monkeypatch.setenv("PADDOCK_PROMETHEUS_TOKEN", "s3cret")
    assert ask("--prometheus", prometheus[0]).exit_code == 0
    found = ask("--prometheus", "http://prometheus.example.org")
    assert found.exit_code == 2 and "unencrypted" in found.stderr and "s3cret" not in found.stderr


def test_a_namespace_cannot_be_more_than_a_name_in_the_query(ask: Ask, prometheus: tuple[str, list[Any]]) -> None:
    url, asked = prometheus
    found = ask("--prometheus", url, "-n", 'a"} or vector(1) #')
    assert found.exit_code == 2 and not asked
    assert "is not a valid name for a namespace" in found.stderr


@pytest.mark.parametrize(("seconds", "shown"), [(0, "0"), (1, "<0.1"), (180, "0.1"), (3600, "1.0"), (45_000, "12.5")])
def test_hours_have_one_decimal(seconds: float, shown: str) -> None:
    assert format_hours(seconds) == shown


def test_two_groups_with_one_kind_are_told_apart() -> None:
    rows = [Row((f"paddlejobs.{group}",), {"pods": 1.0}) for group in ("batch.paddlepaddle.org", "kubeflow.org")]
    assert [line[0] for line in build_table([*rows, Row(("x",), {"pods": 1.0})], [By.KIND])[1]] == [
        "paddlejob.batch.paddlepaddle.org", "paddlejob.kubeflow.org", "x",
    ]  # fmt: skip


def test_the_total_has_the_words_of_the_columns() -> None:
    """GPUs of another vendor are none of NVIDIA's."""
    rows = [Row((name,), {GPU: 3600.0, "kunlunxin.com/xpu": 7200.0, "cpu": 9000.0}) for name in ("a", "b")]
    assert str(explain_total(rows, "7d")) == (
        "in the last 7d: 2.0 GPU-hours, 4.0 kunlunxin.com/xpu-hours and 5.0 CPU-hours"
    )
    assert str(explain_total([], "7d")) == "in the last 7d: 0 GPU-hours and 0 CPU-hours"


@pytest.mark.parametrize(
    ("seconds", "is_said"), [({"pods": 9.0}, True), ({"pods": 9.0, "cpu": 1.0}, False), ({"cpu": 1.0}, False)]
)
def test_of_ranks_that_ran_without_cpu_hours_it_is_said_that_they_asked_for_none(
    seconds: dict[str, float], is_said: bool
) -> None:
    rows = [Row(("a",), {"pods": 1.0, "cpu": 1.0}), Row(("b",), seconds)]
    assert (explain_unasked(rows) is not None) is is_said
