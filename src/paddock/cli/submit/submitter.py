"""Submits the job of `paddock run`: adapted to the cluster's devices, in place of a finished job of the same name."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from paddock.cli.cluster.places import ClusterChoice
from paddock.cli.submit.file_environments import Needed
from paddock.cli.submit.job_datasets import check_datasets, leave_out_kept
from paddock.cli.submit.job_environments import write_environments
from paddock.cli.submit.programs import fetch_programs, read_warnings
from paddock.cli.submit.replacing import delete_replaced, find_replaced
from paddock.cli.submit.resumed import notify_resumed
from paddock.cli.submit.script.requests import refuse_foreign_secret
from paddock.cli.submit.sent_directories import create_with_maps
from paddock.cli.submit.submission import check_with_server, drop_devices, fetch_devices, refuse_missing_secrets
from paddock.cli.submit.workdir import place_directories
from paddock.kube.meta import NODES
from paddock.kube.quantities import format_quantity
from paddock.submission.devices import read_devices
from paddock.submission.documents import Checked
from paddock.views.stored import StoredJob, read_stored
from paddock.words.phrases import Phrase, phrase

if TYPE_CHECKING:
    from paddock.client.client import Client


@dataclass(frozen=True, slots=True)
class Submitted:
    """The created job, and what it runs: lines to print once."""

    job: StoredJob
    programs: list[Phrase]


@dataclass(frozen=True, slots=True)
class Submitter:
    """Submits a file with one job. `notify` gets each deviation from the manifest; `creating` is called before the
    first create request: from then on a job may exist. `needed`: the environment of a requirements file, which is made
    first. `typed`: the job was made of a typed command. `data`: the values of --data."""

    client: Client
    place: ClusterChoice
    notify: Callable[[Phrase], None]
    creating: Callable[[], None]
    needed: Needed | None = None
    typed: bool = False
    data: tuple[str, ...] = ()

    async def submit(self, checked: list[Checked], without: tuple[str, ...], workdir: str | None) -> Submitted:
        """The created job. `without`: devices to remove from requests; `workdir`: the value of --workdir. Raises
        `UserError`, `ApiError`."""
        checked = await leave_out_kept(self.client, self.place, checked, self.notify)
        checked = await self._adapt(checked, without)
        checked = await place_directories(self.client, self.place, checked, workdir, self.notify)
        job = next(each for each in checked if each.is_job)
        replaced = await find_replaced(self.client, [job], self.place.flags, typed=self.typed)
        await refuse_foreign_secret(self.client, checked)
        await check_with_server(
            self.client, checked, update=True, replaced=[each for each, _ in replaced], flags=self.place.flags
        )
        await refuse_missing_secrets(self.client, self.place, checked, [stored for _, stored in replaced])
        await check_datasets(self.client, self.place, checked, self.data, self.notify)
        needed = [self.needed] if self.needed is not None else []
        checked = await write_environments(self.client, self.place, needed, checked, workdir, self.notify)
        job = next(each for each in checked if each.is_job)
        assert job.job is not None
        programs = await fetch_programs(self.client, self.place, job.job, workdir)
        if not self.typed:  # of a typed command it is told before
            programs = [*read_warnings(self.place, job.job, workdir), *programs]
        await delete_replaced(self.client, replaced, self.notify)
        notify_resumed(checked, self.place, self.notify)
        self.creating()
        created = await create_with_maps(self.client, checked, self.notify, update=True)
        return Submitted(read_stored(job.resource, created[checked.index(job)]), programs)

    async def _adapt(self, checked: list[Checked], without: tuple[str, ...]) -> list[Checked]:
        """Removes the devices that the user named, and on the local cluster those that no node has. A job that would
        not fit without them either keeps its requests, so that its cause has all reasons. Remote clusters may add
        nodes."""
        checked = drop_devices(checked, without)
        if self.place.home is None:
            return checked
        asked = read_devices(each.job for each in checked if each.job)
        there = await fetch_devices(self.client) if asked else set()
        lacking = [name for name in asked if name not in there]
        fewer = drop_devices(checked, lacking)
        if not lacking or not await self._fits(fewer):
            return checked
        for name in lacking:
            said = phrase(
                "the job asks for {amount} {device} and this machine has none: training on the CPU "
                "(--without {device})",
                amount=format_quantity(asked[name]),
                device=name,
            )
            self.notify(said)
        return fewer

    async def _fits(self, checked: Sequence[Checked]) -> bool:
        """Whether the job's pods would fit on the empty cluster, once the claims that they name are bound."""
        from paddock.app.why_not import plan_why_not, without_claims

        job = next(each.job for each in checked if each.job)
        nodes = (await self.client.list(NODES)).items
        return plan_why_not(without_claims(job, None), [], nodes, [], time.time()) is None
