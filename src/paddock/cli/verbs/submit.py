"""paddock submit"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import click

from paddock.cli.cluster.options import namespace_option
from paddock.cli.cluster.places import ClusterChoice
from paddock.cli.cluster.session import choose_place, run_with_client
from paddock.cli.output.language import localized, readers_language
from paddock.cli.output.terminal import stderr, stdout
from paddock.cli.submit.file_environments import Needed
from paddock.cli.submit.job_datasets import check_datasets, leave_out_kept, with_data
from paddock.cli.submit.job_environments import write_environments
from paddock.cli.submit.manifest_files import fetch_checked
from paddock.cli.submit.next_steps import explain_following
from paddock.cli.submit.programs import fetch_programs, read_warnings
from paddock.cli.submit.replacing import delete_replaced, find_replaced
from paddock.cli.submit.resumed import notify_resumed
from paddock.cli.submit.script.requests import find_needed, with_environment
from paddock.cli.submit.sent_directories import create_with_maps
from paddock.cli.submit.submission import check_with_server, drop_devices, refuse_missing_secrets
from paddock.cli.submit.workdir import place_directories, refuse_impossible, workdir_option
from paddock.cli.verb import Verb
from paddock.jobs.model import Job
from paddock.kube.meta import Manifest, name_of
from paddock.submission.documents import Checked
from paddock.views.commands import printed_name
from paddock.views.flags import Flags
from paddock.words.phrases import Phrase, phrase, render

if TYPE_CHECKING:
    from paddock.client.client import Client


@click.command(name="submit", cls=Verb)
@click.argument("files", nargs=-1, required=True, metavar="FILE...", type=click.Path(allow_dash=True))
@click.option("--without", multiple=True, metavar="RESOURCE", help="Do not ask for it, e.g. nvidia.com/gpu.")
@click.option("--data", multiple=True, metavar="NAME:/PATH", help="Mount this dataset there, read-only. Repeatable.")
@workdir_option
@namespace_option
def command(
    files: tuple[str, ...], without: tuple[str, ...], data: tuple[str, ...], workdir: str | None, namespace: str
) -> None:
    """Submit manifests and come back at once. `-` reads standard input.

    \b
    paddock submit job.yaml
    paddock submit job.yaml --without nvidia.com/gpu
    paddock submit job.yaml --data imagenet:/data
    cat job.yaml | paddock submit -
    paddock submit job.yaml --context prod --workdir .

    A job of the same name gives way if it has finished or --timeout suspended it, else nothing is submitted.
    """
    checked = with_data(drop_devices(fetch_checked(files, namespace), without), data)

    place = choose_place()
    refuse_impossible(place, checked, _notify)

    async def work(client: Client, place: ClusterChoice) -> tuple[list[Checked], list[Manifest], list[Phrase]]:
        needed = _find_needed(checked) if place.home is not None else []
        named = [with_environment(each, which) if which else each for each, which in needed] if needed else checked
        wanted = await leave_out_kept(client, place, named, _notify)
        placed = await place_directories(client, place, wanted, workdir, _notify)
        replaced = await find_replaced(client, placed, place.flags)
        await check_with_server(client, placed, replaced=[each for each, _ in replaced], flags=place.flags)
        await refuse_missing_secrets(client, place, placed, [stored for _, stored in replaced])
        await check_datasets(client, place, placed, data, _notify)
        made = [which for _, which in needed if which]
        placed = await write_environments(client, place, made, placed, workdir, _notify)
        programs: list[Phrase] = []
        jobs = [each.job for each in placed if each.job]
        for job in jobs:
            said = [*read_warnings(place, job, workdir), *await fetch_programs(client, place, job, workdir)]
            programs += said if len(jobs) == 1 else [_of_job(job, line) for line in said]
        await delete_replaced(client, replaced, _notify)
        notify_resumed(placed, place, _notify)
        return placed, await create_with_maps(client, placed, _notify), programs

    placed, created, programs = run_with_client(work)
    for each, manifest in zip(placed, created, strict=True):
        stdout().print(localized(phrase("{object} created", object=printed_name(each.resource, name_of(manifest)))))
    for line in programs:
        _notify(line)
    _notify_next_steps([manifest for each, manifest in zip(placed, created, strict=True) if each.is_job], place.flags)


def _find_needed(checked: Sequence[Checked]) -> list[tuple[Checked, Needed | None]]:
    """The documents with the environments of the requirements files that their manifests name."""
    return [(each, find_needed(each)) for each in checked]


def _of_job(job: Job, said: Phrase) -> Phrase:
    return phrase("{option}: {problem}", option=job.key.name or job.resource.kind, problem=said)


def _notify_next_steps(jobs: list[Manifest], flags: Flags) -> None:
    for job in jobs[:1]:
        _notify(explain_following(job, flags))


def _notify(said: Phrase) -> None:
    stderr().print(render(said, readers_language()))
