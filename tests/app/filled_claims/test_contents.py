"""What decides the name of a claim, and what of a requirements file no pod of a cluster may have or be told."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from paddock.app.filled_claims.contents import (
    Content,
    build_code,
    build_packages,
    choose_python,
    find_problems,
    list_variables,
)
from paddock.environments.requirement_files import Requirements, read_requirements

IMAGE = "registry.example/paddle:3.3"


def read(text: str) -> Requirements:
    return read_requirements("r.txt", {"r.txt": text, "more.txt": "six\n"}.__getitem__)


def build(text: str = "numpy\nsix==1.17.0\n", size: str = "", **container: Any) -> Content:
    container = {"image": IMAGE, "command": ["python", "train.py"], **container}
    return build_packages(read(text), {"spec": {"containers": [container]}}, container, size)


@pytest.mark.parametrize(
    ("changes", "same"),
    [
        ({}, True),
        ({"text": "# a comment\nsix==1.17.0\nnumpy\n"}, True),
        ({"size": "20Gi"}, True),
        ({"command": ["python", "other.py"]}, True),
        ({"env": [{"name": "LR", "value": "1"}]}, True),
        ({"text": "numpy\nsix==1.16.0\n"}, False),
        ({"text": "--index-url https://mirror.example/simple\nnumpy\nsix==1.17.0\n"}, False),
        ({"text": "--extra-index-url https://mirror.example/simple\nnumpy\nsix==1.17.0\n"}, False),
        ({"image": "registry.example/paddle:3.2"}, False),
        ({"command": ["/opt/conda/bin/python3", "train.py"]}, False),
        ({"env": [{"name": "PIP_INDEX_URL", "value": "https://mirror.example/simple"}]}, False),
    ],
)
def test_equal_packages_over_one_image_are_one_claim(changes: dict[str, Any], same: bool) -> None:
    assert (build(**changes).name == build().name) is same


def test_a_name_says_what_it_is() -> None:
    content = build("numpy\nsix\ntqdm\npandas\nscipy\n")
    assert content.name == f"env-{content.digest[:12]}"
    assert content.about == f"numpy, six, tqdm, pandas and 1 more for {IMAGE}"
    assert (content.size, build(size="20Gi").size) == ("10Gi", "20Gi")
    code = build_code("ab" * 32, 3 * 2**30, "5 files of work", {}, {"image": IMAGE})
    assert (code.name, code.size, code.python) == ("code-abababababab", "4Gi", "python3")
    assert build_code("ab" * 32, 1, "", {}, {}).size == "1Gi"


@pytest.mark.parametrize(
    ("command", "args", "python"),
    [
        (["python", "train.py"], [], "python"),
        (["/opt/conda/bin/python3.10", "-m", "x"], [], "/opt/conda/bin/python3.10"),
        ([], ["python3", "train.py"], "python3"),
        (["torchrun", "train.py"], [], "python3"),
        (["bash", "-c", "python train.py"], [], "python3"),
        (["pythonic", "x"], [], "python3"),
        ([], [], "python3"),
    ],
)
def test_packages_are_installed_for_the_python_that_the_job_starts(
    command: list[str], args: list[str], python: str
) -> None:
    assert choose_python({"command": command, "args": args}) == python


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("numpy\n", []),
        ("x @ git+ssh://git@github.example/x\n", []),
        ("x @ https://${TOKEN}@host.example/x.whl\n", []),
        ("x @ https://host.example/x.whl\n", []),
        ("numpy\nx @ https://me:pw@host.example/x.whl\n", ["r.txt:2: an address has a user name or a password in it"]),
        ("x @ git+https://ghp_token@github.example/x\n", ["r.txt:1: an address has a user name"]),
        ("--index-url https://me:pw@host.example/simple\nnumpy\n", ["r.txt: an address has a user name"]),
        ("--extra-index-url https://pw@host.example/simple\nnumpy\n", ["r.txt: an address has a user name"]),
        (f"x @ file://{__file__}\n", ["r.txt:1: found a file of this machine"]),
        ("--index-url file:///simple\nnumpy\n", ["r.txt: its package index is a directory of this machine"]),
        (f"-e {Path(__file__).parents[3]}\n", ["r.txt:1: found '-e "]),
        ("-f file:///links\nnumpy\n", ["r.txt: its package index is a directory of this machine"]),
        ("-c more.txt\nnumpy\n", ["r.txt: constraints are not read: write the versions"]),
        ("", ["r.txt: no package is named in it"]),
    ],
)
def test_what_no_pod_of_a_cluster_sees_or_may_be_told_is_named_with_its_line(text: str, said: list[str]) -> None:
    problems = [str(each) for each in find_problems(read(text), "r.txt")]
    assert len(problems) == len(said), problems
    for problem, beginning in zip(problems, said, strict=True):
        assert problem.startswith(beginning)
        assert "pw" not in problem and "ghp_token" not in problem, "an address may hold a password"


def test_files_that_a_file_includes_are_one_text() -> None:
    text = "-i https://a.example/simple\n--extra-index-url https://b.example/simple\n-r more.txt\nnumpy>=1\n"
    written = "--index-url https://a.example/simple\n--extra-index-url https://b.example/simple\n\nsix\nnumpy>=1\n"
    assert build(text).requirements == written


def test_variables_of_the_network_go_along_and_no_other() -> None:
    secret = {"secretKeyRef": {"name": "index", "key": "url"}}
    env = [
        {"name": "PIP_INDEX_URL", "valueFrom": secret},
        {"name": "UV_DEFAULT_INDEX", "value": "u"},
        {"name": "https_proxy", "value": "p"},
        {"name": "WANDB_API_KEY", "value": "k"},
        {"name": "PIPELINE", "value": "x"},
    ]
    assert [each["name"] for each in list_variables({"env": env})] == [
        "PIP_INDEX_URL",
        "UV_DEFAULT_INDEX",
        "https_proxy",
    ]
