"""What a program wrote into its outputs, and a board that has ended, for the demo to show."""

from __future__ import annotations

import os
from pathlib import Path

from paddock.app.consoles.boards import LocalBoards
from paddock.console.backend import Board, BoardPhase
from paddock.kube.meta import Resource
from paddock.words.phrases import phrase

BOARD = "shown"
"""The id of the board."""


def write_outputs(directory: Path, now: float, script: str) -> None:
    """The directory of a run, all of it written a minute before `now`. `script`: in texts."""
    (directory / "checkpoint" / "step-300").mkdir(parents=True)
    (directory / "checkpoint" / "step-300" / "model.pt").write_bytes(bytes(2**20))
    (directory / "result.json").write_text('{"loss": 0.50, "best": {"step": 300, "acc": 0.45}}')
    (directory / "history.csv").write_text(
        "step,loss,note\n" + "".join(f"{n},{2 / (n + 1):.4f},{script}\n" for n in range(20))
    )
    (directory / "notes<img src=x onerror=\"document.title='broken'\">.txt").write_text(f"first try{script}\n")
    (directory / "latest").symlink_to("checkpoint/step-300")
    (directory / "outside").symlink_to("/etc/hostname")
    for each in (*directory.rglob("*"), directory):
        os.utime(each, (now - 60, now - 60), follow_symlinks=False)


class WrittenBoards(LocalBoards):
    """With a board of this job that failed."""

    def show(self, resource: Resource, namespace: str, job: str, mark: str, script: str) -> None:
        said = phrase("the server of {tool} has ended by itself; it printed last:", tool="TensorBoard")
        self._shown = Board(BOARD, resource, namespace, job, mark, "tensorboard", "TensorBoard", BoardPhase.ENDED, said,
                            f"ImportError: no module{script}")  # fmt: skip

    def look(self, id: str) -> Board | None:
        return self._shown if id == BOARD else super().look(id)
