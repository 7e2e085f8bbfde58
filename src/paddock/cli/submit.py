"""paddock submit"""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from paddock.app.home import Home
from paddock.cli.manifests import Checked, check_with_server, create_all, drop_devices, read_files
from paddock.cli.session import namespace_option, talk
from paddock.cli.terminal import stderr, stdout

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

    async def work(client: Client, place: Home) -> None:
        await check_with_server(client, checked)
        await create_all(client, checked)

    talk(work)
    for each in checked:
        stdout().print(f"{each.resource.kind.lower()}/{each.key.name} created")
    _say_what_next([each for each in checked if each.is_job])


def _say_what_next(jobs: list[Checked]) -> None:
    for job in jobs[:1]:
        where = "" if job.key.namespace == "default" else f" -n {job.key.namespace}"
        stderr().print(f"paddock logs {job.key.name} -f{where}     follows it; paddock describe {job.key.name}{where}")
