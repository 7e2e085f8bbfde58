"""What `paddock status` says of a server: its slowest answer, and objects that were set aside."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from paddock.app.full_disk import FULL_BELOW, Disk, explain_disk
from paddock.app.home import Home, explain_full_disk
from paddock.cli.verbs.status import describe_report

STALL = {"longestStall": 0.0312, "minutes": 5, "store": "/h/api/store.sqlite"}
ROWS: list[tuple[dict[str, Any], dict[str, str]]] = [
    ({}, {}),
    (
        {**STALL, "damaged": [], "damagedCount": 0},
        {"slowest answer:": "0.03 s at most, in the last 5 minutes"},
    ),
    (
        {"store": "/s", "damaged": [{"object": "pods default/x", "why": "", "replaced": False}], "damagedCount": 1},
        {
            "damaged:": "1 object could not be read; it is set aside in /s (table damaged), create it again: "
            "pods default/x"
        },
    ),
    (
        {"store": "/s", "damaged": [{"object": f"pods default/x{i}"} for i in range(6)], "damagedCount": 6},
        {
            "damaged:": "6 objects could not be read; they are set aside in /s (table damaged), create them again: "
            "pods default/x0, pods default/x1, pods default/x2, pods default/x3, pods default/x4 and pods default/x5"
        },
    ),
]


@pytest.mark.parametrize(("facts", "lines"), ROWS)
def test_what_the_server_tells_of_itself(facts: dict[str, Any], lines: dict[str, str]) -> None:
    assert {str(name): text for name, text in describe_report(facts).items()} == lines


@pytest.mark.parametrize(
    ("free", "read_only", "said"),
    [
        (2**30, False, "None"),
        (FULL_BELOW, False, "None"),
        (4096, False, "the disk that holds /home/x is full (4.0 KiB of 6.0 MiB free): nothing is recorded until "
         "some of it is free. `paddock clean` removes what may go; what jobs have written is in /home/x/outputs, and "
         "`paddock dataset rm NAME` deletes data"),
        (2**30, True, "the disk that holds /home/x is mounted read-only, so nothing is recorded: mount it writable "
         "(see dmesg for why), or name another directory in PADDOCK_HOME"),
    ],
)  # fmt: skip
def test_a_disk_that_takes_no_record_says_what_to_do(free: int, read_only: bool, said: str) -> None:
    assert str(explain_disk(Disk(Path("/home/x"), free, 6 * 2**20, read_only), Path("/home/x/outputs"))) == said


def test_a_full_disk_of_the_home_is_told(tmp_path: Path) -> None:
    assert explain_full_disk(Home(tmp_path, tmp_path)) is None
    (tmp_path / "node").symlink_to("/proc")  # which has no room at all
    said = (
        f"the disk that holds {tmp_path}/node is full (0 B of 0 B free): nothing is recorded until some of it is free."
    )
    assert str(explain_full_disk(Home(tmp_path, tmp_path))).startswith(said)
