"""Tests run in another order each time. One seed names the order and what Hypothesis draws; the last line prints it.

pytest-randomly draws the seed, gives it to the workers of xdist, and shuffles; `-p no:randomly` turns all of it off.
The seed alone decides: with one, Hypothesis does not read its database of former examples.
"""

from __future__ import annotations

import pytest
from hypothesis import core


@pytest.hookimpl(trylast=True)  # after pytest-randomly has drawn, and after Hypothesis has read --hypothesis-seed
def pytest_configure(config: pytest.Config) -> None:
    if core.global_force_seed is None:
        core.global_force_seed = config.getoption("randomly_seed", None)


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    seed = config.getoption("randomly_seed", None)
    if config.pluginmanager.hasplugin("randomly"):
        terminalreporter.write_line(f"the same order again: pytest --randomly-seed={seed}")
