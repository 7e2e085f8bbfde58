"""paddock submit"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from paddock.app.home import Home
from paddock.cli.find import in_namespace, printed_name
from paddock.cli.language import readers_language
from paddock.cli.session import namespace_option, talk
from paddock.cli.submission import check_with_server, create_all, drop_devices, read_files
from paddock.cli.terminal import stderr, stdout
from paddock.cli.working_directory import add_working_directories
from paddock.jobs.phrases import Phrase, phrase, render
from paddock.kube.meta import Manifest, name_of

if TYPE_CHECKING:
    from paddock.client.client import Client


@click.command(name="submit")
@click.argument("files", nargs=-1, required=True, metavar="FILE...", type=click.Path(allow_dash=True))
@click.option("--without", multiple=True, metavar="RESOURCE", help="Do not ask for it, e.g. nvidia.com/gpu.")
@namespace_option
def command(files: tuple[str, ...], without: tuple[str, ...], namespace: str) -> None:
    """Submit manifests and come back at once. `-` reads standard input.

    \b
    paddock submit job.yaml
    paddock submit job.yaml --without nvidia.com/gpu
    cat job.yaml | paddock submit -
    """
    checked = drop_devices(read_files(files, namespace), without)

    async def work(client: Client, place: Home) -> list[Manifest]:
        placed = await add_working_directories(client, checked, Path.cwd(), _say)
        await check_with_server(client, placed)
        return await create_all(client, placed)

    created = talk(work)
    for each, manifest in zip(checked, created, strict=True):
        stdout().print(f"{printed_name(each.resource, name_of(manifest))} created")
    _say_what_next([manifest for each, manifest in zip(checked, created, strict=True) if each.is_job])


def _say_what_next(jobs: list[Manifest]) -> None:
    for job in jobs[:1]:
        where = in_namespace(job)
        follow, describe = f"paddock logs {name_of(job)} -f{where}", f"paddock describe {name_of(job)}{where}"
        _say(phrase("{follow}     follows it; {describe}", follow=follow, describe=describe))


def _say(said: Phrase) -> None:
    stderr().print(render(said, readers_language()))
