"""The datasets that a followed job waits for: their progress where no live line shows it, and the end of the wait."""

from __future__ import annotations

from paddock.cli.output.screen import Screen
from paddock.jobs.model import CauseRecord
from paddock.jobs.sentences.explain import explain

WAITING, FAILED = "WaitingForDataset", "DatasetFailed"  # of jobs.causes, whose 50 classes take long to make


class DatasetWaits:
    """Prints one line for each 10 % of a dataset; on a terminal the live line has the cause, with every per cent."""

    def __init__(self, screen: Screen) -> None:
        self._screen = screen
        self._shown: set[tuple[str, int]] = set()

    def show(self, cause: CauseRecord | None) -> None:
        if cause is None or cause.reason != WAITING:
            return
        percent = cause.args.get("percent")
        tenth = str(cause.args.get("dataset")), percent // 10 if isinstance(percent, int) else 0
        if tenth not in self._shown:
            self._shown.add(tenth)
            self._screen.notify_unless_live(explain(cause, self._screen.language))


def is_final(cause: CauseRecord | None) -> bool:
    """Whether the wait is for a dataset that nothing fetches until somebody changes it."""
    return cause is not None and cause.reason == FAILED and not cause.args.get("retries")
