"""Datasets that a command waits for: one that is fetched, followed to its end, and those of a followed job: their
progress where no live line shows it, and the end of the wait."""

from __future__ import annotations

from paddock.cli.cluster.errors import Failed
from paddock.cli.output.screen import Screen
from paddock.jobs.model import CauseRecord
from paddock.jobs.sentences.explain import explain
from paddock.kube.api import Api
from paddock.kube.datasets import Phase, format_part, read_status
from paddock.kube.meta import DATASETS, Manifest, key_of, metadata, name_of
from paddock.words.phrases import Foreign, phrase, render

WAITING, FAILED = "WaitingForDataset", "DatasetFailed"  # of jobs.causes, whose 50 classes take long to make


async def follow_dataset(client: Api, dataset: Manifest, screen: Screen) -> Manifest:
    """Returns the status when the dataset is ready. Raises `Failed` for a failure that is not tried again."""
    namespace, name = key_of(dataset)
    uid, tenth = metadata(dataset).get("uid"), -1
    async for event in client.follow(DATASETS, namespace, fields=f"metadata.name={name}"):
        if event.type == "SYNCED" or name_of(event.object) != name:
            continue
        if event.type == "DELETED" or metadata(event.object).get("uid") != uid:
            raise Failed(phrase("dataset {name} was removed while it was fetched", name=name))
        status = read_status(event.object)
        if status.phase is Phase.READY:
            return event.object.get("status") or {}
        said = phrase("dataset {name}: {what}", name=name, what=Foreign(status.message))
        if status.phase is Phase.FAILED and not status.retries:
            raise Failed(said)
        screen.status(render(said, screen.language))
        if status.phase is Phase.FETCHING and status.percent // 10 > tenth:
            tenth = status.percent // 10
            part = format_part(status.done, status.total)
            told = phrase("dataset {name}: {percent} %, {part}", name=name, percent=status.percent, part=part)
            screen.notify_unless_live(render(told, screen.language))
        elif status.phase is Phase.FAILED:
            screen.notify_unless_live(render(said, screen.language))
    raise Failed(phrase("dataset {name}: the cluster has gone", name=name))


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
