"""What environments say in English, in a status, is known by its form and told in the reader's language."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from environments import test_failures as outputs
from paddock.environments.definition import Definition
from paddock.environments.failures import Failure, explain_check, explain_check_timeout, explain_os_error, read_failure
from paddock.environments.images import explain_no_environment
from paddock.environments.progress import Progress
from paddock.environments.pythons import Python
from paddock.words.phrases import Foreign, Phrase, phrase, render

PYTHON = Python(Path("/usr/bin/python3.14"), (3, 14, 0))
OUTPUTS = {name: value for name, value in vars(outputs).items() if name.isupper() and isinstance(value, str)}
OTHERS = (
    explain_os_error(OSError(28, "No space left on device"), "/cache"),
    explain_os_error(PermissionError(13, "Permission denied", "/x"), "/cache"),
    explain_check("ImportError: x", outputs.PADDLE),
    explain_check_timeout(outputs.PADDLE, 60),
    explain_no_environment("busybox", [Definition(name="paddle")]),
    Progress("waiting", 0, "paddle").explain(),
    Progress("retrying", 0, "fetching Python", tries=(1, 3)).explain(),
    Progress("fetching", 5, "Python 3.12", 2**20).explain(),
    Progress("installing", 88, "paddlepaddle 3.0.0", 2**20).explain(),
)


def in_chinese(message: str) -> str:
    return render(phrase("{said}", said=Foreign(message)), "zh")


@pytest.mark.parametrize("output", OUTPUTS.values(), ids=OUTPUTS)
def test_each_failure_is_told_in_chinese(output: str) -> None:
    message = f"environment paddle: {read_failure(Failure(output, outputs.PADDLE, PYTHON, '/cache')).message}"
    said = in_chinese(message)
    assert said.startswith("环境 paddle：")
    assert re.search(r"[\u4e00-\u9fff]", said.partition("：")[2])
    assert render(phrase("{said}", said=Foreign(message))) == message


@pytest.mark.parametrize("message", OTHERS)
def test_what_else_is_said_while_one_is_built_is_told_in_chinese(message: Phrase | str) -> None:
    assert re.search(r"[\u4e00-\u9fff]", in_chinese(str(message)))


def test_what_is_not_known_stays_as_it_is() -> None:
    assert in_chinese("the moon is full") == "the moon is full"
