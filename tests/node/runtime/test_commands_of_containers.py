"""Error messages of commands that cannot be started."""

from __future__ import annotations

from pathlib import Path

import pytest

from paddock.node.runtime.containers import explain_command

LONG = ":".join(f"/opt/a-tool-with-a-long-name-{number:02}/bin" for number in range(12))


@pytest.mark.parametrize(
    ("path", "shown"),
    [
        ("/no/bin:/no/sbin", "/no/bin:/no/sbin"),
        (LONG, ":".join([*LONG.split(":")[:3], "…"])),
        (f"/{'x' * 200}:/no", f"/{'x' * 200}:…"),
    ],
)
def test_a_long_path_is_cut_to_its_first_directories(path: str, shown: str) -> None:
    said = explain_command("no-such-program", path, Path("/"), ())
    assert said == f'exec: "no-such-program": executable file not found in $PATH ({shown})'
