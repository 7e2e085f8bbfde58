"""paddock init"""

from __future__ import annotations

import itertools
import os
import shlex
from dataclasses import replace
from pathlib import Path
from typing import Any

import click

from paddock.cli.cluster.errors import UserError
from paddock.cli.cluster.options import namespace_option
from paddock.cli.cluster.session import choose_place
from paddock.cli.output.language import localized, readers_language
from paddock.cli.output.streams import print_line
from paddock.cli.output.terminal import stderr
from paddock.cli.submit.script.foreign_files import take_foreign
from paddock.cli.submit.script.options import ScriptOptions, read_options, script_options
from paddock.cli.submit.script.requests import build_documents, read_request, without_directory
from paddock.cli.submit.script.sources import Sources
from paddock.cli.submit.script.typed_command import CommandVerb, read_typed
from paddock.cli.submit.script.written_manifest import write_commented
from paddock.cli.submit.workdir import workdir_option
from paddock.script.request import ScriptRequest
from paddock.words.os_errors import explain_unreadable
from paddock.words.phrases import Phrase, phrase


@click.command(name="init", cls=CommandVerb)
@script_options
@click.option(
    "-o", "--output", type=click.Path(allow_dash=True), default="job.yaml", metavar="FILE", show_default=True,
    help="The file to write; - prints it.",
)  # fmt: skip
@click.option("--force", is_flag=True, help="Write over a file that is there.")
@click.option(
    "--from", "source", type=click.Path(exists=True, dir_okay=False, allow_dash=True), metavar="FILE",
    help="The command of a run.sh, of docker, sbatch or arena, or a task of SkyPilot or dstack, in place of one "
    "behind --.",
)  # fmt: skip
@workdir_option
@namespace_option
def command(output: str, force: bool, source: str | None, workdir: str | None, namespace: str, **typed: Any) -> None:
    """Write the manifest of a program to a file, for `paddock run FILE`.

    \b
    paddock init -- python train.py --lr 0.1
    paddock init --workers 2 -r requirements.txt -o mnist.yaml -- python train.py
    paddock init --from run.sh
    paddock init --from train.sbatch
    paddock init --from sky.yaml

    --from lists on standard error what of the file is not carried.

    The options are those of `paddock run`, and the job is the same. Values of --env-file and --secret are not written:
    the file refers to the Secret that `paddock run` makes of them.
    """
    words, place, sources = read_typed(), choose_place(), Sources()
    if source is not None:
        if words is not None:
            raise UserError(phrase("--from has the program, and another one stands behind --: leave one of them out"))
        local = place.home is not None
        words, workdir = take_foreign(source, typed, workdir, os.environ, _notify, local=local, sources=sources)
    if words is None:
        raise UserError(phrase("a program is wanted, as in `paddock init -- python train.py`"))
    options = read_options(typed, workdir, namespace)
    request = read_request(words, options, place, os.environ, _notify, may_lack=source is not None, sources=sources)
    build_documents(request)  # refuses what `paddock run` refuses
    text = write_commented(build_portable(request, options, output), readers_language())
    if output == "-":
        print_line(text, end="")
        return
    write_file(Path(output), text, force=force)
    _notify(phrase("{file} is written: `{command}` trains it", file=output, command=advise(options, output)))


def advise(options: ScriptOptions, output: str) -> str:
    """The command that trains what was written, quoted for a shell. Pure."""
    told = [("--env-file", file) for file in options.env_files] + [("--secret", name) for name in options.secrets]
    return shlex.join(["paddock", "run", *itertools.chain(*told), output])


def build_portable(request: ScriptRequest, options: ScriptOptions, output: str) -> ScriptRequest:
    """The request as a file has it: without paths of this machine where the file does without them, and for a cluster
    too. Pure but for the current directory."""
    request = replace(without_directory(request, named=options.workdir is not None), keeps_pods=True)
    if named := request.requirements or options.requirements_path:
        base = Path.cwd() if output == "-" else Path(output).absolute().parent
        request = replace(request, environment="", requirements=os.path.relpath(named, base))
    return replace(request, namespace="" if request.namespace == "default" else request.namespace)


def write_file(path: Path, text: str, *, force: bool) -> None:
    """Writes a new file; one that is there only with `force`. Raises `UserError`."""
    try:
        with path.open("w" if force else "x", encoding="utf-8") as stream:
            stream.write(text)
    except FileExistsError:
        raise UserError(
            phrase("{file} is there already: -o names another file, --force writes over it", file=str(path))
        ) from None
    except OSError as error:
        raise UserError(phrase("{file}: {why}", file=str(path), why=explain_unreadable(error))) from error


def _notify(said: Phrase) -> None:
    stderr().print(localized(said))
