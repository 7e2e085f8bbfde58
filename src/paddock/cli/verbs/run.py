"""paddock run"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from paddock.cli.cluster.errors import UserError
from paddock.cli.cluster.options import namespace_option
from paddock.cli.cluster.places import ClusterChoice
from paddock.cli.cluster.session import choose_place, typed_command
from paddock.cli.follow.on_end import OnEnd, call_on_end, read_on_end
from paddock.cli.follow.ranks import Ranges, RanksType, choose_ranks
from paddock.cli.follow.watch import Watch
from paddock.cli.followed_run import Run
from paddock.cli.output.interrupts import Listen, queue_interrupts
from paddock.cli.output.language import readers_language
from paddock.cli.output.periods import read_seconds
from paddock.cli.output.screen import Screen
from paddock.cli.output.streams import print_line
from paddock.cli.submit.programs import hold_workers
from paddock.cli.submit.push_options import push_options
from paddock.cli.submit.script.documents import Documents, read_documents
from paddock.cli.submit.script.options import ScriptOptions, read_options, script_options
from paddock.cli.submit.script.typed_command import CommandVerb, read_typed
from paddock.cli.submit.script.written_manifest import write_manifests
from paddock.cli.submit.shared_gpus import refuse_without
from paddock.cli.submit.storage import Storage, read_size
from paddock.cli.submit.submission import drop_devices
from paddock.cli.submit.watched_files import find_watched, refuse_watching
from paddock.cli.submit.workdir import refuse_impossible, workdir_option
from paddock.jobs.model import Rank
from paddock.jobs.program_ranks import number_ranks
from paddock.words.phrases import phrase

if TYPE_CHECKING:
    pass


@click.command(name="run", cls=CommandVerb)
@click.argument("file", metavar="[FILE]", required=False, type=click.Path(allow_dash=True))
@script_options
@click.option("--print", "shown", is_flag=True, help="Print the manifest and create nothing.")
@click.option("--detach", is_flag=True, help="Come back as soon as the job is submitted.")
@click.option("--without", multiple=True, metavar="RESOURCE", help="Do not ask for it, e.g. nvidia.com/gpu.")
@click.option(
    "--timeout",
    type=read_seconds,
    default=None,
    metavar="SECONDS",
    help="Suspend a job that has not completed by then: 60, 10m.",
)
@click.option("--role", default="", metavar="ROLE", help="Print the lines of this role alone.")
@click.option("--rank", "index", type=RanksType(), metavar="N", help="Print the lines of these ranks alone: 0,3-5.")
@click.option("--raw", is_flag=True, help="Print all lines, those of launchers and libraries too.")
@click.option(
    "--sandbox",
    type=click.Choice(["auto", "bubblewrap", "none"]),
    default="auto",
    help="What pods run in, if the local cluster is not up yet.",
)
@click.option("--watch", "watches", is_flag=True, help="Run it again when a file of the program changes.")
@click.option(
    "--on-end",
    default=None,
    metavar="COMMAND|URL",
    help="Start this command, or POST to this address, when the job has ended.",
)
@click.option(
    "--storage",
    callback=read_size,
    metavar="SIZE",
    help="On a cluster: the size of the claim for the packages of -r (default: 10Gi).",
)
@click.option("--storage-class", default=None, metavar="NAME", help="On a cluster: of which StorageClass claims are.")
@push_options
@workdir_option
@namespace_option
def command(
    file: str | None,
    shown: bool,
    detach: bool,
    watches: bool,
    without: tuple[str, ...],
    timeout: float | None,
    role: str,
    index: Ranges | None,
    raw: bool,
    sandbox: str,
    storage: str,
    storage_class: str | None,
    workdir: str | None,
    on_end: str | None,
    namespace: str,
    **typed: Any,
) -> int:
    """Train: start what is needed, submit a program or a manifest, follow the job to its end.

    \b
    paddock run -- python train.py --lr 0.1
    paddock run --workers 2 -r requirements.txt -- python train.py
    paddock run --workers 2 --print -- python train.py
    paddock run --watch -- python train.py
    paddock run job.yaml
    paddock run job.yaml -- --lr 0.5
    paddock run job.yaml --without nvidia.com/gpu
    paddock run job.yaml --data imagenet:/data
    paddock run job.yaml --rank 0 | tee log
    paddock run --context prod --image IMAGE --workdir . -- python train.py
    paddock run --context prod --image IMAGE --workdir . --push REGISTRY/NAME -- python train.py

    Everything behind `--` is your command, with its arguments. No shell reads it again: what is to be done by one, such
    as `a | b` or `a && b`, is typed as `-- bash -c 'a | b'`. The command becomes a PaddleJob or, of a program that
    imports torch, a PyTorchJob like any other: --print shows it and `paddock init` writes it to a file. It is not
    restarted unless --restarts says so. Behind a FILE, what follows `--` are arguments for its program, in every role.

    On the local cluster a script that is named by a relative path is taken from the directory that this is called in,
    or --workdir names. With --context the job goes to that Kubernetes, and a directory goes with it only where
    --workdir names one (--workdir . for this one), and no file of it that looks like a secret. Packages of -r are
    installed there over those of the image, once, into a claim (PersistentVolumeClaim) of the namespace, which the next
    run of the same requirements finds; so is a directory of more than 900 KiB. The job is created when both are there,
    with --detach too. `paddock env list` with --context lists such claims. With --push both go by a registry instead,
    as layers above the image: no Docker is needed, what the registry has is not sent again, and `docker login` says
    who may push.
    What else the file holds (a ConfigMap, a PodGroup) is created, or brought to the file's state. A job of the same
    name is replaced if it has finished or --timeout suspended it; else nothing is submitted. A manifest's job without
    runPolicy.backoffLimit is given up after three failures alike.

    --watch runs the job again when the script or the manifest, a file that an option names, or a Python file of the
    directory that was there when the run began changes: a job that still runs is ended first, as by Ctrl-C. Other
    files, which the job may write itself, and what .gitignore names do not count.

    What the program prints goes to standard output: of one rank alone just as it was printed, of several each line with
    its rank. All that Paddock says goes to standard error.

    When the job has ended, --on-end starts a command (without a shell; PADDOCK_JOB, PADDOCK_NAMESPACE, PADDOCK_PHASE,
    PADDOCK_CAUSE and PADDOCK_SECONDS are in its environment) or sends the same in JSON to a web address. It does not
    change the exit code.

    Exit code: 0 every rank did its work, 1 one failed, 2 the command or the manifest is wrong, 3 the job goes on and
    can be followed no longer, as the local cluster does not start again, 130 interrupted. The job of a command ends
    when all of its ranks have ended, and fails when one of them fails; --end-wait stops ranks that run on. Ctrl-C asks
    the job to end, a second one kills it.
    """
    options = read_options(typed, workdir, namespace)
    refuse_without(options.shares, without)
    refuse_contradictions(file, timeout, on_end, options.resume, detach=detach, watches=watches)
    called = read_on_end(on_end) if on_end is not None else None
    place, asked = choose_place(), Storage(storage, storage_class)
    refuse_storage(asked, options.requirements_path, is_local=place.home is not None)
    call = Call(file, options, place, without, timeout, role, index, sandbox, called, shown, detach, raw, asked)
    if not watches or shown:
        return call.once(queue_interrupts)
    between = Screen(language=readers_language())
    watch = Watch(find_watched(file, read_typed(), options), between.notify)
    return watch.repeat(lambda listen: call.once(listen, lambda: watch.is_changed))


def refuse_contradictions(
    file: str | None, timeout: float | None, on_end: str | None, resume: str, *, detach: bool, watches: bool
) -> None:
    """Raises `UserError` for options of which one leaves nothing to do for the other. `resume`: from what each run
    resumes."""
    if detach and timeout is not None:
        raise UserError(phrase("--timeout suspends the job from here, and --detach leaves it alone: leave one out"))
    if watches:
        refuse_watching(file, detach=detach)
        if resume.isdecimal():
            raise UserError(
                phrase(
                    "--watch runs the job again, and the first run takes over the checkpoints of run {run}: --resume "
                    "without a number lets each run begin with those of the last one",
                    run=int(resume),
                )
            )
    if detach and on_end is not None:
        raise UserError(phrase("--on-end is called from here, and --detach does not wait for the end: leave one out"))


def refuse_storage(storage: Storage, requirements: Path | None, *, is_local: bool) -> None:
    """Raises `UserError` where the options would do nothing. Pure."""
    if is_local and storage.is_asked:
        raise UserError(phrase("--storage and --storage-class are for the claims of a cluster: name one by --context, "
                               "or leave them out"))  # fmt: skip
    if storage.size and requirements is None:
        raise UserError(phrase("--storage is the size of the claim for the packages of -r, and there is no -r: leave "
                               "it out"))  # fmt: skip


@dataclass(frozen=True, slots=True)
class Call:
    """What was typed, as the options of `command`."""

    file: str | None
    """A manifest; None for a typed command."""
    options: ScriptOptions
    """Those that make a job of a typed command."""
    place: ClusterChoice
    without: tuple[str, ...]
    timeout: float | None
    """Seconds."""
    role: str
    index: Ranges | None
    """The ranks of --rank."""
    sandbox: str
    on_end: OnEnd | None
    """What is called when the job has ended."""
    shown: bool
    """--print."""
    detach: bool
    raw: bool
    storage: Storage
    """Of --storage and --storage-class."""

    def once(self, listen: Listen, is_changed: Callable[[], bool] = lambda: False) -> int:
        """Runs it to the end of the job, and returns the exit code. `listen` tells it to end early, and `is_changed`
        whether that is for a change: --watch runs it again then, with the files read again, and nobody is called."""
        with Screen(language=readers_language()) as screen:
            documents = read_documents(self.file, read_typed(), self.options, self.place, screen.notify)
            documents = replace(documents, storage=self.storage)
        checked, job = documents.checked, documents.job
        if self.shown:
            shown = hold_workers(drop_devices(checked, self.without), self.place, self.options.workdir, screen.notify)
            print_line(write_manifests([each.manifest for each in shown]), end="")
            if documents.packages is not None:
                file = str(documents.packages)
                screen.notify(phrase("the packages of {file} go into a claim when the job is sent, which is not shown "
                                     "here", file=file))  # fmt: skip
            return 0
        which = choose_ranks(job.key.name, job.ranks(), self.role, self.index, None, number_ranks(job))
        if self.place.home is None and self.sandbox != "auto":
            raise UserError(
                phrase(
                    "--sandbox is for the local cluster: on a cluster pods run in containers of their images; leave it "
                    "out"
                )
            )
        with Screen(language=readers_language()) as screen:
            refuse_impossible(self.place, checked, screen.notify)
            if which.note is not None:
                screen.notify(which.note)
        self.place.start(sandbox=self.sandbox)
        with Screen(language=readers_language(), goes_on=True) as screen:
            return self._follow(documents, which.shows, screen, listen, is_changed)

    def _follow(
        self,
        documents: Documents,
        shows: Callable[[Rank], bool],
        screen: Screen,
        listen: Listen,
        is_changed: Callable[[], bool],
    ) -> int:
        run = Run(
            self.place, screen, shows, self.timeout, self.options.workdir, "" if self.file == "-" else typed_command(),
            typed=self.file is None, detach=self.detach, raw=self.raw, listen=listen, is_changed=is_changed,
        )  # fmt: skip
        code: int | None = None
        try:
            code = asyncio.run(run.run(documents, self.without))
        finally:
            called = self.on_end if run.view and not is_changed() else None
            if called and (problem := call_on_end(called, run.read_end(code))):
                screen.notify(problem)
        return code
