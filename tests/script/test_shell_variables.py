"""Variables of the shell that a command reads and was not given are named, and no others."""

from __future__ import annotations

import re
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from paddock.node.runtime.container_env import INHERITED
from paddock.script.contents import Contents
from paddock.script.libraries import SET_FOR_SEVERAL
from paddock.script.request import ScriptRequest
from paddock.script.shell_variables import explain_left, list_left
from paddock.words.phrases import render

PYTHON: frozenset[str] = frozenset()
"""`Contents.sets` of a command that starts a Python program, and sets nothing for it."""


def left(shell: str, asked: str = "", imports: str = "", sets: frozenset[str] | None = PYTHON, **request: Any) -> str:
    contents = Contents(imports=frozenset(imports.split()), asked=frozenset(asked.split()), sets=sets)
    made = ScriptRequest(("python", "t.py"), **{"framework": "none", **request})
    return " ".join(list_left(made, contents, dict.fromkeys(shell.split(), "1")))


@pytest.mark.parametrize(
    ("shell", "asked", "named"),
    [
        ("LR", "LR N", "LR"),
        ("LR", "", ""),
        ("Z LR A", "LR A Z", "A LR Z"),
        ("HOME PATH LANG LC_ALL TMPDIR http_proxy HTTPS_PROXY PWD SHLVL _", "HOME PATH LANG LC_ALL TMPDIR PWD", ""),
        ("RANK WORLD_SIZE PADDLE_TRAINER_ID SLURM_PROCID", "RANK WORLD_SIZE PADDLE_TRAINER_ID SLURM_PROCID", ""),
        ("VIRTUAL_ENV CONDA_PREFIX SHELL DISPLAY SSH_CONNECTION", "VIRTUAL_ENV CONDA_PREFIX SHELL DISPLAY", ""),
        ("BASH_FUNC_x%%", "BASH_FUNC_x%%", ""),
    ],
)
def test_what_is_read_by_name_is_named_unless_pods_have_it_or_it_is_the_session_s(
    shell: str, asked: str, named: str
) -> None:
    assert left(shell, asked) == named
    assert left(shell, asked, sets=None) == named, "of a shell script as well"


@pytest.mark.parametrize(
    ("shell", "request_", "imports", "named"),
    [
        ("OMP_NUM_THREADS MKL_NUM_THREADS PYTHONPATH", {}, "", "MKL_NUM_THREADS OMP_NUM_THREADS PYTHONPATH"),
        ("NCCL_DEBUG GLOO_SOCKET_IFNAME", {}, "torch", ""),
        ("NCCL_DEBUG GLOO_SOCKET_IFNAME", {"workers": 2}, "torch", "GLOO_SOCKET_IFNAME NCCL_DEBUG"),
        ("NCCL_DEBUG NCCL_VERSION", {"gpus": 1}, "torch", "NCCL_DEBUG"),
        ("CUDA_LAUNCH_BLOCKING CUDA_HOME", {"gpus": 1}, "torch", "CUDA_LAUNCH_BLOCKING"),
        ("CUDA_LAUNCH_BLOCKING", {}, "torch", ""),
        ("TORCH_LOGS PYTORCH_CUDA_ALLOC_CONF", {}, "torch", "PYTORCH_CUDA_ALLOC_CONF TORCH_LOGS"),
        ("TORCH_LOGS FLAGS_check_nan_inf", {"framework": "paddle"}, "", "FLAGS_check_nan_inf"),
        ("TORCH_LOGS FLAGS_check_nan_inf", {"framework": "pytorch"}, "", "TORCH_LOGS"),
        ("FLAGS_selected_gpus TORCHELASTIC_RUN_ID", {"framework": "paddle"}, "torch", ""),
        ("JAX_PLATFORMS XLA_FLAGS", {"framework": "jax"}, "", "JAX_PLATFORMS XLA_FLAGS"),
        ("TF_CPP_MIN_LOG_LEVEL TF_CLI_CONFIG_FILE TF_CONFIG", {}, "tensorflow", "TF_CPP_MIN_LOG_LEVEL"),
        ("HF_HOME TRANSFORMERS_OFFLINE WANDB_MODE", {}, "transformers", "HF_HOME TRANSFORMERS_OFFLINE"),
        ("HF_HOME TOKENIZERS_PARALLELISM WANDB_MODE", {}, "wandb", "WANDB_MODE"),
        ("HF_HOME WANDB_MODE MLFLOW_TRACKING_URI", {}, "torch", ""),
    ],
)  # fmt: skip
def test_what_a_library_reads_by_itself_is_named_where_the_library_is(
    shell: str, request_: dict[str, Any], imports: str, named: str
) -> None:
    assert left(shell, "", imports, **request_) == named
    assert left(shell, "", imports, sets=None, **request_) == "", "of no Python program nothing is known"
    assert left(shell, "", imports, sets=frozenset(shell.split()), **request_) == "", "the command sets it"


def test_the_packages_that_the_user_names_count_as_imports() -> None:
    contents = Contents(requirements=frozenset({"wandb"}), sets=PYTHON)
    request = ScriptRequest(("python", "t.py"), framework="none")
    assert list_left(request, contents, {"WANDB_MODE": "offline"}) == ["WANDB_MODE"]


def test_what_pods_inherit_and_what_ranks_are_told_is_never_named() -> None:
    names = [*INHERITED, *SET_FOR_SEVERAL, "LC_CTYPE"]
    assert left(" ".join(names), " ".join(names)) == ""


NAMES = ("LR", "SEED", "OMP_NUM_THREADS", "HF_HOME", "HF_TOKEN", "TORCH_LOGS", "CUDA_VISIBLE_DEVICES", "RANK", "HOME")


@given(
    st.dictionaries(st.sampled_from(NAMES), st.sampled_from(["", "-1", "0", "0,1", "text"])),
    *(st.frozensets(st.sampled_from(NAMES)) for _ in range(4)),
)
def test_a_variable_that_is_given_or_not_set_is_never_named(
    shell: dict[str, str],
    asked: frozenset[str],
    plain: frozenset[str],
    hidden: frozenset[str],
    sets: frozenset[str],
) -> None:
    values = [(name, "1") for name in plain]
    secrets = [(name, "1") for name in hidden]
    request = ScriptRequest(("python", "t.py"), "pytorch", variables=values, secrets=secrets)
    contents = Contents(imports=frozenset({"transformers"}), asked=asked, sets=sets)
    found = list_left(request, contents, shell)
    assert not {*found} & (plain | hidden) and {*found} <= shell.keys() and len({*found}) == len(found)
    assert not {*found} & (sets - asked)
    said = {word for each in explain_left(request, contents, shell) for word in re.findall(r"\w+", render(each))}
    assert not said & (plain | hidden)


def say(shell: dict[str, str], asked: str = "", **request: Any) -> list[str]:
    contents = Contents(asked=frozenset(asked.split()), sets=PYTHON)
    made = ScriptRequest(("python", "t.py"), **{"framework": "none", **request})
    return [render(each) for each in explain_left(made, contents, shell)]


def test_one_line_has_the_names_and_the_options_that_give_them() -> None:
    assert say({"LR": "0.1", "WANDB_API_KEY": "hidden"}, "LR WANDB_API_KEY") == [
        "the command reads LR and WANDB_API_KEY of this shell, which a job does not get by itself: add "
        "`--env LR --secret WANDB_API_KEY`"
    ]
    assert say({}, "LR") == []


def test_of_many_names_six_are_said_and_the_others_counted() -> None:
    names = [f"V{n}" for n in range(9)]
    (line,) = say(dict.fromkeys(names, ""), " ".join(names))
    assert "reads V0, V1, V2, V3, V4, V5 and 3 more of this shell" in line and line.endswith("--env V5`")


@pytest.mark.parametrize(
    ("value", "gpus", "said"),
    [
        (
            "0,1",
            0,
            "CUDA_VISIBLE_DEVICES of this shell chooses no GPUs for a job: `--gpus 2` gives each",
        ),
        ("0", 1, ""),
        ("", 0, "add `--env CUDA_VISIBLE_DEVICES`"),
        ("-1", 1, "add `--env CUDA_VISIBLE_DEVICES`"),
    ],
)
def test_gpus_are_chosen_by_an_option_and_hidden_by_the_variable(value: str, gpus: int, said: str) -> None:
    lines = say({"CUDA_VISIBLE_DEVICES": value}, gpus=gpus)
    assert len(lines) == (1 if said else 0) and all(said in each for each in lines)
