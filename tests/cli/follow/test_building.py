"""What `run` and `env build` print of a build: each line once."""

from __future__ import annotations

import io

from rich.console import Console

from paddock.cli.follow.building import Builds
from paddock.cli.output.screen import Screen


def show(*messages: tuple[str, int]) -> list[str]:
    err = io.StringIO()
    builds = Builds(Screen(Console(file=io.StringIO()), Console(file=err, width=200)))
    for message, percent in messages:
        builds.show("paddle-ps", {"phase": "Building", "message": message, "progress": percent})
    return err.getvalue().splitlines()


WAY = [(f"building (paddlepaddle 3.0.0, 193 MB), {percent} %", percent) for percent in (3, 4, 12, 15, 21)]


def test_a_line_for_each_tenth_of_the_way() -> None:
    assert [line[-4:] for line in show(*WAY)] == [" 3 %", "12 %", "21 %"]


def test_a_repeated_build_is_reported_without_repeating_its_progress() -> None:
    again = ("building (paddlepaddle 3.0.0), the network failed: try 2 of 3", 3)
    assert show(*WAY, again, again, *WAY) == [
        *show(*WAY),
        "environment paddle-ps: building (paddlepaddle 3.0.0), the network failed: try 2 of 3, 3 %",
    ]


def test_which_build_of_torch_was_chosen_is_told_once() -> None:
    err = io.StringIO()
    builds = Builds(Screen(Console(file=io.StringIO()), Console(file=err, width=200)))
    chosen = "torch 2.13.0+cpu for CPUs, from find-links"
    for percent in (0, 3, 4):
        status = {"phase": "Building", "message": f"building (torch), {percent} %", "progress": percent}
        builds.show("pytorch", status | ({"torch": chosen} if percent else {}))
    assert err.getvalue().splitlines() == [
        "environment pytorch: building (torch), 0 %",
        f"environment pytorch: {chosen}",
    ]


def test_an_interpreter_that_is_fetched_has_a_way_of_its_own() -> None:
    fetching = [(f"fetching Python 3.13.9 for paddlepaddle 3.0.0, from github.com, 34 MB, {n} %", n) for n in (0, 60)]
    lines = show(*fetching, *WAY)
    assert lines == [*show(*fetching), *show(*WAY)]
    assert lines[0] == (
        "environment paddle-ps: fetching Python 3.13.9 for paddlepaddle 3.0.0, from github.com, 34 MB, 0 %"
    )
