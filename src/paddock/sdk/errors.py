"""The errors of the Python calls. Their message is the sentence that the command line prints."""

from __future__ import annotations

from typing import TYPE_CHECKING

from paddock.kube.printable import show

if TYPE_CHECKING:
    from paddock.sdk.result import Result


class PaddockError(Exception):
    """The call is wrong, or the cluster could not do what was asked for. Python prints the message, so what others
    wrote in it is cleaned (`kube.printable`)."""

    def __init__(self, message: str) -> None:
        super().__init__(show(message))


class JobFailed(PaddockError):
    """The job ran and has not completed. `result`: how it ended."""

    def __init__(self, message: str, result: Result) -> None:
        super().__init__(message)
        self.result = result
