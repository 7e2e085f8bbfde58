"""The Status of an end: what a kubelet writes, and what a client reads from it."""

from __future__ import annotations

from typing import Any

import pytest

from paddock.kube.pod_streams import Ended, build_end, read_end

EXIT_7 = {
    "metadata": {},
    "status": "Failure",
    "message": "command terminated with non-zero exit code: exit status 7",
    "reason": "NonZeroExitCode",
    "details": {"causes": [{"reason": "ExitCode", "message": "7"}]},
}
"""Of a kubelet 1.20 and of containerd's 1.7."""


def test_an_exit_code_is_told_as_a_kubelet_does() -> None:
    assert build_end(Ended(7)) == EXIT_7
    assert build_end(Ended()) == {"metadata": {}, "status": "Success"}


@pytest.mark.parametrize("ended", [Ended(), Ended(1), Ended(137), Ended(127, "no command nothere in PATH")])
def test_what_is_written_is_read(ended: Ended) -> None:
    assert read_end(build_end(ended)) == ended


@pytest.mark.parametrize(
    ("status", "ended"),
    [
        ({"status": "Failure", "message": "error executing command", "reason": "InternalError"},
         Ended(1, "error executing command")),
        ({"status": "Failure"}, Ended(1, "the stream has ended without saying why")),
        ({}, Ended(1, "the stream has ended without saying why")),
        ({"status": "Failure", "message": "x", "details": {"causes": "none"}}, Ended(1, "x")),
        ({"status": "Failure", "message": "x", "details": {"causes": [None, {"reason": "ExitCode"}]}}, Ended(1, "x")),
    ],
)  # fmt: skip
def test_a_failure_without_a_code_is_one(status: dict[str, Any], ended: Ended) -> None:
    assert read_end(status) == ended
