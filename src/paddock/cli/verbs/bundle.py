"""paddock bundle"""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

import click

from paddock.cli.cluster.complete import complete_jobs
from paddock.cli.cluster.context_flags import read_chosen
from paddock.cli.cluster.errors import UserError
from paddock.cli.cluster.options import namespace_option
from paddock.cli.cluster.session import run_with_client
from paddock.cli.output.language import readers_language
from paddock.cli.output.streams import print_line, print_notice
from paddock.cli.verb import Verb
from paddock.kube.quantities import format_bytes
from paddock.words.messages import translate_message
from paddock.words.phrases import Phrase, counted, phrase, render

if TYPE_CHECKING:
    from paddock.cli.cluster.places import ClusterChoice
    from paddock.cli.follow.bundles import Made
    from paddock.client.client import Client


@click.command(name="bundle", cls=Verb)
@click.argument("job", metavar="JOB", shell_complete=complete_jobs)
@click.option(
    "-o", "--output", "file", default=None, metavar="FILE", help="Write it there (default: JOB.bundle.tar.gz)."
)
@namespace_option
def command(job: str, file: str | None, namespace: str) -> int:
    """All that somebody else needs to understand a job, in one file: its objects, its history, the beginning and the
    end of each rank's log, versions. Without secrets.

    \b
    paddock bundle resnet
    paddock bundle resnet -o for-bob.tar.gz
    paddock explain --bundle for-bob.tar.gz    there, without a cluster
    paddock doctor --bundle for-bob.tar.gz

    Hidden are the values of variables that are called as secrets are (TOKEN, API_KEY), those of Secrets, credentials in
    addresses and commands. What a program prints under no such name stands in the logs as it is. The file has at most
    about 32 MiB, and says what was cut. Only you may read it (0600); one that is there already is not replaced.

    Exit code: 0 it is written, 1 it is written and some pods or logs could not be read, 2 there is no such job.
    """
    if file == "-":
        raise UserError(phrase("a bundle is written into a file that is only yours: -o FILE, not standard output"))
    if file in _FORMATS:
        raise UserError(
            phrase(
                "-o names the file of a bundle, and {word} is a format: `paddock get job {job} -o json` prints the "
                "job; a file of that name is ./{word}",
                word=file, job=job,
            )
        )  # fmt: skip
    target = Path(file or f"{job.rpartition('/')[2]}.bundle.tar.gz")
    if os.path.lexists(target):
        raise UserError(explain_there(target))
    context = click.get_current_context(silent=True)

    async def work(client: Client, place: ClusterChoice) -> Made:
        from paddock.app.bundles.contents import Place
        from paddock.cli.follow.bundles import make_bundle

        chosen = read_chosen(context)
        where = Place(
            place.flags.local, chosen.get("context") or "", chosen.get("kubeconfig") or "", place.flags.namespace
        )
        return await make_bundle(client, place, where, namespace, job)

    made = run_with_client(work)
    write_new(target, made.content)
    _tell(made, target)
    return int(made.unread)


_FORMATS = frozenset({"json", "yaml", "wide", "name"})
"""What -o means elsewhere."""


def explain_there(target: Path) -> Phrase:
    return phrase("{file} is there already: name another file with -o, or remove it", file=str(target))


def explain_not_written(target: Path, error: OSError) -> Phrase:
    return phrase("{file} cannot be written: {why}", file=str(target), why=error.strerror or str(error))


def write_new(target: Path, content: bytes) -> None:
    """A new file that only its owner may read; nothing is left of one that could not be written. Raises `UserError`."""
    try:
        descriptor = os.open(target, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
    except FileExistsError:
        raise UserError(explain_there(target)) from None
    except OSError as error:
        raise UserError(explain_not_written(target, error)) from error
    try:
        with os.fdopen(descriptor, "wb") as writer:
            os.fchmod(descriptor, 0o600)
            writer.write(content)
    except OSError as error:
        with suppress(OSError):
            target.unlink()
        raise UserError(explain_not_written(target, error)) from error


def _tell(made: Made, target: Path) -> None:
    language, head = readers_language(), made.bundle.head
    objects = sum(len(each.items) for each in made.bundle.answers.values())
    said = phrase(
        "{file}: {size}, {objects}, {logs}",
        file=str(target), size=format_bytes(len(made.content)),
        objects=counted("{count} object", "{count} objects", count=objects),
        logs=counted("{count} log", "{count} logs", count=len(head.logs)),
    )  # fmt: skip
    print_line(render(said, language))
    for each in head.notes:
        print_notice(translate_message(each, language))
    print_line(render(_ADVICE, language))


_ADVICE = phrase(
    "look through its logs before you give it away: what a program printed under no name of a secret is there"
)
