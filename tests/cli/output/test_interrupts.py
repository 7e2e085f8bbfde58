"""A signal ends a work that gives back what it holds."""

from __future__ import annotations

import asyncio
import os
import signal

import pytest

from paddock.cli.output.interrupts import Signalled, until_signalled


@pytest.mark.parametrize("second", [signal.SIGHUP, signal.SIGTERM])
async def test_a_second_signal_does_not_cut_short_what_the_first_one_has_begun(second: signal.Signals) -> None:
    """A terminal that is closed may be told of twice: by its shell, and by the kernel."""
    before, given_back = signal.getsignal(second), list[bool]()

    async def work() -> None:
        os.kill(os.getpid(), signal.SIGHUP)
        try:
            await asyncio.Event().wait()
        finally:
            os.kill(os.getpid(), second)
            await asyncio.sleep(0.1)
            given_back.append(True)

    with pytest.raises(Signalled) as raised:
        await until_signalled(work())
    assert (raised.value.code, given_back) == (128 + signal.SIGHUP, [True])
    assert signal.getsignal(second) is before
