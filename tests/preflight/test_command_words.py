"""Words of a command that do not come to what they are meant for: in manifests, in scripts, and typed."""

from __future__ import annotations

from typing import Any

import pytest

from paddock.launches.reading import read_script
from paddock.manifests.yaml_nodes import Document
from paddock.preflight import check
from paddock.preflight.command_words import explain_typed
from paddock.preflight.scripts import check_named_scripts, check_script
from paddock.words.phrases import render

ENDS = "python t.py runs in the background, and the shell ends without it"


def build_job(**container: Any) -> Document:
    template = {"spec": {"containers": [{"name": "pytorch", "image": "x:1", **container}]}}
    spec = {"pytorchReplicaSpecs": {"Worker": {"replicas": 2, "template": template}}}
    return Document({"apiVersion": "kubeflow.org/v1", "kind": "PyTorchJob", "metadata": {"name": "j"}, "spec": spec})


def explain_job(*command: str, **more: Any) -> list[str]:
    problems = check(build_job(command=list(command), **more))
    return [each.message for each in problems if each.path.endswith((".command", ".args"))]


def explain_typing(*command: str) -> list[str]:
    return [render(each) for each in explain_typed(command)]


@pytest.mark.parametrize("text", ["python t.py &", "cd /w && python t.py &\n", "nohup python t.py > log 2>&1 &",
                                  "for i in 0 1; do\n  python t.py &\ndone", "{ python t.py; } &  # so\n",
                                  "nohup python t.py > log &\necho started; ls", "tmux new -d 'python t.py'",
                                  "bash -c 'python t.py &'"])  # fmt: skip
def test_a_shell_that_ends_before_its_last_command_is_told(text: str) -> None:
    assert [each for each in explain_job("bash", "-c", text) if each.startswith(ENDS)]
    assert explain_typing("bash", "-c", text)[0].startswith(ENDS)
    assert [each.message for each in check_script(text).problems if each.message.startswith(ENDS)]


@pytest.mark.parametrize("text", ["python t.py &\nwait $!", "a & b", "a &\nsleep infinity",
                                  "bash -c 'a &'; b", "f() { a & }; f; tail -f l", "a & while true; do b; done",
                                  'echo "a &"', "if x; then a & fi", "f() { python t.py & }; f; serve",
                                  "python t.py & sleep 900", "python t.py & b",
                                  "python t.py & python u.py"])  # fmt: skip
def test_a_shell_that_goes_on_behind_it_is_not(text: str) -> None:
    assert explain_job("bash", "-c", text) == explain_typing("bash", "-c", text) == []


@pytest.mark.parametrize(
    ("text", "by"),
    [
        ("python t.py | tee log", "| tee"),
        ("python t.py 2>&1 | grep -v WARN | tee -a log\nexit", "| tee"),
        ("if [ $# -lt 1 ]; then exit 1; fi\ntorchrun t.py $1 |& tee log", "| tee"),
        ("cd x && python t.py | tee log", "| tee"),
        ("if $A; then python t.py | tee a; else python u.py | tee b; fi", "| tee"),
        ("set -e\npython -u t.py | tee log\necho done", "| tee"),
        ("bash -c 'python t.py' | tee log", "| tee"),
        ("bash -ex -c 'python t.py | tee log'", "| tee"),
        ("python t.py\necho done", "echo done"),
        ("python t.py; date", "date"),
        ("for s in 1 2; do python t.py --seed $s; done\ntrue", "true"),
        ("bash -c 'python t.py\necho done'", "echo done"),
        ("exec > >(tee log)\npython t.py\nexit 0", "exit 0"),
        ("python a.py &\npython b.py &\nwait", "wait"),
        ("set -o pipefail\npython t.py | tee log", ""),
        ("bash -o pipefail -c 'python t.py | tee log'", ""),
        ("python t.py | tee log\nexit ${PIPESTATUS[0]}", ""),
        ("python t.py | tee log\ntest -f model", ""),
        ("#!/bin/bash -eu\npython t.py\necho done", ""),
        ("set -xe; python t.py; echo done", ""),
        ("bash -e -c 'python t.py; echo done'", ""),
        ("python t.py || exit 1\necho done", ""),
        ("python t.py && echo done", ""),
        ("python t.py; code=$?; echo done; exit $code", ""),
        ("trap 'kill 0' ERR\npython t.py\necho done", ""),
        ("if python t.py; then echo ok; fi\necho done", ""),
        ("python t.py\nls out", ""),
        ("python t.py\nrm -r tmp; echo $(python u.py)", ""),
        ("echo begin\npython t.py", ""),
        ("python t.py\nexit", ""),
        ("echo 1 | python t.py", ""),
        ("python a.py &\nwait $!", ""),
        ("python t.py | tee log\npython eval.py", ""),
        ("ls | wc\necho done", ""),
        ('run() { "$@" || exit 1; }; run python t.py; echo done', ""),
        ('run() { just "$@"; }\njust() { "$@"; [ $? = 0 ] || exit 1; }\nrun python t.py\necho done', ""),
        ("die() { echo $1; exit 1; }\n[ -f x ] || die x\npython t.py\necho done", "echo done"),
        ('run() { "$@" || exit 1; }; run python t.py | tee log', "| tee"),
        ("source common.sh; python t.py; echo done", ""),
        (". ./env.sh; python t.py | tee log", ""),
        ("source ~/miniconda3/bin/activate; python t.py | tee log", "| tee"),
    ],
)
def test_what_a_shell_ends_as_instead_of_the_program_that_trains(text: str, by: str) -> None:
    """Where that is not sure, nothing is said."""
    hidden = read_script(text).hidden
    assert (hidden.command.hidden_by if hidden is not None else "") == by
    told = [
        each for each in explain_job("bash", "-c", text) if "where the training fails, the job is Completed" in each
    ]
    assert bool(told) == bool(by) and told == explain_typing("bash", "-c", text)[: len(told)]
    assert len([each for each in check_script(text).problems if "is Completed" in each.message]) == len(told)


@pytest.mark.parametrize(
    ("command", "files", "told"),
    [
        (["bash", "run.sh"], {"run.sh": "python t.py | tee log"}, "run.sh: the shell ends as `| tee` does"),
        (["bash", "run.sh"], {"run.sh": ". ./a.sh; python t.py | tee log", "a.sh": "A=1"}, "run.sh: the shell ends as"),
        (["bash", "run.sh"], {"run.sh": ". ./a.sh; python t.py; echo done", "a.sh": "set -e"}, ""),
        (["bash", "run.sh"], {"run.sh": ". ./a.sh; r python t.py; echo a", "a.sh": 'r() { "$@" || exit 1; }'}, ""),
        (["bash", "run.sh"], {"run.sh": "nohup python t.py &\necho $!"}, f"run.sh: {ENDS}"),
        (
            ["bash", "-c", "cd /w; bash run.sh"],
            {"/w/run.sh": "python t.py; echo done"},
            "run.sh: the shell ends as `ech",
        ),
        (["bash", "-e", "run.sh"], {"run.sh": "python t.py; echo done"}, ""),
        (["bash", "run.sh"], {"run.sh": "exec python t.py"}, ""),
        (["bash", "run.sh"], {}, ""),
        (["bash", "-c", "python t.py | tee log"], {}, ""),  # is told with the words
    ],
)
def test_a_script_that_a_manifest_names_is_asked_as_one_that_is_validated(
    command: list[str], files: dict[str, str], told: str
) -> None:
    found = [each.message for each in check_named_scripts(build_job(command=command), files.get)]
    assert (len(found), "".join(found).startswith(told)) == (bool(told), True)


def test_a_script_for_other_machines_ends_before_them() -> None:
    assert not check_script("for h in a b; do ssh $h python t.py & done").problems


def test_only_one_word_is_the_text_of_a_shell() -> None:
    expected = 'bash -c runs python alone, as only the word behind -c is its text: write one text, "python -m pkg"'
    assert explain_job("bash", "-c", args=["python", "-m", "pkg"]) == [expected]
    assert explain_typing("bash", "-c", "python", "-m", "pkg") == [expected]
    assert "--lr 1 behind the text of sh -c" in explain_typing("sh", "-ec", "python t.py", "--lr", "1")[0]


@pytest.mark.parametrize("words", [("$(RUN)", "a", "b"), ('python t.py "$@"', "bash", "--lr"), ("python t.py", "bash"),
                                   ("python t.py",)])  # fmt: skip
def test_arguments_of_a_text_that_reads_them_are_its_own(words: tuple[str, ...]) -> None:
    assert explain_job("bash", "-c", args=list(words)) == []


@pytest.mark.parametrize("shell", ["bash", "sh"])
@pytest.mark.parametrize("text", ["torchrun --nnodes=2 t.py", "python t.py", "cd /w && python t.py"])
def test_a_shell_without_c_looks_for_a_file(shell: str, text: str) -> None:
    expected = (
        f'{shell} looks for a file with the name "{text}": write -c before a text for a shell, {shell} -c "{text}"'
    )
    assert explain_job(shell, text) == explain_typing(shell, text) == [expected]
    assert explain_job(shell, "-c", text) == []


@pytest.mark.parametrize("words", [("bash", "my run.sh"), ("bash", "run.sh"), ("bash", "$(RUN) t.py"), ("cat", "a b")])
def test_a_file_with_a_blank_in_its_name_may_be_meant(words: tuple[str, ...]) -> None:
    assert explain_job(*words) == []


@pytest.mark.parametrize("text", ["torchrun t.py; sleep infinity", "python t.py; tail -f /dev/null",
                                  "python t.py > log & tail -F log",
                                  "cd /w\npython t.py\nexec sleep infinity"])  # fmt: skip
def test_a_pod_that_never_ends_behind_its_program_is_told(text: str) -> None:
    (said,) = explain_job("bash", "-c", text)
    assert "behind the program never ends" in said
    assert explain_typing("bash", "-c", text) == [said]


@pytest.mark.parametrize("text", ["sleep infinity", "python t.py; sleep 5", "python t.py || sleep infinity",
                                  "python t.py # ; sleep infinity 3",
                                  "sleep infinity; python t.py", "set -o pipefail; python t.py | tail -f",
                                  "if [ $X ]; then python t.py; else sleep infinity; fi"])  # fmt: skip
def test_one_that_ends_or_is_to_stay_is_not(text: str) -> None:
    assert explain_job("bash", "-c", text) == []


@pytest.mark.parametrize(
    ("command", "typed"),
    [
        ("torchrun --master_port 66665 t.py", "--master_port 66665"),
        ("torchrun --rdzv_endpoint=$H:70000 t.py", ""),
        ("torchrun --rdzv_endpoint=a:70000 t.py", "--rdzv_endpoint=a:70000"),
        ("accelerate launch --num_machines 2 --main_process_port=65536 t.py", "--main_process_port=65536"),
        ("MASTER_PORT=99999 python t.py", "MASTER_PORT=99999"),
        ("torchrun --master_port 65535 t.py", ""),
        ("torchrun --master_port 0 t.py", ""),
        ("torchrun --master_port $PORT t.py", ""),
        ("python t.py --master_port 99999", ""),
    ],
)
def test_a_number_that_no_port_has_is_told(command: str, typed: str) -> None:
    found = [each for each in explain_job("bash", "-c", command) if "names no port" in each]
    assert any(f"{typed} names no port: a number from 1 to 65535 is wanted" in each for each in found) == bool(typed)
    assert len(found) == bool(typed)


LAUNCH = ("python", "-m", "paddle.distributed.launch")


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (LAUNCH, "no program stands behind paddle.distributed.launch: it ends with exit code 2"),
        (("torchrun", "--nproc_per_node", "t.py"), "as t.py is the value of --nproc_per_node"),
        (("accelerate", "launch", "--num_processes", "2"), "no program stands behind accelerate launch"),
        (("python", "-m", "paddle.distributed.launch t.py"), "two words, paddle.distributed.launch and t.py"),
        (("python", "paddle.distributed.launch", "t.py"), "write python -m paddle.distributed.launch"),
        (("cd", "/w", "&&", "python", "t.py"), 'and && is handed to the program as it stands: write one '
         'text for a shell, bash -c "cd /w && python t.py"'),
        (("python", "t.py", ">", "my log"), """bash -c "python t.py > 'my log'\""""),
        (("bash", "run.sh", ">", "log"), "and > is handed to the program as it stands"),
        ((*LAUNCH, "--gpus 0,1", "t.py"), "write two words, --gpus and 0,1"),
        (("torchrun", "--nproc_per_node 2", "t.py"), "write two words, --nproc_per_node and 2"),
        (("python", "t.py", "--lr 0.1"), "write two words, --lr and 0.1"),
    ],
)  # fmt: skip
def test_a_word_that_no_program_reads_as_it_is_meant_is_told_once(words: tuple[str, ...], said: str) -> None:
    (found,) = explain_typing(*words)
    assert said in found
    assert [each for each in explain_job(*words) if said in each]


@pytest.mark.parametrize(
    "words",
    [
        ("torchrun", "--help"),
        ("torchrun", "--nproc_per_node", "2", "t.py", "--args", "--lr 0.1"),
        ("find", ".", "-exec", "rm", "{}", ";"),
        ("ssh", "host", "cd", "/w", "&&", "python", "t.py"),
        ("bash", "-c", "cd /w && python t.py > log"),
        ("python", "t.py", "--text", "a > b"),
        ("python", "t.py", "--title=two words"),
        ("bash", "-c", "torchrun $ARGS"),
        ("bash", "-c", "torchrun --nproc_per_node $X"),
        ("bash", "-c", "torchrun $ARGS $PROGRAM --lr 1 --data x.py"),
    ],
)
def test_a_word_that_may_be_meant_so_is_not(words: tuple[str, ...]) -> None:
    assert explain_typing(*words) == []


def test_a_script_is_told_of_them_line_by_line() -> None:
    read = check_script('cd /w\ntorchrun "--nproc_per_node 2" t.py\ntorchrun --nprocs_per_node=2 t.py')
    assert [each.line for each in read.problems] == [2, 3]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("torchrun —-nproc_per_node 2 t.py", "—-nproc_per_node begins with a dash of a printed text, and is no option: "
         "write --nproc_per_node"),
        ("python –m pkg.train", "–m begins with a dash of a printed text, and is no option: write -m"),
        ("python t.py −-lr=0.1", "write --lr=0.1"),
        ("fleetrun --devices “0,1” t.py", "“0,1” has quotes of a printed text"),
        ("fleetrun --devices=“0,1” t.py", "--devices=“0,1” has quotes of a printed text"),
    ],
)  # fmt: skip
def test_dashes_and_quotes_of_a_printed_text_are_told(text: str, said: str) -> None:
    assert any(said in each for each in explain_typing(*text.split()))
    assert any(said in each for each in explain_job("bash", "-c", text))
    assert any(said in each.message for each in check_script(text).problems)


@pytest.mark.parametrize("text", ["python t.py --prompt “你好”", "python t.py a–b – --", "python t.py -—"])
def test_such_letters_in_a_value_are_its_own(text: str) -> None:
    assert explain_typing(*text.split()) == explain_job("bash", "-c", text) == []


def test_all_words_that_wait_for_a_shell_are_named_in_one_sentence() -> None:
    (said,) = explain_job("torchrun", "--nnodes=$NNODES", "--node_rank=${RANK}", "t.py")
    assert said.startswith("--nnodes=$NNODES and --node_rank=${RANK}: no shell reads this command")
    assert "elasticPolicy" not in said


RESTARTS = "--max-restarts starts a failed process again in its own pod, and the others do not meet it"


@pytest.mark.parametrize(
    ("text", "is_told"),
    [
        ("pip install x && torchrun --max-restarts=3 t.py", True),
        ("torchrun --max-restarts=3 t.py; echo done; python u.py", True),
        ("torchrun --max-restarts=3 t.py", False),
        ("torchrun --max-restarts=0 t.py; python u.py", False),
        ("torchrun --max-restarts=$R t.py; python u.py", False),
        ("pip install x && torchrun --max-restarts=3 --rdzv_backend=c10d --rdzv_endpoint=$A:1 t.py", False),
    ],
)
def test_restarts_after_which_the_pods_do_not_meet_are_told(text: str, is_told: bool) -> None:
    assert any(each.startswith(RESTARTS) for each in explain_job("bash", "-c", text)) is is_told
