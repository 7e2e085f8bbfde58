"""Draws docs/images, the READMEs' pictures, from what real commands print: the same text in the same colours.

python tools/picture.py [NAME…]    all of them, or those of these names: run, explain, validate

Each is drawn in English (run.svg) and in Chinese (run.zh-CN.svg). The commands run in a directory and on a cluster of
their own, which end with them.
"""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from rich.console import Console
from rich.text import Text

ROOT = Path(__file__).resolve().parents[1]
IMAGES = ROOT / "docs/images"
SCRIPT = ROOT / "examples/your_own_script/train.py"
COLUMNS = 98
LANGUAGES = {"": "C.UTF-8", ".zh-CN": "zh_CN.UTF-8"}
"""By the end of a picture's name: the locale of its commands."""


@dataclass(frozen=True, slots=True)
class Picture:
    """`commands` are typed and shown; `before` are called first and not shown. `exit_codes`: of `commands`."""

    commands: Sequence[str]
    exit_codes: Sequence[int]
    before: Callable[[Place], None]


@dataclass(frozen=True, slots=True)
class Place:
    """A directory and a home. `call` returns the lines that a terminal would keep: no live line, colours forced."""

    directory: Path
    home: Path
    locale: str

    def call(self, command: str, exit_code: int = 0) -> list[str]:
        program = [sys.executable, "-m", "paddock.cli.main", *shlex.split(command)[1:]]
        ended = subprocess.run(
            program,
            env=self._environment(),
            cwd=self.directory,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        if ended.returncode != exit_code:
            raise SystemExit(f"{command}: exit code {ended.returncode}\n{ended.stdout}")
        text = ended.stdout.replace(str(self.home), "~/.local/state/paddock").replace(str(self.directory.parent), "~")
        return text.splitlines()

    def _environment(self) -> Mapping[str, str]:
        own = {"PADDOCK_HOME": str(self.home), "LC_ALL": self.locale, "COLUMNS": str(COLUMNS)}
        return os.environ | own | {"FORCE_COLOR": "1", "TTY_INTERACTIVE": "0", "TERM": "xterm-256color"}


def write_script(place: Place) -> None:
    shutil.copy(SCRIPT, place.directory)


def fail_once(place: Place) -> None:
    write_script(place)
    place.call("paddock run --workers 2 -- python train.py --crash-after 2", exit_code=1)


def write_mistakes(place: Place) -> None:
    (place.directory / "train.yaml").write_text(MISTAKES, encoding="utf-8")


MISTAKES = """\
apiVersion: batch.paddlepaddle.org/v1
kind: PaddleJob
metadata:
  name: train
spec:
  cleanPodPolicy: OnComplete
  worker:
    replica: 2
    template:
      spec:
        containers:
          - name: paddle
            image: paddlepaddle/paddle:3.3.1
            command: [python, train.py]
            resources:
              limits: {cpu: 4, memory: 16GB}
            env:
              - {name: EPOCHS, value: 5}
"""

PICTURES = {
    "run": Picture(["paddock run --workers 2 -- python train.py"], [0], write_script),
    "explain": Picture(["paddock get", "paddock explain train"], [0, 0], fail_once),
    "validate": Picture(["paddock validate train.yaml"], [1], write_mistakes),
}


@contextmanager
def open_place(locale: str) -> Iterator[Place]:
    with tempfile.TemporaryDirectory(prefix="picture-") as name:
        place = Place(Path(name) / "mnist", Path(name) / "home", locale)
        place.directory.mkdir()
        try:
            yield place
        finally:
            place.call("paddock down")


def draw(shown: Sequence[str], target: Path) -> None:
    with Path(os.devnull).open("w") as nowhere:
        console = Console(record=True, width=COLUMNS, file=nowhere, force_terminal=True, color_system="truecolor")
        for line in shown:
            console.print(Text.from_ansi(line), soft_wrap=False)
        target.write_text(console.export_svg(title="paddock", unique_id=target.stem.split(".")[0]), encoding="utf-8")
    print(f"{target.relative_to(ROOT)}: {len(shown)} lines")


def main(names: Sequence[str]) -> None:
    IMAGES.mkdir(parents=True, exist_ok=True)
    for name in names or PICTURES:
        picture = PICTURES[name]
        for end, locale in LANGUAGES.items():
            with open_place(locale) as place:
                picture.before(place)
                shown = []
                for command, code in zip(picture.commands, picture.exit_codes, strict=True):
                    shown += [f"\x1b[1m$ {command}\x1b[0m", *place.call(command, code), ""]
                draw(shown[:-1], IMAGES / f"{name}{end}.svg")


if __name__ == "__main__":
    main(sys.argv[1:])
