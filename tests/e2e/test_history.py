"""Nothing that one printed is lost: runs of a name, Ctrl-C, a restart, a killed and a stopped cluster."""

from __future__ import annotations

import json
import struct
import venv

import pytest

from e2e.commands import Cluster, Ended, until
from e2e.manifests import build_light_job


def test_two_runs_of_a_name_keep_both_logs(cluster: Cluster) -> None:
    for word in ("first", "second"):
        path = cluster.write(build_light_job("twice", f"echo {word}; echo 'Epoch 3, Loss: 0.25'", workers=2))
        assert cluster.paddock("run", path).code == 0
    assert cluster.paddock("logs", "twice").lines[0] == "worker-0 │ second"
    assert cluster.paddock("logs", "twice", "--run", "1", "--tail", "2", "--rank", "1").lines[0] == "first"
    cluster.paddock("down")
    listed = cluster.paddock("history")
    assert [line.split()[:2] for line in listed.lines[1:]] == [["twice", "1"], ["twice", "2"]], str(listed)
    assert "epoch 3 loss 0.25" in listed.lines[1]
    assert "command: first; → second;" in listed.lines[2]
    assert cluster.paddock("logs", "twice-worker-1", "--previous").lines[0] == "first"
    document = json.loads(cluster.paddock("history", "twice", "-o", "json").out)
    assert [each["outcome"] for each in document] == ["Completed", "Completed"]
    assert not (cluster.home / "cluster.json").exists(), "nothing of this starts the cluster"


@pytest.mark.slow
def test_two_projects_with_one_name_of_a_script_keep_their_own_runs(shared: Cluster) -> None:
    """Each is compared with its own runs, and a failure says what has changed since it last worked."""
    homes = {name: shared.directory / name for name in ("left", "right")}
    for directory in homes.values():
        directory.mkdir()
        (directory / "fitting.py").write_text("import sys\nprint('epoch 1 loss 0.5')\nsys.exit(len(sys.argv) - 1)\n")

    def run(where: str, *words: str) -> Ended:
        return shared.paddock("run", "--workdir", str(homes[where]), "--", "python3", "fitting.py", *words)

    assert run("left").code == 0
    other = run("right")
    said = f"fitting is a job of {homes['left']}: this one is called right-fitting, and --name gives it another name"
    assert other.code == 0 and said in other.said, str(other)
    assert "replacing" not in other.err
    again = run("left")
    assert "replacing PaddleJob fitting, Completed" in again.err
    (homes["right"] / "fitting.py").write_text("import sys\nsys.exit(len(sys.argv) - 1)\n")
    failed = run("right", "--lr")
    assert failed.code == 1
    assert "since run 1, which completed: code: fitting.py; + lr" in failed.said, str(failed)
    assert "since run 1, which completed: code: fitting.py; + lr" in shared.paddock("explain", "right-fitting").lines
    named = shared.paddock("run", "--name", "fitting", "--workdir", str(homes["right"]), "--", "python3", "fitting.py")
    assert f"replacing PaddleJob fitting of {homes['left']}, Completed" in named.err
    runs = json.loads(shared.paddock("history", "fitting", "-o", "json").out)
    assert [each["directory"] for each in runs] == [str(homes[name]) for name in ("left", "left", "right")]
    assert [each["changed"] for each in runs] == [[], [], []], "runs of two directories are not compared"


def test_what_has_changed_is_not_told_of_a_job_that_somebody_has_cancelled(shared: Cluster) -> None:
    assert shared.paddock("run", shared.write(build_light_job("unwanted", "echo ready"))).code == 0
    assert shared.paddock("submit", shared.write(build_light_job("unwanted", "exec sleep 999"))).code == 0
    assert shared.paddock("cancel", "unwanted").code == 0
    until("the run is kept", lambda: "Cancelled" in shared.paddock("history", "unwanted").out)
    assert "which completed" not in shared.paddock("explain", "unwanted").out


@pytest.mark.slow
def test_a_failure_tells_which_packages_and_datasets_the_run_before_had_not(shared: Cluster) -> None:
    home, data = shared.directory / "packed", shared.directory / "words"
    venv.create(home / "env", with_pip=False)
    (site,) = (home / "env" / "lib").glob("python3*/site-packages")
    data.mkdir()
    (home / "packed.py").write_text("import sys\nsys.exit(len(sys.argv) - 1)\n")
    assert shared.paddock("dataset", "create", "packed-words", "--from", data.as_uri()).code == 0

    def run(*words: str, data: tuple[str, ...] = ()) -> Ended:
        command = ("--image", "python:3", *data, "--", "env/bin/python", "packed.py", *words)
        return shared.paddock("run", "--workdir", str(home), *command)

    (site / "torch-2.5.0.dist-info").mkdir()
    assert run().code == 0
    (site / "torch-2.5.0.dist-info").rename(site / "torch-2.6.0.dist-info")
    (site / "peft-0.14.0.dist-info").mkdir()
    failed = run("--lr", data=("--data", "packed-words:/data"))
    packages = "packages: torch 2.5.0 → 2.6.0, + peft 0.14.0"
    said = f"since run 1, which completed: {packages}; dataset packed-words: + {data.as_uri()}; + lr"
    assert failed.code == 1 and said in failed.said, str(failed)
    one, two = json.loads(shared.paddock("compare", "packed", "-o", "json").out)["runs"]
    assert one["packages"]["worker"]["torch"] == "2.5.0" and two["packages"]["worker"]["peft"] == "0.14.0"
    assert (one["datasets"], list(two["datasets"])) == ({}, ["packed-words"])
    assert one["machine"] == two["machine"] and one["machine"]["cpus"] > 0
    compared = shared.paddock("compare", "packed").out
    assert "torch 2.5.0 → 2.6.0, + peft 0.14.0" in compared and "Machine" not in compared
    assert packages in shared.paddock("history").out


@pytest.mark.slow
def test_what_an_interrupted_job_printed_is_kept(cluster: Cluster) -> None:
    run = cluster.start("run", cluster.write(build_light_job("stopped", "echo here; exec sleep 999")))
    run.until_it_prints("here")
    run.interrupt()
    ended = run.end()
    assert ended.code == 130 and "what it printed: `paddock logs stopped`\n" in ended.err, str(ended)
    assert cluster.paddock("logs", "stopped").out == "here\n"
    waited = cluster.paddock("wait", "stopped")
    assert waited.code == 1 and "stopped run 1: Stopped after " in waited.out
    assert cluster.paddock("logs", "stopped", "-f").code == 1
    gone = "the job 'stopped' is gone; what is kept of it: `paddock history stopped`, `paddock logs stopped`\n"
    for verb in ("explain", "describe", "delete"):
        told = cluster.paddock(verb, "stopped")
        assert (told.code, told.err) == (2, gone), str(told)


@pytest.mark.slow
def test_each_attempt_keeps_its_log_and_the_first_error_is_found(cluster: Cluster) -> None:
    script = '[ "$PADDOCK_ATTEMPT" = 0 ] || exit 0; echo broken; echo "ValueError: no data"; exit 3'
    job = build_light_job("again", f"echo attempt $PADDOCK_ATTEMPT; {script}")
    job["spec"]["worker"]["template"]["spec"]["restartPolicy"] = "OnFailure"
    assert cluster.paddock("submit", cluster.write(job)).code == 0
    followed = cluster.paddock("logs", "again", "-f")
    assert followed.code == 0, str(followed)
    assert cluster.paddock("logs", "again").out == "attempt 1\n"
    assert cluster.paddock("logs", "again", "--previous").lines[0] == "attempt 0"
    wanted = ("logs", "again", "--attempt", "0", "--first-error", "-o", "json")
    assert [json.loads(line)["line"] for line in cluster.paddock(*wanted).lines] == [
        "attempt 0", "broken", "ValueError: no data",
    ]  # fmt: skip
    assert cluster.paddock("wait", "again").code == 0
    (run,) = json.loads(cluster.paddock("history", "again", "-o", "json").out)
    assert [each["attempt"] for each in run["attempts"]] == [0, 1]
    assert "exit code 3" in run["attempts"][1]["cause"]["sentence"]


@pytest.mark.slow
def test_since_goes_by_the_marks_of_the_node(cluster: Cluster) -> None:
    """The record and the first mark are made two hours older, as no test waits for hours."""
    script = "echo early; until [ -e $PADDOCK_OUTPUT_DIR/go ]; do sleep 0.1; done; echo late"
    assert cluster.paddock("submit", cluster.write(build_light_job("timed", script))).code == 0
    until(
        "the first mark", lambda: [path for path in cluster.home.glob("node/pods/*/*/0.times") if path.stat().st_size]
    )
    (cluster.output("timed") / "go").touch()
    assert cluster.paddock("wait", "timed").code == 0
    assert cluster.paddock("logs", "timed", "--since", "1h").out == "early\nlate\n"
    cluster.paddock("down")
    (marks,), (record,) = cluster.home.glob("node/pods/*/*/0.times"), cluster.home.glob("history/default/timed/*.json")
    document = json.loads(record.read_text())
    record.write_text(json.dumps({**document, "created": document["created"] - 7200}))
    size, time = struct.unpack("<qd", marks.read_bytes()[:16])
    assert size == len("early\n")
    marks.write_bytes(struct.pack("<qd", size, time - 7200) + marks.read_bytes()[16:])
    for since, printed in (("1h", "late\n"), ("3h", "early\nlate\n")):
        assert cluster.paddock("logs", "timed", "--since", since).out == printed
    marks.unlink()
    whole = cluster.paddock("logs", "timed", "--since", "1h")
    assert whole.out == "early\nlate\n" and "nobody noted when the lines of worker-0 were printed" in whole.err


@pytest.mark.slow
@pytest.mark.sample  # the slow: a cluster is killed and comes back, and nothing is lost
def test_a_killed_cluster_loses_no_line_and_no_run(cluster: Cluster) -> None:
    script = "echo before; until [ -e $PADDOCK_OUTPUT_DIR/go ]; do sleep 0.1; done; echo after; exit 4"
    words = ("submit", cluster.write(build_light_job("lives", script)))
    assert cluster.paddock(*words).code == 0
    until("the first line", lambda: cluster.paddock("logs", "lives").out == "before\n")
    until("the record of it", lambda: "Running" in cluster.paddock("history").out)
    cluster.kill_cluster()
    assert "Running, cluster down" in cluster.paddock("history").out
    (cluster.output("lives") / "go").touch()
    waited = cluster.paddock("wait", "lives", "--timeout", "60")
    assert waited.code == 1, str(waited)
    assert cluster.paddock("logs", "lives").out == "before\nafter\n"
    assert [each["outcome"] for each in json.loads(cluster.paddock("history", "-o", "json").out)] == ["Failed"]


def test_wait_ends_at_its_timeout_and_the_job_goes_on(shared: Cluster) -> None:
    assert shared.paddock("submit", shared.write(build_light_job("long", "exec sleep 999"))).code == 0
    assert shared.paddock("wait", "long", "--for", "running", "--timeout", "60").out == "long: Running\n"
    waited = shared.paddock("wait", "long", "--timeout", "1")
    assert waited.code == 1 and "long has not ended in 1s (--timeout); it goes on" in waited.err
    assert shared.phase("long") == "Running"
    shared.paddock("delete", "long", "--now")


def test_a_pattern_or_a_run_that_cannot_be_is_refused(shared: Cluster) -> None:
    assert shared.paddock("run", shared.write(build_light_job("once", "echo one"))).code == 0
    for words, said in (
        (("--include", "("), "'(' is no regular expression: "),
        (("--run", "2"), "once has no run 2; kept are 1"),
        (("--rank", "5-1"), "'5-1' names no ranks"),
        (("--attempt", "0", "--previous"), "--attempt and --previous exclude each other"),
        (("-f", "--since", "1m"), "--follow and --since exclude each other"),
    ):
        refused = shared.paddock("logs", "once", *words)
        assert refused.code == 2 and said in refused.err, str(refused)
