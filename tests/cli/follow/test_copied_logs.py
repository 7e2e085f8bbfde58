"""`paddock logs --context` of a job whose pods are gone prints what a console on this machine has copied."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from paddock.app.consoles.spool.files import place_of_cluster
from paddock.app.home import Home
from paddock.cli.cluster.places import Cluster, build_cluster
from paddock.cli.follow.copied_logs import print_copied
from paddock.cli.follow.kept_runs import Which
from paddock.cli.follow.print_logs import Request
from paddock.cli.follow.wanted_lines import Wanted
from paddock.client.kubeconfig import Config
from support.consoles import keep_log, keep_run

SERVER = "https://prod.example:6443"


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Cluster:
    monkeypatch.setenv("PADDOCK_HOME", str(tmp_path))
    return build_cluster(Config(SERVER), "prod", None)


def copy(home: Path, **known: Any) -> Path:
    """The console has copied a job `demo` of the cluster."""
    place = place_of_cluster(Home(home, home), SERVER).root
    place.mkdir(parents=True)
    keep_run(place, finished=True, deleted=200.0, **known)
    return place


def ask(place: Cluster, word: str = "demo", current: str = "", **which: Any) -> int | None:
    return print_copied(place, "default", word, Request(Which(**which), Wanted()), current)


def test_the_copy_is_printed_and_said_to_be_one(
    place: Cluster, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    home = copy(tmp_path)
    keep_log(home, "worker-0", "first\n")
    keep_log(home, "worker-0", "second\n", attempt=1)
    assert ask(place) == 0
    told = capsys.readouterr()
    assert told.out == "second\n"
    assert "`paddock console --context prod` has copied on this machine" in " ".join(told.err.split())
    assert ask(place, "demo-worker-0", attempt=0) == 0
    assert capsys.readouterr().out == "first\n"


def test_nothing_is_said_where_nothing_is_copied(
    place: Cluster, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert ask(place) is None
    keep_log(copy(tmp_path), "worker-0", "first\n")
    assert ask(place, "other") is None
    assert ask(place, current="another job of this name") is None
    other = build_cluster(Config("https://elsewhere:6443"), "elsewhere", None)
    assert ask(other) is None
    told = capsys.readouterr()
    assert told.out == told.err == ""
