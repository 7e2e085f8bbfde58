"""How the run of a credential plug-in failed, as a sentence."""

from __future__ import annotations

import errno
import os

import pytest

from client.plugins import build_plugin
from paddock.client.errors import PluginError
from paddock.client.exec_failures import Ended, explain_failure, explain_missing, explain_unstarted

WHO = "the credential plug-in aws (user 'u' in /home/u/.kube/config)"


def test_an_answer_is_no_failure() -> None:
    assert explain_failure(build_plugin(), Ended(0, b"{}")) is None


@pytest.mark.parametrize(
    ("ended", "sentence"),
    [
        (Ended(3, errors=b"You are signed out.\n\nRun `aws sso login`\n"),
         f"{WHO} failed with exit code 3. You may have to sign in again with the tools of the cluster's provider. It "
         "wrote:\nYou are signed out.\nRun `aws sso login`"),
        (Ended(3, errors=b" \n"), "again with the tools of the cluster's provider. It wrote no reason"),
        (Ended(3, errors=None), "the tools of the cluster's provider. What it wrote is above"),
        (Ended(-9, errors=b"x"), f"{WHO} was ended by SIGKILL. It wrote:\nx"),
        (Ended(-200, errors=b""), f"{WHO} was ended by signal 200. It wrote no reason"),
        (Ended(-9, errors=b"waiting", stopped="seconds"),
         f"{WHO} gave nothing within 60 s and was stopped: it may wait for somebody. Sign in first, in a terminal, "
         "with the tools of the cluster's provider. It wrote:\nwaiting"),
        (Ended(-9, stopped="bytes"), f"{WHO} printed more than 1024 KiB and was stopped: exec.command and exec.args"),
    ],
)  # fmt: skip
def test_a_failure_says_what_happened_and_what_to_do(ended: Ended, sentence: str) -> None:
    error = explain_failure(build_plugin(), ended)
    assert error is not None and not error.missing
    assert sentence in str(error)


def test_the_last_lines_are_quoted_without_secrets() -> None:
    lines = [f"line {number}" for number in range(20)] + ["y" * 39 + " " + "z " * 400, "token=s3cret"]
    error = explain_failure(build_plugin(), Ended(1, errors="\n".join(lines).encode() + b"\xff"))
    said = str(error).splitlines()
    assert said[1:4] == ["line 17", "line 18", "line 19"]
    assert len(said[4]) == 300 and said[5] == "token=…"


@pytest.mark.parametrize(
    ("command", "hint", "sentence"),
    [
        ("aws", "", f"{WHO} is not installed: no directory of PATH has it. Install it with the tools of the cluster's "
         "provider, or write its path into exec.command"),
        ("aws", "See\nhttps://example.com/install \x1b[1m", f"{WHO} is not installed: no directory of PATH has it. The "
         "kubeconfig says: See\nhttps://example.com/install"),
        ("/opt/aws", "", "the credential plug-in /opt/aws (user 'u' in /home/u/.kube/config) does not exist. Install"),
    ],
)  # fmt: skip
def test_a_missing_program_says_what_installs_it(command: str, hint: str, sentence: str) -> None:
    error = explain_missing(build_plugin(command=command, hint=hint))
    assert error.missing and str(error).startswith(sentence)


@pytest.mark.parametrize(
    ("number", "sentence"),
    [
        (errno.EACCES, f"{WHO} cannot be started: Permission denied. It has to be a program that you may execute"),
        (errno.ENOEXEC, f"{WHO} cannot be started: Exec format error. It has to be"),
        (errno.ENOENT, f"{WHO} cannot be started: the interpreter that its first line names does not exist"),
    ],
)
def test_a_program_that_does_not_start_says_why(number: int, sentence: str) -> None:
    error: PluginError = explain_unstarted(build_plugin(), OSError(number, os.strerror(number)))
    assert error.missing and str(error).startswith(sentence)
