"""What a process may have open, asked of a process of its own."""

from __future__ import annotations

import subprocess
import sys

SCRIPT = (
    "import resource; resource.setrlimit(resource.RLIMIT_NOFILE, (300, 4_000));"
    "from paddock.serving.open_files import raise_limit, read_connection_limit;"
    "print(raise_limit(), *resource.getrlimit(resource.RLIMIT_NOFILE), read_connection_limit())"
)


def test_a_process_raises_its_limit_and_knows_the_one_before() -> None:
    ended = subprocess.run([sys.executable, "-c", SCRIPT], capture_output=True, text=True, check=True)
    assert ended.stdout.split() == ["300", "4000", "4000", "1000"]
