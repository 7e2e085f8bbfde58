"""paddock submit"""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from paddock.cli.context_options import namespace_option
from paddock.cli.find import in_namespace, printed_name
from paddock.cli.language import readers_language
from paddock.cli.places import Flags, Place
from paddock.cli.sent_directories import create_with_maps
from paddock.cli.session import choose_place, talk
from paddock.cli.submission import Checked, check_with_server, drop_devices, read_files
from paddock.cli.terminal import stderr, stdout
from paddock.cli.verb import Verb
from paddock.cli.workdir import place_directories, refuse_impossible, workdir_option
from paddock.jobs.phrases import Phrase, phrase, render
from paddock.kube.meta import Manifest, name_of

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
    """
    checked = drop_devices(read_files(files, namespace), without)

    place = choose_place()
    refuse_impossible(place, checked, _say)

    async def work(client: Client, place: Place) -> tuple[list[Checked], list[Manifest]]:
        placed = await place_directories(client, place, checked, workdir, _say)
        await check_with_server(client, placed, flags=place.flags)
        return placed, await create_with_maps(client, placed, _say)

    placed, created = talk(work)
    for each, manifest in zip(placed, created, strict=True):
        stdout().print(f"{printed_name(each.resource, name_of(manifest))} created")
    _say_what_next([manifest for each, manifest in zip(placed, created, strict=True) if each.is_job], place.flags)


def _say_what_next(jobs: list[Manifest], flags: Flags) -> None:
    for job in jobs[:1]:
        where = in_namespace(job, flags)
        follow, describe = f"paddock logs {name_of(job)} -f{where}", f"paddock describe {name_of(job)}{where}"
        _say(phrase("{follow}     follows it; {describe}", follow=follow, describe=describe))


def _say(said: Phrase) -> None:
    stderr().print(render(said, readers_language()))
