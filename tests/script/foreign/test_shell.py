"""Commands of a run.sh and of Docker, as the job that they mean; and what of them is not carried."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from paddock.script.foreign.job import Foreign, NoProgram, Place
from paddock.script.foreign.shell import read_shell
from paddock.script.foreign.tools import read_foreign

LAUNCH = ("python", "-m", "paddle.distributed.launch")
DOCUMENT = Path(__file__).parents[2] / "preflight/run.sh"


def mean(script: str) -> Foreign:
    """The job without its list of what is left."""
    return replace(read_shell(script), left=(), starter="")


def list_left(script: str) -> list[str]:
    return [str(each.said) for each in read_foreign(script).left]


def test_the_documents_script_is_a_job_of_two_machines_with_four_cards() -> None:
    read = read_shell(DOCUMENT.read_text())
    assert replace(read, left=()) == Foreign(5, (*LAUNCH, "train_with_fleet.py"), 2, gpus=4, framework="paddle")
    assert [each.line for each in read.left if "is another training, which is not in this job" in str(each.said)] == [3]


@pytest.mark.parametrize(
    ("script", "meant"),
    [
        ("fleetrun --nnodes=3 --devices 0,1 t.py --lr 1", Foreign(1, (*LAUNCH, "t.py", "--lr", "1"), 3, gpus=2)),
        ("fleetrun --nnodes 2:4 t.py", Foreign(1, (*LAUNCH, "t.py"), 2)),
        ("fleetrun --ips=a,b,c t.py", Foreign(1, (*LAUNCH, "t.py"), 3)),
        ("fleetrun --servers=a:1,b:1 --workers=a:2,b:2,c:2 t.py", Foreign(1, ("python", "t.py"), 3, 2)),
        ("fleetrun --server_num=1 --trainer_num=2 t.py", Foreign(1, ("python", "t.py"), 2, 1)),
        ("fleetrun --selected_gpus 0,1 t.py", Foreign(1, (*LAUNCH, "t.py"), gpus=2)),
        ("fleetrun --dcus 0,1 t.py", Foreign(1, (*LAUNCH, "t.py"), gpus=2)),
        ('fleetrun --cluster_node_ips "a, b" --node_ip x t.py', Foreign(1, (*LAUNCH, "t.py"), 2)),
        ("export CUDA_VISIBLE_DEVICES=0-3\nfleetrun t.py", Foreign(2, (*LAUNCH, "t.py"), gpus=4)),
        ("fleetrun --nproc_per_node 4 t.py", Foreign(1, (*LAUNCH, "--nproc_per_node=4", "t.py"))),
        ("export PADDLE_LOG_LEVEL=DEBUG\nfleetrun t.py", Foreign(2, (*LAUNCH, "--log_level=DEBUG", "t.py"))),
        ("export PADDLE_NNODES=3\nfleetrun --nnodes 2 t.py", Foreign(2, (*LAUNCH, "t.py"), 3)),
        ("python3.9 -u -m paddle.distributed.launch t.py",
         Foreign(1, ("python", "-u", "-m", "paddle.distributed.launch", "t.py"))),
    ],
)  # fmt: skip
def test_a_command_of_paddlepaddles_launcher_becomes_a_program_and_its_ranks(script: str, meant: Foreign) -> None:
    assert mean(script) == replace(meant, framework="paddle")


@pytest.mark.parametrize(
    ("script", "meant"),
    [
        ("torchrun --nnodes=2 --nproc_per_node=4 --rdzv_endpoint=x:1 t.py --nnodes 9",
         Foreign(1, ("torchrun", "--nproc_per_node=4", "t.py", "--nnodes", "9"), 2)),
        ("torchrun --nproc_per_node ${GPUS:-2} -m pkg.train",
         Foreign(1, ("torchrun", "--nproc_per_node=2", "-m", "pkg.train"))),
        ("torchrun --max_restarts 3 t.py", Foreign(1, ("torchrun", "t.py"), restarts=3)),
        ("/opt/conda/bin/python -m torch.distributed.launch --nproc_per_node 2 t.py",
         Foreign(1, ("python", "-m", "torch.distributed.launch", "--nproc_per_node=2", "t.py"))),
        ("accelerate launch --num_processes 2 t.py",
         Foreign(1, ("accelerate", "launch", "--num_processes", "2", "t.py"))),
        ("accelerate launch --mixed_precision bf16 --num_machines 2 --num_processes 8 --machine_rank $R -m pkg",
         Foreign(1, ("accelerate", "launch", "--mixed_precision", "bf16", "--num_processes", "8", "-m", "pkg"), 2)),
        ("accelerate launch --use_deepspeed --num_machines 2 t.py",
         Foreign(1, ("accelerate", "launch", "--use_deepspeed", "--deepspeed_multinode_launcher", "standard", "t.py"),
                 2)),
        ("accelerate launch --use_deepspeed --deepspeed_multinode_launcher pdsh --num_machines 2 t.py",
         Foreign(1, ("accelerate", "launch", "--use_deepspeed", "--deepspeed_multinode_launcher", "standard", "t.py"),
                 2)),
        ("deepspeed --hostfile hosts t.py", Foreign(1, ("torchrun", "--nproc_per_node=gpu", "t.py"))),
        ("deepspeed --num_nodes 1 --num_gpus 2 t.py", Foreign(1, ("deepspeed", "--num_gpus", "2", "t.py"), 1)),
        ("fabric run --devices 8 --num-nodes 2 --node-rank $R --main-address $A --precision bf16-mixed t.py",
         Foreign(1, ("fabric", "run", "--devices", "8", "--precision", "bf16-mixed", "t.py"), 2)),
        ("fabric run --devices 0,1 t.py", Foreign(1, ("fabric", "run", "--devices", "0,1", "t.py"), gpus=2)),
        ("composer -n 8 --world_size 16 --node_rank $R --master_addr $A t.py",
         Foreign(1, ("composer", "-n", "8", "--world_size", "16", "t.py"), 2)),
        ("deepspeed --num_nodes 2 --num_gpus 8 t.py --deepspeed",
         Foreign(1, ("torchrun", "--nproc_per_node=8", "t.py", "--deepspeed"), 2)),
        ("cat > hosts <<END\na slots=8\nb slots=8\nEND\ndeepspeed --hostfile=hosts t.py",
         Foreign(5, ("torchrun", "--nproc_per_node=8", "t.py"), 2)),
        ("tee hosts <<END\na slots=8\nEND\ndeepspeed --hostfile=hosts t.py", Foreign(4, ("deepspeed", "t.py"), 1)),
        ("deepspeed --include localhost:0,1 t.py", Foreign(1, ("deepspeed", "t.py"), gpus=2)),
        ("docker run --gpus 4 --rm --shm-size 8g -e A=1 reg/x torchrun t.py",
         Foreign(1, ("torchrun", "t.py"), gpus=4, image="reg/x", variables=(("A", "1"),))),
    ],
)  # fmt: skip
def test_a_command_of_a_launcher_of_torch_becomes_one_that_is_told_the_places(script: str, meant: Foreign) -> None:
    assert mean(script) == replace(meant, framework="pytorch")


@pytest.mark.parametrize(
    ("script", "meant"),
    [
        ("nohup python t.py > out.log 2>&1 &", Foreign(1, ("python", "t.py"))),
        ("python t.py 2>&1 | tee log", Foreign(1, ("python", "t.py"))),
        ("LR=0.1 python t.py --lr $LR --seed $SEED -v",
         Foreign(1, ("python", "t.py", "-v"), variables=(("LR", "0.1"),))),
        ("export PYTHONPATH=$PYTHONPATH:.\npython t.py",
         Foreign(2, ("python", "t.py"), variables=(("PYTHONPATH", "."),))),
        ("export FOO=x:$FOO LIBS=${LIBS:+$LIBS:}y N=${N:-8}\npython t.py",
         Foreign(2, ("python", "t.py"), variables=(("FOO", "x"), ("LIBS", "y"), ("N", "8")))),
        ("numactl -N 0 uv run --with tqdm t.py --a 1",
         Foreign(1, ("python", "t.py", "--a", "1"), runner=("uv", "run", "--with", "tqdm"))),
        ("conda run -n env python -u t.py", Foreign(1, ("python", "-u", "t.py"), runner=("conda", "run", "-n", "env"))),
        ("/opt/conda/envs/pd/bin/python -u t.py", Foreign(1, ("python", "-u", "t.py"))),
        ("cd work\npython t.py", Foreign(2, ("python", "t.py"), workdir="work")),
        ("pip install -r req.txt tqdm\npython t.py",
         Foreign(2, ("python", "t.py"), requirements="req.txt", packages=("tqdm",))),
        ("pip install torch==2.4\npython t.py",
         Foreign(2, ("python", "t.py"), packages=("torch==2.4",), framework="pytorch")),
        ("python prepare.py\npython t.py", Foreign(2, ("python", "t.py"))),
        ("mpirun -np 16 -H a:8,b:8 python t.py", Foreign(1, ("python", "t.py"), 2, processes=8)),
        ("srun --ntasks=16 --ntasks-per-node=8 python t.py", Foreign(1, ("python", "t.py"), 2, processes=8)),
        ("mpirun -np 16 -npernode 8 python t.py", Foreign(1, ("python", "t.py"), 2, processes=8)),
        ("srun --gres=gpu:${GPN:-8} python t.py", Foreign(1, ("python", "t.py"), gpus=8)),
        ("cat > hosts <<END\na slots=8\nb slots=8\nEND\nmpirun -np 16 -hostfile hosts python t.py",
         Foreign(5, ("python", "t.py"), 2, processes=8)),
        ("cat <<END >./hosts\na slots=4\n# c\nb slots=4\nEND\nhorovodrun --hostfile hosts python t.py",
         Foreign(6, ("python", "t.py"), 2, processes=4)),
        ("${PYTHON:-python} ${SCRIPT:-t.py}", Foreign(1, ("python", "t.py"))),
    ],
)  # fmt: skip
def test_what_a_shell_does_around_a_program_is_no_part_of_it(script: str, meant: Foreign) -> None:
    assert mean(script) == meant


@pytest.mark.parametrize(
    ("script", "said"),
    [
        ("torchrun --nnodes 2:4 t.py", "--nnodes 2:4: the job has the least of the two"),
        ("fleetrun --nnodes $N t.py", "--nnodes $N: the number is not known here: --workers N says it"),
        ("fleetrun --ips $IPS t.py", "--ips $IPS: the number is not known here: --workers N says it"),
        ('fleetrun --ips "$(cat hosts)" t.py', "--ips $(cat hosts): the number is not known here: --workers N"),
        ("fleetrun --servers=$S t.py", "--servers=$S: the number is not known here: --ps N says it"),
        ("fleetrun --max_restart $R t.py", "--max_restart $R: the number is not known here: --restarts N says it"),
        ("srun --gpus-per-node=$G python t.py", "--gpus-per-node=$G: the number is not known here: --gpus N says it"),
        ("deepspeed --hostfile hosts t.py", "--hostfile hosts: the number is not known here: --workers N says it"),
        ("cat > h <<END\n$A\nEND\nmpirun --hostfile h python t.py", "--hostfile h: the number is not known here"),
        ("cat >> h <<END\na\nEND\nmpirun --hostfile h python t.py", "--hostfile h: the number is not known here"),
        ("fleetrun --master $A:$P t.py", "--master $A:$P: left out, as each rank is told its place"),
        ("fleetrun --log_dir out t.py", "--log_dir out is left out: `paddock logs` keeps"),
        ("python t.py --lr ${LR:-1}", "${LR:-1} is filled in by a shell: its default is taken, 1"),
        ("python t.py --lr $LR", "--lr $LR is left out: a shell fills it in"),
        ('python t.py "$@"', '"$@" is left out: it is what is typed behind the script'),
        ("python t.py > a 2>&1 | tee b", "> a 2>&1 | tee is left out: a job has no shell"),
        ("export HF_TOKEN=abc\npython t.py", "add --secret HF_TOKEN"),
        ("export OUT=$HOME/x\npython t.py", "OUT=$HOME/x is left out"),
        ("timeout 60 python t.py", "`timeout 60` is left out"),
        ("python3.10 -u -m paddle.distributed.launch t.py", "python3.10 becomes python: that of the environment"),
        ("/opt/pd/bin/python t.py", "/opt/pd/bin/python becomes python: that of the environment or the image"),
        ("/opt/pd/bin/torchrun t.py", "/opt/pd/bin/torchrun becomes torchrun: that of the environment or the image"),
        ("export A=x:$A B=y:$B\npython t.py", "A B: only what the script adds is kept, as its value from outside"),
        ("conda run -n $ENV python t.py", "`conda run -n $ENV` is left out"),
        ("deepspeed --num_nodes 2 t.py", "by ssh or a host file, which pods do not have: it becomes torchrun"),
        ("deepspeed --num_nodes 2 --force_multi t.py", "--force_multi: left out, as torchrun has no such option"),
        ("accelerate launch --config_file a.yaml t.py", "a.yaml: it is not read, and --workers N says how many"),
        ("ssh n1 python t.py", "`ssh n1` is left out"),
        ("git clone https://example.com/a.git\npython t.py", "`git clone https://example.com/a.git` is left out"),
        ("pip install -e .\npython t.py", "`-e .` is left out"),
        ("source env.sh\npython t.py", "`source env.sh` is not read"),
        ("cd $WORK\npython t.py", "cd $WORK is left out"),
        ("docker run -v a:/b img python t.py", "-v a:/b"),
        ("docker run --gpus all img python t.py", "--gpus all: --gpus N says how many"),
        ("if [ $A ]; then python t.py; fi", "it stands in a condition or a loop"),
        ("export PADDLE_NNODES=1\nfleetrun --nnodes 2 t.py", "PADDLE_NNODES=1 counts more for the launcher"),
    ],
)  # fmt: skip
def test_what_is_not_carried_is_a_line(script: str, said: str) -> None:
    assert [each for each in list_left(script) if said in each]


@pytest.mark.parametrize(
    ("script", "said"),
    [
        ("python a.py\nfleetrun t.py", "`python a.py` is left out: do it before the job"),
        ("fleetrun t.py\npython a.py", "`python a.py` is another program, and is not in this job"),
        ("srun -N 2 python t.py\nsrun python a.py", "`srun python a.py` is another program, and is not in this job"),
        ("fleetrun t.py\naws s3 cp a b", "`aws s3 cp a b` is left out: do it after the job"),
        ("srun -N 4 tar xf a\nsrun -N 2 python t.py", "`srun -N 4 tar xf a` is left out: do it before the job"),
        ("fleetrun --nnodes 2 t.py\nfleetrun t.py", "`fleetrun t.py` is left out: it starts the same program on fewer"),
        ("python t.py\nfleetrun --nnodes 2 t.py", "`python t.py` is left out: it starts the same program on fewer"),
        ("fleetrun --nnodes 2 t.py\nfleetrun a.py", "`fleetrun a.py` is another training, which is not in this job"),
        ("python t.py --a 1\npython t.py --a 2", "`python t.py --a 1` is another training, which is not in this job"),
        ("torchrun t.py --a 1\ntorchrun t.py", "`torchrun t.py` is another training, which is not in this job"),
    ],
)
def test_a_command_beside_the_training_is_told_by_what_it_is_and_where_it_stands(script: str, said: str) -> None:
    assert len([each for each in list_left(script) if each.startswith(said)]) == 1


def test_what_only_asks_machines_for_their_names_is_no_training() -> None:
    job = read_shell("H=$(srun hostname)\nsrun hostname\nsrun -N 2 fleetrun t.py")
    assert (job.line, job.workers, job.left) == (3, 2, ())


def test_a_number_that_something_else_says_is_no_unknown_one() -> None:
    assert not [each for each in list_left("srun -N 2 fleetrun --ips $IPS t.py") if "not known" in each]


@pytest.mark.parametrize(
    "script",
    ["fleetrun --master $A:$P --nnodes $N --log_dir $L t.py --x $X ${Y} > $Z", "A=$B python t.py $A $(date)"],
)
def test_no_word_of_a_job_is_text_that_a_shell_would_fill_in(script: str) -> None:
    job = read_shell(script)
    assert not [each for each in (*job.words, *(value for _, value in job.variables)) if "$" in each or ">" in each]


@pytest.mark.parametrize("script", ["", "ls", "docker run -it img /bin/bash", "docker run", "pip install x", "echo 'a"])
def test_what_starts_no_program_is_none(script: str) -> None:
    with pytest.raises(NoProgram):
        read_shell(script)


def test_a_program_that_a_shell_fills_in_is_named() -> None:
    with pytest.raises(NoProgram) as error:
        read_shell("torchrun --nproc_per_node 2 $SCRIPT")
    assert [(each.line, "$SCRIPT" in str(each.said)) for each in error.value.left] == [(1, True)]


def test_another_script_is_read_where_it_is_there() -> None:
    job = read_shell("bash inner.sh --lr 1", Place(read_file={"inner.sh": 'torchrun --nnodes 2 t.py "$@"'}.get))
    assert (job.words, job.workers) == (("torchrun", "t.py", "--lr", "1"), 2)


def test_a_package_of_a_framework_names_it_and_is_brought_by_its_environment() -> None:
    made = read_foreign("pip install torchvision paddlepaddle-xpu tqdm\npython t.py")
    assert (made.framework, made.packages) == ("paddle", ("torchvision", "tqdm"))
    assert read_foreign("pip install torchvision torch\npython t.py").framework == "pytorch"


def test_what_tells_a_rank_its_place_is_not_carried() -> None:
    made = read_foreign("export COORDINATOR_ADDRESS=a:1 RANK=0 TF_CONFIG={} MPI_X=1 LR=1\npython t.py")
    assert made.variables == (("LR", "1"),)
    assert [str(each.said) for each in made.left] == [
        "COORDINATOR_ADDRESS RANK TF_CONFIG: left out, as each rank is told its place"
    ]


def test_many_other_commands_are_counted() -> None:
    said = list_left("\n".join(f"wget {number}" for number in range(30)) + "\npython t.py")
    assert len(said) == 13
    assert said[-1] == "18 more commands are left out"


def test_a_program_beside_its_script_is_found() -> None:
    script = 'PYTHONPATH="$(dirname $0)/..":$PYTHONPATH \\\n  torchrun $(dirname "$0")/t.py\n'
    job = read_shell(script, Place("tools/run.sh"))
    assert (job.words, job.variables) == (("torchrun", "tools/t.py"), (("PYTHONPATH", "tools/.."),))


def test_a_script_that_goes_to_its_own_directory_starts_there() -> None:
    script = "HERE=$(cd $(dirname $0); pwd)\ncd $HERE/..\npython $HERE/t.py\n"
    job = read_shell(script, Place("tools/run.sh", "/w"))
    assert (job.workdir, job.words) == ("/w", ("python", "/w/tools/t.py"))


SERVERS = """\
export PADDLE_PSERVERS_IP_PORT_LIST=127.0.0.1:1,127.0.0.1:2 PADDLE_TRAINERS_NUM=3
export TRAINING_ROLE=PSERVER
for i in 1 2; do PADDLE_PORT=$i python t.py --lr 1 & done
export TRAINING_ROLE=TRAINER
for i in 0 1 2; do PADDLE_TRAINER_ID=$i python t.py --lr 1 & done
python a.py
"""


@pytest.mark.parametrize(
    ("script", "servers", "workers"),
    [
        (SERVERS, 2, 3),
        ("TRAINING_ROLE=PSERVER python t.py --lr 1 &\nTRAINING_ROLE=TRAINER python t.py --lr 1", 1, 1),
        ("export TRAINING_ROLE=$1 PADDLE_PSERVERS_IP_PORT_LIST=a:1,b:1\npython a.py\npython t.py --lr 1", 2, 0),
        ("for i in $A; do TRAINING_ROLE=PSERVER python t.py --lr 1 & done\n"
         "for i in $B; do TRAINING_ROLE=TRAINER python t.py --lr 1 & done", 0, 0),
    ],
)  # fmt: skip
def test_servers_that_a_script_starts_by_hand_are_those_of_the_job(script: str, servers: int, workers: int) -> None:
    job, left = read_shell(script), list_left(script)
    assert (job.words, job.servers, job.workers) == (("python", "t.py", "--lr", "1"), servers, workers)
    assert job.framework == "paddle"
    assert any("--ps N says it" in each for each in left) == (not servers)
    assert any("--workers N says it" in each for each in left) == (not workers)
    assert not [each for each in left if "t.py" in each]


def test_a_launcher_counts_more_than_variables_of_servers() -> None:
    assert mean("export PADDLE_PSERVERS_IP_PORT_LIST=a:1\npython a.py\nfleetrun t.py").words == (*LAUNCH, "t.py")


@pytest.mark.parametrize(
    ("command", "name"),
    [
        ("tmux send-keys -t a 'torchrun t.py' Enter", "torchrun"),
        ("condor_run -a 1 python t.py", "python"),
        ("prun -n 2 python3 -m pkg.train", "python3"),
        ("llamafactory-cli train a.yaml", "torchrun"),
        ("paddlex -c a.yaml", "paddle.distributed.launch"),
        ("apt install python3", ""),
        ("pkill -f 'python t.py'", ""),
        ("chmod +x t.py", ""),
        ("xargs rm", ""),
    ],
)
def test_what_another_program_may_start_is_named_and_not_read(command: str, name: str) -> None:
    with pytest.raises(NoProgram) as error:
        read_shell(command)
    said = [str(each.said) for each in error.value.left]
    assert [each.endswith(f"may start {name}, and is not read") for each in said] == [True] * bool(name)
    assert [each for each in list_left(f"{command}\nfleetrun a.py") if "may start" in each] == said


@pytest.mark.parametrize("program", ["  t.py", "  --nproc_per_node 2 t.py"])
def test_a_command_that_ends_before_its_last_line_is_told(program: str) -> None:
    """Also where no job is found."""
    try:
        left = read_foreign(f"torchrun \\\n  --nnodes 2 \\   # two\n{program}\n").left
    except NoProgram as error:
        left = error.left
    assert [each.line for each in left if "is not the last letter of the line" in str(each.said)] == [2]


def test_a_function_that_calls_itself_is_no_text_that_is_too_long() -> None:
    with pytest.raises(NoProgram) as error:
        read_foreign("f(){ f; f; }; f\ntorchrun t.py\n")
    assert [str(each.said) for each in error.value.left] == [
        "the script is too long, or calls itself too often: what is behind is not read"
    ]


@pytest.mark.parametrize(
    ("script", "program"),
    [
        ("python train.py; python test.py", "train.py"),
        ("python tools/train.py\npython tools/eval.py\npython tools/export_model.py", "tools/train.py"),
        ("python main.py; python -m pkg.infer", "main.py"),
        ("python main.py; python train_and_eval.py", "train_and_eval.py"),
        ("python prepare_data.py; python run.py; python predict.py", "run.py"),
        ("python prepare.py; python test.py", "test.py"),  # none of them trains by its name
        ("python download.py; python latest.py", "latest.py"),
        ("torchrun --nnodes 2 eval.py; torchrun main.py", "main.py"),
    ],
)
def test_a_program_that_tests_or_exports_by_its_name_is_no_job_beside_another(script: str, program: str) -> None:
    assert read_foreign(script).words[-1] == program


def test_what_uses_the_model_is_told_by_its_name() -> None:
    assert list_left("python train.py\npython test.py --last") == [
        "`python test.py --last` is left out: by its name it uses what the job has trained; do it after the job"
    ]


@pytest.mark.parametrize("module", ["paddle.distributed.launch_ps", "paddle.fluid.launch"])
def test_a_launcher_that_paddlepaddle_has_no_more_becomes_todays(module: str) -> None:
    made = read_foreign(f"python -m {module} --worker_num 2 --server_num 1 t.py")
    assert (made.words, made.framework, made.workers, made.servers) == (("python", "t.py"), "paddle", 2, 1)
    assert [str(each.said) for each in made.left] == [
        f"{module} becomes paddle.distributed.launch: PaddlePaddle 2.3 has left it out"
    ]


def test_what_stands_before_a_text_stays_where_old_options_are_read_again() -> None:
    text = "python -m paddle.distributed.launch --cluster_node_ips a,b --node_ip a t.py"
    made = read_foreign(f"docker run reg/x bash -c '{text}'")
    assert (made.image, made.workers) == ("reg/x", 2)


def test_what_a_coordinator_and_other_options_say_is_a_line_where_no_launcher_stays() -> None:
    made = read_shell("fleetrun --worker_num=2 --server_num=1 --coordinator_num=1 --coordinators=a:1 t.py")
    assert (made.words, made.workers, made.servers) == (("python", "t.py"), 2, 1)
    assert [str(each.said).partition(" is left out")[0] for each in made.left] == [
        "--coordinator_num=1",
        "--coordinators=a:1",
    ]


@pytest.mark.parametrize(
    ("command", "gpus", "is_said"),
    [
        ("python -m paddle.distributed.launch --gpus 0,1,2,3 t.py", 2, True),
        ("fleetrun --devices 0 t.py", 1, False),
        ("deepspeed --include localhost:0,1,2,3 t.py", 4, False),  # which does not read the variable then
    ],
)
def test_the_variable_bounds_the_devices_that_paddles_launcher_names(command: str, gpus: int, is_said: bool) -> None:
    made = read_shell(f"export CUDA_VISIBLE_DEVICES=0,1\n{command}")
    assert made.gpus == gpus
    assert (
        any("CUDA_VISIBLE_DEVICES of the script shows 2 of these 4 devices" in str(each.said) for each in made.left)
        == is_said
    )


@pytest.mark.parametrize(
    ("package", "packages", "said"),
    [
        ("ray[default]==2.12.0", ("ray[default]==2.12.0",), ""),
        ("a[b,c]>=1,!=2", ("a[b,c]>=1,!=2",), ""),
        (
            "flash-attn==$FA_VERSION",
            (),
            "`pip install flash-attn==$FA_VERSION` is left out: its version does not stand",
        ),
        ("$PACKAGES", (), "`pip install $PACKAGES` is left out: a shell fills it in, and its value"),
        ("./own", (), "`pip install ./own` is left out: no package of an index"),
    ],
)
def test_a_package_is_one_also_with_extras_and_what_is_not_known_of_it_is_said(
    package: str, packages: tuple[str, ...], said: str
) -> None:
    quoted = package if ">" not in package else f"'{package}'"
    made = read_shell(f"pip install {quoted}\npython t.py")
    assert made.packages == packages
    assert [str(each.said)[: len(said)] for each in made.left] == [said] * bool(said)


@pytest.mark.timeout(20)
def test_a_long_package_that_is_none_is_read_at_once() -> None:
    assert read_shell(f"pip install a{'=!a!' * 3000}[x]$\npython t.py").packages == ()


@pytest.mark.parametrize(
    ("typed", "kept", "left"),
    [
        ("--fp16 $EXTRA", ("--fp16",), "$EXTRA"),
        ("--fp16 ${extra_args} --a 1", ("--fp16", "--a", "1"), "${extra_args}"),
        ("--fp16 ${MODEL_ARGS[@]}", ("--fp16",), "${MODEL_ARGS[@]}"),
        ("--lr $LR", (), "--lr $LR"),
        ("--dir $EXTRA_DIR", (), "--dir $EXTRA_DIR"),
        ("--out $ARGS/x", (), "--out $ARGS/x"),
        ('--model_args "$MODEL_ARGS"', (), "--model_args $MODEL_ARGS"),  # one word, so it is the value
    ],
)
def test_an_option_stays_where_the_unknown_behind_it_holds_options_itself(
    typed: str, kept: tuple[str, ...], left: str
) -> None:
    made = read_shell(f"torchrun t.py {typed}")
    assert made.words == ("torchrun", "t.py", *kept)
    assert [str(each.said) for each in made.left] == [
        f"{left} is left out: a shell fills it in, and its value does not stand here"
    ]


def test_what_is_left_out_of_a_command_in_several_lines_is_one_line() -> None:
    script = 'read OFF\ncmd="torchrun t.py \\\n   --deepspeed \\\n   $OFF"\n$cmd\n'
    assert any(each.startswith("--deepspeed $OFF is left out") for each in list_left(script)), list_left(script)


@pytest.mark.parametrize("typed", ['"$@"', '"${@:2}"', "${@:2:3}", "$*"])
def test_what_is_typed_behind_the_script_is_to_be_added_to_the_command(typed: str) -> None:
    (said,) = list_left(f"python t.py --fp16 {typed}")
    assert said.endswith("is left out: it is what is typed behind the script; add it to the command")
    assert read_shell(f"python t.py --fp16 {typed}").words[-1] == "--fp16"


def test_what_mpirun_starts_behind_a_colon_is_no_argument() -> None:
    made = read_shell("mpirun -np 2 python train.py --lr 1 : -np 2 python eval.py")
    assert made.words == ("python", "train.py", "--lr", "1")
    assert any(str(each.said).startswith("`: -np 2 python eval.py` is left out") for each in made.left)


def test_what_a_script_sets_before_a_file_that_is_not_read_is_its_default() -> None:
    made = read_shell('A=(--lr 1)\nN=2\n. ./nothere.sh\ntorchrun --nproc_per_node $N t.py "${A[@]}"')
    assert made.words == ("torchrun", "--nproc_per_node=2", "t.py", "--lr", "1")
    assert any("$N is filled in by a shell" in str(each.said) for each in made.left)
