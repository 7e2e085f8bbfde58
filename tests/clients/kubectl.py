"""kubectl in the namespace of a test."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Mapping
from itertools import count
from typing import Any

from e2e.commands import Cluster, Ended, Running

_SERIAL = count()


class Kubectl:
    """One version of kubectl in the namespace of a test."""

    def __init__(self, program: str, laptop: Cluster, namespace: str) -> None:
        self.program, self.laptop, self.namespace = program, laptop, namespace

    def try_command(self, *words: str, stdin: Any = None, variables: Mapping[str, str] | None = None) -> Ended:
        """With an object as JSON, or a text, as its standard input."""
        text = stdin if isinstance(stdin, str) else "" if stdin is None else json.dumps(stdin)
        done = subprocess.run(
            [self.program, "-n", self.namespace, *words], env={**self._environment, **(variables or {})},
            input=text, capture_output=True, text=True, timeout=90, cwd=self.laptop.directory, check=False,
        )  # fmt: skip
        return Ended(done.returncode, done.stdout, done.stderr)

    @property
    def _environment(self) -> dict[str, str]:
        return {**self.laptop.environment, "HOME": str(self.laptop.directory)}

    def __call__(self, *words: str, stdin: Any = None) -> str:
        done = self.try_command(*words, stdin=stdin)
        assert done.code == 0, f"kubectl {' '.join(words)}: {done}"
        return done.out

    def refusal(self, *words: str, stdin: Any = None, code: int = 1) -> str:
        done = self.try_command(*words, stdin=stdin)
        assert done.code == code, f"kubectl {' '.join(words)}: {done}"
        return done.err

    def read(self, *words: str) -> Any:
        return json.loads(self("get", *words, "-o", "json"))

    def start(self, *words: str) -> Running:
        """In the background, until the test has ended."""
        files = self.laptop.directory / f"kubectl-{next(_SERIAL)}"
        return Running((self.program, "-n", self.namespace, *words), self._environment, files)
