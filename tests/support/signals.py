"""A process that runs tests has the signals of a terminal's program, however it was started.

An ignored signal stays ignored in every program that is started, so under `nohup`, and after the `&` of a script, the
programs of tests would be deaf to the signals that tests send.
"""

from __future__ import annotations

import signal
from types import FrameType

import pytest

_PYTHONS_OWN = (signal.SIGPIPE, signal.SIGXFSZ)
"""Python ignores these itself, and restores them for each program that it starts."""


def pytest_configure(config: pytest.Config) -> None:
    """The process of xdist that hands tests out runs none, and its workers come here themselves."""
    if config.getoption("dist", "no") == "no" or hasattr(config, "workerinput"):
        hear_ignored_signals()


def hear_ignored_signals() -> None:
    for number in signal.valid_signals():
        if number not in _PYTHONS_OWN and signal.getsignal(number) is signal.SIG_IGN:
            signal.signal(number, _HANDLERS.get(number, _do_nothing))


def _do_nothing(number: int, frame: FrameType | None) -> None:
    """Who started the tests under `nohup` wants them to go on; a handler is not inherited."""


_HANDLERS = {signal.SIGINT: signal.default_int_handler, signal.SIGTERM: signal.SIG_DFL}
"""As asyncio expects them, and leaves them."""
