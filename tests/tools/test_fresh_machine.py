"""tools/fresh/machine makes a Debian in a folder, which it empties before."""

from __future__ import annotations

import subprocess
from pathlib import Path

MACHINE = Path(__file__).parents[2] / "tools" / "fresh" / "machine"


def test_a_folder_with_files_of_somebody_else_is_refused_and_kept(tmp_path: Path) -> None:
    """A repository was given as the folder once, and was gone."""
    (tmp_path / "work.py").write_text("mine")
    ended = subprocess.run([MACHINE, "trixie", tmp_path, "true"], capture_output=True, text=True)
    assert ended.returncode == 2
    assert ended.stderr.startswith(f"{tmp_path} is there, and no machine of this program: nothing was changed; ")
    assert (tmp_path / "work.py").read_text() == "mine"
