"""`paddock run` of jobs that need no PaddlePaddle: exit codes, who is to blame, interruptions, two at once."""

from __future__ import annotations

import re
from typing import Any

import pytest

from e2e.commands import Cluster, until
from e2e.manifests import build_light_job


def test_a_completed_job_exits_0_and_says_so_in_its_last_lines(shared: Cluster) -> None:
    ended = shared.paddock(
        "run", shared.write(build_light_job("well", "echo trained | tee $PADDOCK_OUTPUT_DIR/words", workers=2))
    )
    assert ended.code == 0, str(ended)
    assert sorted(ended.lines) == ["worker-0 │ trained", "worker-1 │ trained"]
    assert ended.said[0] == "PaddleJob well: Collective mode, 2 workers"
    assert ended.said[-2].startswith("Completed in ") and ended.said[-2].endswith(" s: worker 2/2 succeeded.")
    assert ended.said[-1] == f"logs: paddock logs well      outputs: {shared.output('well')} (PADDOCK_OUTPUT_DIR)"
    assert (shared.output("well") / "words").read_text() == "trained\n"


@pytest.mark.slow
def test_a_job_that_runs_loads_nothing_of_those_that_wait_or_fail(shared: Cluster) -> None:
    """Until the job is created `paddock run` does little but import."""
    late = (
        "paddock.cli.follow.failure", "paddock.cli.submit.why_not", "paddock.history.records", "paddock.jobs.causes",
        "paddock.kube.regex", "paddock.node.scheduler", "paddock.operator", "cryptography", "uvloop",
    )  # fmt: skip
    words = ["run", shared.write(build_light_job("quick", "echo done"))]
    ended = shared.python(
        "import sys\nfrom paddock.cli.main import run\n"
        f"assert run({words}) == 0\n"
        f"print('loaded:', *(name for name in sys.modules if name.startswith({late})))"
    )
    assert ended.lines[-1] == "loaded:", str(ended)


def test_a_pod_sees_the_clusters_keys_without_a_sandbox_alone(shared: Cluster) -> None:
    """Started in a directory that has the cluster's home in it, as from a user's home directory."""
    look = f"grep -rqs 'PRIVATE KEY' {shared.home}/api && echo seen || echo hidden"
    words = ("run", shared.write(build_light_job("curious", look)), "--workdir", str(shared.directory))
    assert shared.paddock(*words).lines == ["hidden" if shared.sandbox == "bubblewrap" else "seen"]


def test_a_failed_rank_is_named_with_its_exit_code_and_its_last_line(shared: Cluster) -> None:
    script = '[ "$PADDLE_TRAINER_ID" = 1 ] || exec sleep 1000; echo out of ideas; exit 3'
    ended = shared.paddock("run", shared.write(build_light_job("badly", script, workers=2)))
    assert ended.code == 1, str(ended)
    assert ended.lines == ["worker-1 │ out of ideas"]
    assert "\n".join(ended.said[2:]).count("out of ideas") == 1, "in the last line, as the log stands above"
    assert "the last lines" not in ended.err, "they stand above"
    assert "worker-1 ended with exit code 3, its last line: out of ideas" in ended.said[-2]
    assert ended.said[-2].startswith("Failed after ")
    until("the end of the other worker, which would wait for ever", lambda: list(shared.pods("badly")) == ["worker-1"])


NOISY = r"""
echo 'LAUNCH INFO 2026-11-20 15:41:36,894 auto_cluster_config: 0'
echo 'I1120 15:41:45.187386    12 tcp_utils.cc:132] Successfully connected to 10.77.0.1:63219'
echo ' INFO my own line'
for n in 1 2 3; do printf '\r %d0%%|#  | %d/3 [00:01<00:09,  2.9it/s]' $n $n >&2; done; echo
echo 'Traceback (most recent call last):'
echo '  File "train.py", line 3, in <module>'
echo 'ValueError: shapes do not match'
exit 1
"""


@pytest.mark.slow
def test_of_a_noisy_log_the_script_is_left_and_its_error_stands_everywhere(shared: Cluster) -> None:
    path = shared.write(build_light_job("noisy", NOISY, workers=2))
    ended = shared.paddock("run", path)
    assert ended.code == 1, str(ended)
    lines = [line.partition("│ ")[2] for line in ended.lines]
    assert sorted(lines) == sorted(
        [" INFO my own line", " 30%|#  | 3/3 [00:01<00:09,  2.9it/s]"] * 2
        + [
            "Traceback (most recent call last):",
            '  File "train.py", line 3, in <module>',
            "ValueError: shapes do not match",
        ]
    ), str(ended)
    assert re.search(r"the same error in worker-[01]: ValueError: shapes do not match\n", ended.err), str(ended)
    assert "(4 lines of launchers and libraries are folded: `paddock logs noisy --raw` shows them)" in ended.err
    error = "failed: ValueError: shapes do not match (exit code 1)"
    assert error in ended.said[-2]
    assert error in shared.paddock("get").out and error in shared.paddock("describe", "noisy").out
    explained = shared.paddock("explain", "noisy").lines
    assert error in explained[1] and explained[2] == "not restarted, because restartPolicy of worker is Never"
    raw = shared.paddock("run", path, "--raw")
    assert raw.out.count("LAUNCH INFO") == 2 and raw.out.count("Traceback") == 2, str(raw)
    assert "folded" not in raw.err


def test_a_killed_rank_is_named_with_its_signal(shared: Cluster) -> None:
    run = shared.start("run", shared.write(build_light_job("killed", "echo here; exec sleep 999")))
    run.until_it_prints("here")
    shared.kill_program(shared.pods("killed")["worker-0"], "sleep 999")
    ended = run.end()
    assert ended.code == 1, str(ended)
    assert ended.out == "here\n"
    assert "worker-0 was killed by signal 9 (exit code 137)" in ended.said[-2]


def test_a_server_that_ends_before_the_workers_fails_the_job(shared: Cluster) -> None:
    job = build_light_job("serverless", "exec sleep 1000", ps="echo enough; exit 0")
    ended = shared.paddock("run", shared.write(job))
    assert ended.code == 1, str(ended)
    assert ended.out == "ps-0     │ enough\n" and "the last lines" not in ended.err
    assert "ps-0 ended with exit code 0 before the workers were done" in ended.said[-2]


def test_a_wrong_manifest_exits_2_and_names_the_line_and_what_is_allowed(shared: Cluster) -> None:
    job = build_light_job("wrong", "true")
    job["spec"]["worker"]["replicas"] = "two"
    path = shared.write(job)
    ended = shared.paddock("run", path)
    assert ended.code == 2, str(ended)
    found = r":8:.* spec\.worker\.replicas: found \"two\", a whole number from 1 to"
    assert re.search(re.escape(path) + found, ended.err), str(ended)
    assert "wrong" not in shared.paddock("get", "jobs", "-o", "name").out


def with_grace(job: dict[str, Any], seconds: int) -> dict[str, Any]:
    """The job, whose worker has so long from SIGTERM to SIGKILL."""
    job["spec"]["worker"]["template"]["spec"]["terminationGracePeriodSeconds"] = seconds
    return job


def test_interrupted_once_a_job_ends_politely_and_run_exits_130(shared: Cluster) -> None:
    script = "trap 'echo goodbye; exit 0' TERM; echo ready; while :; do sleep 0.1; done"
    run = shared.start("run", shared.write(with_grace(build_light_job("stopped", script), 600)))
    run.until_it_prints("ready")
    pod = shared.pods("stopped")["worker-0"]
    run.interrupt()
    ended = run.end()
    assert ended.code == 130, str(ended)
    assert "interrupted: the job and its pods are gone" in ended.err
    assert not shared.processes_of(pod) and not shared.pods("stopped")


@pytest.mark.slow
def test_interrupted_twice_a_deaf_job_is_killed(shared: Cluster) -> None:
    script = "trap '' TERM; echo ready; while :; do sleep 0.1; done"
    run = shared.start("run", shared.write(with_grace(build_light_job("deaf", script), 600)))
    run.until_it_prints("ready")
    pod = shared.pods("deaf")["worker-0"]
    run.interrupt()
    until("its answer", lambda: "stopping the job" in run.err)
    run.interrupt()
    ended = run.end()
    assert ended.code == 130, str(ended)
    assert not shared.processes_of(pod) and not shared.pods("deaf")


def test_two_runs_at_once_do_not_disturb_each_other(shared: Cluster) -> None:
    """Each worker listens on its job's own port, as Paddle's rank 0 does, so one port for both would fail one."""
    listen = "import os, socket, time; socket.create_server(('', int(os.environ['PADDLE_PORT']))); time.sleep(0.5)"
    jobs = [build_light_job(name, f'echo I am {name}; exec python3 -c "{listen}"') for name in ("left", "right")]
    runs = [shared.start("run", shared.write(job)) for job in jobs]
    for name, run in zip(("left", "right"), runs, strict=True):
        ended = run.end()
        assert ended.code == 0, str(ended)
        assert ended.out == f"I am {name}\n"


def test_the_same_job_submitted_twice_is_refused_while_it_runs(shared: Cluster) -> None:
    path = shared.write(build_light_job("twice", "echo ready; exec sleep 1000"))
    run = shared.start("run", path)
    run.until_it_prints("ready")
    until("its phase, which comes after its output", lambda: shared.phase("twice") == "Running")
    again = shared.paddock("run", path)
    assert again.code == 2, str(again)
    assert "twice exists already, Running" in again.err
    run.interrupt()
    assert run.end().code == 130


@pytest.mark.parametrize("signal_of_worker", ["TERM", pytest.param("SEGV", marks=pytest.mark.slow)])
def test_the_exit_code_of_a_signal_comes_through(shared: Cluster, signal_of_worker: str) -> None:
    """`$$` in a command is Kubernetes' way to write one `$`."""
    name = f"signal-{signal_of_worker.lower()}"
    ended = shared.paddock("run", shared.write(build_light_job(name, f"kill -{signal_of_worker} $$$$; sleep 5")))
    number = {"TERM": 15, "SEGV": 11}[signal_of_worker]
    assert ended.code == 1, str(ended)
    assert f"signal {number} (exit code {128 + number})" in ended.said[-2]
