"""Where the script of a function is written."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from paddock.sdk.functions import Script
from paddock.sdk.script_directory import write_script


def test_a_function_with_the_name_of_a_module_hides_it_not(tmp_path: Path) -> None:
    path = write_script(tmp_path, Script("random", "import random\nprint(random.randint(1, 1))\n"))
    ended = subprocess.run([sys.executable, path], capture_output=True, text=True, check=False)
    assert (ended.stdout, ended.stderr) == ("1\n", "")
    assert oct(path.stat().st_mode)[-3:] == "600"


def test_the_same_function_is_written_once_and_one_of_last_month_is_removed(tmp_path: Path) -> None:
    first = write_script(tmp_path, Script("train", "print(1)"))
    assert write_script(tmp_path, Script("train", "print(1)")) == first
    os.utime(first.parent, (0, 0))
    write_script(tmp_path, Script("train", "print(2)"))
    assert not first.exists()
