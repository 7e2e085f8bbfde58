"""paddock clone"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

import click

from paddock.cli.cluster.complete import complete_jobs
from paddock.cli.cluster.errors import UserError
from paddock.cli.cluster.lookup import fetch_all
from paddock.cli.cluster.options import namespace_option
from paddock.cli.cluster.places import ClusterChoice
from paddock.cli.cluster.session import run_with_client
from paddock.cli.follow.gone_jobs import fetch_present
from paddock.cli.output.language import localized
from paddock.cli.output.streams import print_line
from paddock.cli.output.terminal import stderr, stdout
from paddock.cli.submit.next_steps import explain_following
from paddock.cli.submit.script.written_manifest import write_manifest
from paddock.cli.verb import Verb
from paddock.client.own_name import fetch_own_name
from paddock.jobs.apis.registry import KINDS
from paddock.jobs.model import Job
from paddock.kube.errors import AlreadyExists
from paddock.kube.meta import Manifest, Resource, name_of
from paddock.submission.devices import read_asked, refuse_unasked
from paddock.submission.signed import sign_manifest
from paddock.views.clones import build_clone, explain_taken, leave_out_resources, name_clone
from paddock.views.commands import printed_name
from paddock.words.phrases import phrase

if TYPE_CHECKING:
    from paddock.client.client import Client


@click.command(name="clone", cls=Verb)
@click.argument("job", metavar="JOB", shell_complete=complete_jobs)
@click.argument("name", required=False, metavar="[NEW_NAME]")
@click.option("--without", multiple=True, metavar="RESOURCE", help="Do not ask for it, e.g. nvidia.com/gpu.")
@click.option("--print", "shown", is_flag=True, help="Print the manifest and create nothing.")
@namespace_option
def command(job: str, name: str | None, without: tuple[str, ...], shown: bool, namespace: str) -> None:
    """Make a new job like one that is there, and come back at once. It is called NEW_NAME, or resnet-2 after resnet.

    \b
    paddock clone resnet
    paddock clone resnet resnet-large
    paddock clone resnet --without nvidia.com/gpu
    paddock clone resnet --print > job.yaml

    The new job has the manifest of the other one, and starts also where that one is suspended or has ended. To change
    something, print it, edit the file, and `paddock run` it.
    """

    async def work(client: Client, place: ClusterChoice) -> None:
        found = await fetch_present(client, place, namespace, job)
        free = partial(_find_free, client, namespace, found.key.name)
        clone = drop_devices(build_clone(found.manifest, name or await free()), found.job, without)
        if shown:
            print_line(write_manifest(clone), end="")
            return
        try:
            await _create(client, place, found.resource, clone)
        except AlreadyExists:
            where = place.flags.of(namespace)
            raise UserError(explain_taken(found, name_of(clone), await free(), where)) from None

    run_with_client(work)


def drop_devices(clone: Manifest, job: Job | None, devices: tuple[str, ...]) -> Manifest:
    """The clone without requests for `devices`. Raises `UserError` for one that the job does not ask for: a misspelt
    name would leave the request in place. Pure."""
    for device in devices:
        if refusal := refuse_unasked(device, read_asked([job] if job is not None else [])):
            raise UserError(refusal)
    return leave_out_resources(clone, devices)


async def _find_free(client: Client, namespace: str, name: str) -> str:
    return name_clone(name, [name_of(each) for _, each in await fetch_all(client, KINDS, namespace)])


async def _create(client: Client, place: ClusterChoice, resource: Resource, clone: Manifest) -> None:
    who = await fetch_own_name(client, local=place.home is not None)
    created = await client.create(resource, sign_manifest(clone, who), strict=True)
    stdout().print(localized(phrase("{object} created", object=printed_name(resource, name_of(created)))))
    stderr().print(localized(explain_following(created, place.flags)))
