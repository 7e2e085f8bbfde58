"""What the start of the local cluster says."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from paddock.app.home import Home, Running
from paddock.app.launch import Started
from paddock.cli.cluster.places import explain_started
from paddock.cli.main import run
from support.printed import take_printed

RUNNING = Running(1, "https://127.0.0.1:6443", 1.5, "0.1.0", "2 CPUs", "none", "bubblewrap (bwrap) is not installed")
STARTED = "local cluster started in 0.6 s (2 CPUs)"


@pytest.mark.parametrize(
    ("running", "lines"),
    [
        (replace(RUNNING, sandbox="bubblewrap", problem=""), [STARTED]),
        (replace(RUNNING, console="http://x"), [f"{STARTED}; `paddock console` opens its console",
         "programs run as you and may do all that you may (bubblewrap (bwrap) is not installed): `paddock up --help` "
         "says what that means"]),
        (replace(RUNNING, problem=""),
         [STARTED, "programs run as you and may do all that you may: `paddock up --help` says what that means"]),
    ],
)  # fmt: skip
def test_a_start_says_what_programs_may_once_in_a_home(
    running: Running, lines: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    home, started = Home(tmp_path, tmp_path), Started(running, 0.6, fresh=True)
    said = [str(each) for each in explain_started(started, home)]
    assert said == lines
    assert [str(each) for each in explain_started(started, home)] == lines[:1]
    if lines[1:]:
        assert run(take_printed(said[1], "paddock up --help").split()[1:]) == 0
        assert "Install the package bubblewrap" in " ".join(capsys.readouterr().out.split())
