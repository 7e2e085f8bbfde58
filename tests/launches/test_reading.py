"""What a command starts: behind its wrappers, by its launcher, with which options, on which program."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from paddock.launches.launchers import Means
from paddock.launches.reading import Reading, find_main, read_container, read_script, read_typed
from paddock.launches.words import show_words
from support.steps import count_steps
from support.tiers import keep_light

T = "torchrun --nproc_per_node 2 t.py"
BEHIND = [
    f"numactl --cpunodebind=0 -m 0 {T}",
    f"sudo -E -u me {T}",
    f"timeout -k 5 60 {T}",
    f"time -p {T}",
    f"env -u A X=1 {T}",
    f"nice -n 5 ionice -c 2 {T}",
    f"nohup {T} > out.log 2>&1 &",
    f"numactl -l {T}",
    f"su me -c '{T}'",
    f"tmux new-session -d -s t '{T}'",
    f"screen -dmS t bash -c '{T}'",
    f"xargs -n 1 {T}",
    f"jsrun -n 2 {T}",
    f"ray job submit --working-dir . -- {T}",
    f"env -S '{T}'",
    f"flock /tmp/lock -c '{T}'",
    f"exec -a name {T}",
    f"srun --exclusive -l -u {T}",
    f"srun --some-new-flag {T}",
    f"mpirun --allow-run-as-root -np 2 {T}",
    f"perf record -g -o out {T}",
    f"nsys profile -f true -t cuda {T}",
    f"stdbuf -oL {T} 2>&1 | tee log",
    f'ssh -p 22 user@host "cd /w && {T}"',
    f"ssh ${{HOSTS[$i]}} <<END &\ncd /w\n{T}\nEND",
    f"docker run --gpus all --rm -v /a:/b -e A=1 --shm-size 8g image:1 {T}",
    f'docker run image:1 bash -c "{T}"',
    f"docker exec -it name {T}",
    f"podman exec name bash -lc '{T}'",
    f"kubectl exec -n team pod-0 -c main -- {T}",
    f"srun --ntasks=2 --gpus-per-node 8 {T}",
    f"mpirun -np 4 --mca btl tcp,self {T}",
    f"conda run -n env --no-capture-output {T}",
    f"uv run --with torch {T}",
    f"poetry run {T}",
    f"pdm run {T}",
    f"pipenv run {T}",
    f"nsys profile -o out -t cuda {T}",
    f"py-spy record -o x.svg -- {T}",
    f"exec {T}",
    f"command {T}",
    f'CMD="{T}"; eval $CMD',
    f'CMD="{T}"; $CMD',
    f"run() {{ {T}; }}; run",
    f"bash <<END\n{T}\nEND",
    f"bash -c '{T}'",
    f"for i in 0 1; do {T} & done",
    f'if [ -n "$A" ]; then {T}; fi',
    f"( cd x; {T} )",
    f"OUT=$({T})",
    f"xvfb-run -a {T}",
    f"singularity exec --nv image.sif {T}",
]
"""Each starts the same torchrun."""


def read_line(text: str) -> Reading:
    return read_script(text)


@pytest.mark.parametrize("text", BEHIND)
def test_a_launcher_is_found_behind_what_stands_before_it(text: str) -> None:
    (launch,) = read_line(text).distributed
    assert launch.launcher is not None and launch.launcher.name == "torchrun"
    assert launch.text(Means.PROCESSES) == "2" and launch.program.script == "t.py"
    assert show_words(launch.words) == T


@pytest.mark.parametrize(
    "start",
    ["$(which torchrun)", "$(command -v python3) -m torch.distributed.run", "${PY:-python} -u -m torch.distributed.run",
     "PYTHON=${PYTHON:-python3}; $PYTHON -m torch.distributed.run", "/opt/bin/torchrun", "parallel torchrun"],
)  # fmt: skip
def test_a_launcher_is_found_by_another_name(start: str) -> None:
    (launch,) = read_line(f"{start} --nproc_per_node 2 t.py").distributed
    assert launch.launcher is not None and launch.launcher.name == "torchrun"
    assert launch.text(Means.PROCESSES) == "2" and launch.program.script == "t.py"


@pytest.mark.parametrize(
    ("text", "script"),
    [
        ("uv run t.py --a", "t.py"),
        ("coverage run t.py", "t.py"),
        ("python -m cProfile -o out.prof t.py", "t.py"),
        ("python -m pdb -c continue t.py", "t.py"),
        ("time python3.12 -u t.py", "t.py"),
        ("conda run -n a python t.py", "t.py"),
        ("python -m debugpy --listen 5678 --wait-for-client t.py", "t.py"),
        ("accelerate launch --num_machines 2 --mixed_precision bf16 t.py --x", "t.py"),
        ("deepspeed --num_gpus 8 t.py --deepspeed ds.json", "t.py"),
        ("horovodrun -np 4 -H localhost:4 python t.py", "t.py"),
        ("fabric run --devices 2 t.py", "t.py"),
        ("mpirun -np 4 -x NCCL_DEBUG=INFO python t.py", "t.py"),
        ("python -m accelerate.commands.launch --cpu t.py", "t.py"),
        ("docker run --rm --entrypoint python $IMAGE t.py -m x", "t.py"),
        ("docker run --entrypoint=python image:1 t.py", "t.py"),
        ("docker run $IMAGE -m x", ""),
        ("srun -u ./run.sh", "./run.sh"),
        ("command -v torchrun", ""),
        ("${PYTHON:-python3} -u t.py", "t.py"),
        ("$PYTHON t.py", ""),
        ("${SHELL:-bash} run.sh", "run.sh"),
        ("torchrun $ARGS t.py", "t.py"),
        ("torchrun ${SCRIPT:-t.py} $@", ""),
        ("make train", ""),
    ],
)
def test_the_script_behind_wrappers_and_launchers(text: str, script: str) -> None:
    assert find_main(read_line(text)).program.script == script


@pytest.mark.parametrize(
    ("text", "family"),
    [
        ("accelerate launch t.py", "pytorch"),
        ("deepspeed t.py", "pytorch"),
        ("composer -n 2 t.py", "pytorch"),
        ("lightning run model t.py", "pytorch"),
        ("uv run -m torch.distributed.run t.py", "pytorch"),
        ("horovodrun -np 2 python t.py", ""),
        ("mpirun -np 2 python t.py", ""),
        ("fleetrun t.py", "paddle"),
        ("python -m paddle.distributed.fleet.launch t.py", "paddle"),
        ("python -m paddle.fluid.launch t.py", "paddle"),
    ],
)
def test_a_launcher_belongs_to_a_framework_or_to_nobody(text: str, family: str) -> None:
    launcher = find_main(read_line(text)).launcher
    assert launcher is not None and launcher.family == family


def test_what_the_shell_does_is_not_the_programs() -> None:
    text = 'export A=1\ncd /w\nB=2 nohup python t.py --lr ${LR:-0.1} "$@" > out.log 2>&1 | tee log &'
    launch = find_main(read_line(text))
    assert show_words(launch.arguments) == '--lr ${LR:-0.1} "$@"'
    assert launch.arguments[1].usual == "0.1" and launch.arguments[1].text is None
    assert {name: value.text for name, value in launch.environment.items()} == {"A": "1", "B": "2"}
    assert [(each.operator, each.target.text) for each in launch.redirections] == [(">", "out.log"), ("2>&", "1")]
    assert launch.command.piped == ("tee",)
    assert launch.command.directory is not None and launch.command.directory.text == "/w"


def test_an_unknown_program_that_names_a_launcher_may_start_it() -> None:
    assert [each.starts for each in read_line("mystery --flag torchrun t.py").launches] == ["torchrun"]
    assert [each.starts for each in read_line("$RUN -m paddle.distributed.launch t.py").launches] == [
        "paddle.distributed.launch"
    ]
    assert not any(each.starts for each in read_line("echo torchrun; python t.py torchrun").launches)


@pytest.mark.parametrize(
    ("before", "known"),
    [
        ("N=2; ", "2"),
        ("", None),
        ("N=$(nproc); ", None),
        ("if [ -z $A ]; then N=2; fi; ", None),
        ("if [ -z $A ]; then N=2; else N=2; fi; ", "2"),
        ("if [ -z $A ]; then N=2; else N=3; fi; ", None),
        ("N=2; for i in 1 2; do N=$((N+1)); done; ", None),
        ("N=2; (N=3); ", "2"),
        ("N=2; N=3 true; ", "2"),
        ("N=2; unset $X; ", None),
        ("f() { N=2; }; f; ", "2"),
        ("read N; N=2; ", "2"),
    ],
)
def test_a_variable_is_known_where_the_script_says_it(before: str, known: str | None) -> None:
    (launch,) = read_line(f"{before}torchrun --nnodes $N t.py").distributed
    assert launch.text(Means.NODES) == known


def test_kubernetes_variables_of_the_template_are_known_and_others_are_not() -> None:
    container = {
        "command": ["torchrun", "--nnodes=$(N)", "--node_rank=$(RANK)", "--master_port", "$$(N)", "t.py"],
        "env": [{"name": "N", "value": "2"}, {"name": "S", "valueFrom": {"secretKeyRef": {"name": "a", "key": "b"}}}],
    }
    launch = find_main(read_container(container))
    assert launch.text(Means.NODES) == "2"
    assert launch.text(Means.NODE_RANK) is None
    assert launch.text(Means.MASTER_PORT) == "$(N)"


def test_a_shell_in_a_container_knows_the_containers_variables() -> None:
    container = {
        "command": ["bash", "-c"],
        "args": ["torchrun --nnodes $N --node_rank ${RANK} --rdzv_id $(hostname) t.py"],
        "env": [{"name": "N", "value": "2"}],
    }
    launch = find_main(read_container(container))
    assert [launch.text(each) for each in (Means.NODES, Means.NODE_RANK, Means.RUN)] == ["2", None, None]


def test_a_script_is_read_where_it_lies_and_once() -> None:
    files = {"run.sh": "bash more.sh --a $1", "more.sh": 'torchrun t.py "$@"; bash run.sh'}
    (launch,) = read_typed(["bash", "run.sh", "7"], files.get).distributed
    assert show_words(launch.arguments) == "--a 7"


BAD = {
    "a megabyte": "torchrun t.py\n" * 80_000,
    "NULs": "\0" * 1_000_000,
    "an open quote": "echo 'a\ntorchrun t.py\n",
    "an open here-document": "cat <<END\ntorchrun t.py\n",
    "substitutions within each other": "echo " + "$(echo " * 10_000 + ")" * 10_000,
    "open substitutions": "$(" * 10_000,
    "fish": "set -x A 1; and torchrun t.py; end\nfunction f\n torchrun $argv\nend\n",
    "PowerShell": "$env:A = 1\nif ($A -eq 1) { torchrun t.py }\nGet-ChildItem | ForEach-Object { $_ }\n",
    "every word a variable": "$A $B $C ${D} $(E) `F`\n" * 500,
    "a variable that doubles": "A=x\n" + "A=$A$A\n" * 60 + "torchrun $A\n",
    "an array that doubles": "A=(a b)\n" + 'A=("${A[@]}" "${A[@]}")\n' * 60 + 'torchrun "${A[@]}"\n',
    "functions that call two each": "".join(f"f{n}() {{ f{n + 1}; f{n + 1}; }}\n" for n in range(60)) + "f0\n",
    "a text that evaluates itself": 'E=\'eval "$E"\'\neval "$E"\n',
    "many variables and many commands": "".join(f"export V{n}={n}\n" for n in range(1500)) + "torchrun t.py\n" * 1500,
    "many variables and many pipes": "".join(f"V{n}={n}\n" for n in range(1500)) + "a | b | c\n" * 1500,
    "cases within each other": "case x in " * 4_000,
    "carriage returns": "torchrun t.py\r\n" * 100,
}


DEAR = frozenset({
    "a megabyte", "NULs", "substitutions within each other", "open substitutions", "every word a variable",
    "many variables and many commands", "many variables and many pipes", "cases within each other",
    "a variable that doubles",
})  # fmt: skip


@pytest.mark.parametrize("name", keep_light(BAD, BAD.keys() - DEAR))
def test_no_text_costs_more_than_its_budget(name: str) -> None:
    """Counted in steps of Python, which are the same on a busy machine; of C alone are the bytes, which are bounded."""
    assert count_steps(lambda: read_script(BAD[name])) < 3_000_000


@given(st.text(alphabet="ab$(){}[]'\"`;|&<>\\ \n=-.#*?!~1", max_size=60))
def test_any_text_is_read(text: str) -> None:
    read_script(text)
    read_container({"command": ["bash", "-c", text], "args": text.split(), "env": [{"name": "A", "value": text}]})


WORDS = (
    "torchrun python -m bash -c $A --nnodes = docker run ssh env A=1 -- - paddle.distributed.launch mpirun -np 2 t.py"
)


@given(st.lists(st.sampled_from(WORDS.split())))
def test_any_words_are_read(words: list[str]) -> None:
    find_main(read_typed(words))


NESTED = [
    ("${a:-", "}"),
    ('"${a:-$(', ')}"'),
    ("A=$(", ")"),
    ("ls > $(", ")"),
    ("mpirun ", ""),
    ("accelerate launch ", ""),
    ("bash -c ", ""),
    ("{ ", "; }"),
]


@pytest.mark.parametrize("inside", keep_light(["ls", "ls $(", "if", ")", "'"], ["ls $("]))
@pytest.mark.parametrize(("opens", "closes"), NESTED)
def test_nothing_is_too_deep(opens: str, closes: str, inside: str) -> None:
    for levels in (70, 400, 4000):
        read_script(f"{opens * levels}{inside}{closes * levels}\n{T}\n")


@pytest.mark.parametrize("opens", ["$[", "${a%", "A=(", "f() "])
def test_what_the_grammar_looks_for_to_the_end_of_a_text_is_given_up(opens: str) -> None:
    """Of 64 KiB of `$[` its scanner reads 1.5 GB."""
    reading = read_script(opens * (60_000 // len(opens)))
    assert not reading.whole and reading.launches == ()
    assert read_script(f"{opens * 20}\n").whole


@pytest.mark.slow
def test_a_long_list_of_arguments_is_not_shifted_without_end() -> None:
    assert not read_script("set -- " + "x " * 20_000 + "\n" + "shift\n" * 3000).whole
    assert read_script(f"set -- a b {T}\nshift 2\n$@\n").distributed
