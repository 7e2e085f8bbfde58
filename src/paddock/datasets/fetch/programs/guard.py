"""Runs a program and ends with all that it has started, when the process that wanted it is gone: `guard.py WORD...`

Linux sends it SIGTERM then (`processes` asks for that), and it kills its own process group. What git starts would stay
otherwise, waiting for a server.
"""

import os
import signal
import sys
from types import FrameType


def end(number: int, frame: FrameType | None) -> None:
    os.killpg(0, signal.SIGKILL)


def main() -> None:
    signal.signal(signal.SIGTERM, end)
    child = os.fork()
    if child == 0:
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
        os.execvp(sys.argv[1], sys.argv[1:])  # noqa: S606 - words of ours, and no shell
    code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    os._exit(code if code >= 0 else 128 - code)


if __name__ == "__main__":
    main()
