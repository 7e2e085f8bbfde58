"""paddock submit"""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from paddock.cli.cluster.options import namespace_option
from paddock.cli.cluster.places import ClusterChoice
from paddock.cli.cluster.session import choose_place, run_with_client
from paddock.cli.output.language import localized, readers_language
from paddock.cli.output.periods import read_hold
from paddock.cli.output.terminal import stderr, stdout
from paddock.cli.submit.checks import Submission
from paddock.cli.submit.job_datasets import with_data
from paddock.cli.submit.manifest_files import fetch_checked
from paddock.cli.submit.next_steps import explain_following
from paddock.cli.submit.push_options import push_options, read_push
from paddock.cli.submit.script.options import SHARE_HELP, note_option, priority_option, queue_option, tag_option
from paddock.cli.submit.script.requests import find_needed, with_environment, with_hold, with_note, with_place
from paddock.cli.submit.shared_gpus import with_shares
from paddock.cli.submit.submission import drop_devices
from paddock.cli.submit.submitter import Submitted
from paddock.cli.submit.submitter import submit as send
from paddock.cli.submit.ways_of_sending import open_pushes
from paddock.cli.submit.workdir import refuse_impossible, workdir_option
from paddock.cli.verb import Verb
from paddock.history.notes import Note
from paddock.kube.gpu_shares import FEWEST_SHARES, MOST_SHARES
from paddock.kube.meta import Manifest, name_of
from paddock.views.commands import printed_name
from paddock.views.flags import Flags
from paddock.words.phrases import Phrase, phrase, render

if TYPE_CHECKING:
    from paddock.client.client import Client


@click.command(name="submit", cls=Verb)
@click.argument("files", nargs=-1, required=True, metavar="FILE...", type=click.Path(allow_dash=True))
@click.option("--without", multiple=True, metavar="RESOURCE", help="Do not ask for it, e.g. nvidia.com/gpu.")
@click.option("--data", multiple=True, metavar="NAME:/PATH", help="Mount this dataset there, read-only. Repeatable.")
@click.option(
    "--share-gpu", "shares", type=click.IntRange(FEWEST_SHARES, MOST_SHARES), default=None, metavar="N", help=SHARE_HELP
)
@click.option(
    "--hold",
    type=read_hold,
    default=None,
    metavar="TIME",
    help="Keep a rank that failed for so long, for paddock shell: 30m, 2h. On the local cluster.",
)
@tag_option
@note_option
@queue_option
@priority_option
@push_options
@workdir_option
@namespace_option
def command(
    files: tuple[str, ...],
    without: tuple[str, ...],
    data: tuple[str, ...],
    shares: int | None,
    hold: int | None,
    tags: tuple[str, ...],
    note: str,
    queue: str | None,
    priority: str | None,
    push: str | None,
    image_python: str | None,
    workdir: str | None,
    namespace: str,
) -> None:
    """Submit manifests and come back at once. `-` reads standard input.

    \b
    paddock submit job.yaml
    paddock submit job.yaml --without nvidia.com/gpu
    paddock submit job.yaml --data imagenet:/data
    cat job.yaml | paddock submit -
    paddock submit job.yaml --context prod --workdir .
    paddock submit job.yaml --context prod --workdir . --push REGISTRY/NAME

    A job of the same name is replaced if it has finished or --timeout suspended it; else nothing is submitted.
    """
    checked = with_data(drop_devices(fetch_checked(files, namespace), without), data)
    checked = with_hold(with_shares(checked, shares, _notify), hold)
    checked = with_note(with_place(checked, queue or "", priority or ""), Note(note, tags))

    place = choose_place()
    pushed = read_push(push, image_python, place)
    refuse_impossible(place, checked, _notify)

    needed = [(each, find_needed(each)) for each in checked] if place.home is not None else []
    if needed:
        checked = [with_environment(each, which) if which else each for each, which in needed]
    made = [which for _, which in needed if which]

    async def work(client: Client, place: ClusterChoice) -> Submitted:
        submission = Submission(
            client, place, checked, _notify, workdir, needed=made, data=data, queue=queue or "",
            priority=priority or "", pushes=open_pushes(pushed, workdir, _notify),
        )  # fmt: skip
        return await send(submission)

    submitted = run_with_client(work)
    for each, manifest in submitted.documents:
        stdout().print(localized(phrase("{object} created", object=printed_name(each.resource, name_of(manifest)))))
    for line in submitted.programs:
        _notify(line)
    _notify_next_steps([manifest for each, manifest in submitted.documents if each.is_job], place.flags)


def _notify_next_steps(jobs: list[Manifest], flags: Flags) -> None:
    for job in jobs[:1]:
        _notify(explain_following(job, flags))


def _notify(said: Phrase) -> None:
    stderr().print(render(said, readers_language()))
