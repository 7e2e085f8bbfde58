"""`paddock validate`: every problem of every file at once; what it says of bad files is in tests/bad."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from jobs.samples import read_text
from paddock.cli.main import cli


def validate(*arguments: str, lang: str = "C", given: bytes = b"") -> Result:
    environ = {"LC_ALL": "", "LC_MESSAGES": "", "LANG": lang}
    return CliRunner().invoke(cli, ["validate", *arguments], standalone_mode=False, env=environ, input=given)


@pytest.fixture
def good(tmp_path: Path) -> str:
    path = tmp_path / "good.yaml"
    path.write_text(read_text("wide_and_deep"), encoding="utf-8")
    return str(path)


@pytest.fixture
def bad(tmp_path: Path) -> str:
    path = tmp_path / "bad.yaml"
    path.write_text(read_text("wide_and_deep").replace("replicas: 2", "replicas: two"), encoding="utf-8")
    return str(path)


def test_a_good_file_is_praised(good: str) -> None:
    result = validate(good)
    assert (result.output, result.return_value) == (f"{good}: 1 PaddleJob, no problems\n", 0)
    assert validate(good, lang="zh_CN.UTF-8").output == f"{good}: 1 个 PaddleJob，没有问题\n"


def test_all_problems_of_all_files_come_at_once(good: str, bad: str, tmp_path: Path) -> None:
    nowhere = str(tmp_path / "nowhere.yaml")
    result = validate(bad, nowhere, good)
    first, second, third, fourth, count = result.output.splitlines()
    assert result.return_value == 1
    assert first == f'{bad}:9:15: spec.worker.replicas: found "two", a whole number from 1 to 10000 is allowed'
    assert second.startswith(f"{bad}:16:15: spec.ps.replicas: ")
    assert third == f"{nowhere}: cannot be read: No such file or directory"
    assert fourth == f"{good}: 1 PaddleJob, no problems"
    assert count == "3 problems"


def test_what_a_laptop_does_not_honour_is_told_once_a_job(tmp_path: Path) -> None:
    path = tmp_path / "user.yaml"
    text = read_text("wide_and_deep").replace(
        "      spec:\n        containers:", "      spec:\n        securityContext: {fsGroup: 7}\n        containers:"
    )
    assert text.count("fsGroup") == 2, "both roles have it"
    path.write_text(text, encoding="utf-8")
    result = validate(str(path))
    (told, count) = result.output.splitlines()
    assert told.partition(": warning: ")[2] == (
        "spec.worker.template.spec.securityContext.fsGroup: is not honoured on this machine: programs run as you "
        f"(uid {os.getuid()})"
    )
    line = text.splitlines().index("        securityContext: {fsGroup: 7}") + 1
    assert told.startswith(f"{path}:{line}:")
    assert (count, result.return_value) == (f"{path}: 1 PaddleJob, 1 warning", 0)


def test_a_warning_is_no_error(tmp_path: Path) -> None:
    path = tmp_path / "demo.yaml"
    path.write_text(read_text("paddlejob_demo_1"), encoding="utf-8")
    result = validate(str(path))
    assert result.return_value == 0
    assert ": warning: spec.cleanPolicy: " in result.output
    assert result.output.endswith("demo.yaml: 1 PaddleJob, 1 warning\n")


def test_json_is_for_programs(bad: str) -> None:
    result = validate(bad, "-o", "json")
    answer = json.loads(result.output)
    assert (answer["valid"], result.return_value) == (False, 1)
    assert answer["problems"][0] == {
        "file": bad,
        "line": 9,
        "column": 15,
        "path": "spec.worker.replicas",
        "rule": "invalid",
        "severity": "error",
        "message": 'found "two", a whole number from 1 to 10000 is allowed',
        "found": '"two"',
        "allowed": "a whole number from 1 to 10000",
        "suggestion": "",
    }


def test_json_names_the_rule_that_is_broken(tmp_path: Path) -> None:
    path = tmp_path / "bad.yaml"
    text = (
        read_text("wide_and_deep").replace("withGloo", "withGlue").replace("name: wide-ande-deep", "labels: {a: b c}")
    )
    path.write_text(text, encoding="utf-8")
    problems = json.loads(validate(str(path), "-o", "json").output)["problems"]
    assert [(each["path"], each["rule"]) for each in problems] == [
        ("metadata.name", "required"),
        ("metadata.labels.a", "invalid_label_value"),
        ("spec.withGlue", "unknown_field"),
    ]


def test_standard_input_is_a_file_of_that_name() -> None:
    assert validate("-", given=b"a: [").output.startswith("stdin:1:5: ")


def test_what_is_too_large_is_not_read(tmp_path: Path) -> None:
    path = tmp_path / "model.pdparams"
    with path.open("wb") as stream:
        stream.truncate(9 * 2**20)
    assert validate(str(path)).output == f"{path}: larger than 8 MiB: this is no manifest\n"


def test_no_cluster_and_no_client_is_imported(good: str) -> None:
    """It is called by editors at every keystroke."""
    code = (
        "import sys\nfrom paddock.cli.main import run\n"
        f"assert run(['validate', {good!r}]) == 0\n"
        "assert not {'aiohttp', 'uvloop', 'asyncio', 'cryptography', 'paddock.apiserver'} & set(sys.modules)"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
