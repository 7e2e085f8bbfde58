"""Draws docs/images/run.svg, the README's picture, from a real `paddock run`: the same text in the same colours.

python tools/picture.py            needs a cluster home of its own: PADDOCK_HOME is set to a temporary directory
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from pathlib import Path

from rich.console import Console
from rich.text import Text

ROOT = Path(__file__).resolve().parents[1]
MANIFEST = "examples/documents/wide_and_deep.yaml"
COLUMNS = 108
_KEPT_AT_BOTH_ENDS = 13


def record(home: str) -> list[str]:
    """The lines that a terminal would keep: no live line, colours forced."""
    environment = os.environ | {
        "PADDOCK_HOME": home,
        "FORCE_COLOR": "1",
        "TTY_INTERACTIVE": "0",
        "COLUMNS": str(COLUMNS),
        "TERM": "xterm-256color",
    }
    paddock = [sys.executable, "-m", "paddock.cli.main"]
    try:
        run = subprocess.run(
            [*paddock, "run", MANIFEST],
            env=environment,
            cwd=ROOT,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            check=True,
        )
    finally:
        subprocess.run([*paddock, "down"], env=environment, cwd=ROOT, check=False, capture_output=True)
    return [line.replace(home, "~/.local/state/paddock") for line in run.stdout.splitlines()]


def main() -> None:
    with tempfile.TemporaryDirectory(prefix="paddock-picture-") as home:
        lines = record(home)
    middle = ["…"] if len(lines) > 2 * _KEPT_AT_BOTH_ENDS else []
    shown = [*lines[:_KEPT_AT_BOTH_ENDS], *middle, *lines[-_KEPT_AT_BOTH_ENDS:]] if middle else lines
    with Path(os.devnull).open("w") as nowhere:
        console = Console(record=True, width=COLUMNS, file=nowhere, force_terminal=True, color_system="truecolor")
        console.print(Text(f"$ paddock run {MANIFEST}", style="bold"))
        for line in shown:
            console.print(Text.from_ansi(line), soft_wrap=False)
        target = ROOT / "docs/images/run.svg"
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(console.export_svg(title="paddock"))
    print(f"{target.relative_to(ROOT)}: {len(shown)} of {len(lines)} lines")


if __name__ == "__main__":
    main()
