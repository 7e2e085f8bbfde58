"""paddock render

`places` decides what the files are; this verb reads the manifest, tells what is lost, and writes.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import click

from paddock.cli.cluster.errors import UserError
from paddock.cli.output.language import localized, readers_language, say
from paddock.cli.output.streams import print_answer
from paddock.cli.output.terminal import stderr
from paddock.cli.rendering.files import find_left, write_files
from paddock.cli.rendering.requests import HIGHEST_PORT, read_request
from paddock.cli.verb import Verb
from paddock.kube.printable import show
from paddock.places.losses import explain_losses
from paddock.places.registry import PLACES
from paddock.places.rendering import File, Platform, Rendering, Request, Unplaceable
from paddock.words.phrases import Names, Phrase, counted, phrase

RUNNABLE = "bare"
"""The place whose machines `--run` reaches by ssh."""
_SHOWN = 100
"""Characters of a line that is not printed."""
_NOTHING = phrase("nothing is written")


@click.command(name="render", cls=Verb)
@click.argument("file", metavar="FILE")
@click.option("--to", "place_name", type=click.Choice(list(PLACES)), required=True, help="Where the job is to run.")
@click.option(
    "--hosts", metavar="A,B,…",
    help="The machines of bare and docker, addresses or names; rank 0 is on the first one.",
)  # fmt: skip
@click.option(
    "--port", type=click.IntRange(1024, HIGHEST_PORT), metavar="N",
    help="The first port of the ranks on each machine (default: the manifest's, else the framework's).",
)  # fmt: skip
@click.option("--job", default="", metavar="NAME", help="Which job of a file that has several.")
@click.option(
    "-o", "--output", type=click.Path(allow_dash=True), metavar="DIR",
    help="The directory to write to (default: JOB-PLACE); - prints the files.",
)  # fmt: skip
@click.option(
    "--run", "is_run", is_flag=True, help="Run it by ssh on the machines of --hosts, and follow it to its end."
)
@click.option(
    "--directory", metavar="PATH",
    help="With --run: the directory of the program on the machines (default: the current directory's path).",
)  # fmt: skip
@click.option(
    "-n", "--namespace", default="default", metavar="NAME", help="The namespace, where the manifest has none."
)
def command(
    file: str,
    place_name: str,
    hosts: str | None,
    port: int | None,
    job: str,
    output: str | None,
    is_run: bool,
    directory: str | None,
    namespace: str,
) -> int:
    """Write a job as the files that another place needs: bare machines, Docker, a training service of a cloud.

    \b
    paddock render job.yaml --to bare --hosts 10.0.0.1,10.0.0.2
    paddock render job.yaml --to bare --hosts gpu-a,gpu-b --run
    paddock render job.yaml --to docker --hosts 10.0.0.1,10.0.0.2
    paddock render job.yaml --to modelarts -o modelarts

    What the place cannot do is said first. A file that Paddock did not make is never written over.
    """
    place = PLACES[place_name]
    _check_options(place, output, directory, is_run=is_run)
    request = read_request(file, place, hosts, port, job, namespace)
    rendering = _render(place, request)
    if output == "-":
        refuse_unprintable(rendering.files)
        print_answer(build_print(rendering))
        return 0
    target = Path(output or f"{request.name}-{place.name}")
    written = write_files(target, rendering.files)
    if is_run:
        from paddock.cli.rendering.run import run_machines

        return run_machines(request, rendering.files, directory, target)
    for line in build_report(rendering, target, written, find_left(target, written)):
        print_answer(localized(line) if isinstance(line, Phrase) else line)
    return 0


def _check_options(place: Platform, output: str | None, directory: str | None, *, is_run: bool) -> None:
    if is_run and place.name != RUNNABLE:
        raise UserError(
            phrase("--run starts bare machines alone: --to {place} is started as its files say", place=place.name)
        )
    if is_run and output == "-":
        raise UserError(phrase("--run and -o - do not go together: -o DIR is where the logs come to"))
    if directory is not None and not is_run:
        raise UserError(phrase("--directory is for --run: a script that is started by hand runs where it lies"))


def _render(place: Platform, request: Request) -> Rendering:
    """The files, after every sentence about what is lost. Raises `UserError` for a job that the place cannot carry."""
    refused = place.check(request.job)
    if refused:
        raise UserError(*(phrase("--to {place}: {why}", place=place.name, why=why) for why in refused), _NOTHING)
    for said in explain_losses(request.job, place):
        stderr().print(localized(phrase("warning: {said}", said=said)))
    try:
        return place.render(request)
    except Unplaceable as error:
        reasons = (phrase("--to {place}: {why}", place=place.name, why=why) for why in error.reasons)
        raise UserError(*reasons, _NOTHING) from error


def build_report(rendering: Rendering, directory: Path, written: list[Path], left: list[Path]) -> list[Phrase | str]:
    """What was written, what is left from an earlier rendering, what to do next. Pure."""
    lines: list[Phrase | str] = [phrase("{file} is written", file=str(path)) for path in written]
    if left:
        names = Names(tuple(map(str, left)))
        lines.append(
            counted(
                "{names} is left from an earlier rendering, and is no part of this one",
                "{names} are left from an earlier rendering, and are no part of this one",
                names=names, count=len(left),
            )
        )  # fmt: skip
    lines += [phrase("note: {said}", said=note) for note in rendering.notes]
    if rendering.steps:
        lines += ["", phrase("next, in {directory}:", directory=str(directory))]
        language = readers_language()
        lines += [f"  {say(step, language)}" for step in rendering.steps]
    return lines


def refuse_unprintable(files: Sequence[File]) -> None:
    """Raises `UserError` for a file that would be another one on the screen: what a terminal acts on is not printed.
    Pure."""
    for file in files:
        for number, line in enumerate(file.text.split("\n"), 1):
            if show(line) != line:
                raise UserError(
                    phrase(
                        "{file}, line {number}: found {found}, which a terminal would act on: it is written, and never "
                        "printed; name a directory with -o",
                        file=str(file.path), number=number, found=show(line.strip())[:_SHOWN],
                    )
                )  # fmt: skip


def build_print(rendering: Rendering) -> str:
    """The files as one text: one file as it is, several each after a line with its path. Pure."""
    if len(rendering.files) == 1:
        return rendering.files[0].text.removesuffix("\n")
    return "\n".join(f"# ---- {file.path} ----\n{file.text}" for file in rendering.files).removesuffix("\n")
