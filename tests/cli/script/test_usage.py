"""`paddock run -- …` and `paddock init`: what is wrong is said before anything is created, what is right is shown."""

from __future__ import annotations

import os
import shlex
import shutil
import sys
from pathlib import Path

import pytest
import yaml

from paddock.cli.main import run
from paddock.cli.submit.manifest_files import fetch_checked
from paddock.cli.submit.script.requests import find_needed
from paddock.cli.submit.script.typed_command import name_python


@pytest.fixture
def work(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A directory with a space in its name, in a home of its own."""
    directory = tmp_path / "my work"
    directory.mkdir()
    monkeypatch.setenv("PADDOCK_HOME", str(tmp_path / "paddock"))
    monkeypatch.setenv("COLUMNS", "500")
    monkeypatch.setenv("PATH", str(link_programs(tmp_path / "bin")))
    # the last four are named in a line of their own where a shell has them
    named = ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "PYTHONPATH", "CUDA_VISIBLE_DEVICES")
    for name in ("KUBECONFIG", "PADDOCK_CONTEXT", *named):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.chdir(directory)
    (directory / "train.py").write_text("import paddle\n")
    return directory


def link_programs(folder: Path) -> Path:
    """The programs that these tests find: a machine may have any other, which would be started."""
    folder.mkdir()
    (folder / "python").symlink_to(sys.executable)
    for name in ("bash", "sh", "sleep"):
        (folder / name).symlink_to(shutil.which(name) or f"/bin/{name}")
    return folder


def call(*words: str) -> int:
    return run(list(words))


ROWS: list[tuple[list[str], str]] = [
    (["run"], "what is to run? A program: `paddock run -- python train.py`; or a job of a YAML file: `paddock run j"),
    (["run", "--"], "a command is wanted behind `--`"),
    (
        ["run", "--", "python train.py | tee log"],
        "is one word, and no program is called so: leave the quotes",
    ),
    (["run", "--resume", "3", "--", "python", "train.py"], "the number of a run is joined to --resume: `--resume=3`"),
    (["run", "--watch", "--resume=3", "--", "python", "train.py"], "the first run takes over the checkpoints of run 3"),
    (["run", "--resume=last", "--", "python", "train.py"], "Invalid value for '--resume': 'last' is not a valid"),
    (
        ["run", "-r", "train.py", "-r", "train.py", "--", "python", "train.py"],
        "'-r' / '--requirements': one file is taken, and 2 are named: name the others in train.py, each in a line",
    ),
    (["rehearse", "job.yaml", "-r", "a.txt", "-r", "b.txt"], "one file is taken, and 2 are named"),
    (["run", "train.py", "--lr", "1"], "train.py is a program: `paddock run -- {python} train.py --lr 1`"),
    (["run", "--workers", "2", "run.sh"], "run.sh is a program: `paddock run --workers 2 -- bash run.sh`"),
    (["run", "python", "a b.py"], "python is a program: `paddock run -- python 'a b.py'`"),
    (["run", "job.yaml", "--lr", "1"], "arguments of the program stand behind `--`: `paddock run job.yaml -- --lr 1`"),
    (["run", "--", "python", "trian.py"], "trian.py is not in {here}; did you mean train.py?"),
    (["run", "--", "python", "src/other.py"], "src/other.py is not in {here}"),
    (["run", "--", "python", "there.py"], "there.py is not in {here}; near has it: `--workdir near`"),
    (["run", "--", "python", "beside.py"], "beside.py is not in {here}; ../other has it: `--workdir ../other`"),
    (["run", "--", "python", "near"], "near is a directory: name the file in it that is the program"),
    (["run", "--", "python", "broken.py"], "broken.py:2: '(' was never closed: x = ("),
    (["run", "--", "python"], "python reads its program from standard input, and a pod has none"),
    (["run", "--", "bash", "-s"], "bash reads its program from standard input"),
    (["run", "--", "pyhton", "train.py"], "there is no program pyhton in PATH; did you mean python?"),
    (
        ["run", "--", "eval", "python", "train.py"],
        "eval is a word of the shell, and there is no program of this name in PATH: `bash -c 'eval python train.py'`",
    ),
    (["run", "--", "fish", "train.py"], "there is no program fish in PATH\n"),
    (["run", "--", "bash", "wide.sh"], "wide.sh:1: the file is written in UTF-16, which no shell reads"),
    (["run", "--", ""], "there is no program '' in PATH"),
    (["run", "--", "train.py"], "train.py is a file of {here} and no program of PATH: `{python} train.py`"),
    (["run", "--", "./train.py"], "./train.py is not executable, and has no first line `#!`: `{python} ./train.py`"),
    (["run", "--", "./hashbang.py"], "./hashbang.py is not executable: `chmod +x ./hashbang.py`, or `{python} ./h"),
    (["run", "--ps", "1", "--", "python", "torches.py"], "--ps: PyTorch has no parameter servers: leave it out"),
    (["run", "--framework", "paddle", "--", "torchrun", "train.py"], "torchrun starts programs of PyTorch: leave --f"),
    (["run", "--framework", "pytorch", "--", "fleetrun", "train.py"], "fleetrun starts programs of PaddlePaddle: le"),
    (["run", "--framework", "keras", "--", "python", "train.py"], "'keras' is not one of 'paddle', 'pytorch', 'jax'"),
    (["run", "--framework", "none", "--ps", "1", "--", "python", "train.py"], "parameter servers are PaddlePaddle's"),
    (["run", "--framework", "jax", "--ps", "1", "--", "python", "train.py"], "--ps: JAX has no parameter servers"),
    (["run", "--framework", "pytorch", "job.yaml"], "--framework is for a program"),
    (
        ["run", "--workers", "2", "--", "torchrun", "--standalone", "torches.py"],
        "--standalone would keep the 2",
    ),
    (
        ["run", "--", "torchrun", "--nnodes=2", "torches.py"],
        "and the job has 1: `--workers 2`, or leave",
    ),
    (
        ["run", "--workers", "20000", "--", "python", "torches.py"],
        "--workers: spec.pytorchReplicaSpecs.W",
    ),
    (["run", "--", "python", "train.py", "\udcff"], "\ufffd is not a text in UTF-8"),
    (["run", "--workers", "0", "--", "python", "train.py"], "0 is not in the range"),
    (["run", "--workers", "-1", "--", "python", "train.py"], "-1 is not in the range"),
    (["run", "--workers", "20000", "--", "python", "train.py"], "--workers: spec.worker.replicas: found 20000, "),
    (["run", "--workers", "two", "--", "python", "train.py"], "'two' is not a valid integer range"),
    (["run", "--name", "Mine", "--", "python", "train.py"], '--name: metadata.name: found "Mine"'),
    (["run", "-r", "none.txt", "--", "python", "train.py"], "File 'none.txt' does not exist"),
    (["run", "--workdir", "none", "--", "python", "train.py"], "Directory 'none' does not exist"),
    (["run", "--env", "=1", "--", "python", "train.py"], "--env: found '=1'; NAME=VALUE is wanted"),
    (
        ["run", "--env", "TOKNE", "--", "python", "train.py"],
        "--env TOKNE: this shell exports no such variable: `--env TOKNE=VALUE` gives a value, `export TOKNE` exports "
        "one that is set; did you mean TOKEN?",
    ),
    (["run", "--env", "TOKNE", "job.yaml"], "--env TOKNE: this shell exports no such variable: "),
    (["run", "--secret", "TOKNE", "--", "python", "train.py"], "has no such variable; did you mean TOKEN?"),
    (["run", "--secret", "TOKEN=hidden", "--", "python", "train.py"], "`export TOKEN=…` and `--secret TOKEN`"),
    (["run", "--env-file", "none", "--", "python", "train.py"], "--env-file none: No such file or directory"),
    (["run", "--env-file", "bad.env", "--", "python", "train.py"], "bad.env:2: the value of B begins with '"),
    (["run", "--hold", "0", "--", "python", "train.py"], "from 1 s to 24 h is allowed"),
    (["run", "--hold", "25h", "--", "python", "train.py"], "from 1 s to 24 h is allowed"),
    (["run", "--hold", "1.5h", "--", "python", "train.py"], "from 1 s to 24 h is allowed"),
    (["run", "--detach", "--timeout", "5", "--", "python", "train.py"], "--timeout suspends the job from here"),
    (["run", "job.yaml", "--workers", "2"], "--workers is for a program"),
    (
        ["run", "job.yaml", "--end-wait", "10s"],
        "--end-wait is for a program (`paddock run --end-wait 10s -- python train.py`); in job.yaml the annotation "
        "`paddock.dev/success: AllRanks:10` of the job says it",
    ),
    (["run", "shell.yaml", "--", "--lr", "1"], "shell.yaml: worker runs a text of sh, which takes no arguments"),
    (["run", "none.yaml"], "none.yaml: No such file or directory"),
    (["init"], "a program is wanted, as in `paddock init -- python train.py`"),
    (["init", "train.py"], "train.py is a program: `paddock init -- {python} train.py`"),
    (["init", "--", "python", "trian.py"], "did you mean train.py?"),
    (["init", "-o", "job.yaml", "--", "python", "train.py"], "job.yaml is there already: -o names another file"),
    (["init", "-o", "no/job.yaml", "--", "python", "train.py"], "no/job.yaml: No such file or directory"),
]


def write_job(path: Path, *command: str) -> None:
    assert call("init", "--image", "python:3", "--name", "made", "-o", str(path), "--", *command) == 0


@pytest.mark.parametrize(("words", "said"), ROWS, ids=lambda each: " ".join(each) if isinstance(each, list) else "")
def test_what_is_wrong_exits_2_with_one_sentence(
    words: list[str], said: str, work: Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    (work / "near").mkdir()
    (work / "near/there.py").touch()
    (work.parent / "other").mkdir()
    (work.parent / "other/beside.py").touch()
    (work / "broken.py").write_text("import paddle\nx = (\n")
    (work / "torches.py").write_text("import torch\n")
    (work / "hashbang.py").write_text("#!/usr/bin/env python\n")
    (work / "wide.sh").write_bytes("python train.py\n".encode("utf-16"))
    (work / "bad.env").write_text("A=1\nB='hidden\n")
    monkeypatch.setenv("TOKEN", "hidden")
    write_job(work / "job.yaml", "python3", "train.py")
    write_job(work / "shell.yaml", "sh", "-c", "true")
    capfd.readouterr()
    assert call(*words) == 2
    printed = capfd.readouterr()
    assert said.format(here=work, python=name_python()) in printed.err, printed.err
    assert "Traceback" not in printed.err and "hidden" not in printed.err and printed.out == ""
    assert not (work.parent / "paddock/cluster.json").exists(), "no cluster was started for it"


def test_what_is_different_in_a_pod_is_said(work: Path, capfd: pytest.CaptureFixture[str]) -> None:
    (work / "ask.py").write_text("x = input()\n")
    assert call("run", "--print", "--", "python", "ask.py") == 0
    assert "warning: ask.py reads standard input, and a pod has none" in capfd.readouterr().err
    (work / "run.sh").write_bytes(b"python train.py\r\n")
    assert call("run", "--print", "--", "bash", "run.sh") == 0
    assert "warning: run.sh:1: lines end with CRLF" in capfd.readouterr().err
    (work / "run.sh").write_text("python \\   # ours\n  train.py\n")
    assert call("run", "--print", "--", "bash", "run.sh") == 0
    assert "warning: run.sh:1: the backslash in line 1 is not the last letter" in capfd.readouterr().err
    (work / "ps.py").write_text("fleet.init_worker()\n")
    assert call("run", "--print", "--ps", "1", "--", "python", "ps.py") == 0
    said = capfd.readouterr()
    assert "ps.py calls init_worker(): the workers start when the servers answer" in said.err
    assert "paddock.dev/servers-first: 'true'" in said.out


def test_a_script_for_another_python_is_not_refused_for_its_syntax(
    work: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    (work / "old.py").write_text("print 'x'\n")
    assert call("run", "--print", "--", "python2.7", "old.py") == 0
    assert "warning: old.py:1: " in capfd.readouterr().err


def test_print_shows_the_manifest_and_creates_nothing(
    work: Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TOKEN", "hidden")
    (work / ".env").write_text("PASSWORD=hidden\n")
    words = ("run", "--print", "--workers", "2", "--env", "A=1", "--env-file", ".env", "--secret", "TOKEN")
    assert call(*words, "--", "python", "train.py", "a b", "$(X)") == 0
    printed = capfd.readouterr()
    assert "hidden" not in printed.out + printed.err
    secret, job = yaml.safe_load_all(printed.out)
    assert secret["stringData"] == {"PASSWORD": "***", "TOKEN": "***"}
    (container,) = job["spec"]["worker"]["template"]["spec"]["containers"]
    assert container["command"][3:] == ["train.py", "a b", "$$(X)"]
    assert [each["name"] for each in container["env"]] == ["A", "PASSWORD", "TOKEN"]
    assert job["metadata"]["annotations"] == {
        "paddock.dev/success": "AllRanks",
        "paddock.dev/working-directory": str(work),
    }
    assert not (work.parent / "paddock").exists()


@pytest.mark.parametrize(("typed", "value"), [((), "AllRanks"), (("--end-wait", "10m"), "AllRanks:600")])
@pytest.mark.parametrize("script", ["train.py", "torches.py"])
def test_each_rank_of_a_typed_command_decides(
    script: str, typed: tuple[str, ...], value: str, work: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    (work / "torches.py").write_text("import torch\n")
    assert call("run", "--print", "--workers", "2", *typed, "--", "python", script) == 0
    job = yaml.safe_load(capfd.readouterr().out)
    assert job["metadata"]["annotations"]["paddock.dev/success"] == value


@pytest.mark.parametrize(
    "command",
    [
        ["python", "train.py", "--lr", "0.1"],
        ["python", "-m", "near.there"],
        ["python", "torches.py", "--lr", "0.1"],
        ["torchrun", "--nproc-per-node=2", "torches.py"],
        ["python", "-m", "torch.distributed.run", "torches.py"],
    ],
)
def test_the_file_that_init_writes_is_the_job_that_run_makes(
    command: list[str], work: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    (work / "torches.py").write_text("import torch\n")
    options = ["--workers", "2", "--restarts", "1", "--env", "A=yes", "--gpus", "1"]
    assert call("init", *options, "--", *command) == 0
    assert "job.yaml is written: `paddock run job.yaml` trains it" in capfd.readouterr().err
    assert call("run", "--print", *options, "--", *command) == 0
    direct = yaml.safe_load(capfd.readouterr().out)
    assert call("run", "--print", "job.yaml") == 0
    written = yaml.safe_load(capfd.readouterr().out)
    assert call("run", "--print", "job.yaml", "--", "one argument, of blanks") == 0, "it is for the file's program"
    assert "one argument, of blanks" in capfd.readouterr().out
    if "worker" in direct["spec"]:  # a file may be sent to a cluster, where `run` says so too (decision 85)
        direct["spec"]["runPolicy"]["cleanPodPolicy"] = "Running"
    assert written["spec"] == direct["spec"]
    # a script by a relative path is found by `paddock run` where it is called; a module is not
    found = list(written["metadata"]["annotations"]) == ["paddock.dev/success"]
    assert found == (command[1:] != ["-m", "near.there"])
    assert written["metadata"] | direct["metadata"] == direct["metadata"]
    (checked,) = fetch_checked([str(work / "job.yaml")], "default")
    assert checked.is_job


def test_init_writes_no_secret_and_says_how_it_is_made(
    work: Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TOKEN", "hidden")
    (work / "requirements.txt").write_text("numpy\n")
    assert call("init", "--secret", "TOKEN", "-r", "requirements.txt", "--", "python", "train.py") == 0
    assert "`paddock run --secret TOKEN job.yaml` trains it" in capfd.readouterr().err
    text = (work / "job.yaml").read_text()
    assert "hidden" not in text and "secretKeyRef" in text and "paddock.dev/requirements: requirements.txt" in text
    assert str(work) not in text, "nothing of this machine"
    assert call("run", "--print", "job.yaml") == 0
    assert "paddock.dev/environment: my-work-" in capfd.readouterr().out
    os.unlink(work / "requirements.txt")
    assert call("run", "--print", "job.yaml") == 2
    assert "annotation paddock.dev/requirements: requirements.txt is not there" in capfd.readouterr().err
    assert call("init", "--force", "--", "python", "train.py") == 0
    assert "requirements" not in (work / "job.yaml").read_text()


KUBECONFIG = """apiVersion: v1
kind: Config
clusters: [{name: c, cluster: {server: "https://127.0.0.1:1"}}]
users: [{name: u, user: {}}]
contexts: [{name: prod, context: {cluster: c, user: u, namespace: team}}]
current-context: prod
"""


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ([], "a cluster pulls images: name one with --image"),
        (["-r", "requirements.txt"], "a cluster pulls images: name one with --image"),
    ],
)
def test_a_cluster_needs_an_image(
    options: list[str], said: str, work: Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    (work / "requirements.txt").write_text("numpy\n")
    (work / "config").write_text(KUBECONFIG)
    monkeypatch.setenv("KUBECONFIG", str(work / "config"))
    assert call("run", "--context", "prod", *options, "--", "python", "train.py") == 2
    assert said in capfd.readouterr().err
    assert call("run", "--context", "prod", "--image", "me/x:1", "--print", "--", "python", "train.py") == 0
    job = yaml.safe_load(capfd.readouterr().out)
    annotations = {"paddock.dev/success": "AllRanks"}  # and no directory of this machine
    assert job["metadata"] == {"name": "train", "namespace": "team", "annotations": annotations}
    words = ("--image", "me/x:1", "-r", "requirements.txt", "--storage", "20Gi", "--print")
    assert call("run", "--context", "prod", *words, "--", "python", "train.py") == 0
    printed = capfd.readouterr()
    assert yaml.safe_load(printed.out)["metadata"]["annotations"] == annotations, "no environment of this machine"
    assert "the packages of requirements.txt go into a claim when the job is sent" in printed.err


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--storage", "much", "-r", "requirements.txt"], "--storage: 'much' is no size: write 20Gi"),
        (["--storage", "-1Gi", "-r", "requirements.txt"], "--storage: '-1Gi' is no size"),
        (["--storage", "20Gi", "-r", "requirements.txt"], "--storage and --storage-class are for the claims of a clus"),
        (["--storage-class", "fast"], "--storage and --storage-class are for the claims of a cluster"),
        (["--context", "prod", "--image", "i", "--storage", "20Gi"], "the claim for the packages of -r, and there is"),
    ],
)
def test_storage_is_asked_of_a_cluster_for_packages(
    words: list[str], said: str, work: Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    (work / "requirements.txt").write_text("numpy\n")
    (work / "config").write_text(KUBECONFIG)
    monkeypatch.setenv("KUBECONFIG", str(work / "config"))
    assert call("run", *words, "--", "python", "train.py") == 2
    assert said in capfd.readouterr().err


@pytest.mark.parametrize(
    ("options", "command", "files", "kind"),
    [
        ([], ["python", "train.py"], {"train.py": "import torch"}, "PyTorchJob"),
        ([], ["python", "train.py"], {"train.py": "import paddle"}, "PaddleJob"),
        (["--framework", "pytorch"], ["python", "train.py"], {"train.py": "print(1)"}, "PyTorchJob"),
        (["--framework", "paddle"], ["python", "train.py"], {"train.py": "import torch"}, "PaddleJob"),
        ([], ["torchrun", "train.py"], {"train.py": "print(1)"}, "PyTorchJob"),
        ([], ["python", "-m", "torch.distributed.run", "train.py"], {"train.py": "print(1)"}, "PyTorchJob"),
        ([], ["python", "-c", "import torch"], {}, "PyTorchJob"),
        # the framework stands in a module beside the script
        ([], ["python", "train.py"], {"train.py": "from model import Net", "model.py": "import torch"}, "PyTorchJob"),
        ([], ["python", "-m", "pkg.train"], {"pkg/train.py": "import torch"}, "PyTorchJob"),
        ([], ["python", "-m", "pkg"], {"pkg/__main__.py": "import torch"}, "PyTorchJob"),
        (
            [],
            ["python", "-m", "pkg.train"],
            {"src/pkg/train.py": "import torch"},
            "PyTorchJob",
        ),
        ([], ["python", "pkg"], {"pkg/__main__.py": "import net", "pkg/net.py": "import torch"}, "PyTorchJob"),
        # and what a shell script starts
        ([], ["bash", "run.sh"], {"run.sh": "set -e\ntorchrun --nproc_per_node 2 a.py\n"}, "PyTorchJob"),
        ([], ["bash", "run.sh"], {"run.sh": "python net.py --x", "net.py": "import torch"}, "PyTorchJob"),
        ([], ["bash", "run.sh"], {"run.sh": "python -m paddle.distributed.launch train.py"}, "PaddleJob"),
        ([], ["bash", "run.sh"], {"run.sh": "cd src\npython net.py", "src/net.py": "import torch"}, "PyTorchJob"),
        ([], ["bash", "-c", "python - <<E\nimport torch\nE"], {}, "PyTorchJob"),
        # relative imports, a module of a package, and a package without __init__.py
        (
            [],
            ["python", "-m", "pkg.train"],
            {"pkg/train.py": "from .net import Net", "pkg/net.py": "import torch"},
            "PyTorchJob",
        ),
        ([], ["python", "train.py"], {"train.py": "from pkg import net", "pkg/net.py": "import torch"}, "PyTorchJob"),
        # libraries that are built on one
        ([], ["python", "train.py"], {"train.py": "from transformers import Trainer"}, "PyTorchJob"),
        ([], ["python", "train.py"], {"train.py": "import paddle, transformers"}, "PaddleJob"),
        ([], ["python", "train.py"], {"train.py": "import jax, transformers"}, "JAXJob"),
        ([], ["python", "train.py"], {"train.py": "from flax import linen"}, "JAXJob"),
        ([], ["yolo", "train"], {}, "PyTorchJob"),
        # a launcher that a program starts
        ([], ["numactl", "-N", "0", "accelerate", "launch", "train.py"], {"train.py": ""}, "PyTorchJob"),
        # where the program does not tell, the packages that are named do
        (["-r", "r.txt"], ["make", "train"], {"r.txt": "numpy\ntorch>=2"}, "PyTorchJob"),
        (["-r", "r.txt"], ["make", "train"], {"r.txt": "-r more.txt", "more.txt": "paddlepaddle==3.3.1"}, "PaddleJob"),
        ([], ["make", "train"], {"pyproject.toml": "[project]\ndependencies = ['lightning']"}, "PyTorchJob"),
        (
            [],
            ["make", "train"],
            {"pyproject.toml": "[tool.poetry.dependencies]\npython = '3'\ntorch = '*'"},
            "PyTorchJob",
        ),
        ([], ["make", "train"], {"requirements.txt": "torch"}, "PyTorchJob"),
        (["-r", "r.txt"], ["make", "train"], {"r.txt": "paddlepaddle", "requirements.txt": "torch"}, "PaddleJob"),
        # and of two frameworks, the one of the packages
        (["-r", "r.txt"], ["python", "train.py"], {"r.txt": "torch", "train.py": "import paddle, torch"}, "PyTorchJob"),
    ],
)
def test_the_kind_of_job_follows_from_what_the_program_imports(
    options: list[str], command: list[str], files: dict[str, str], kind: str, work: Path,
    capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    for name, text in files.items():
        (work / name).parent.mkdir(parents=True, exist_ok=True)
        (work / name).write_text(text)
    for program in ("make", "yolo", "numactl"):
        (work / "bin").mkdir(exist_ok=True)
        (work / "bin" / program).touch(mode=0o755)
    monkeypatch.setenv("PATH", f"{work}/bin:{os.environ['PATH']}")
    assert call("run", "--print", *options, "--", *command) == 0
    printed = capfd.readouterr()
    assert yaml.safe_load(printed.out)["kind"] == kind
    assert printed.err == "" or "requirements.txt" in files or "the packages of pyproject.toml are not" in printed.err


HERE = "requirements.txt is here: its packages are installed for the job (`-r none` leaves them out)"


@pytest.mark.parametrize(
    ("options", "command", "files", "said"),
    [
        ([], ["python", "train.py"], {"train.py": "import torch", "requirements.txt": "tqdm"}, HERE),
        ([], ["python", "train.py"], {"train.py": "import sklearn", "requirements.txt": "scikit-learn"}, HERE),
        ([], ["make", "train"], {"requirements.txt": "torch"}, HERE),
        # that beside the program is nearer than that of the directory
        ([], ["python", "a/train.py"], {"a/train.py": "import torch", "a/requirements.txt": "tqdm",
                                        "requirements.txt": "six"}, "a/" + HERE),
        ([], ["python", "a/train.py"], {"a/train.py": "import torch", "requirements.txt": "six"}, HERE),
        # a file that nothing is said to need, or that says nothing
        ([], ["python", "train.py"], {"train.py": "import csv", "requirements.txt": "sphinx"}, ""),
        ([], ["python", "train.py"], {"train.py": "import torch", "requirements.txt": "# none yet"}, ""),
        ([], ["python", "train.py"], {"train.py": "import torch", "requirements.txt/x": ""}, ""),
        # that of another directory, of a command without a file
        (["--framework", "pytorch"], ["make", "train"], {"../requirements.txt": "torch"}, ""),
        ([], ["python", "-m", "mine.train"], {"mine/train.py": "import torch", "../requirements.txt": "tqdm"}, ""),
        ([], ["python", "-c", "import torch"], {"../requirements.txt": "tqdm"}, ""),
        # one that uv does not take
        ([], ["python", "train.py"], {"train.py": "import torch", "requirements.txt": "six\ntqdm==${VERSION}"},
         "warning: the packages of requirements.txt are not installed for it: requirements.txt:2: found "
         "'tqdm==${VERSION}'; uv, which installs, takes no variable there: write its value"),
        ([], ["python", "train.py"], {"train.py": "import csv", "requirements.txt": "tqdm==${VERSION}"}, ""),
        (["-r", "none"], ["python", "train.py"], {"train.py": "import torch", "requirements.txt": "tqdm"}, ""),
        (["--image", "python:3"], ["python", "train.py"], {"train.py": "import torch", "requirements.txt": "tqdm"}, ""),
        # what may be another program's is named
        ([], ["python", "train.py"], {"train.py": "import torch",
                                      "pyproject.toml": "[project]\ndependencies = ['torch', 'tqdm']"},
         "the packages of pyproject.toml are not installed for it: `-r pyproject.toml` installs them"),
        ([], ["python", "train.py"], {"train.py": "import torch", "pyproject.toml": "[tool.ruff]"}, ""),
        ([], ["python", "train.py"], {"train.py": "import torch", "environment.yml": "dependencies: [tqdm]"},
         "the packages of environment.yml are not installed for it: a file of conda, whose packages have other names "
         "at pip's index: write them into a requirements.txt, `printf '%s\\n' tqdm > requirements.txt`, and name that "
         "with -r"),
    ],
)  # fmt: skip
def test_requirements_that_lie_beside_the_program_are_taken_and_others_are_named(
    options: list[str], command: list[str], files: dict[str, str], said: str, work: Path,
    capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    for name, text in {**files, "bin/make": ""}.items():
        (work / name).parent.mkdir(exist_ok=True)
        (work / name).write_text(text)
    (work / "bin/make").chmod(0o755)
    monkeypatch.setenv("PATH", f"{work}/bin:{os.environ['PATH']}")
    assert call("run", "--print", *options, "--", *command) == 0
    printed = capfd.readouterr()
    assert printed.err == (f"{said}\n" if said else "")
    taken = "paddock.dev/environment" in yaml.safe_load(printed.out)["metadata"]["annotations"]
    assert taken == ("is here" in said)
    assert call("init", *options, "-o", "-", "--", *command) == 0
    assert ("paddock.dev/requirements: " in capfd.readouterr().out) == taken


PLAIN: list[tuple[list[str], dict[str, str]]] = [
    (["python", "train.py"], {"train.py": "from sklearn.svm import SVC\nimport numpy, os, pandas as pd"}),
    (["python", "train.py"], {"train.py": "import xgboost\nfrom data import load", "data.py": "import json"}),
    (["python", "train.py"], {"train.py": "import tensorflow as tf\nfrom transformers import TFBertModel"}),
    (["python", "train.py"], {"train.py": "import keras"}),
    (["python", "-c", "print(1)"], {}),
    (
        ["bash", "run.sh"],
        {"run.sh": "set -eo pipefail\nmkdir -p out\npython prepare.py | tee log", "prepare.py": "import csv"},
    ),
    (["sleep", "1"], {}),
]


@pytest.mark.parametrize(("command", "files"), PLAIN)
def test_to_a_program_that_names_no_framework_none_is_added(
    command: list[str], files: dict[str, str], work: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    for name, text in files.items():
        (work / name).write_text(text)
    assert call("run", "--print", "--", *command) == 0
    printed = capfd.readouterr()
    job = yaml.safe_load(printed.out)
    (container,) = job["spec"]["worker"]["template"]["spec"]["containers"]
    assert (job["kind"], container["image"], container["command"]) == ("PaddleJob", "python:3", command)
    assert job["metadata"]["annotations"]["paddock.dev/framework"] == "none" and printed.err == ""


def test_a_package_of_the_requirements_file_is_what_it_says_and_no_framework_comes_with_it(
    work: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    (work / "own.py").write_text("import my_trees\n")
    (work / "r.txt").write_text("My-Trees==1.0\n")
    for verb in (["run", "--print"], ["init", "-o", "own.yaml"]):
        assert call(*verb, "-r", "r.txt", "--", "python", "own.py") == 0
    direct = yaml.safe_load(capfd.readouterr().out)
    assert direct["metadata"]["annotations"]["paddock.dev/framework"] == "none"
    named = direct["metadata"]["annotations"]["paddock.dev/environment"]
    assert call("run", "--print", "own.yaml") == 0
    written = yaml.safe_load(capfd.readouterr().out)
    assert written["metadata"]["annotations"]["paddock.dev/environment"] == named
    assert named.endswith("-plain"), "another environment than that of the same file with a framework"
    assert find_needed_source(work / "own.yaml") == (False, False)


def find_needed_source(file: Path) -> tuple[bool, bool]:
    (checked,) = fetch_checked([str(file)], "default")
    needed = find_needed(checked)
    assert needed is not None
    return needed.source.paddle, needed.source.torch


@pytest.mark.parametrize(
    ("command", "unread"),
    [
        (["python", "-m", "nowhere"], "nowhere"),
        (["python", "-m", f"{'x' * 300}.."], "x" * 300),
        (["make", "train"], "make"),
        (["bash", "run.sh"], "./tool"),
        (["python", "own.py"], "my_trees"),
    ],
)
def test_where_nothing_tells_the_framework_that_is_said_with_what_to_do(
    command: list[str], unread: str, work: Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    (work / "make").touch(mode=0o755)
    (work / "run.sh").write_text("./tool --train\n")
    (work / "own.py").write_text("import my_trees\n")
    monkeypatch.setenv("PATH", f"{work}:{os.environ['PATH']}")
    assert call("run", "--print", "--", *command) == 0
    printed = capfd.readouterr()
    assert yaml.safe_load(printed.out)["kind"] == "PaddleJob"
    assert (
        f"({unread}" in printed.err and "PaddlePaddle is taken; --framework pytorch, or --framework none" in printed.err
    )
    for framework, kind in (("pytorch", "PyTorchJob"), ("none", "PaddleJob")):
        assert call("run", "--print", "--framework", framework, "--", *command) == 0
        printed = capfd.readouterr()
        assert yaml.safe_load(printed.out)["kind"] == kind and printed.err == ""


@pytest.mark.parametrize(("framework", "cure"), [("torch", "init_process_group()"), ("paddle", "init_parallel_env()")])
def test_several_workers_that_never_join_a_group_are_told_to(
    framework: str, cure: str, work: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    """Only where all of the program is read, and no library joins by itself."""
    (work / "train.py").write_text(f"import {framework}, model, numpy\n")
    said = "nothing in train.py joins a process group, so each of the 2 workers trains all of it alone: "
    for text, is_told in (
        ("import torch.nn", True),
        ("", True),
        ("import lightning", False),
        ("import unheard_of", False),
        (f"import {framework}.distributed", False),
        ("from paddle import Model", False),
        ("x = (", False),
    ):
        (work / "model.py").write_text(text)
        assert call("run", "--print", "--workers", "2", "--", "python", "train.py") == 0
        printed = capfd.readouterr()
        assert (said in printed.err and cure in printed.err) == is_told, (text, printed.err)
    (work / "model.py").write_text("")
    assert call("run", "--print", "--", "python", "train.py") == 0
    assert "process group" not in capfd.readouterr().err, "one worker is to be alone"


def test_several_workers_without_a_framework_are_told_their_number_and_that_they_are_no_group(
    work: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    (work / "trees.py").write_text("import sklearn\n")
    (work / "arrays.py").write_text("import jax\n")
    assert call("run", "--print", "--workers", "3", "--", "python", "trees.py") == 0
    printed = capfd.readouterr()
    assert "paddle.distributed.launch" not in printed.out
    assert "no framework makes one group of the 3 workers" in printed.err and "PADDLE_TRAINER_ID" in printed.err
    assert call("run", "--print", "--workers", "3", "--", "python", "arrays.py") == 0
    printed = capfd.readouterr()
    assert yaml.safe_load(printed.out)["spec"]["jaxReplicaSpecs"]["Worker"]["replicas"] == 3
    assert "NUM_PROCESSES and PROCESS_ID to jax.distributed.initialize" in printed.err


ALONE = {
    "none.py": ("import torch\n", False),
    "asks.py": ("import torch, os\nif int(os.environ.get('RANK', -1)) != -1:\n    init_process_group()\n", False),
    "beside.py": ("import torch\nfrom setup import join\njoin()\n", True),
    "joins.py": ("import torch\ntorch.distributed.init_process_group('gloo')\n", True),
    "unknown.py": ("import torch, my_trainer\n", True),
}
"""A program of one worker -> its text, and whether it needs RANK."""


@pytest.mark.parametrize("script", ALONE)
def test_one_worker_has_no_rank_unless_its_program_needs_one(
    script: str, work: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    text, needs = ALONE[script]
    (work / script).write_text(text)
    (work / "setup.py").write_text("def join():\n    dist.init_process_group('gloo')\n")
    for options in ([], ["--workers", "2"]):
        assert call("run", "--print", *options, "--", "python", script) == 0
        job = yaml.safe_load(capfd.readouterr().out)
        bare = job["metadata"]["annotations"].get("paddock.dev/rank-variables") == "false"
        assert bare == (not needs and not options), "the manifest says it, and of several workers nothing"
    assert call("run", "--print", "--", "torchrun", script) == 0
    assert "rank-variables" not in capfd.readouterr().out, "torchrun reads what the operator sets"


@pytest.mark.parametrize(
    "command",
    [
        ["deepspeed", "--num_gpus", "2", "torches.py", "--lr", "0.1"],
        ["mpirun", "-np", "2", "python", "torches.py", "a b"],
    ],
)
def test_the_command_in_place_of_a_launcher_that_cannot_be_told_works(
    command: list[str], work: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    (work / "torches.py").write_text("import torch\n")
    assert call("run", "--print", "--workers", "2", "--", *command) == 2
    printed = capfd.readouterr().err
    instead = shlex.split(printed.partition("`")[2].partition("`")[0])
    assert instead[-1] == command[-1]
    assert call(instead[1], "--print", *instead[2:]) == 0
    assert yaml.safe_load(capfd.readouterr().out)["kind"] == "PyTorchJob"


def test_the_command_that_trains_with_a_lock_works(
    work: Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    (work / "uv.lock").touch()
    (work / "bin").mkdir()
    (work / "bin/uv").touch(mode=0o755)
    monkeypatch.setenv("PATH", f"{work}/bin:{os.environ['PATH']}")
    assert call("run", "--print", "--", "python", "train.py", "a b") == 0
    instead = shlex.split(capfd.readouterr().err.partition("`")[2].partition("`")[0])
    assert call(instead[1], "--print", *instead[2:]) == 0
    printed = capfd.readouterr()
    (container,) = yaml.safe_load(printed.out)["spec"]["worker"]["template"]["spec"]["containers"]
    assert (container["image"], container["command"]) == ("python:3", ["uv", "run", "python", "train.py", "a b"])
    assert printed.err == ""
    assert call("run", "--print", "-r", "uv.lock", "--", "uv", "run", "train.py") == 0
    assert "uv trains in an environment of its own" in capfd.readouterr().err


def test_a_program_of_both_says_what_it_becomes(work: Path, capfd: pytest.CaptureFixture[str]) -> None:
    (work / "both.py").write_text("import torch\nimport paddle\n")
    assert call("run", "--print", "--", "python", "both.py") == 0
    printed = capfd.readouterr()
    assert yaml.safe_load(printed.out)["kind"] == "PaddleJob"
    said = "both.py imports PaddlePaddle and PyTorch: it becomes a PaddleJob; --framework pytorch makes a PyTorchJob"
    assert said in printed.err
    assert call("run", "--print", "--framework", "paddle", "--", "python", "both.py") == 0
    assert capfd.readouterr().err == ""


@pytest.mark.parametrize(
    ("words", "asked"),
    [
        (("--resume",), "true"),
        (("--resume=3",), "3"),
        (("--resume", "--resume=12"), "12"),
        ((), None),
    ],
)
def test_a_job_asks_for_the_checkpoints_of_the_last_run_or_of_one_by_its_number(
    work: Path, capsys: pytest.CaptureFixture[str], words: tuple[str, ...], asked: str | None
) -> None:
    assert call("init", "-o", "-", *words, "--", "python", "train.py", "--resume=5") == 0
    job = yaml.safe_load(capsys.readouterr().out)
    assert job["metadata"]["annotations"].get("paddock.dev/resume") == asked
    container = job["spec"]["worker"]["template"]["spec"]["containers"][0]
    assert [*container.get("command", ()), *container.get("args", ())][-1] == "--resume=5", "that of the program"


def test_what_is_to_be_remembered_of_a_run_stands_where_the_console_writes_it(
    work: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    def read_written(*words: str) -> list[str | None]:
        assert call(*words) == 0
        annotations = yaml.safe_load(capsys.readouterr().out)["metadata"]["annotations"]
        return [annotations.get(f"paddock.dev/{name}") for name in ("tags", "note")]

    options = ("--tag", "sweep", "--tag", "a,sweep", "--note", " once more ")
    assert read_written("run", "--print", *options, "--", "python", "train.py") == ["sweep, a", "once more"]
    assert call("init", "-o", "job.yaml", *options, "--", "python", "train.py") == 0
    assert read_written("run", "--print", "job.yaml") == ["sweep, a", "once more"]
    assert read_written("run", "--print", "job.yaml", "--tag", "b") == ["sweep, a, b", "once more"]
    assert read_written("run", "--print", "job.yaml", "--note", "new") == ["sweep, a", "new"]
    assert call("run", "--print", "--tag", "x" * 41, "--", "python", "train.py") == 2


def test_a_name_that_no_claim_can_have_is_told_by_its_option(work: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert call("init", "-o", "-", "--outputs", "My_Claim", "--", "python", "train.py") == 2
    assert capsys.readouterr().err.startswith("--outputs: metadata.annotations[paddock.dev/outputs]: found")
