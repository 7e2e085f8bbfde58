"""What the user got wrong, before anything is started: exit code 2, a sentence, and no traceback."""

from __future__ import annotations

import io
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from paddock.cli.cluster.errors import UserError
from paddock.cli.main import VERBS, run
from paddock.cli.output.periods import read_seconds
from paddock.cli.submit.manifest_files import fetch_checked
from paddock.cli.submit.submission import drop_devices
from paddock.cli.synonyms import SYNONYMS
from paddock.submission.devices import read_asked

GOOD = """apiVersion: batch.paddlepaddle.org/v1
kind: PaddleJob
metadata:
  name: good
spec:
  worker:
    replicas: 2
    template:
      spec:
        containers:
          - name: paddle
            image: busybox
            command: ["true"]
"""


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["rum", "x"], "there is no verb 'rum'. Did you mean `paddock run`?"),
        (["frobnicate"], "there is no verb 'frobnicate'. `paddock --help` lists the verbs."),
        (["ps"], "there is no verb 'ps': `paddock get pods` lists pods, `paddock get` jobs"),
        (
            ["stop", "mnist"],
            "there is no verb 'stop': `paddock cancel mnist` ends a job and keeps it listed, `paddock delete mnist`",
        ),
        (["abort", "-n", "team"], "there is no verb 'abort': `paddock cancel JOB` ends a job"),
        (["kill", "two words"], "`paddock cancel 'two words'` ends a job"),
        (["Apply", "-f", "x"], "there is no verb 'Apply': `paddock run job.yaml` and `paddock run -- python train.py`"),
        (["launch"], "`paddock submit job.yaml` comes back at once"),
        (["ssh", "mnist"], "`paddock shell mnist` opens a shell in a pod, `paddock exec mnist -- nvidia-smi` runs one"),
        (
            ["attach", "mnist"],
            "`paddock logs mnist -f` shows what its ranks print, `paddock shell mnist` opens a shell",
        ),
        (["port-forward", "mnist", "80"], "`paddock forward mnist 8080` leads a port of this machine to one of a pod"),
        (["nodes"], "`paddock status` shows what the cluster runs on, `paddock queue` what of it is free"),
        (["simulate"], "`paddock rehearse job.yaml` starts all ranks of a cluster's job on this machine"),
        (["squeue", "-u", "me"], "there is no verb 'squeue': `paddock queue` lists what runs and what waits for room"),
        (["prune"], "there is no verb 'prune': `paddock clean --dry-run` shows what takes room on the disk"),
        (["clean", "everything"], "'everything' is not one of 'environments', 'images', 'caches', 'outputs', 'logs'"),
        (["queue", "-o", "yaml"], "'yaml' is not one of"),
        (["job.yaml"], "there is no verb 'job.yaml': `paddock run job.yaml` runs a manifest"),
        (["train.py", "--name", "a b"], "`paddock run -- python train.py --name 'a b'` runs a script"),
        (["python", "train.py"], "`paddock run -- python train.py` runs a script"),
        (["help", "rum"], "there is no verb 'rum'. Did you mean `paddock run`?"),
        (
            ["run"],
            "what is to run? A program: `paddock run -- python train.py`; or a job of a YAML file: `paddock run j",
        ),
        (["submit"], "Missing argument 'FILE...'"),
        (["run", "--rnak", "0", "x"], "No such option '--rnak'"),
        (["get", "jobz"], "paddock get knows jobs, pods, environments and datasets, not 'jobz'; did you mean 'jobs'?"),
        (["get", "secrets", "mine"], "not 'secrets'; kubectl lists every kind"),
        (["get", "-o", "xml"], "'xml' is not one of"),
        (["up", "--port", "99999"], "99999 is not in the range 0<=x<=65535"),
        (["logs", "job", "--tail", "-1"], "-1 is not in the range x>=0"),
        (
            ["run", "x", "--timeout", "soon"],
            "'soon' is no time: seconds, or a number with s, m or h, such as 60 or 10m",
        ),
        (["run", "x", "--timeout", "0"], "'0' is no time"),
        (["env", "create", "mine"], "Missing option '-r'"),
        (["env", "lst"], "No such command 'lst'"),
    ],
)
def test_a_wrong_command_exits_2_and_says_what_is_right(
    words: list[str], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(words) == 2
    printed = capsys.readouterr()
    assert said in " ".join(printed.err.split())
    assert printed.out == ""


def test_no_word_of_another_tool_is_a_verb_here() -> None:
    """Such a row of the table would never be read."""
    assert set(VERBS) & SYNONYMS == set()


@pytest.mark.parametrize(
    ("words", "same"),
    [(["help"], ["--help"]), (["help", "get"], ["get", "--help"]), (["help", "env", "rm"], ["env", "rm", "--help"])],
)
def test_help_is_asked_for_as_a_verb_too(words: list[str], same: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert run(words) == 0
    said = capsys.readouterr().out
    assert run(same) == 0
    assert capsys.readouterr().out == said != ""


ASKING = GOOD + "            resources:\n              limits: {cpu: 1, nvidia.com/gpu: 2}\n"


@pytest.mark.parametrize(
    ("content", "resource", "said"),
    [
        (GOOD, "nvidia.com/gpu", "--without nvidia.com/gpu: no job here asks for any resource; leave it out"),
        (
            ASKING,
            "nvidia.com/gpus",
            "--without nvidia.com/gpus: no job here asks for it; they ask for cpu, nvidia.com/gpu; did you mean "
            '"nvidia.com/gpu"?',
        ),
        (ASKING, "amd.com/dcu", "--without amd.com/dcu: no job here asks for it; they ask for cpu, nvidia.com/gpu"),
    ],
)
def test_a_resource_that_no_job_asks_for_cannot_be_left_out(
    content: str, resource: str, said: str, tmp_path: Path
) -> None:
    path = tmp_path / "job.yaml"
    path.write_text(content)
    with pytest.raises(UserError) as refused:
        drop_devices(fetch_checked([str(path)], "default"), [resource])
    assert str(refused.value) == said


def test_a_resource_that_one_of_several_jobs_asks_for_is_left_out_there(tmp_path: Path) -> None:
    path = tmp_path / "jobs.yaml"
    path.write_text(GOOD + "---\n" + ASKING.replace("name: good", "name: greedy"))
    kept = drop_devices(fetch_checked([str(path)], "default"), ["nvidia.com/gpu"])
    assert [read_asked([each.job]) for each in kept if each.job] == [[], ["cpu"]]


@pytest.mark.parametrize(
    ("content", "line", "said"),
    [
        (b"", 1, "there is no manifest here"),
        (b"---\n# only a comment\n---\n", 1, "there is no manifest here"),
        (b"a: [b\n c: d", 2, ""),
        (b"kind: PaddleJob\nmetadata:\n\tname: x\n", 1, "apiVersion: is missing"),  # the tab of line 3 is the next
        (b"a: 1\nb: \xff\xfe", 2, "byte 0xff"),
        (
            GOOD.replace("PaddleJob", "PadleJob").encode(),
            2,
            "kind: there is no kind of this name",
        ),
        (GOOD.replace("org/v1", "org/v2").encode(), 1, 'apiVersion: found "batch.paddlepaddle.org/v2", '),
        (GOOD.replace("name: good", "name: Good").encode(), 4, 'metadata.name: found "Good", '),
        (GOOD.replace("name: good", f"name: {'x' * 300}").encode(), 4, 'metadata.name: found "xxx'),
        (GOOD.replace("replicas: 2", "replicas: 0").encode(), 7, "spec.worker.replicas: found 0, "),
        (GOOD.replace("replicas: 2", "replicas: two").encode(), 7, 'spec.worker.replicas: found "two", '),
        (GOOD.replace("replicas: 2", "replicas: 1000000000").encode(), 7, "replicas: found 1000000000, "),
        (GOOD.replace("  worker:", "  ps:").encode(), 5, "spec.worker: is missing"),
    ],
)
def test_a_wrong_file_is_refused_with_its_line(content: bytes, line: int, said: str, tmp_path: Path) -> None:
    path = tmp_path / "job.yaml"
    path.write_bytes(content)
    with pytest.raises(UserError) as caught:
        fetch_checked([str(path)], "default")
    assert re.match(rf"{re.escape(str(path))}:{line}(:\d+)?: .*{re.escape(said)}", str(caught.value)), str(caught.value)


def test_a_file_that_is_no_manifest_by_its_size_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "checkpoint.yaml"
    path.write_bytes(b"#" * (8 * 2**20 + 1))
    with pytest.raises(UserError, match="larger than 8 MiB: this is no manifest"):
        fetch_checked([str(path)], "default")


def test_files_that_cannot_be_read_say_why(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="No such file or directory; a manifest in YAML or JSON is wanted"):
        fetch_checked([str(tmp_path / "none.yaml")], "default")
    with pytest.raises(UserError, match="this is a directory, and no manifest is in it"):
        fetch_checked([str(tmp_path)], "default")


def test_all_problems_of_all_files_come_at_once_and_nothing_passes(tmp_path: Path) -> None:
    good, bad, worse = tmp_path / "good.yaml", tmp_path / "bad.yaml", tmp_path / "worse.yaml"
    good.write_text(GOOD.replace("name: good", "name: first"))
    bad.write_text(GOOD + "---\n" + GOOD.replace("replicas: 2", "replicas: 0").replace("kind: P", "kind: p"))
    worse.write_text("[")
    with pytest.raises(UserError) as caught:
        fetch_checked([str(good), str(bad), str(worse)], "default")
    lines = str(caught.value).splitlines()
    assert [line.split(":")[:2] for line in lines[:-1]] == [[str(bad), "16"], [str(bad), "21"], [str(worse), "1"]]
    assert lines[-1] == "3 problems; nothing was submitted"


def test_the_same_object_twice_in_one_file_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "twice.yaml"
    path.write_text(GOOD + "---\n" + GOOD)
    with pytest.raises(UserError) as caught:
        fetch_checked([str(path)], "default")
    line = 4 + GOOD.count("\n") + 1
    assert str(caught.value).splitlines()[0].startswith(f"{path}:{line}:")
    assert "metadata.name: a PaddleJob of this name stands in line 4 already" in str(caught.value)


def test_the_same_object_in_two_files_or_by_the_namespace_of_the_command_is_refused(tmp_path: Path) -> None:
    one, other = tmp_path / "one.yaml", tmp_path / "other.yaml"
    one.write_text(GOOD)
    other.write_text(GOOD.replace("name: good", "name: good\n  namespace: team"))
    assert len(fetch_checked([str(one), str(other)], "default")) == 2
    with pytest.raises(UserError) as caught:
        fetch_checked([str(one), str(other)], "team")
    assert str(caught.value).splitlines() == [
        f"{other}:4: metadata.name: a PaddleJob of this name stands in {one}:4 already",
        "1 problem; nothing was submitted",
    ]


@pytest.mark.parametrize(
    ("text", "seconds"), [("60", 60), ("1.5", 1.5), ("90s", 90), ("10m", 600), ("2h", 7200), (" 5 ", 5)]
)
def test_a_timeout_is_written_as_kubectl_takes_it(text: str, seconds: float) -> None:
    assert read_seconds(text) == seconds


@pytest.mark.parametrize(
    "text",
    [
        "\ufeff" + GOOD,
        GOOD.replace("\n", "\r\n"),
        "---\n" + GOOD + "---\n",
        "apiVersion: v1\nkind: List\nitems:\n- " + GOOD.replace("\n", "\n  ").rstrip(),
    ],
    ids=["byte order mark", "windows line ends", "empty documents around it", "list"],
)
def test_what_editors_and_kubectl_write_is_read(text: str, tmp_path: Path) -> None:
    path = tmp_path / "job.yaml"
    path.write_bytes(text.encode())
    (checked,) = fetch_checked([str(path)], "training")
    assert (str(checked.key), checked.is_job) == ("training/good", True)


def test_the_text_may_come_from_standard_input() -> None:
    with io.TextIOWrapper(io.BytesIO(GOOD.replace("replicas: 2", "replicas: 0").encode())) as given:
        before, sys.stdin = sys.stdin, given
        try:
            with pytest.raises(UserError, match=r"^stdin:7(:\d+)?: "):
                fetch_checked(["-"], "default")
        finally:
            sys.stdin = before


def test_run_follows_one_job(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "two.yaml"
    path.write_text(GOOD + "---\n" + GOOD.replace("name: good", "name: other"))
    assert run(["run", str(path)]) == 2
    assert f"run follows one job, here are 2: `paddock submit {path}` submits them all" in capsys.readouterr().err


def test_a_rank_that_the_job_does_not_have_is_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "job.yaml"
    path.write_text(GOOD)
    assert run(["run", str(path), "--role", "worker", "--rank", "7"]) == 2
    assert "good has no rank worker-7; it has worker-0 and worker-1" in capsys.readouterr().err


def test_a_character_that_the_encoding_lacks_is_replaced(tmp_path: Path) -> None:
    environ = os.environ | {"PYTHONIOENCODING": "ascii:strict", "LC_ALL": "zh_CN.UTF-8", "PADDOCK_HOME": str(tmp_path)}
    command = [sys.executable, "-m", "paddock.cli.main", "status"]
    ended = subprocess.run(command, env=environ, capture_output=True, check=False)
    assert b"UnicodeEncodeError" not in ended.stderr
    assert ended.returncode == 1 and b"??" in ended.stdout
