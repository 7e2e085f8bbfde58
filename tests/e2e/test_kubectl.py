"""kubectl as the documents use it, against the local cluster."""

from __future__ import annotations

import json
import re
import subprocess
import urllib.request

import pytest

from e2e.commands import Cluster, until
from e2e.manifests import WIDE_AND_DEEP, build_light_job
from support.printed import take_printed, type_printed
from support.programs import need
from support.sandboxes import ONE_SANDBOX

pytestmark = pytest.mark.usefixtures("kubectl")


def test_a_job_is_created_listed_watched_described_and_deleted(shared: Cluster) -> None:
    job = build_light_job("walk", "echo trained; sleep 0.5", ps="exec sleep 1000", workers=2)
    watch = shared.start_kubectl("get", "pdj", "-w")
    made = shared.kubectl("create", "-f", shared.write(job))
    assert made.out == "paddlejob.batch.paddlepaddle.org/walk created\n", str(made)
    until("the end of the job", lambda: shared.phase("walk") == "Completed")

    header, row = (line.split() for line in shared.kubectl("get", "pdj", "walk").lines)
    assert header == ["NAME", "STATUS", "MODE", "PS", "WORKER", "AGE"]
    assert row[:-1] == ["walk", "Completed", "PS", "1/1", "0/2"]

    both = shared.kubectl("get", "pdj,pods")
    assert re.search(r"paddlejob.batch.paddlepaddle.org/walk +Completed", both.out), str(both)
    assert re.search(r"pod/walk-ps-0 +1/1 +Running +0 ", both.out)
    assert re.search(r"pod/walk-worker-1 +0/1 +Completed +0 ", both.out)

    assert shared.kubectl("logs", "walk-worker-0").out == "trained\n"
    described = shared.kubectl("describe", "pdj", "walk")
    assert "Clean Pod Policy:  Never" in described.out and "Completed" in described.out, str(described)
    assert "walk-worker-1" in shared.kubectl("describe", "pod", "walk-worker-1").out

    until("the phases on the watch", lambda: re.search(r"walk +Completed +PS", watch.out))
    assert re.search(r"walk +Running +PS +1/1 +2/2", watch.out), watch.out

    deleted = shared.kubectl("delete", "pdj", "walk")
    assert 'paddlejob.batch.paddlepaddle.org "walk" deleted' in deleted.out, str(deleted)
    until("the end of its pods", lambda: not shared.pods("walk"))
    assert 'paddlejobs.batch.paddlepaddle.org "walk" not found' in shared.kubectl("get", "pdj", "walk").err


@pytest.mark.slow
def test_kubectl_reads_what_get_writes(shared: Cluster) -> None:
    """kubectl takes a plain `y` for true and a plain 1e-3 for a number, and would refuse them as variables."""
    job = build_light_job("kept", "true")
    variables = [{"name": "LR", "value": "1e-3"}, {"name": "ANSWER", "value": "y"}]
    job["spec"]["worker"]["template"]["spec"]["containers"][0]["env"] = variables
    file = shared.directory / "kept.yaml"
    file.write_text(json.dumps(job))
    assert shared.kubectl("create", "-f", str(file)).code == 0
    written = shared.paddock("get", "jobs", "kept", "-o", "yaml")
    assert written.code == 0, str(written)
    file.write_text(written.out)
    read = shared.kubectl("create", "--dry-run=client", "-o", "json", "-f", str(file))
    assert read.code == 0, str(read)
    assert json.loads(read.out)["spec"]["worker"]["template"]["spec"]["containers"][0]["env"] == variables


def test_a_misspelt_field_is_refused(shared: Cluster) -> None:
    job = build_light_job("typo", "true")
    job["spec"]["clenPodPolicy"] = "Never"
    made = shared.kubectl("create", "-f", shared.write(job))
    assert made.code == 1
    assert 'strict decoding error: unknown field "spec.clenPodPolicy"' in made.err, str(made)
    assert "typo" not in shared.kubectl("get", "pdj", "-o", "name").out


def test_explain_and_api_resources_know_the_job(shared: Cluster) -> None:
    assert "cleanPodPolicy" in shared.kubectl("explain", "pdj.spec").out
    assert re.search(
        r"paddlejobs +pdj +batch.paddlepaddle.org/v1 +true +PaddleJob", shared.kubectl("api-resources").out
    )


@pytest.mark.slow
def test_top_tells_what_a_job_uses(shared: Cluster) -> None:
    program = "import time\nheld = b'x' * 80_000_000\nwhile True: sum(range(10_000)); time.sleep(0.001)"
    job = build_light_job("busy", f'exec python3 -c "{program}"')
    assert shared.kubectl("create", "-f", shared.write(job)).code == 0
    row = r"busy-worker-0 +(\d+)m +(\d+)Mi"
    until("its metrics", lambda: re.search(row, shared.kubectl("top", "pods").out))
    until("its memory", lambda: int(re.findall(row, shared.kubectl("top", "pods").out)[0][1]) >= 80)
    (cores, memory), *_ = re.findall(row, shared.kubectl("top", "pods").out)
    assert int(cores) > 0 and int(memory) < 200
    assert "busy-worker-0" in shared.kubectl("top", "pods", "-A", "--containers", "-l", "paddock.dev/job=busy").out
    assert re.search(r" \d+m +\d+% +\d+Mi +\d+%", shared.kubectl("top", "nodes").out)
    until("its phase", lambda: shared.phase("busy") == "Running")
    told = shared.paddock("top", "busy", "-o", "json")
    (rank,) = json.loads(told.out)["ranks"]
    assert rank["cpu"] > 0 and 80_000_000 < rank["memory"] < 200_000_000 and len(rank["samples"]) > 0, str(told)
    refused = shared.paddock("stats", "busy")
    shown = type_printed(shared, take_printed(refused.err, "paddock top {job}"))
    assert shown.code == 0 and re.search(r"busy +worker-0 +[\d.]+ +\d+ MiB", shown.out), str(shown)
    assert "busy" in shared.paddock("top", "-A", "--sort", "memory", "--once").out
    assert shared.kubectl("delete", "pdj", "busy").code == 0


@ONE_SANDBOX
@pytest.mark.paddle
def test_the_documents_file_trains_and_prints_the_documents_table(cluster: Cluster) -> None:
    assert cluster.kubectl("create", "-f", str(WIDE_AND_DEEP)).code == 0
    until("the end of the job", lambda: cluster.phase("wide-ande-deep") in ("Completed", "Failed"), 240)
    listed = [re.split(r" {2,}", line.strip()) for line in cluster.kubectl("get", "pdj").lines]
    assert listed[0] == ["NAME", "STATUS", "MODE", "PS", "WORKER", "AGE"]
    assert listed[1][:-1] == ["wide-ande-deep", "Completed", "PS", "2/2", "0/2"]


@pytest.mark.slow
def test_a_run_whose_job_is_edited_wrongly_goes_on_and_can_be_given_up(shared: Cluster) -> None:
    run = shared.start("run", shared.write(build_light_job("spoilt", "echo ready; sleep 600")), "--timeout=20")
    run.until_it_prints("ready")
    patch = '[{"op": "remove", "path": "/spec/worker/template"}]'
    assert shared.kubectl("patch", "pdj", "spoilt", "--type=json", "-p", patch).code == 0
    until("what is wrong", lambda: "the manifest was edited and is wrong: spec.worker.template: is missing" in run.err)
    described = shared.paddock("describe", "spoilt")
    assert "Edit: " in described.out and "Role: " in described.out, str(described)
    ended = run.end(120)
    assert ended.code == 1, str(ended)
    assert "the job is suspended, it holds no pods" in ended.err
    assert shared.job("spoilt")["status"]["phase"] == "Suspended" and not shared.pods("spoilt")


def test_kubectl_enters_a_pod_copies_and_reaches_its_port(shared: Cluster) -> None:
    served = "exec python3 -m http.server --bind 127.0.0.1 18080"
    job = build_light_job("entered", f"echo begun; cd $(mktemp -d); echo page > index.html; {served}")
    assert shared.kubectl("create", "-f", shared.write(job)).code == 0
    pod = "entered-worker-0"
    until("its program", lambda: "begun" in shared.kubectl("logs", pod).out)
    until("its phase for kubectl", lambda: shared.pods("entered")["worker-0"]["status"]["phase"] == "Running")
    ended = shared.kubectl("exec", pod, "--", "sh", "-c", "echo out; echo err >&2; exit 7")
    assert (ended.code, ended.out) == (7, "out\n"), str(ended)
    missing = shared.kubectl("exec", pod, "--", "nosuch")
    assert missing.code == 1
    assert 'exec: "nosuch": executable file not found' in missing.err, str(missing)
    source, back = shared.directory / "source", shared.directory / "back"
    source.write_text("a file\n")
    assert shared.kubectl("cp", str(source), f"{pod}:copied").code == 0
    assert shared.kubectl("cp", f"{pod}:copied", str(back)).code == 0
    assert back.read_text() == "a file\n"
    forward = shared.start_kubectl("port-forward", pod, ":18080")
    found = until("the port", lambda: re.search(r"127.0.0.1:(\d+) -> 18080", forward.out))
    with urllib.request.urlopen(f"http://127.0.0.1:{found[1]}/", timeout=60) as answer:
        assert answer.read() == b"page\n"
    assert shared.kubectl("delete", "pdj", "entered").code == 0


@pytest.mark.slow
def test_what_is_piped_into_kubectl_run_is_the_programs_input(shared: Cluster) -> None:
    typed = ["run", "piped", "--image=python", "--restart=Never", "-i", "--rm", "--command", "--"]
    ended = subprocess.run(
        [need("kubectl"), *typed, "sh", "-c", "cat; exit 3"],
        env=shared.environment, input=b"hello\n", capture_output=True, timeout=180, check=False,
    )  # fmt: skip
    assert (ended.returncode, ended.stdout.partition(b"pod ")[0]) == (3, b"hello\n"), ended.stderr
