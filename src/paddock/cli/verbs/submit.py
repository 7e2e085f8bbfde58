"""paddock submit"""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from paddock.cli.cluster.flags import Flags
from paddock.cli.cluster.lookup import printed_name
from paddock.cli.cluster.options import namespace_option
from paddock.cli.cluster.places import Place
from paddock.cli.cluster.session import choose_place, run_with_client
from paddock.cli.output.language import localized, readers_language
from paddock.cli.output.terminal import stderr, stdout
from paddock.cli.submit.replacing import delete_replaced, find_replaced
from paddock.cli.submit.resumed import notify_resumed
from paddock.cli.submit.sent_directories import create_with_maps
from paddock.cli.submit.submission import Checked, check_with_server, drop_devices, read_files
from paddock.cli.submit.workdir import place_directories, refuse_impossible, workdir_option
from paddock.cli.verb import Verb
from paddock.jobs.text.phrases import Phrase, phrase, render
from paddock.kube.meta import Manifest, name_of, namespace_of

if TYPE_CHECKING:
    from paddock.client.client import Client


@click.command(name="submit", cls=Verb)
@click.argument("files", nargs=-1, required=True, metavar="FILE...", type=click.Path(allow_dash=True))
@click.option("--without", multiple=True, metavar="RESOURCE", help="Do not ask for it, e.g. nvidia.com/gpu.")
@workdir_option
@namespace_option
def command(files: tuple[str, ...], without: tuple[str, ...], workdir: str | None, namespace: str) -> None:
    """Submit manifests and come back at once. `-` reads standard input.

    \b
    paddock submit job.yaml
    paddock submit job.yaml --without nvidia.com/gpu
    cat job.yaml | paddock submit -
    paddock submit job.yaml --context prod --workdir .

    A job of the same name gives way if it has finished or --timeout suspended it, else nothing is submitted.
    """
    checked = drop_devices(read_files(files, namespace), without)

    place = choose_place()
    refuse_impossible(place, checked, _notify)

    async def work(client: Client, place: Place) -> tuple[list[Checked], list[Manifest]]:
        placed = await place_directories(client, place, checked, workdir, _notify)
        replaced = await find_replaced(client, placed, place.flags)
        await check_with_server(client, placed, replaced=[each for each, _ in replaced], flags=place.flags)
        await delete_replaced(client, replaced, _notify)
        notify_resumed(placed, place, _notify)
        return placed, await create_with_maps(client, placed, _notify)

    placed, created = run_with_client(work)
    for each, manifest in zip(placed, created, strict=True):
        stdout().print(localized(phrase("{object} created", object=printed_name(each.resource, name_of(manifest)))))
    _notify_next_steps([manifest for each, manifest in zip(placed, created, strict=True) if each.is_job], place.flags)


def _notify_next_steps(jobs: list[Manifest], flags: Flags) -> None:
    for job in jobs[:1]:
        where = flags.of(namespace_of(job))
        follow, describe = f"paddock logs {name_of(job)} -f{where}", f"paddock describe {name_of(job)}{where}"
        _notify(phrase("{follow}     follows it; {describe}", follow=follow, describe=describe))


def _notify(said: Phrase) -> None:
    stderr().print(render(said, readers_language()))
