"""`paddock init --from`: the manifest of a script, and of files of other tools; and of files that start nothing."""

from __future__ import annotations

import shlex
import subprocess
from pathlib import Path

import pytest
import yaml
from click.testing import CliRunner, Result

from paddock.cli.cluster.errors import UserError
from paddock.cli.main import cli

DOCUMENT = Path(__file__).parents[1] / "preflight/run.sh"


def init(*words: str) -> Result:
    return CliRunner().invoke(cli, ["init", *words], prog_name="paddock")


def test_the_documents_script_becomes_a_job_of_today(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "train_with_fleet.py").write_text("import paddle\n")
    done = init("--from", str(DOCUMENT), "-o", "job.yaml")
    assert done.exit_code == 0, done.output
    worker = yaml.safe_load((tmp_path / "job.yaml").read_text())["spec"]["worker"]
    container = worker["template"]["spec"]["containers"][0]
    assert worker["replicas"] == 2
    assert container["command"] == ["python", "-m", "paddle.distributed.launch", "train_with_fleet.py"]
    assert container["resources"]["limits"] == {"nvidia.com/gpu": 4}
    assert "is another training, which is not in this job: write its own" in done.stderr


def test_options_that_are_typed_count_more(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "t.py").write_text("import paddle\n")
    (tmp_path / "run.sh").write_text("fleetrun --nnodes 4 --devices 0,1 t.py\n")
    done = init("--from", "run.sh", "--workers", "3", "-o", "-")
    worker = yaml.safe_load(done.stdout)["spec"]["worker"]
    assert worker["replicas"] == 3


@pytest.mark.parametrize(
    ("text", "words", "sentence"),
    [
        ("ls\n", (), "no command in it starts"),
        ("echo 'a\n", (), "a quote or a bracket may not be closed"),
        ("fleetrun t.py\n", ("--", "python", "t.py"), "leave one of them out"),
    ],
)
def test_what_no_job_can_be_made_of_is_a_sentence(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, text: str, words: tuple[str, ...], sentence: str
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "run.sh").write_text(text)
    done = init("--from", "run.sh", *words)
    assert isinstance(done.exception, UserError)
    assert sentence in str(done.exception)
    assert [path.name for path in tmp_path.iterdir()] == ["run.sh"]


@pytest.mark.parametrize(
    ("file", "data", "sentence"),
    [
        ("run.fish", b"echo it's\n", "run.fish: this is a script of fish"),
        ("run.ps1", "# don't\r\npython t.py `\r\n  --lr 1\r\n".encode("utf-16"), "a script of PowerShell"),
        ("run.sh", b"#!/usr/bin/env fish\nfleetrun t.py\n", "a script of fish"),
        ("run.sh", "fleetrun t.py\n".encode("utf-16-le"), "run.sh: a zero byte stands in it"),
    ],
)
def test_what_is_no_text_for_bash_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, file: str, data: bytes, sentence: str
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / file).write_bytes(data)
    done = init("--from", file)
    assert isinstance(done.exception, UserError)
    assert sentence in str(done.exception) and "quote" not in str(done.exception)


@pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16"])
def test_a_script_that_an_editor_of_windows_has_written_becomes_a_job(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, encoding: str
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "t.py").write_text("import paddle\n")
    (tmp_path / "run.sh").write_bytes("#!/bin/bash\r\nfleetrun --nnodes 2 \\\r\n t.py\r\n".encode(encoding))
    worker = yaml.safe_load(init("--from", "run.sh", "-o", "-").stdout)["spec"]["worker"]
    assert worker["replicas"] == 2
    assert worker["template"]["spec"]["containers"][0]["command"][-1] == "t.py"


SKY = """\
name: Fine_Tune
num_nodes: 2
resources: {accelerators: A100:8}
secrets: {HF_TOKEN: null, OTHER: null}
setup: pip install -r req.txt tqdm
run: torchrun --nnodes=$SKYPILOT_NUM_NODES --node_rank=$SKYPILOT_NODE_RANK t.py --lr ${LR:-0.1}
"""
BATCH = """\
#!/bin/bash
#SBATCH -N 2 --ntasks-per-node=4 --gres=gpu:4 --time=1:00:00
srun python t.py > out.log 2>&1
"""


@pytest.fixture(name="here")
def own_directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_a_task_of_skypilot_is_written_with_what_this_machine_has(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HF_TOKEN", "abc")
    monkeypatch.delenv("OTHER", raising=False)
    (here / "t.py").write_text("import torch\n")
    (here / "req.txt").write_text("torch\n")
    (here / "sky.yaml").write_text(SKY)
    done = init("--from", "sky.yaml")
    assert done.exit_code == 0, done.output
    job = yaml.safe_load((here / "job.yaml").read_text())
    master = job["spec"]["pytorchReplicaSpecs"]["Master"]["template"]["spec"]["containers"][0]
    assert (job["kind"], job["metadata"]["name"]) == ("PyTorchJob", "fine-tune")
    assert job["metadata"]["annotations"]["paddock.dev/requirements"] == "req.txt"
    assert job["spec"]["pytorchReplicaSpecs"]["Worker"]["replicas"] == 1
    assert master["command"] == ["torchrun", "t.py", "--lr", "0.1"]
    assert master["resources"]["limits"] == {"nvidia.com/gpu": 8}
    assert master["env"][0]["valueFrom"]["secretKeyRef"]["key"] == "HF_TOKEN"
    assert "abc" not in (here / "job.yaml").read_text()
    options = "--name fine-tune --workers 2 --gpus 8 -r req.txt --secret HF_TOKEN"
    assert f"sky.yaml:6: paddock run {options} -- torchrun t.py --lr 0.1" in done.stderr
    assert "sky.yaml:6: ${LR:-0.1} is filled in by a shell: its default is taken, 0.1" in done.stderr
    assert "sky.yaml: OTHER has no value here" in done.stderr
    assert "sky.yaml: pip install tqdm is left out: req.txt is to name them" in done.stderr


@pytest.mark.parametrize(
    ("module", "command"),
    [
        ("torch", ["torchrun", "--nproc_per_node=4", "t.py"]),
        ("paddle", ["python", "-m", "paddle.distributed.launch", "--nproc_per_node=4", "t.py"]),
    ],
)
def test_tasks_of_srun_are_ranks_of_the_programs_own_launcher(here: Path, module: str, command: list[str]) -> None:
    (here / "t.py").write_text(f"import {module}\n")
    (here / "t.sbatch").write_text(BATCH)
    done = init("--from", "t.sbatch", "-o", "-")
    assert done.exit_code == 0, done.output
    assert str(command) in str(yaml.safe_load(done.stdout)["spec"])
    assert "t.sbatch:2: --time=1:00:00 is left out" in done.stderr
    assert "t.sbatch:3: > out.log 2>&1 is left out" in done.stderr
    assert "'>'" not in done.stdout


def test_gpus_of_paddlepaddle_have_an_image_for_gpus(here: Path) -> None:
    (here / "t.py").write_text("import paddle\n")
    (here / "run.sh").write_text("export CUDA_VISIBLE_DEVICES=0,1\nfleetrun t.py\n")
    done = init("--from", "run.sh", "-o", "-")
    container = yaml.safe_load(done.stdout)["spec"]["worker"]["template"]["spec"]["containers"][0]
    assert "-gpu-cuda" in container["image"]
    assert container["resources"]["limits"] == {"nvidia.com/gpu": 2}


def test_a_program_that_is_not_here_is_said_and_the_file_is_written(here: Path) -> None:
    (here / "run.sh").write_text("docker run reg/pytorch:1 python /opt/t.py\n")
    done = init("--from", "run.sh")
    assert done.exit_code == 0, done.output
    assert "warning: there is no file /opt/t.py on this machine" in done.stderr
    assert yaml.safe_load((here / "job.yaml").read_text())["kind"] == "PyTorchJob"


def test_a_directory_that_a_script_changes_to_is_where_the_program_starts(here: Path) -> None:
    (here / "work").mkdir()
    (here / "work/t.py").write_text("import torch\n")
    (here / "work/run.sh").write_text('cd "$(dirname "$0")"\npython t.py\n')
    done = init("--from", "work/run.sh")
    assert done.exit_code == 0, done.output
    job = yaml.safe_load((here / "job.yaml").read_text())
    assert job["metadata"]["annotations"]["paddock.dev/working-directory"] == str(here / "work")


def test_a_directory_of_another_machine_is_said(here: Path) -> None:
    (here / "t.py").write_text("import torch\n")
    (here / "run.sh").write_text("cd /not/here\npython t.py\n")
    done = init("--from", "run.sh")
    assert done.exit_code == 0, done.output
    assert "run.sh: /not/here is no directory of this machine: --workdir names another one" in done.stderr


def test_a_script_that_another_one_starts_is_read(here: Path) -> None:
    (here / "t.py").write_text("import torch\n")
    (here / "inner.sh").write_text("torchrun --nnodes 3 t.py\n")
    (here / "run.sh").write_text("bash inner.sh\n")
    assert "paddock run --workers 3 -- torchrun t.py" in init("--from", "run.sh").stderr


def test_standard_input_is_read(here: Path) -> None:
    (here / "t.py").write_text("import torch\n")
    done = CliRunner().invoke(cli, ["init", "--from", "-", "-o", "-"], prog_name="paddock", input="torchrun t.py\n")
    assert done.exit_code == 0, done.output
    assert yaml.safe_load(done.stdout)["kind"] == "PyTorchJob"


def test_what_a_file_of_packages_would_need_is_a_command(here: Path) -> None:
    (here / "t.py").write_text("import torch\n")
    (here / "run.sh").write_text("pip install 'tqdm>4' einops\npython t.py\n")
    done = init("--from", "run.sh")
    told = next(line for line in done.stderr.splitlines() if "pip install" in line)
    subprocess.run(["sh", "-c", told.split("`")[1]], check=True)
    assert (here / "requirements.txt").read_text() == "tqdm>4\neinops\n"
    assert init("--from", "run.sh", "-r", "requirements.txt", "--force").exit_code == 0


ARENA = "arena submit pytorchjob --name=a --workers 2 --image=reg/x 'python t.py'\n"
DSTACK = "type: task\nnodes: 2\ncommands: [python t.py]\n"


@pytest.mark.parametrize("verb", ["validate", "run", "submit"])
@pytest.mark.parametrize(
    ("file", "text"),
    [
        ("my sky.yaml", SKY),
        ("t.sbatch", BATCH),
        ("job.arena", ARENA),
        ("a.dstack.yml", DSTACK),
        ("t.pbs", "#PBS -l nodes=2\nmpirun python t.py\n"),
        ("t.lsf", "#!/bin/sh\n#BSUB -nnodes 2\nmpirun python t.py\n"),
    ],
)
def test_the_command_that_is_printed_for_a_file_of_another_tool_makes_a_job_of_it(
    here: Path, verb: str, file: str, text: str
) -> None:
    (here / "t.py").write_text("import torch\n")
    (here / file).write_text(text)
    first = CliRunner().invoke(cli, [verb, file], prog_name="paddock")
    told = (first.output + str(first.exception or "")).split("`")[1]
    done = CliRunner().invoke(cli, shlex.split(told)[1:], prog_name="paddock")
    assert done.exit_code == 0, done.output
    job = yaml.safe_load((here / "job.yaml").read_text())
    assert job["spec"]["pytorchReplicaSpecs"]["Worker"]["replicas"] == 1
    next_one = done.stderr.split("`")[-2]
    assert CliRunner().invoke(cli, [*shlex.split(next_one)[1:], "--print"], prog_name="paddock").exit_code == 0


def test_the_typed_form_of_a_file_is_the_same_job(here: Path) -> None:
    (here / "t.py").write_text("import torch\n")
    (here / "run.sh").write_text("export A='b c'\ntorchrun --nnodes 2 --nproc_per_node 2 t.py --x 'y z' > log\n")
    done = init("--from", "run.sh", "-o", "from.yaml")
    words = shlex.split(done.stderr.splitlines()[0].partition(": ")[2])
    assert init("-o", "typed.yaml", *words[2:]).exit_code == 0
    assert (here / "from.yaml").read_text() == (here / "typed.yaml").read_text()


@pytest.mark.parametrize(
    ("command", "next_one"),
    [
        ("sbatch -N 2 t.sbatch", "paddock init --from t.sbatch"),
        ("qsub -q gpu t.pbs", "paddock init --from t.pbs"),
        ("sky launch -c x sky.yaml", "paddock init --from sky.yaml"),
        ("dstack apply -f a.dstack.yml", "paddock init --from a.dstack.yml"),
        ("arena submit pytorchjob --name=a --workers 2 --image=reg/x 'python t.py'",
         "paddock run --name a --workers 2 --image reg/x --framework pytorch -- python t.py"),
    ],
)  # fmt: skip
def test_a_typed_command_of_another_tool_is_answered_with_that_of_paddock(
    here: Path, monkeypatch: pytest.MonkeyPatch, command: str, next_one: str
) -> None:
    monkeypatch.setenv("PATH", "/nothing")
    (here / "t.py").write_text("import torch\n")
    for file, text in {
        "t.sbatch": BATCH,
        "t.pbs": "#PBS -N a\npython t.py\n",
        "sky.yaml": SKY,
        "a.dstack.yml": DSTACK,
    }.items():
        (here / file).write_text(text)
    done = CliRunner().invoke(cli, ["run", "--print", "--", *shlex.split(command)], prog_name="paddock")
    assert isinstance(done.exception, UserError)
    assert f"`{next_one}`" in str(done.exception)
    words = shlex.split(next_one)[1:]
    typed = ["run", "--print", *words[1:]] if words[0] == "run" else words
    assert CliRunner().invoke(cli, typed, prog_name="paddock").exit_code == 0


def test_accelerate_of_several_machines_stays_and_is_told_of_them_in_the_job(here: Path) -> None:
    (here / "t.py").write_text("import accelerate\n")
    (here / "run.sh").write_text("accelerate launch --mixed_precision bf16 --num_machines 2 --machine_rank $R t.py\n")
    done = init("--from", "run.sh", "--gpus", "8", "-o", "-")
    specs = yaml.safe_load(done.stdout)["spec"]["pytorchReplicaSpecs"]
    command = " ".join(specs["Worker"]["template"]["spec"]["containers"][0]["command"])
    assert command.startswith("accelerate launch --num_machines 2 --machine_rank $(RANK) --main_process_ip $(MASTER_")
    assert command.endswith("--num_processes 16 --mixed_precision bf16 t.py")


@pytest.mark.parametrize(
    ("file", "text", "sentence"),
    [
        ("t.py", "import paddle\n", "t.py: this is a Python program: `paddock init -- python3 t.py` writes its job"),
        ("a.ipynb", '{"nbformat": 4}', "this is a notebook: `jupyter nbconvert --to script a.ipynb`"),
        ("Dockerfile", "FROM python\nRUN ls\n", "`paddock init --image IMAGE -- python train.py` writes a job"),
        ("Makefile", "all:\n\tpython t.py\n", "this is a Makefile: `paddock run -- make all` runs a target"),
        ("c.yml", "services:\n  a:\n    command: python t.py\n", "this is a file of docker-compose"),
        ("m.yaml", "apiVersion: kubeflow.org/v2beta1\nkind: MPIJob\n", "m.yaml: MPIJob is not served"),
        ("m.yaml", "apiVersion: ray.io/v1\nkind: RayJob\n", "`paddock init -- python train.py` writes the job of"),
        ("m.yaml", "apiVersion: jobset.x-k8s.io/v1alpha2\nkind: JobSet\n", "JobSet of jobset.x-k8s.io is not served"),
        ("m.yaml", "apiVersion: batch.volcano.sh/v1alpha1\nkind: Job\n", "Job of batch.volcano.sh is not served"),
        ("m.yaml", "apiVersion: kubeflow.org/v1\nkind: PyTorchJob\n", "this is a manifest: `paddock run m.yaml`"),
        ("run.bat", "python t.py\r\n", "run.bat: this is a script of cmd"),
        ("a.sh", "pueue add 'torchrun t.py'\n", "a.sh:1: `pueue add 'torchrun t.py'` may start torchrun, and is"),
        ("a.sh", "llamafactory-cli train a.yaml\n", "type the program that trains: `paddock init -- python train.py`"),
    ],
)
def test_a_file_of_which_no_job_is_made_is_told_by_what_it_is(here: Path, file: str, text: str, sentence: str) -> None:
    (here / file).write_text(text)
    done = init("--from", file)
    assert isinstance(done.exception, UserError)
    assert sentence in str(done.exception)
    assert "no command in it starts" not in str(done.exception)


@pytest.mark.parametrize("command", ["llamafactory-cli train a.yaml", "pueue add 'python train.py'"])
def test_the_command_that_is_printed_for_such_a_file_writes_a_job(
    here: Path, monkeypatch: pytest.MonkeyPatch, command: str
) -> None:
    program = here / "llamafactory-cli"
    program.write_text("#!/bin/sh\n")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", str(here), prepend=":")
    (here / "train.py").write_text("import torch\n")
    (here / "a.sh").write_text(f"{command}\n")
    typed = str(init("--from", "a.sh").exception).rpartition("`paddock init ")[2].rstrip("`")
    assert ("llamafactory" in typed) == ("llamafactory" in command)
    assert init(*shlex.split(typed), "-o", "job.yaml").exit_code == 0
    assert (here / "job.yaml").is_file()


@pytest.mark.parametrize("program", ["uv", "poetry"])
def test_what_chooses_the_environment_stays_where_this_machine_has_it(
    here: Path, monkeypatch: pytest.MonkeyPatch, program: str
) -> None:
    monkeypatch.setenv("PATH", str(here))
    (here / "uv").write_text("#!/bin/sh\n")
    (here / "uv").chmod(0o755)
    (here / "t.py").write_text("import torch\n")
    (here / "run.sh").write_text(f"{program} run torchrun --nproc_per_node 2 t.py\n")
    done = init("--from", "run.sh", "-o", "-")
    specs = yaml.safe_load(done.stdout)["spec"]["pytorchReplicaSpecs"]
    runner = ["uv", "run"] if program == "uv" else []
    command = specs["Master"]["template"]["spec"]["containers"][0]["command"]
    assert command == [*runner, "torchrun", "--nproc_per_node=2", "t.py"]
    assert ("there is no program poetry in PATH" in done.stderr) == (program == "poetry")


def test_the_number_of_machines_of_deepspeed_is_taken_from_the_option_that_its_line_names(here: Path) -> None:
    (here / "t.py").write_text("import deepspeed\n")
    (here / "run.sh").write_text("deepspeed --hostfile hosts --num_gpus 4 t.py\n")
    assert "--workers N says it" in init("--from", "run.sh", "-o", "-").stderr
    done = init("--from", "run.sh", "--workers", "2", "-o", "-")
    specs = yaml.safe_load(done.stdout)["spec"]["pytorchReplicaSpecs"]
    assert specs["Worker"]["template"]["spec"]["containers"][0]["command"] == ["torchrun", "--nproc_per_node=4", "t.py"]
