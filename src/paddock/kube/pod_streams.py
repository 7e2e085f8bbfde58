"""exec, attach and port-forward of a pod, as values: what a client asks for, and what its channels carry.

    GET|POST /api/v1/namespaces/NAMESPACE/pods/NAME/exec?container=C&command=A&command=B&stdin=true&stdout=true&tty=true
    GET|POST …/attach    as exec, without a command
    GET|POST …/portforward?ports=8080

The node runs them (`node.streams`), the API of the laptop serves them to every kubectl (`apiserver.streaming`), and
Paddock's client asks for them, of a laptop and of a Kubernetes (`client.pod_streams`). The three do not know each
other, so what they share is here: the request, the numbers of the channels (Kubernetes, k8s.io/kubelet
`remotecommand.NewOptions` and `v5.channel.k8s.io`), and the Status that tells how a program ended. Pure.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Protocol

from paddock.kube.meta import Manifest

STDIN, STDOUT, STDERR, ERROR, RESIZE = range(5)
"""The first byte of each message of `v4.channel.k8s.io` and `v5.channel.k8s.io`. ERROR carries the Status of the end,
RESIZE a JSON object `{"Width": columns, "Height": rows}`."""
CLOSE = 255
"""Since v5: the next byte is the number of a channel that its sender has closed. kubectl closes STDIN by it."""
NON_ZERO_EXIT = "NonZeroExitCode"
_EXIT_CODE = "ExitCode"
_NOT_EXECUTABLE, _NOT_FOUND = _NOT_STARTED = (126, 127)
"""As a shell tells of a command that it could not start."""


@dataclass(frozen=True, slots=True)
class StreamRequest:
    """What a client of exec or attach asks for."""

    container: str = ""
    """Empty: the one of `kube.pod_logs.name_main_container`."""
    command: tuple[str, ...] = ()
    """The words of exec; empty for attach."""
    stdin: bool = False
    stdout: bool = True
    stderr: bool = True
    """With `tty` there is none: a terminal has one output."""
    tty: bool = False


@dataclass(frozen=True, slots=True)
class Size:
    """A terminal's, in characters."""

    width: int
    height: int


@dataclass(frozen=True, slots=True)
class Ended:
    """How a program of exec ended, or the container of attach."""

    code: int = 0
    """As a shell tells it: 128 + N after signal N; 126 and 127 of a command that could not be started."""
    message: str = ""
    """Why nothing ran, or why its node has ended it. Empty of a program that has ended by itself."""


class Session(Protocol):
    """A program of exec, or a container that is watched by attach. Whoever has one closes it."""

    async def read(self) -> tuple[int, bytes] | None:
        """The next output: STDOUT or STDERR, and its bytes (64 KiB at most). None when all outputs are at their end.
        What is not read is not kept: a program whose pipe is full waits."""

    async def write(self, data: bytes) -> None:
        """Input. It returns when the program may be sent more. Input that nobody reads any more is dropped."""

    def close_input(self) -> None:
        """The client has no more input. Without effect where there is none, or where it is closed."""

    def resize(self, size: Size) -> None:
        """Without effect where there is no terminal."""

    async def wait(self) -> Ended:
        """The end of the program of exec. Of attach, that of the container's run."""

    async def close(self) -> None:
        """The client has gone, or all is told. A program of exec that still runs gets SIGHUP, and soon SIGKILL; the
        container of attach runs on. May be called twice."""


class Connection(Protocol):
    """To a port of a pod: the bytes of one TCP connection."""

    async def read(self) -> bytes:
        """64 KiB at most; empty at the end. Raises OSError."""

    async def write(self, data: bytes) -> None:
        """It returns when more may be sent. Raises OSError."""

    def write_eof(self) -> None: ...

    async def close(self) -> None: ...


class PodStreams(Protocol):
    """Who runs pods lets others in. The three raise an `ApiError` before anything runs: BadRequest of a pod that does
    not run and of a container that it does not have, TooManyRequests of one session too many."""

    async def exec(self, pod: Manifest, request: StreamRequest) -> Session: ...

    async def attach(self, pod: Manifest, request: StreamRequest) -> Session: ...

    async def connect(self, pod: Manifest, port: int) -> Connection:
        """`port`: as the pod's programs listen on it. Raises OSError where nobody listens, or who forbids it."""


def read_port(text: str) -> int | None:
    """None of what is no port: 1 to 65535."""
    return int(text) if text.isascii() and text.isdecimal() and len(text) <= 5 and 0 < int(text) < 2**16 else None


def build_end(ended: Ended) -> Manifest:
    """The Status of the channel ERROR, as a kubelet writes it and as each kubectl reads an exit code from it."""
    if not ended.code and not ended.message:
        return {"metadata": {}, "status": "Success"}
    message = ended.message or f"command terminated with non-zero exit code: exit status {ended.code}"
    status: Manifest = {"metadata": {}, "status": "Failure", "message": message}
    if not ended.code:
        return {**status, "reason": "InternalError", "code": 500}
    details = {"causes": [{"reason": _EXIT_CODE, "message": str(ended.code)}]}
    # Of a NonZeroExitCode kubectl prints the code alone, and nobody would hear why nothing ran.
    if ended.message and ended.code in _NOT_STARTED:
        return {**status, "reason": "InternalError", "code": 500, "details": details}
    return {**status, "reason": NON_ZERO_EXIT, "details": details}


def read_end(status: Manifest) -> Ended:
    """What a client learns from the Status. A failure without an exit code is code 1, with its message."""
    if status.get("status") == "Success":
        return Ended()
    message = str(status.get("message") or "")
    details = status.get("details")
    causes = details.get("causes") if isinstance(details, Mapping) else None
    for cause in causes if isinstance(causes, list) else []:
        text = str(cause.get("message") or "") if isinstance(cause, Mapping) else ""
        if isinstance(cause, Mapping) and cause.get("reason") == _EXIT_CODE and text.isdecimal():
            own = message.startswith("command terminated with")
            return Ended(int(text), "" if own else message)
    return Ended(1, message or "the stream has ended without saying why")


def read_not_started(ended: Ended) -> Ended:
    """A Kubernetes tells of a program that could not be started in the words of its container runtime, without a
    code."""
    if ended.code != 1 or not ended.message:
        return ended
    text = ended.message.lower()
    if "executable file not found" in text or "no such file or directory" in text:
        return Ended(_NOT_FOUND, ended.message)
    return Ended(_NOT_EXECUTABLE, ended.message) if "permission denied" in text else ended


def is_not_started(ended: Ended) -> bool:
    """Whether nothing ran, of what `read_not_started` has read."""
    return ended.code in _NOT_STARTED and bool(ended.message)
